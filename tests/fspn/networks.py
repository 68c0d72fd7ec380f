"""Well-known small networks as BIF texts, and the collection that pgmpy brings along."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

SPRINKLER = """
network sprinkler { property source "the lawn of every textbook"; }
variable cloudy { type discrete [ 2 ] { no, yes }; }
variable sprinkler { type discrete [ 2 ] { off, on }; }
variable rain { type discrete [ 2 ] { no, yes }; property position = (1, 2); }
variable "wet grass" { type discrete [ 2 ] { dry, wet }; }
probability ( cloudy ) { table 0.5, 0.5; }
probability ( sprinkler | cloudy ) { // rarely on under clouds
  (no) 0.5, 0.5;
  (yes) 0.9, 0.1;
}
probability ( rain | cloudy ) { table 0.8, 0.2, 0.2, 0.8; }
probability ( "wet grass" | sprinkler, rain ) {
  default 0.1, 0.9; /* one of the two
                       is enough */
  (off, no) 1.0, 0.0;
  (on, yes) 0.01, 0.99;
}
"""


def shipped(name: str) -> Path:
    """A BIF file of the public collection, as installed with pgmpy."""
    found = find_spec("pgmpy")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "utils" / "example_models" / f"{name}.bif.gz"

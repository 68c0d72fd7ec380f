"""The first minute: `import fspn`, and the README's first lines before anything is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.bench.clock import Spread
from experiments.bench.options import Options

ROOT = Path(__file__).parents[2]

FIRST_LINES = """
import pandas as pd
from fspn import FSPN
table = pd.DataFrame({"age": [20, 20, 30, 30, 40] * 40, "sex": ["F", "M"] * 100})
model = FSPN().fit(table)
assert 0 < model.probability({"age": (20, 30), "sex": "F"}) < 1
assert 0 < model.conditional({"sex": "F"}, {"age": 40}) < 1
"""

# All processes of a machine have the same clock. A file, not a pipe: a compiler that goes on in the
# background would hold that open.
SAY_WHEN = """
import time
with open("ended", "w") as file:
    file.write(str(time.monotonic_ns()))
"""

# What compiles in the background would outlive the process, and slow down the next part.
END_COMPILER = """
from fspn.engine.cold_start import COMPILATION
if COMPILATION._process is not None:
    COMPILATION._process.kill()
"""


@dataclass(frozen=True)
class StartPart:
    """Seconds of new processes.

    Arguments:
        library: `import fspn`.
        warm: The README's first lines, with compiled kernels on disk.
        cold: The same with an empty compiler cache; kernels are compiled in the background.
    """

    library: Spread
    warm: Spread
    cold: Spread


def measure_start(options: Options) -> StartPart:
    """Start Python often, with and without compiled kernels."""
    n = options.curves.repeats

    def often(code: str, is_cold: bool) -> Spread:
        return Spread.of(np.array([_seconds(code, is_cold) for _ in range(n)]))

    # The first start of each kind fills the disk's cache.
    _seconds(FIRST_LINES, False)
    return StartPart(
        often("import fspn", False), often(FIRST_LINES, False), often(FIRST_LINES, True)
    )


def _seconds(code: str, is_cold: bool) -> float:
    """The time of a new process until its last line is done, without its end."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        if is_cold:
            environment |= {"FSPN_KERNELS": "background", "NUMBA_CACHE_DIR": folder}
        script = code + SAY_WHEN + (END_COMPILER if is_cold else "")
        command = [sys.executable, "-c", script]
        started = time.monotonic_ns()
        subprocess.run(command, check=True, env=environment, cwd=folder)
        ended = int(Path(folder, "ended").read_text(encoding="ascii"))
        return (ended - started) / 1e9

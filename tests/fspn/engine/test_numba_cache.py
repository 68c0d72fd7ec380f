"""Machine code in numba's cache is not used after a change of what it was compiled from."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fspn.engine.batch_kernels import answer
from fspn.engine.numba_cache import digest, kernel_files, stamp_of_kernels, stamped

OUTER = """
import sys
from pathlib import Path
from numba import njit
from fspn.engine.numba_cache import digest, stamped
import inner

@njit(cache=True)
def outer():
    return inner.value()

if sys.argv[1] == "stamped":
    outer = stamped(outer, digest([Path(inner.__file__)]))
print(outer(), sum(outer.stats.cache_hits.values()))
"""


def run(folder: Path, inner: str, how: str) -> str:
    (folder / "inner.py").write_text(
        f"from numba import njit\n\n@njit\ndef value():\n    {inner}\n"
    )
    package = Path(__file__).parents[3]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "outer.py", how], cwd=folder, capture_output=True, text=True, check=True,
        env=environment | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return done.stdout.strip()


@pytest.mark.parametrize(("how", "after"), [("plain", "1 1"), ("stamped", "2 0")])
def test_a_change_of_what_is_called_is_noticed(tmp_path: Path, how: str, after: str) -> None:
    """Without the stamp numba returns the old answer from its cache: the reason for all this."""
    (tmp_path / "outer.py").write_text(OUTER)
    assert run(tmp_path, "return 1", how) == "1 0"
    assert run(tmp_path, "return 1", how) == "1 1"
    assert run(tmp_path, "return 2", how) == after


def test_a_digest_is_of_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a")
    two.write_text("b")
    before = digest([one, two])
    assert digest([two, one]) == before
    two.write_text("c")
    assert digest([one, two]) != before


@pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")),
    reason="nothing is compiled: NUMBA_DISABLE_JIT is set",
)
def test_the_entry_to_the_kernels_is_stamped() -> None:
    assert answer._cache._cache_file._source_stamp[1] == stamp_of_kernels()


def test_a_plain_function_is_left_alone() -> None:
    assert stamped(len, "x") is len


def test_the_stamp_knows_whatever_kernels_import() -> None:
    files = {file.stem: file for file in kernel_files()}
    imported = {
        str(node.module).removeprefix("fspn.engine.")
        for file in files.values()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("fspn.engine.")
    }
    assert imported - set(files) == {"numba_cache"}

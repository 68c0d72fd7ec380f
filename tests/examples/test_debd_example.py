"""The example runs, on a made-up table and on a real one."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fspn import FSPN
from tests.benchmarks import FOLDER, benchmark, made_up

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "debd.py"


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=SCRIPT.parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_data_a_table_is_made(tmp_path: Path) -> None:
    said = run("--folder", str(tmp_path), "--out", str(tmp_path / "kept.fspn"))
    assert f"no nltcs in {tmp_path}: a small table is made instead" in said
    assert "2,000 rows, 12 columns" in said
    right = int(re.search(r"guessed right: (\d+)%", said)[1])  # type: ignore[index]
    assert right >= 70
    model = FSPN.load(tmp_path / "kept.fspn")
    assert 0 < model.conditional({"x0": 1}, {"x1": 1, "x2": 0}) < 1


def test_both_formats_are_read(tmp_path: Path) -> None:
    example = runpy.run_path(str(SCRIPT))
    tables = {s: made_up(n, 5, n).to_numpy() for s, n in (("train", 9), ("valid", 4), ("test", 5))}
    (tmp_path / "nltcs").mkdir()
    for split, table in tables.items():
        path = tmp_path / "nltcs" / f"nltcs.{split}.data"
        np.savetxt(path, table, fmt="%d", delimiter=",")
    np.savez(tmp_path / "plants.npz", **tables)
    for name in ("nltcs", "plants"):
        found = example["read"](name, tmp_path)
        assert {s: t.to_numpy().tolist() for s, t in found.items()} == {
            s: t.tolist() for s, t in tables.items()
        }
    assert example["read"]("dna", tmp_path) is None


def test_the_real_table() -> None:
    benchmark("nltcs")
    said = run("nltcs", "--folder", str(FOLDER))
    assert "16,181 rows, 16 columns" in said
    score = float(re.search(r"per row, test: (-[\d.]+)", said)[1])  # type: ignore[index]
    assert score == pytest.approx(-6.1, abs=0.3)

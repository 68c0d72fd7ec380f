"""Binary tables for tests: a real benchmark where its folder is there, else one made here."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import load
from experiments.types import Dataset

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("FSPN_DEBD_DIR", ROOT.parent / "shared" / "data" / "debd"))


def settings(name: str, folder: Path = FOLDER, url: str | None = None) -> dict[str, object]:
    return {"name": name, "family": "debd", "folder": str(folder), "url": url}


def benchmark(name: str) -> Dataset:
    """A real benchmark; skips the test if its file is not there (nothing is fetched)."""
    if not (FOLDER / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in {FOLDER}: set FSPN_DEBD_DIR to run this test")
    return load(settings(name), 0, Path("unused"))


def made_up(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    """Two kinds of rows, each a noisy chain of bits."""
    rng = np.random.default_rng(seed)
    kind = rng.random(rows) < 0.4
    bits = np.empty((rows, columns), dtype=np.uint8)
    bits[:, 0] = rng.random(rows) < np.where(kind, 0.8, 0.3)
    for i in range(1, columns):
        flip = rng.random(rows) < np.where(kind, 0.1, 0.85 if i % 2 else 0.3)
        bits[:, i] = bits[:, i - 1] ^ flip
    return pd.DataFrame(bits, columns=[f"x{i}" for i in range(columns)])

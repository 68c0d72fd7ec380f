"""Small tables for the tests of learning and asking."""

from __future__ import annotations

import numpy as np
import pandas as pd

PRESETS = ("default", "paper")


def discrete(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """Dependent, independent and gappy columns of few values: 2 <= a, a ~ b ~ c, d alone."""
    rng = np.random.default_rng(seed)
    a = rng.choice([2, 3, 5, 9], n, p=[0.4, 0.3, 0.2, 0.1])
    b = a + rng.choice([0, 1], n, p=[0.8, 0.2])
    c = np.where(rng.random(n) < 0.7, b % 3, rng.integers(0, 3, n))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.integers(0, 2, n)})


def mixed(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """Every kind of column, all of them dependent on the first."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    real = a + rng.normal(size=n)
    return pd.DataFrame(
        {
            "int": a,
            "text": np.array(["u", "v", "w", "z"])[(a + (rng.random(n) < 0.2)) % 4],
            "cat": pd.Categorical(np.array(["lo", "hi"])[(a > 1).astype(int)], ["lo", "hi", "no"]),
            "bool": (a % 2 == 1) ^ (rng.random(n) < 0.1),
            "real": real,
            "near": real + 0.1 * rng.normal(size=n),
        }
    )


def chain(n: int, width: int, size: int = 3, keep: float = 0.6, seed: int = 0) -> pd.DataFrame:
    """A Markov chain: each column keeps the value before it, or draws a new one."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n)]
    for _ in range(width - 1):
        fresh = rng.integers(0, size, n)
        columns.append(np.where(rng.random(n) < keep, columns[-1], fresh))
    return pd.DataFrame({f"x{i}": column for i, column in enumerate(columns)})

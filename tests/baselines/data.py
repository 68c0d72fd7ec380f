"""Small tables of known origin."""

from __future__ import annotations

import numpy as np


def additive_codes(rows: int, seed: int, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Codes and domain sizes: two roots; every other column adds noise to one or two before it."""
    rng = np.random.default_rng(seed)
    table = [rng.integers(0, 4, rows), rng.integers(0, 3, rows)]
    for i in range(2, columns):
        before = rng.choice(i, size=1 + i % 2, replace=False)
        noise = rng.choice(2, rows, p=[0.7, 0.3])
        table.append(np.sum([table[j] for j in before], axis=0) % 12 + noise)
    codes = np.stack(table, axis=1).astype(np.int32)
    return codes, codes.max(axis=0) + 2  # the last value of every domain is never seen

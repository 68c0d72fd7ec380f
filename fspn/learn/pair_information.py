r"""What two columns of codes tell about each other, by the filled cells of their table alone.

.. math:: N I(X; Y) = \sum_{xy} n_{xy} \ln n_{xy} - \sum_x n_x \ln n_x - \sum_y n_y \ln n_y
          + N \ln N

Tables of thousands of values by thousands are nearly empty: a pass over all cells would take longer
than one over the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MAX_COUNTED = 1 << 22
"""Tables of more cells are counted by sorting the rows."""


class PairInformation(NamedTuple):
    """N I(X; Y), the filled cells, and the codes of either column that occur."""

    nats: float
    filled: int
    first: int
    second: int


def pair_information(
    first: np.ndarray, second: np.ndarray, n_first: int, n_second: int
) -> PairInformation:
    """The information of two columns of codes about each other, over all rows."""
    keys = first.astype(np.int64) * n_second + second
    if n_first * n_second <= MAX_COUNTED:
        counts = np.bincount(keys)
        counts = counts[counts > 0]
    else:
        counts = np.unique(keys, return_counts=True)[1]
    rows, columns = np.bincount(first), np.bincount(second)
    nats = _entropic(counts) - _entropic(rows) - _entropic(columns) + _entropic(len(keys))
    used = np.count_nonzero(rows), np.count_nonzero(columns)
    return PairInformation(float(nats), len(counts), *map(int, used))


def _entropic(counts: np.ndarray | int) -> float:
    """The sum of n ln n."""
    n = np.asarray(counts, dtype=np.float64)
    return float((n * np.log(np.maximum(n, 1.0))).sum())

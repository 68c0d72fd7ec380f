"""Contingency tables: the one pass over the rows that everything in learning is made of."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def contingency(first: np.ndarray, second: np.ndarray, n_first: int, n_second: int) -> np.ndarray:
    """The table of counts of two columns of codes."""
    table = np.zeros((n_first, n_second), dtype=np.int64)
    for row in range(len(first)):
        table[first[row], second[row]] += 1
    return table


@njit(cache=True, nogil=True)
def _dense_ranks(keys: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    ranks = np.full(size, -1, dtype=np.int32)
    found = np.empty(len(keys), dtype=np.int32)
    n_found = 0
    for row in range(len(keys)):
        rank = ranks[keys[row]]
        if rank < 0:
            rank = n_found
            ranks[keys[row]] = rank
            n_found += 1
        found[row] = rank
    return found, n_found


@njit(cache=True, nogil=True)
def _combine(first: np.ndarray, second: np.ndarray, n_second: int) -> np.ndarray:
    keys = np.empty(len(first), dtype=np.int64)
    for row in range(len(first)):
        keys[row] = np.int64(first[row]) * n_second + second[row]
    return keys


MAX_DENSE_CELLS = 50_000_000


def joint_ranks(
    first: np.ndarray, second: np.ndarray, n_first: int, n_second: int
) -> tuple[np.ndarray, int]:
    """A small integer per distinct pair of codes, in order of appearance, and how many there are.

    Chaining this over columns numbers the distinct configurations of any set of them.
    """
    keys = _combine(first, second, n_second)
    if n_first * n_second <= MAX_DENSE_CELLS:
        return _dense_ranks(keys, n_first * n_second)
    distinct, inverse = np.unique(keys, return_inverse=True)
    return inverse.astype(np.int32), len(distinct)

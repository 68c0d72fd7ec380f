"""Contingency tables: the pass over the rows that all learning is based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numba import njit

from fspn.jit import patient

MAX_DENSE_CELLS = 50_000_000
MAX_COUNTED_CELLS = 16_000_000


@patient
@njit(cache=True, nogil=True)
def contingency(first: np.ndarray, second: np.ndarray, n_first: int, n_second: int) -> np.ndarray:
    """The table of counts of two columns of codes."""
    table = np.zeros((n_first, n_second), dtype=np.int32)
    for row in range(len(first)):
        table[first[row], second[row]] += 1
    return table


def information(table: np.ndarray) -> float:
    r""":math:`N I(X; Y) = \sum_{xy} n_{xy} \ln (n_{xy} N / (n_x n_y))` of a table of counts."""
    counts = table.astype(np.float64)
    filled = counts > 0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1.0)
    return float((counts[filled] * np.log(counts[filled] / expected[filled])).sum())


@patient
@njit(cache=True, nogil=True)
def code_counts(codes: np.ndarray, size: int) -> np.ndarray:
    """The rows of every code; numpy's own count makes a copy of small integers."""
    counts = np.zeros(size, dtype=np.int64)
    for row in range(len(codes)):
        counts[codes[row]] += 1
    return counts


@patient
@njit(cache=True, nogil=True)
def _dense_ranks(
    first: np.ndarray, second: np.ndarray, n_second: int, size: int
) -> tuple[np.ndarray, int]:
    ranks = np.full(size, -1, dtype=np.int32)
    found = np.empty(len(first), dtype=np.int32)
    n_found = 0
    for row in range(len(first)):
        key = np.int64(first[row]) * n_second + second[row]
        rank = ranks[key]
        if rank < 0:
            rank = n_found
            ranks[key] = rank
            n_found += 1
        found[row] = rank
    return found, n_found


def joint_ranks(
    first: np.ndarray, second: np.ndarray, n_first: int, n_second: int
) -> tuple[np.ndarray, int]:
    """A small integer per distinct pair of codes, in order of appearance, and how many there are.

    Chaining this over columns numbers the distinct configurations of any set of them.
    """
    if n_first * n_second <= MAX_DENSE_CELLS:
        return _dense_ranks(first, second, n_second, n_first * n_second)
    distinct, inverse = np.unique(first.astype(np.int64) * n_second + second, return_inverse=True)
    return inverse.astype(np.int32), len(distinct)


@dataclass(frozen=True)
class Filled:
    """The filled cells of a table, in no particular order.

    Arguments:
        keys: The mixed-radix number of every cell, the last column's code its last digit.
        counts: The rows in it.
    """

    keys: np.ndarray
    counts: np.ndarray

    def ordered(self) -> Filled:
        """The cells by growing keys."""
        order = np.argsort(self.keys)
        return Filled(self.keys[order], self.counts[order])


class CellCounter:
    """Counts tables of up to three columns in time of their rows and filled cells.

    The dense table is kept between counts, and only the cells that were filled are cleared: most
    cells of the tables of a search are empty.
    """

    def __init__(self) -> None:
        self._table = np.zeros(0, dtype=np.int32)

    def count(self, columns: Sequence[np.ndarray], sizes: Sequence[int]) -> Filled:
        """The filled cells of the joint table of two or three columns of codes."""
        n_cells = prod(sizes)
        if n_cells > max(MAX_COUNTED_CELLS, 8 * len(columns[0])):
            return _count_by_sorting(columns, sizes)
        if n_cells > len(self._table):
            self._table = np.zeros(n_cells, dtype=np.int32)
        touched = np.empty(min(n_cells, len(columns[0])), dtype=np.int32)
        first = _ONE_ROW if len(columns) == 2 else columns[-3]
        n = _fill(first, columns[-2], columns[-1], sizes[-2], sizes[-1], self._table, touched)
        keys = touched[:n].copy()
        return Filled(keys, _take_out(self._table, keys))


def count_filled(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> Filled:
    """The filled cells of the joint table of any number of columns, by growing keys."""
    if 2 <= len(columns) <= 3:
        filled = CellCounter().count(columns, sizes).ordered()
    else:
        filled = _count_by_sorting(columns, sizes)
    return Filled(filled.keys.astype(np.int64), filled.counts)


_ONE_ROW = np.zeros(0, dtype=np.uint8)


@patient
@njit(cache=True, nogil=True)
def _fill(
    first: np.ndarray,
    second: np.ndarray,
    third: np.ndarray,
    n_second: int,
    n_third: int,
    table: np.ndarray,
    touched: np.ndarray,
) -> int:
    """Count the rows into the table; lists the cells that they touch. ``first`` may be empty."""
    n_touched = 0
    three = len(first) > 0
    for row in range(len(third)):
        key = np.int64(first[row]) * n_second if three else np.int64(0)
        key = (key + second[row]) * n_third + third[row]
        if table[key] == 0:
            touched[n_touched] = key
            n_touched += 1
        table[key] += 1
    return n_touched


@patient
@njit(cache=True, nogil=True)
def _take_out(table: np.ndarray, keys: np.ndarray) -> np.ndarray:
    counts = np.empty(len(keys), dtype=np.int64)
    for place in range(len(keys)):
        counts[place] = table[keys[place]]
        table[keys[place]] = 0
    return counts


def _count_by_sorting(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> Filled:
    keys = columns[0].astype(np.int64)
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= size
        keys += codes
    return Filled(*np.unique(keys, return_counts=True))

r"""What the independence oracles look at: columns of a slice, and correlations of binary ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

BLOCK_CELLS = 4_000_000
PAIRS_AT_ONCE = 4096


@dataclass(frozen=True)
class Column:
    """One variable on one slice of the data.

    Arguments:
        values: Codes, or reals where ``size`` is 0.
        size: The number of codes.
        ordered: Whether the order of the codes means something.
    """

    values: np.ndarray
    size: int
    ordered: bool = True


class Oracle(Protocol):
    """A measure of dependence in [0, 1] for all pairs of two groups of columns.

    Where ``second`` is the very list ``first`` the matrix is symmetric, and every pair is
    measured once.
    """

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray: ...


Bits = Callable[[slice], np.ndarray]
"""The 0/1 values of a binary column on a block of rows."""


def pairwise(
    shape: tuple[int, int],
    measure: Callable[[Sequence[tuple[int, int]]], np.ndarray],
    done: np.ndarray,
    known: np.ndarray,
    symmetric: bool,
) -> np.ndarray:
    """The matrix of a measure over all pairs that are not done yet.

    Arguments:
        shape: The numbers of columns on both sides.
        measure: The dependence of pairs (i, j), the i-th column of one side and the j-th of the
            other; it is asked for a few thousand at a time.
        done: Which pairs are known already.
        known: Their values.
        symmetric: Whether both sides are the same columns: one half is measured, then mirrored.
    """
    matrix = np.where(done, known, 0.0)
    open_pairs = ~done if not symmetric else np.triu(~done)
    pairs = np.argwhere(open_pairs)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        some = pairs[start : start + PAIRS_AT_ONCE]
        matrix[some[:, 0], some[:, 1]] = measure([(i, j) for i, j in some.tolist()])
    if symmetric:
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
    assert matrix.shape == shape
    return matrix


def phi_matrix(first: Sequence[Bits], second: Sequence[Bits] | None, n_rows: int) -> np.ndarray:
    r"""The absolute correlations of binary columns, by matrix products over blocks of rows.

    .. math:: \phi = \frac{n n_{11} - n_{1 \cdot} n_{\cdot 1}}
              {\sqrt{n_{1 \cdot} n_{0 \cdot} n_{\cdot 1} n_{\cdot 0}}}

    Arguments:
        first: The columns of one side.
        second: Those of the other; None = the same ones.
        n_rows: The number of rows.
    """
    both, ones_first, ones_second = ones_together(first, second, n_rows)
    spread = np.outer(ones_first * (n_rows - ones_first), ones_second * (n_rows - ones_second))
    difference = n_rows * both - np.outer(ones_first, ones_second)
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = np.abs(difference) / np.sqrt(spread)
    return np.where(spread > 0, np.minimum(phi, 1.0), 0.0)


def ones_together(
    first: Sequence[Bits], second: Sequence[Bits] | None, n_rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In how many rows two binary columns are both 1, for all pairs, and each of them alone.

    Arguments as in :func:`phi_matrix`.
    """
    widest = max(len(first), 0 if second is None else len(second), 1)
    step = max(BLOCK_CELLS // widest, 1024)
    both = np.zeros((len(first), len(first if second is None else second)))
    ones_first, ones_second = np.zeros(both.shape[0]), np.zeros(both.shape[1])
    for start in range(0, n_rows, step):
        block = slice(start, min(start + step, n_rows))
        left = _stack(first, block)
        right = left if second is None else _stack(second, block)
        both += left @ right.T
        ones_first += left.sum(axis=1, dtype=np.float64)
        ones_second += right.sum(axis=1, dtype=np.float64)
    return both, ones_first, ones_second


def _stack(columns: Sequence[Bits], block: slice) -> np.ndarray:
    # Counts up to 2^24 are exact in single precision, and a block has fewer rows.
    stacked = np.empty((len(columns), block.stop - block.start), dtype=np.float32)
    for place, bits in enumerate(columns):
        stacked[place] = bits(block)
    return stacked

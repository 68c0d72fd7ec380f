r"""Pairwise counts of discrete columns from one matrix product, and mutual information from them.

The first value of every column is left out of the indicator matrix \(X\): how often it occurs
follows from the others. So \(X^T \mathrm{diag}(w) X\) holds everything, and for binary columns
\(X\) is the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Indicators:
    """Indicator columns of all values but each column's first.

    Arguments:
        matrix: float32, shape (rows, indicators).
        starts: First indicator of every column; one that has a single value has an empty one.
        cards: Domain sizes.
    """

    matrix: np.ndarray
    starts: np.ndarray
    cards: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, cards: np.ndarray) -> Indicators:
        """Indicators of a table of codes."""
        if (cards <= 2).all():
            matrix = codes.astype(np.float32)
        else:
            columns = [codes[:, i, None] == np.arange(1, max(d, 2)) for i, d in enumerate(cards)]
            matrix = np.concatenate(columns, axis=1).astype(np.float32)
        starts = np.concatenate(([0], np.cumsum(_widths(cards))[:-1]))
        return cls(matrix, starts, cards)

    def counts(self, weights: np.ndarray) -> PairCounts:
        """Weighted counts; rows without weight cost nothing."""
        rows = np.flatnonzero(weights)
        x, w = self.matrix, weights.astype(np.float32)
        if len(rows) < len(x):
            x, w = x[rows], w[rows]
        weighted = x if (w == 1).all() else x * w[:, None]
        pair = (weighted.T @ x).astype(np.float64)
        single = np.diag(pair).copy()
        return PairCounts(float(w.sum(dtype=np.float64)), single, pair, self.starts, self.cards)


@dataclass(frozen=True)
class PairCounts:
    """Counts of all values and of all pairs of values, but each column's first.

    Arguments:
        total: Sum of the weights.
        single: One count per indicator.
        pair: One count per pair of indicators; meaningless within a column.
        starts: First indicator of every column.
        cards: Domain sizes.
    """

    total: float
    single: np.ndarray
    pair: np.ndarray
    starts: np.ndarray
    cards: np.ndarray

    def plus(self, other: PairCounts, times: float = 1.0) -> PairCounts:
        """These counts and `times` the others."""
        return replace(
            self,
            total=self.total + times * other.total,
            single=self.single + times * other.single,
            pair=self.pair + times * other.pair,
        )

    def times(self, factor: float) -> PairCounts:
        """All counts multiplied."""
        return replace(
            self,
            total=self.total * factor,
            single=self.single * factor,
            pair=self.pair * factor,
        )

    def uniform(self) -> PairCounts:
        """One row, spread evenly over all cells."""
        share = np.repeat(np.where(self.cards > 1, 1.0 / self.cards, 0.0), _widths(self.cards))
        return replace(self, total=1.0, single=share, pair=np.outer(share, share))

    def mutual_information(self) -> np.ndarray:
        r"""\(N I(X_i; X_j)\) of all pairs of columns; every cell must be positive."""
        cells = self._sum(self._sum(_xlogx(self.pair), 0), 1)
        # The cells of a first value with the other values, then of two first values.
        half = self.single[:, None] - self._sum(self.pair, 1)
        mixed = self._sum(_xlogx(half), 0)
        first = self.total - self._sum(self.single, 0)
        corner = first[None, :] - self._sum(half, 0)
        single = self._sum(_xlogx(self.single), 0) + _xlogx(first)
        cells += mixed + mixed.T + _xlogx(corner)
        return cells - single[:, None] - single[None, :] + _xlogx(np.array(self.total))

    def _sum(self, values: np.ndarray, axis: int) -> np.ndarray:
        """Sums over the indicators of each column; binary columns have one."""
        if len(self.starts) == values.shape[axis]:
            return values
        return np.add.reduceat(values, self.starts, axis=axis)


def _widths(cards: np.ndarray) -> np.ndarray:
    return np.maximum(cards - 1, 1)


def _xlogx(counts: np.ndarray) -> np.ndarray:
    """The values x ln x; counts that rounding took to zero or below are nearly nothing."""
    positive = np.maximum(counts, 1e-12)
    return positive * np.log(positive)

"""The rows of a table of two-valued columns, each distinct one once, with its weight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numba import njit

CERTAIN = 1e-6
SLACK = 0.01
"""How much ceilings are raised, since counts of pairs are in single precision."""


@dataclass(frozen=True)
class BinaryRows:
    """Weighted rows.

    Arguments:
        cells: Zeros and ones (uint8), one row per distinct row of the table.
        weights: How often each occurs; under a sum node, how much of it belongs to one child.
    """

    cells: np.ndarray
    weights: np.ndarray

    @classmethod
    def distinct(cls, cells: np.ndarray) -> BinaryRows:
        """The distinct rows of a table, in a fixed order, with their counts."""
        packed = np.ascontiguousarray(np.packbits(cells, axis=1))
        as_one = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, counts = np.unique(as_one, return_index=True, return_counts=True)
        return cls(np.ascontiguousarray(cells[first]), counts.astype(np.float64))

    @property
    def n_columns(self) -> int:
        return self.cells.shape[1]

    @cached_property
    def total(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def columns(self) -> np.ndarray:
        """The cells column by column."""
        return np.ascontiguousarray(self.cells.T)

    @cached_property
    def ones(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows in which each column is 1, one column after the other, and where each begins."""
        column, row = np.nonzero(self.columns)
        counts = np.bincount(column, minlength=self.n_columns)
        return np.concatenate([[0], np.cumsum(counts)]), row.astype(np.int32)

    @cached_property
    def means(self) -> np.ndarray:
        """The share of ones per column, half a row of each value added."""
        return (self.weights @ self.cells + 0.5) / (self.total + 1.0)

    def weighted(self, weights: np.ndarray, least: float) -> BinaryRows:
        """The rows that keep at least the fraction ``least`` of their weight, reweighted."""
        kept = weights > least * self.weights
        return BinaryRows(np.ascontiguousarray(self.cells[kept]), weights[kept])

    def split(self, share: float, rng: np.random.Generator) -> tuple[BinaryRows, BinaryRows]:
        """The rows without a random share of them, and that share; weights are whole numbers.

        Equal rows are drawn one by one: if all copies of a row were held out together, the share
        would hold rows that nobody has seen before, which rows to come need not be.
        """
        held_out = rng.binomial(self.weights.astype(np.int64), share).astype(np.float64)
        return self.weighted(self.weights - held_out, 0.0), self.weighted(held_out, 0.0)

    @cached_property
    def pairs(self) -> np.ndarray:
        """The weight of the rows in which two columns are both 1, for all pairs at once."""
        floats = self.cells.astype(np.float32)
        weighted = floats * self.weights[:, None].astype(np.float32)
        return np.asarray((floats.T @ weighted).astype(np.float64))

    def information(self, table: BinaryRows, strength: float) -> np.ndarray:
        """The mutual information of all pairs of columns, times the number of rows, in nats.

        Arguments:
            table: The whole table.
            strength: How many rows with the distribution of the whole table are added to these.
        """
        n = self.total + strength
        pairs = self.pairs + strength / table.total * table.pairs if strength else self.pairs
        return _information(pairs, n)

    def ceilings(self, bases: np.ndarray) -> np.ndarray:
        r"""What a parent can gain over a probability without parents, at most, child by parent.

        The evidence of a table is below its largest likelihood, so that a gain is below

        .. math:: \max_\theta \ln \Pr(x_v \mid x_u, \theta) - \ln \Pr(x_v \mid b_v)

        Arguments:
            bases: The probability of a one without parents, per column.
        """
        found = (1 + SLACK) * _ceilings(self.pairs, self.total, bases) + SLACK
        np.fill_diagonal(found, -np.inf)
        return np.asarray(found)

    def without(self, part: BinaryRows, v: int) -> np.ndarray:
        r""":math:`\Pr(X_v = 1 \mid X_u = 0)` and :math:`\Pr(X_v = 1 \mid X_u = 1)` for all u.

        From the rows of this table without those of a part of it, smoothed by two rows at the mean.
        """
        both = np.maximum(self.pairs[v] - part.pairs[v], 0.0)
        ones = np.maximum(np.diag(self.pairs) - np.diag(part.pairs), both)
        rest = max(self.total - part.total, 0.0)
        prior = 2.0 * self.means[v]
        given_one = (both + prior) / (ones + 2.0)
        given_zero = (np.maximum(ones[v] - both, 0.0) + prior) / (
            np.maximum(rest - ones, 0.0) + 2.0
        )
        return np.clip(np.column_stack([given_zero, given_one]), CERTAIN, 1 - CERTAIN)


@njit(cache=True, nogil=True)
def _information(pairs: np.ndarray, n: float) -> np.ndarray:
    """The mutual information of all pairs of columns, times n; a row of prior counts is added."""
    m = len(pairs)
    found = np.zeros((m, m))
    for i in range(m):
        first = (pairs[i, i] + 0.5) / (n + 1.0)
        for j in range(i):
            second = (pairs[j, j] + 0.5) / (n + 1.0)
            both = (pairs[i, j] + 0.25) / (n + 1.0)
            total = _term(both, first * second) + _term(first - both, first * (1 - second))
            total += _term(second - both, (1 - first) * second)
            total += _term(1 - first - second + both, (1 - first) * (1 - second))
            found[i, j] = found[j, i] = n * max(total, 0.0)
    return found


@njit(cache=True, nogil=True, inline="always")
def _term(joint: float, independent: float) -> float:
    joint = max(joint, 1e-12)
    return joint * log(joint / independent)


@njit(cache=True, nogil=True)
def _ceilings(pairs: np.ndarray, n: float, bases: np.ndarray) -> np.ndarray:
    """The largest log-likelihood given each column, less that of a fixed probability."""
    m = len(pairs)
    found = np.empty((m, m))
    for v in range(m):
        ones = pairs[v, v]
        base = ones * log(bases[v]) + max(n - ones, 0.0) * log(1 - bases[v])
        for u in range(m):
            both, given = min(pairs[v, u], ones), pairs[u, u]
            fitted = _fitted(given, both) + _fitted(n - given, ones - both)
            found[v, u] = fitted - base
    return found


@njit(cache=True, nogil=True, inline="always")
def _fitted(n: float, ones: float) -> float:
    """The log-likelihood of n rows at their own share of ones."""
    total, zeros = 0.0, n - ones
    if ones > 0.0 and n > 0.0:
        total += ones * log(ones / n)
    if zeros > 0.0 and n > 0.0:
        total += zeros * log(zeros / n)
    return total

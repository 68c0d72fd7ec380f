"""The rows of a table of two-valued columns, each distinct one once, with its weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import log
from typing import Self

import numpy as np
from numba import njit

from fspn.learn.pools.binary_evidence import choose_parents
from fspn.learn.pools.family import Family, Limits, Prices
from fspn.learn.pools.rows import START_STRENGTH, Rows, distinct, stacked

CERTAIN = 1e-6
NO_ANCHORS = np.empty((0, 2))
SLACK = 0.01
"""How much ceilings are raised, since counts of pairs are in single precision."""


class BinaryRows(Rows):
    """Weighted rows of zeros and ones: counting visits ones, a pair is one entry of a matrix."""

    @classmethod
    def distinct(cls, cells: np.ndarray) -> BinaryRows:
        """The distinct rows of a table, in a fixed order, with their counts."""
        return cls(*distinct(cells), np.full(cells.shape[1], 2))

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

    @cached_property
    def pairs(self) -> np.ndarray:
        """The weight of the rows in which two columns are both 1, for all pairs at once."""
        floats = self.cells.astype(np.float32)
        weighted = floats * self.weights[:, None].astype(np.float32)
        return np.asarray((floats.T @ weighted).astype(np.float64))

    def information(self, table: Self, strength: float) -> np.ndarray:
        """From the counts of all pairs, by one matrix product."""
        n = self.total + strength
        pairs = self.pairs + strength / table.total * table.pairs if strength else self.pairs
        return _information(pairs, n)

    def bases(self, table: Self, strength: float) -> list[np.ndarray]:
        """The probabilities of both values, per column."""
        ones = (np.diag(self.pairs) + strength * table.means) / (self.total + strength)
        return [np.array([1 - one, one]) for one in np.clip(ones, CERTAIN, 1 - CERTAIN)]

    def independent_logs(self, shares: np.ndarray) -> np.ndarray:
        """Two matrix products per step."""
        cells, sizes = self.cells.astype(np.float32), shares.sum(axis=0)
        ones = shares.T.astype(np.float32) @ cells + START_STRENGTH * self.means
        ones = np.clip(ones / (sizes[:, None] + START_STRENGTH), CERTAIN, 1 - CERTAIN)
        slopes = (np.log(ones) - np.log1p(-ones)).T.astype(np.float32)
        constant = np.log1p(-ones).sum(axis=1) + np.log(sizes + 1.0)
        return np.asarray((cells @ slopes).astype(np.float64) + constant)

    def ceilings(self, bases: Sequence[np.ndarray]) -> np.ndarray:
        """From the counts of all pairs."""
        ones = np.array([base[1] for base in bases])
        found = (1 + SLACK) * _ceilings(self.pairs, self.total, ones) + SLACK
        np.fill_diagonal(found, -np.inf)
        return np.asarray(found)

    def without(self, part: Self, v: int) -> np.ndarray:
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

    def best_family(
        self,
        v: int,
        base: np.ndarray,
        table: Self,
        ceilings: np.ndarray,
        prices: Prices,
        options: Sequence[np.ndarray],
        limits: Limits,
    ) -> tuple[Family, int]:
        """The search that counts ones."""
        anchors = NO_ANCHORS if table is self else table.without(self, v)
        most = max(min(limits.max_parents, int(np.log2(limits.max_cells)) - 1), 0)
        best, _, anchored, parents, (strengths, even), ones = choose_parents(
            self.columns[v], self.weights, *stacked(options), *self.ones, base[1], anchors,
            ceilings, np.array(limits.strengths), prices, most,
        )  # fmt: skip
        anchor = _both(anchors[parents[0]]) if anchored else None
        levels = (tuple(strengths.tolist()), tuple(even.tolist()))
        return Family(tuple(parents.tolist()), *levels, base, anchor, _both(ones)), best


def _both(ones: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - ones, ones])


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

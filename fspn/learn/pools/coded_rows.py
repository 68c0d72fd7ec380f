"""Weighted rows of columns of any number of values; a pair of columns is a block of one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import log
from typing import Self

import numpy as np
from numba import njit

from fspn.learn.pools.coded_evidence import choose_parents
from fspn.learn.pools.family import Family, Limits, Prices
from fspn.learn.pools.rows import START_STRENGTH, Rows, distinct, stacked

CERTAIN = 1e-6
SLACK = 1e-6
PRIOR_ROWS = 2.0
"""Rows with the column's own distribution that smooth what other rows say of a pair."""


class CodedRows(Rows):
    """Weighted rows of codes."""

    @classmethod
    def distinct(cls, cells: np.ndarray, sizes: np.ndarray) -> CodedRows:
        """The distinct rows of a table, in a fixed order, with their counts."""
        return cls(*distinct(cells), sizes)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where the values of each column begin, and the number of all values."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def pairs(self) -> np.ndarray:
        """The weight of the rows that have two values, for all pairs of values of all columns."""
        return _count_pairs(self.cells, self.weights, self.offsets)

    @property
    def singles(self) -> np.ndarray:
        """The weight of the rows that have a value."""
        return np.diag(self.pairs)

    @cached_property
    def means(self) -> np.ndarray:
        """The share of each value, one row spread over those of each column."""
        return (self.singles + 1 / np.repeat(self.sizes, self.sizes)) / (self.total + 1.0)

    def _of(self, v: int) -> slice:
        return slice(int(self.offsets[v]), int(self.offsets[v + 1]))

    def independent_logs(self, shares: np.ndarray) -> np.ndarray:
        """One pass over the cells to count, and one to score."""
        counts = np.zeros((len(self.means), shares.shape[1]))
        _count_shares(self.cells, shares, self.offsets, counts)
        sizes = shares.sum(axis=0)
        logs = np.log((counts + START_STRENGTH * self.means[:, None]) / (sizes + START_STRENGTH))
        out = np.tile(np.log(sizes + 1.0), (len(shares), 1))
        _add_logs(self.cells, logs, self.offsets, out)
        return out

    def bases(self, table: Self, strength: float) -> list[np.ndarray]:
        """The distribution of each column."""
        found = (self.singles + strength * table.means) / (self.total + strength)
        return [_certain(found[self._of(v)]) for v in range(self.n_columns)]

    def information(self, table: Self, strength: float) -> np.ndarray:
        """From the counts of all pairs, less what chance gives to more than two values."""
        n = self.total + strength
        pairs = self.pairs + strength / table.total * table.pairs if strength else self.pairs
        chance = np.outer(self.sizes - 1, self.sizes - 1) / 2 - 0.5
        found = np.maximum(_information(pairs, n, self.offsets) - chance, 0.0)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def ceilings(self, bases: Sequence[np.ndarray]) -> np.ndarray:
        """From the counts of all pairs."""
        logs = np.log(np.concatenate(list(bases)))
        found = (1 + SLACK) * _ceilings(self.pairs, logs, self.offsets) + SLACK
        np.fill_diagonal(found, -np.inf)
        return np.asarray(found)

    def without(self, part: Self, v: int) -> np.ndarray:
        r""":math:`\Pr(X_v \mid X_u = x)` for all values of all columns, of the rows not in a part.

        Smoothed by two rows with the column's own distribution.
        """
        both = np.maximum(self.pairs[:, self._of(v)] - part.pairs[:, self._of(v)], 0.0)
        prior = PRIOR_ROWS * self.means[self._of(v)]
        given = (both + prior) / (both.sum(axis=1, keepdims=True) + PRIOR_ROWS)
        return _certain(given)

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
        """The search that counts all values."""
        anchors = np.empty((0, len(base))) if table is self else table.without(self, v)
        best, _, anchored, parents, (strengths, even), found = choose_parents(
            self.columns, self.sizes, self.offsets, v, self.weights, *stacked(options), base,
            anchors, ceilings, np.array(limits.strengths), prices, limits.max_parents,
            limits.max_cells,
        )  # fmt: skip
        anchor = anchors[self._of(parents[0])] if anchored else None
        levels = (tuple(strengths.tolist()), tuple(even.tolist()))
        return Family(tuple(parents.tolist()), *levels, base, anchor, found), best


def _certain(found: np.ndarray) -> np.ndarray:
    """Distributions none of whose values is impossible."""
    found = np.maximum(found, CERTAIN)
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


@njit(cache=True, nogil=True)
def _count_pairs(cells: np.ndarray, weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    n, m = cells.shape
    found = np.zeros((offsets[m], offsets[m]))
    for row in range(n):
        w = weights[row]
        for i in range(m):
            x = offsets[i] + cells[row, i]
            for j in range(i + 1):
                found[x, offsets[j] + cells[row, j]] += w
    for x in range(len(found)):
        for y in range(x):
            found[y, x] = found[x, y]
    return found


@njit(cache=True, nogil=True)
def _count_shares(
    cells: np.ndarray, shares: np.ndarray, offsets: np.ndarray, counts: np.ndarray
) -> None:
    for row in range(len(cells)):
        for v in range(cells.shape[1]):
            counts[offsets[v] + cells[row, v]] += shares[row]


@njit(cache=True, nogil=True)
def _add_logs(cells: np.ndarray, logs: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for row in range(len(cells)):
        for v in range(cells.shape[1]):
            out[row] += logs[offsets[v] + cells[row, v]]


@njit(cache=True, nogil=True)
def _information(pairs: np.ndarray, n: float, offsets: np.ndarray) -> np.ndarray:
    """The mutual information of all pairs of columns, times n; a row of prior counts is added."""
    m = len(offsets) - 1
    found = np.zeros((m, m))
    for i in range(m):
        r = offsets[i + 1] - offsets[i]
        for j in range(i):
            c = offsets[j + 1] - offsets[j]
            total = 0.0
            for x in range(offsets[i], offsets[i + 1]):
                first = (pairs[x, x] + 1 / r) / (n + 1.0)
                for y in range(offsets[j], offsets[j + 1]):
                    second = (pairs[y, y] + 1 / c) / (n + 1.0)
                    both = (pairs[x, y] + 1 / (r * c)) / (n + 1.0)
                    total += both * log(both / (first * second))
            found[i, j] = found[j, i] = n * max(total, 0.0)
    return found


@njit(cache=True, nogil=True)
def _ceilings(pairs: np.ndarray, logs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The largest log-likelihood given each column, less that of fixed distributions."""
    m = len(offsets) - 1
    found = np.zeros((m, m))
    for v in range(m):
        base = 0.0
        for x in range(offsets[v], offsets[v + 1]):
            base += pairs[x, x] * logs[x]
        for u in range(m):
            total = 0.0
            for y in range(offsets[u], offsets[u + 1]):
                if pairs[y, y] > 0.0:
                    for x in range(offsets[v], offsets[v + 1]):
                        both = pairs[y, x]
                        if both > 0.0:
                            total += both * log(both / pairs[y, y])
            found[v, u] = total - base
    return found

r"""How well does a set of parents explain a child? A score that charges for observed cells only.

On strongly dependent data a joint table is sparse, and a score that charges for every cell of the
dense table (BIC with :math:`(d-1) \prod d_i` parameters) refuses the right structure. Here a row
of the table is a Dirichlet-multinomial around what fewer parents predict, so that a symbol is paid
for when it is first seen, and never-seen cells cost nothing:

.. math:: s(x \mid u) = s(x \mid u') + \sum_u \left[ \ln DM(n_u; \alpha B_{u'})
          - \sum_x n_{xu} \ln B_{u'}(x) \right] - \lambda

with :math:`u'` one parent fewer and :math:`B_{u'}` its smoothed rows. A parent that brings nothing
has a gain of about 0 and is refused by the price :math:`\lambda`.

A second family is scored beside the table: the child as an integer combination of its parents plus
noise of one law (:class:`fspn.leaves.ladder.OffsetRung`), paid for by BIC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numba import njit

from fspn.counts import joint_ranks

MAX_CELLS = 20_000_000
MAX_OFFSETS = 512


@dataclass(frozen=True)
class CodedTable:
    """The coded columns that a network is learned on.

    Arguments:
        codes: One array of codes per variable.
        sizes: The number of codes of each.
        values: The integers behind the codes, or None where they mean nothing.
    """

    codes: Sequence[np.ndarray]
    sizes: Sequence[int]
    values: Sequence[np.ndarray | None]

    @property
    def n_rows(self) -> int:
        return len(self.codes[0])

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: np.ndarray) -> CodedTable:
        return CodedTable([column[rows] for column in self.codes], self.sizes, self.values)


@njit(cache=True, nogil=True)
def _cell_counts(child: np.ndarray, ids: np.ndarray, n_ids: int, size: int) -> np.ndarray:
    counts = np.zeros((n_ids, size), dtype=np.int32)
    for row in range(len(child)):
        counts[ids[row], child[row]] += 1
    return counts


@njit(cache=True, nogil=True)
def _gain(counts: np.ndarray, below: np.ndarray, parent: np.ndarray, alpha: float) -> float:
    """The Dirichlet-multinomial gain of the rows over the rows below them."""
    gain = 0.0
    for row in range(counts.shape[0]):
        base = below[parent[row]]
        n = 0
        for x in range(counts.shape[1]):
            c = counts[row, x]
            if c == 0:
                continue
            n += c
            a = alpha * base[x]
            if c == 1:
                gain += log(alpha)
            else:
                gain += lgamma(c + a) - lgamma(a) - c * log(base[x])
        if n > 0:
            gain -= lgamma(n + alpha) - lgamma(alpha)
    return gain


@njit(cache=True, nogil=True)
def _smooth(counts: np.ndarray, below: np.ndarray, parent: np.ndarray, alpha: float) -> np.ndarray:
    rows = np.empty(counts.shape)
    for row in range(counts.shape[0]):
        total = alpha
        for x in range(counts.shape[1]):
            total += counts[row, x]
        for x in range(counts.shape[1]):
            rows[row, x] = (counts[row, x] + alpha * below[parent[row], x]) / total
    return rows


@njit(cache=True, nogil=True)
def _residual_counts(
    child: np.ndarray, parents: np.ndarray, coefficients: np.ndarray, limit: int
) -> tuple[np.ndarray, np.integer]:
    """Counts of child minus combination, and the smallest residual; empty where they spread."""
    n = len(child)
    residuals = np.empty(n, dtype=np.int64)
    low, high = np.int64(2**62), np.int64(-(2**62))
    for row in range(n):
        r = child[row]
        for j in range(parents.shape[0]):
            r -= coefficients[j] * parents[j, row]
        residuals[row] = r
        low, high = min(low, r), max(high, r)
    if high - low >= limit:
        return np.zeros(0, dtype=np.int64), low
    counts = np.zeros(high - low + 1, dtype=np.int64)
    for row in range(n):
        counts[residuals[row] - low] += 1
    return counts, low


class LocalScores:
    """Scores of parent sets, computed once each.

    Arguments:
        table: The rows.
        alpha: The strength of the Dirichlet rows.
        price: What a parent must bring, per parent.
    """

    def __init__(self, table: CodedTable, alpha: float = 2.0, price: float = 3.0):
        self.table = table
        self.alpha = alpha
        self.price = price
        self._cache: dict[tuple[int, tuple[int, ...]], float] = {}
        self._rows: dict[tuple[int, int], tuple[float, np.ndarray]] = {}
        self._ranks: dict[tuple[int, ...], tuple[np.ndarray, int]] = {}
        self._marginal = [self._marginal_row(v) for v in range(len(table))]
        self._numbers = [
            None if values is None else values[codes].astype(np.int64)
            for codes, values in zip(table.codes, table.values, strict=True)
        ]
        self._covariance = self._moments()

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The better of the table and the offset family."""
        key = (child, tuple(sorted(parents)))
        if key not in self._cache:
            value = max(self._table_score(child, key[1]), self.offset_score(child, key[1]))
            self._cache[key] = value - self.price * len(parents)
        return self._cache[key]

    def _marginal_row(self, v: int) -> np.ndarray:
        counts = np.bincount(self.table.codes[v], minlength=self.table.sizes[v])
        return ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)))[None, :]

    def _table_score(self, child: int, parents: tuple[int, ...]) -> float:
        if not parents:
            return float(self._marginal_score(child))
        if len(parents) == 1:
            return self._single(child, parents[0])[0]
        first = max(parents, key=lambda p: self._single(child, p)[0])
        rest = tuple(p for p in parents if p != first)
        score, below = self._single(child, first)
        ids, n_ids = self.ranks((first, *rest))
        if n_ids * self.table.sizes[child] > MAX_CELLS:
            return -np.inf
        counts = _cell_counts(self.table.codes[child], ids, n_ids, self.table.sizes[child])
        parent = np.empty(n_ids, dtype=np.int64)
        parent[ids] = self.table.codes[first]
        return score + float(_gain(counts, below, parent, self.alpha))

    def _marginal_score(self, child: int) -> float:
        counts = np.bincount(self.table.codes[child], minlength=self.table.sizes[child])
        return float(counts @ np.log(self._marginal[child][0]))

    def _single(self, child: int, parent: int) -> tuple[float, np.ndarray]:
        """The score of one parent, and the smoothed rows under it."""
        if (child, parent) not in self._rows:
            size, n_rows = self.table.sizes[child], self.table.sizes[parent]
            counts = _cell_counts(self.table.codes[child], self.table.codes[parent], n_rows, size)
            root = np.zeros(n_rows, dtype=np.int64)
            gain = _gain(counts, self._marginal[child], root, self.alpha)
            rows = _smooth(counts, self._marginal[child], root, self.alpha)
            self._rows[child, parent] = (self._marginal_score(child) + float(gain), rows)
        return self._rows[child, parent]

    def ranks(self, parents: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """The number of every row's configuration of the parents."""
        key = tuple(sorted(parents))
        if key not in self._ranks:
            if len(key) == 1:
                return self.table.codes[key[0]], self.table.sizes[key[0]]
            ids, n_ids = self.ranks(key[:-1])
            last = key[-1]
            self._ranks[key] = joint_ranks(
                ids, self.table.codes[last], n_ids, self.table.sizes[last]
            )
        return self._ranks[key]

    def _moments(self) -> np.ndarray:
        columns = [
            np.zeros(self.table.n_rows) if numbers is None else numbers.astype(np.float64)
            for numbers in self._numbers
        ]
        return np.atleast_2d(np.cov(np.array(columns), bias=True))

    def coefficients(self, child: int, parents: tuple[int, ...]) -> np.ndarray | None:
        """The whole-number coefficients of the child on its parents, where there are any."""
        if self._numbers[child] is None or any(self._numbers[p] is None for p in parents):
            return None
        inner = self._covariance[np.ix_(parents, parents)]
        try:
            slopes = np.linalg.solve(inner, self._covariance[list(parents), child])
        except np.linalg.LinAlgError:
            return None
        rounded = np.rint(slopes)
        if not np.isfinite(slopes).all() or np.abs(slopes - rounded).max() > 0.2:
            return None
        return rounded.astype(np.int64) if rounded.all() else None

    def residuals(
        self, child: int, parents: tuple[int, ...], coefficients: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """The counts of the residuals, and the smallest one."""
        stacked = np.array([self._numbers[p] for p in parents])
        counts, lowest = _residual_counts(self._numbers[child], stacked, coefficients, MAX_OFFSETS)
        return counts, int(lowest)

    def offset_score(self, child: int, parents: tuple[int, ...]) -> float:
        """BIC of the offset family; minus infinity where it does not apply."""
        coefficients = self.coefficients(child, parents) if parents else None
        if coefficients is None:
            return -np.inf
        counts, _ = self.residuals(child, parents, coefficients)
        filled = counts[counts > 0]
        if len(filled) == 0:
            return -np.inf
        n = filled.sum()
        paid = 0.5 * np.log(n) * (len(filled) + len(parents))
        return float(filled @ np.log(filled / n) - paid)

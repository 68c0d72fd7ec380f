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

from fspn.counts import CellCounter, Filled, code_counts, contingency, joint_ranks

MAX_PAIR_CELLS = 4_000_000
MAX_KEPT_CELLS = 64_000_000
MAX_OFFSETS = 512
BLOCK_CELLS = 1_000_000
SMALL = 8


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

    def covariance(self, counts: Sequence[np.ndarray]) -> np.ndarray:
        """The covariances of the integers behind the codes, by blocks of rows; 0 without them.

        Arguments:
            counts: The rows of every code of every variable.
        """
        centred = []
        for size, values, held in zip(self.sizes, self.values, counts, strict=True):
            numbers = np.zeros(size) if values is None else values.astype(np.float64)
            centred.append(numbers - held @ numbers / self.n_rows)
        step = max(BLOCK_CELLS // len(self), 1024)
        total = np.zeros((len(self), len(self)))
        for start in range(0, self.n_rows, step):
            rows = slice(start, start + step)
            block = np.array([c[codes[rows]] for c, codes in zip(centred, self.codes, strict=True)])
            total += block @ block.T
        return total / self.n_rows


@njit(cache=True, nogil=True)
def _gain(
    rows: np.ndarray, counts: np.ndarray, base: np.ndarray, totals: np.ndarray, alpha: float
) -> float:
    """The Dirichlet-multinomial gain of rows over the rows below them.

    Arguments:
        rows: The row of every filled cell.
        counts: Its count.
        base: The probability that the row below gives it.
        totals: Room for the total of every row; zero before and after.
        alpha: The strength of the rows.
    """
    gain, product = 0.0, 1.0
    for i in range(len(counts)):
        c = counts[i]
        totals[rows[i]] += c
        if c == 1:
            gain += log(alpha)
        elif c <= SMALL:
            for k in range(c):
                product *= (alpha * base[i] + k) / base[i]
            if product > 1e150 or product < 1e-150:
                gain += log(product)
                product = 1.0
        else:
            a = alpha * base[i]
            gain += lgamma(c + a) - lgamma(a) - c * log(base[i])
    gain += log(product)
    nothing = lgamma(alpha)
    for i in range(len(counts)):
        n = totals[rows[i]]
        if n > 0:
            gain -= lgamma(n + alpha) - nothing
            totals[rows[i]] = 0
    return gain


@njit(cache=True, nogil=True)
def _single_parent_rows(
    rows: np.ndarray,
    codes: np.ndarray,
    table: np.ndarray,
    totals: np.ndarray,
    marginal: np.ndarray,
    alpha: float,
) -> np.ndarray:
    r""":math:`B(x \mid u) = (n_{xu} + \alpha B(x)) / (n_u + \alpha)` at some cells (u, x)."""
    base = np.empty(len(rows))
    for i in range(len(rows)):
        u, x = rows[i] % table.shape[0], codes[i]
        base[i] = (table[u, x] + alpha * marginal[x]) / (totals[u] + alpha)
    return base


@njit(cache=True, nogil=True)
def _residual_counts(
    residuals: np.ndarray, counts: np.ndarray, limit: int
) -> tuple[np.ndarray, np.integer]:
    """Counts of the residuals, and the smallest one; empty where they spread."""
    low, high = residuals.min(), residuals.max()
    if high - low >= limit:
        return np.zeros(0, dtype=np.int64), low
    found = np.zeros(high - low + 1, dtype=np.int64)
    for i in range(len(counts)):
        found[residuals[i] - low] += counts[i]
    return found, low


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
        self._singles: dict[tuple[int, int], float] = {}
        self._pairs: dict[tuple[int, int], np.ndarray] = {}
        self._kept_cells = 0
        self._counter = CellCounter()
        self._room = np.zeros(0, dtype=np.int64)
        self._counts = [
            code_counts(codes, size) for codes, size in zip(table.codes, table.sizes, strict=True)
        ]
        self._marginal = [(c + 0.5) / (c.sum() + 0.5 * len(c)) for c in self._counts]
        self._marginal_scores = [
            float(c @ np.log(p)) for c, p in zip(self._counts, self._marginal, strict=True)
        ]
        self._covariance = table.covariance(self._counts)

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The better of the table and the offset family."""
        key = (child, tuple(sorted(parents)))
        if key not in self._cache:
            self._cache[key] = self._score(child, key[1]) - self.price * len(parents)
        return self._cache[key]

    def _score(self, child: int, parents: tuple[int, ...]) -> float:
        if not parents:
            return self._marginal_scores[child]
        first = max(parents, key=lambda p: self._single(child, p))
        if len(parents) == 1 and self.coefficients(child, parents) is None:
            return self._single(child, first)
        ordered = (*(p for p in parents if p != first), first)
        cells = self._cells(child, ordered)
        score = self._single(child, first)
        if len(parents) > 1:
            score += self._table_gain(cells, child, first)
        return max(score, self._offset_score(cells, child, ordered))

    def _single(self, child: int, parent: int) -> float:
        """The score of the table of one parent."""
        if (child, parent) not in self._singles:
            cells = self._cells(child, (parent,))
            gain = self._gain(cells, self._marginal[child][cells.codes])
            self._singles[child, parent] = self._marginal_scores[child] + gain
        return self._singles[child, parent]

    def _table_gain(self, cells: _Cells, child: int, first: int) -> float:
        """What further parents gain over the rows of the first, which is the cells' last one."""
        table = self._pair(first, child)
        if table is not None:
            base = _single_parent_rows(
                cells.rows, cells.codes, table, self._counts[first], self._marginal[child],
                self.alpha,
            )  # fmt: skip
        else:
            base = self._sparse_rows(cells, child, first)
        return self._gain(cells, base)

    def _gain(self, cells: _Cells, base: np.ndarray) -> float:
        rows, n_rows = cells.rows, cells.n_rows
        if n_rows > MAX_PAIR_CELLS:
            found, rows = np.unique(rows, return_inverse=True)
            n_rows = len(found)
        if n_rows > len(self._room):
            self._room = np.zeros(n_rows, dtype=np.int64)
        return float(_gain(rows, cells.counts, base, self._room, self.alpha))

    def _pair(self, row: int, column: int) -> np.ndarray | None:
        """The table of two variables; None where it is too large to be dense."""
        low, high = min(row, column), max(row, column)
        if (low, high) not in self._pairs:
            sizes = self.table.sizes[low], self.table.sizes[high]
            if sizes[0] * sizes[1] > MAX_PAIR_CELLS:
                return None
            table = contingency(self.table.codes[low], self.table.codes[high], *sizes)
            if self._kept_cells + table.size > MAX_KEPT_CELLS:
                return table if row < column else table.T
            self._kept_cells += table.size
            self._pairs[low, high] = table
        table = self._pairs[low, high]
        return table if row < column else table.T

    def _sparse_rows(self, cells: _Cells, child: int, first: int) -> np.ndarray:
        """The same as the kernel of dense tables, looked up by key."""
        size, n_first = self.table.sizes[child], self.table.sizes[first]
        below = self._count((first, child)).ordered()
        at = cells.rows % n_first
        found = below.counts[np.searchsorted(below.keys, at * size + cells.codes)]
        weight = self._counts[first][at] + self.alpha
        return np.asarray((found + self.alpha * self._marginal[child][cells.codes]) / weight)

    def _cells(self, child: int, parents: tuple[int, ...]) -> _Cells:
        """The filled cells of a child under its parents; a row's last digit is the last parent."""
        size, n_rows = self.table.sizes[child], self.table.sizes[parents[-1]]
        table = self._pair(parents[0], child) if len(parents) == 1 else None
        if table is not None:
            rows, codes = np.nonzero(table)
            return _Cells(rows, codes, table[rows, codes].astype(np.int64), n_rows, None)
        if len(parents) <= 2:
            filled, ranks = self._count((*parents, child)), None
            n_rows *= self.table.sizes[parents[0]] if len(parents) == 2 else 1
        else:
            ranks, n_ranks = self._ranks(parents[:-1])
            columns = [ranks, self.table.codes[parents[-1]], self.table.codes[child]]
            filled = self._counter.count(columns, [n_ranks, n_rows, size])
            n_rows *= n_ranks
        rows, codes = np.divmod(filled.keys, size)
        return _Cells(rows, codes, filled.counts, n_rows, ranks)

    def _count(self, variables: tuple[int, ...]) -> Filled:
        return self._counter.count(
            [self.table.codes[v] for v in variables], [self.table.sizes[v] for v in variables]
        )

    def _ranks(self, parents: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """The number of every row's configuration of the parents."""
        ids, n_ids = self.table.codes[parents[0]], self.table.sizes[parents[0]]
        for parent in parents[1:]:
            size = self.table.sizes[parent]
            ids, n_ids = joint_ranks(ids, self.table.codes[parent], n_ids, size)
        return ids, n_ids

    def coefficients(self, child: int, parents: tuple[int, ...]) -> np.ndarray | None:
        """The whole-number coefficients of the child on its parents, where there are any."""
        if any(self.table.values[v] is None for v in (child, *parents)):
            return None
        slopes = self._slopes(child, parents)
        if slopes is None:
            return None
        rounded = [round(slope) for slope in slopes]
        near = all(abs(s - r) <= 0.2 for s, r in zip(slopes, rounded, strict=True))
        return np.array(rounded, dtype=np.int64) if near and all(rounded) else None

    def _slopes(self, child: int, parents: tuple[int, ...]) -> list[float] | None:
        """Least squares; one and two parents written out, as this is asked for every pair."""
        cov = self._covariance
        p, q = parents[0], parents[-1]
        a, b, c = float(cov[p, p]), float(cov[p, q]), float(cov[q, q])
        x, y = float(cov[p, child]), float(cov[q, child])
        if len(parents) == 1:
            return [x / a] if a > 0 else None
        if len(parents) == 2:
            det = a * c - b * b
            return [(c * x - b * y) / det, (a * y - b * x) / det] if det > 1e-12 * a * c else None
        try:
            found = np.linalg.solve(cov[np.ix_(parents, parents)], cov[list(parents), child])
        except np.linalg.LinAlgError:
            return None
        return [float(slope) for slope in found] if np.isfinite(found).all() else None

    def residuals(
        self, child: int, parents: tuple[int, ...], coefficients: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """The counts of the residuals, and the smallest one."""
        return self._residuals(self._cells(child, parents), child, parents, coefficients)

    def _residuals(
        self, cells: _Cells, child: int, parents: tuple[int, ...], coefficients: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Arguments as in :meth:`residuals`; ``parents`` in the order of the cells."""
        numbers = self._numbers(child)[cells.codes]
        *others, last = parents
        before, at = np.divmod(cells.rows, self.table.sizes[last])
        numbers = numbers - coefficients[-1] * self._numbers(last)[at]
        if cells.ranks is not None:
            combined = np.empty(int(cells.ranks.max()) + 1, dtype=np.int64)
            combined[cells.ranks] = sum(
                c * self._numbers(p)[self.table.codes[p]]
                for c, p in zip(coefficients, others, strict=False)
            )
            numbers -= combined[before]
        elif others:
            numbers -= coefficients[0] * self._numbers(others[0])[before]
        counts, lowest = _residual_counts(numbers, cells.counts, MAX_OFFSETS)
        return counts, int(lowest)

    def _numbers(self, variable: int) -> np.ndarray:
        return np.asarray(self.table.values[variable], dtype=np.int64)

    def _offset_score(self, cells: _Cells, child: int, parents: tuple[int, ...]) -> float:
        """BIC of the offset family; minus infinity where it does not apply."""
        coefficients = self.coefficients(child, parents)
        if coefficients is None:
            return -np.inf
        counts, _ = self._residuals(cells, child, parents, coefficients)
        filled = counts[counts > 0]
        if len(filled) == 0:
            return -np.inf
        n = filled.sum()
        paid = 0.5 * np.log(n) * (len(filled) + len(parents))
        return float(filled @ np.log(filled / n) - paid)


@dataclass(frozen=True)
class _Cells:
    """The filled cells of a child's table.

    Arguments:
        rows: The row of each: the last parent's code its last digit, before it the code of the
            parent before, or the rank of all parents before.
        codes: The child's code.
        counts: The rows of data in it.
        n_rows: The number of rows of the table, filled or not.
        ranks: The rank of the parents before the last, per row of data, where they are ranked.
    """

    rows: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    n_rows: int
    ranks: np.ndarray | None

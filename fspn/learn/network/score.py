r"""How well a set of parents explains a child: a score that charges for observed cells only.

On strongly dependent data a joint table is sparse, and a score that charges for every cell of the
dense table (BIC with :math:`(d-1) \prod d_i` parameters) refuses the right structure. Here a row of
the table is a Dirichlet-multinomial around what fewer parents predict, so that a value costs
something when it is first seen, and cells never seen cost nothing:

.. math:: s(x \mid u) = s(x \mid u') + \sum_u \left[ \ln DM(n_u; \alpha B_{u'})
          - \sum_x n_{xu} \ln B_{u'}(x) \right] - \lambda

with :math:`u'` one parent fewer and :math:`B_{u'}` its smoothed rows. A parent that brings nothing
has a gain of about 0 and is refused by the price :math:`\lambda`.

A second family is scored beside the table, the integer-linear law
(:class:`fspn.model.cpt.backoff.LinearLaw`), penalised by BIC. A third one, the graded law of
ordered children, costs more to fit and is scored on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, prod

import numpy as np
from numba import njit

from fspn.learn.network.cell_counts import MAX_PAIR_CELLS, CodedTable, ParentCells, TableCounts
from fspn.learn.network.graded import dense_counts, fit_graded, may_be_graded
from fspn.learn.network.laws import Laws

SMALL = 8
MANY_VALUES, MAX_TABLE = 256, 1 << 21
"""A table of two and more parents, one of the columns with more values, has so many cells at most:
none larger is written out."""


@dataclass(frozen=True)
class TableGain:
    """What a conditional table gained, by leave-one-out likelihood on all its rows.

    Arguments:
        families: The kinds of its levels other than counts: laws and trees.
        over_independence: Nats over the variable's own distribution.
        over_counts: Nats over a back-off table of counts with the same parents.
    """

    families: tuple[str, ...]
    over_independence: float
    over_counts: float


class LocalScores:
    """Scores of parent sets, computed once each; ``gained`` is what fitted tables gained.

    Arguments:
        table: The rows.
        alpha: The strength of the Dirichlet rows.
        price: What every parent must gain.
    """

    def __init__(self, table: CodedTable, alpha: float = 2.0, price: float = 3.0):
        self.table = table
        self.alpha = alpha
        self.price = price
        self._cache: dict[tuple[int, tuple[int, ...]], float] = {}
        self._singles: dict[tuple[int, int], float] = {}
        self._binary_singles: dict[int, list[float]] = {}
        self._room = np.zeros(0, dtype=np.int64)
        self._graded: dict[tuple[int, tuple[int, ...]], float] = {}
        self.with_graded = False
        self.gained: dict[int, TableGain] = {}
        self.counts = TableCounts(table)
        self.laws = Laws(self.counts)
        self._marginal = [(c + 0.5) / (c.sum() + 0.5 * len(c)) for c in self.counts.single]
        self._marginal_scores = [
            float(c @ np.log(p)) for c, p in zip(self.counts.single, self._marginal, strict=True)
        ]

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The best of the table, the integer-linear law, and the graded law if it is in use."""
        key = (child, tuple(sorted(parents)))
        if key not in self._cache:
            self._cache[key] = self._score(child, key[1]) - self.price * len(parents)
        score = self._cache[key]
        return max(score, self.graded_score(*key)) if self.with_graded else score

    def graded_score(self, child: int, parents: tuple[int, ...]) -> float:
        """The evidence of the graded law less the price; minus infinity where there is none."""
        key = (child, tuple(sorted(parents)))
        if key not in self._graded:
            fit = None
            if may_be_graded(self.table, *key):
                sizes = tuple(self.table.sizes[p] for p in key[1])
                fit = fit_graded(dense_counts(self.table, *key), sizes)
            paid = self.price * len(parents)
            self._graded[key] = -np.inf if fit is None else fit.evidence - paid
        return self._graded[key]

    def graded_pays(self, parents: Sequence[tuple[int, ...]]) -> bool:
        """Whether any variable of a network has more evidence under the graded law.

        Variables that may follow an integer-linear law are left out.
        """
        return any(
            may_be_graded(self.table, child, own)
            and self.laws.coefficients(child, own) is None
            and self.graded_score(child, own) > self.score(child, own)
            for child, own in enumerate(parents)
        )

    def _score(self, child: int, parents: tuple[int, ...]) -> float:
        if not parents:
            return self._marginal_scores[child]
        if self._is_too_large(child, parents):
            return -np.inf
        if len(parents) == 1 and self.laws.coefficients(child, parents) is None:
            return self._single(child, parents[0])
        first = max(parents, key=lambda p: self._single(child, p))
        ordered = (*(p for p in parents if p != first), first)
        cells = self.counts.cells(child, ordered)
        score = self._single(child, first)
        if len(parents) > 1:
            score += self._table_gain(cells, child, first)
        return max(score, self.laws.score(cells, child, ordered))

    def _is_too_large(self, child: int, parents: tuple[int, ...]) -> bool:
        """Whether columns of many values make a table that no bound on the width lets pass."""
        sizes = [self.table.sizes[v] for v in (child, *parents)]
        return len(parents) > 1 and max(sizes) > MANY_VALUES and prod(sizes) > MAX_TABLE

    def _single(self, child: int, parent: int) -> float:
        """The score of the table of one parent."""
        if self.counts.ones_together is not None:
            return self._binary_row(child, self.counts.ones_together)[parent]
        if (child, parent) not in self._singles:
            cells = self.counts.cells(child, (parent,))
            gain = self._gain(cells, self._marginal[child][cells.codes])
            self._singles[child, parent] = self._marginal_scores[child] + gain
        return self._singles[child, parent]

    def _binary_row(self, child: int, ones_together: np.ndarray) -> list[float]:
        """The scores of all parents at once, where all variables have two values."""
        if child not in self._binary_singles:
            gains = _binary_gains(
                child, ones_together, self.table.n_rows, self._marginal[child], self.alpha
            )
            self._binary_singles[child] = (self._marginal_scores[child] + gains).tolist()
        return self._binary_singles[child]

    def _table_gain(self, cells: ParentCells, child: int, first: int) -> float:
        """What further parents gain over the rows of the first, which is the cells' last one."""
        table = self.counts.pair(first, child)
        if table is not None:
            base = _single_parent_rows(
                cells.rows, cells.codes, table, self.counts.single[first], self._marginal[child],
                self.alpha,
            )  # fmt: skip
        else:
            base = self._sparse_rows(cells, child, first)
        return self._gain(cells, base)

    def _gain(self, cells: ParentCells, base: np.ndarray) -> float:
        rows, n_rows = cells.rows, cells.n_rows
        if n_rows > MAX_PAIR_CELLS:
            found, rows = np.unique(rows, return_inverse=True)
            n_rows = len(found)
        if n_rows > len(self._room):
            self._room = np.zeros(n_rows, dtype=np.int64)
        return float(_gain(rows, cells.counts, base, self._room, self.alpha))

    def _sparse_rows(self, cells: ParentCells, child: int, first: int) -> np.ndarray:
        """What the kernel of dense tables computes, looked up by key."""
        size, n_first = self.table.sizes[child], self.table.sizes[first]
        below = self.counts.count((first, child)).ordered()
        at = cells.rows % n_first
        found = below.counts[np.searchsorted(below.keys, at * size + cells.codes)]
        weight = self.counts.single[first][at] + self.alpha
        return np.asarray((found + self.alpha * self._marginal[child][cells.codes]) / weight)


@njit(cache=True, nogil=True)
def _gain(
    rows: np.ndarray, counts: np.ndarray, base: np.ndarray, totals: np.ndarray, alpha: float
) -> float:
    """The Dirichlet-multinomial gain of rows over the rows below them.

    Arguments:
        rows: The row of every filled cell.
        counts: Its count.
        base: The probability that the row below gives it.
        totals: Scratch space for the total of every row; zero before and after.
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
def _binary_gains(
    child: int, ones_together: np.ndarray, n: int, marginal: np.ndarray, alpha: float
) -> np.ndarray:
    """The gain of every variable as the child's only parent, all of them of two values.

    Arguments:
        child: The child.
        ones_together: In how many rows two variables are both 1.
        n: The number of rows.
        marginal: The child's own probabilities.
        alpha: The strength of the rows.
    """
    gains = np.empty(len(ones_together))
    rows, counts = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    base, totals = np.empty(4), np.zeros(2, dtype=np.int64)
    table = np.empty((2, 2), dtype=np.int64)
    for parent in range(len(gains)):
        both = ones_together[child, parent]
        table[1, 1] = both
        table[1, 0] = ones_together[parent, parent] - both
        table[0, 1] = ones_together[child, child] - both
        table[0, 0] = n - table[1, 1] - table[1, 0] - table[0, 1]
        filled = 0
        for u in range(2):
            for x in range(2):
                if table[u, x] > 0:
                    rows[filled], counts[filled], base[filled] = u, table[u, x], marginal[x]
                    filled += 1
        gains[parent] = _gain(rows[:filled], counts[:filled], base[:filled], totals, alpha)
    return gains


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

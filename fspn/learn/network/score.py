r"""How well a set of parents explains a child: a score that charges for observed cells only.

On strongly dependent data a joint table is sparse, and a score that charges for every cell of the
dense table (BIC with :math:`(d-1) \prod d_i` parameters) refuses the right structure. Here a row of
the table is a Dirichlet-multinomial around what fewer parents predict, so that a value costs
something when it is first seen, and cells never seen cost nothing:

.. math:: s(x \mid u) = s(x \mid u') + \max_\alpha \sum_u \left[ \ln DM(n_u; \alpha B_{u'})
          - \sum_x n_{xu} \ln B_{u'}(x) \right] - \lambda

with :math:`u'` one parent fewer, the weakest one left out, and :math:`B_{u'}` its smoothed rows. It
is the evidence of the back-off table that will be fitted, or, where that is more, of one without
levels between the first parent and all of them. A parent that brings nothing has a gain of about 0
and is refused by the price :math:`\lambda`.

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
STRENGTHS = (2.0, 8.0, 32.0, 128.0)
"""The strengths that a level of a table may have."""
LEAST_STRENGTH = 0.5
"""One more where all columns have two values: rows without exception cost too much otherwise."""
MAX_LEVEL_CELLS = 16_000_000
"""Levels of more cells than that are passed over."""
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
        strengths: The strengths of the Dirichlet rows to choose from, growing; None = its own.
        price: What every parent must gain.
    """

    def __init__(
        self,
        table: CodedTable,
        strengths: Sequence[float] | None = None,
        price: float = 3.0,
    ):
        self.table = table
        own = (LEAST_STRENGTH, *STRENGTHS) if max(table.sizes) <= 2 else STRENGTHS
        self.strengths = np.array(own if strengths is None else strengths, dtype=np.float64)
        self.price = price
        self._cache: dict[tuple[int, tuple[int, ...]], float] = {}
        self._singles: dict[tuple[int, int], _Level] = {}
        self._binary_singles: dict[int, list[_Level]] = {}
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
            return self._single(child, parents[0]).score
        first, *others = sorted(parents, key=lambda p: -self._single(child, p).score)
        ordered = (*others, first)
        cells = self.counts.cells(child, ordered)
        score = self._single(child, first).score
        if others:
            score += self._further_levels(cells, child, first, others)
        return max(score, self.laws.score(cells, child, ordered))

    def _is_too_large(self, child: int, parents: tuple[int, ...]) -> bool:
        """Whether columns of many values make a table that no bound on the width lets pass."""
        sizes = [self.table.sizes[v] for v in (child, *parents)]
        return len(parents) > 1 and max(sizes) > MANY_VALUES and prod(sizes) > MAX_TABLE

    def _single(self, child: int, parent: int) -> _Level:
        """The table of one parent."""
        if self.counts.ones_together is not None:
            return self._binary_row(child, self.counts.ones_together)[parent]
        if (child, parent) not in self._singles:
            cells = self.counts.cells(child, (parent,))
            base = self._marginal[child][cells.codes]
            gain, strength = self._gain(cells.rows, cells.n_rows, cells.counts, base)
            self._singles[child, parent] = _Level(self._marginal_scores[child] + gain, strength)
        return self._singles[child, parent]

    def _binary_row(self, child: int, ones_together: np.ndarray) -> list[_Level]:
        """The tables of all single parents at once, where all variables have two values."""
        if child not in self._binary_singles:
            gains = _binary_gains(
                child, ones_together, self.table.n_rows, self._marginal[child], self.strengths
            )
            own = self._marginal_scores[child]
            self._binary_singles[child] = [_Level(own + g, a) for g, a in gains.T.tolist()]
        return self._binary_singles[child]

    def _further_levels(
        self, cells: ParentCells, child: int, first: int, others: Sequence[int]
    ) -> float:
        """What further parents gain over the rows of the first, which is the cells' last one.

        The levels between one parent and all count only where they bring something.
        """
        base = self._first_level(cells, child, first)
        at_once = self._gain(cells.rows, cells.n_rows, cells.counts, base)[0]
        if len(others) == 1:
            return at_once
        before, key = np.divmod(cells.rows, self.table.sizes[first])
        size, n_keys, total = self.table.sizes[child], self.table.sizes[first], 0.0
        for parent in others[:-1]:
            n_keys *= self.table.sizes[parent]
            if n_keys * size > MAX_LEVEL_CELLS:
                break
            key = key * self.table.sizes[parent] + self._codes_of(cells, parent)[before]
            room = self._room_for(n_keys * size)
            place, rows, counts, below = _merged(key, cells.codes, size, cells.counts, base, room)
            gain, strength = self._gain(rows, n_keys, counts, below)
            total += gain
            totals = _totals(rows, counts, self._room_for(n_keys))
            base = ((counts + strength * below) / (totals + strength))[place]
        by_levels = total + self._gain(cells.rows, cells.n_rows, cells.counts, base)[0]
        return max(at_once, by_levels)

    def _codes_of(self, cells: ParentCells, parent: int) -> np.ndarray:
        """The code of one of several further parents for every rank of them."""
        assert cells.examples is not None
        return np.asarray(self.table.codes[parent][cells.examples], dtype=np.int64)

    def _first_level(self, cells: ParentCells, child: int, first: int) -> np.ndarray:
        """The smoothed rows of the first parent at some cells."""
        strength = self._single(child, first).strength
        table = self.counts.pair(first, child)
        if table is None:
            return self._sparse_rows(cells, child, first, strength)
        return _single_parent_rows(
            cells.rows, cells.codes, table, self.counts.single[first], self._marginal[child],
            strength,
        )  # fmt: skip

    def _gain(
        self, rows: np.ndarray, n_rows: int, counts: np.ndarray, base: np.ndarray
    ) -> tuple[float, float]:
        """The gain of a level over the one below it, and the strength of most gain."""
        if n_rows > MAX_PAIR_CELLS:
            found, rows = np.unique(rows, return_inverse=True)
            n_rows = len(found)
        return _best_gain(rows, counts, base, self._room_for(n_rows), self.strengths)

    def _room_for(self, n: int) -> np.ndarray:
        """Zeros, at least so many; whoever writes into them clears them."""
        if n > len(self._room):
            self._room = np.zeros(n, dtype=np.int64)
        return self._room

    def _sparse_rows(
        self, cells: ParentCells, child: int, first: int, strength: float
    ) -> np.ndarray:
        """What the kernel of dense tables computes, looked up by key."""
        size, n_first = self.table.sizes[child], self.table.sizes[first]
        below = self.counts.count((first, child)).ordered()
        at = cells.rows % n_first
        found = below.counts[np.searchsorted(below.keys, at * size + cells.codes)]
        weight = self.counts.single[first][at] + strength
        return np.asarray((found + strength * self._marginal[child][cells.codes]) / weight)


@dataclass(frozen=True)
class _Level:
    """The score of a table of one parent, and the strength of its rows."""

    score: float
    strength: float


@njit(cache=True, nogil=True)
def _best_gain(
    rows: np.ndarray,
    counts: np.ndarray,
    base: np.ndarray,
    totals: np.ndarray,
    strengths: np.ndarray,
) -> tuple[float, float]:
    """The Dirichlet-multinomial gain of rows over the rows below them, and its strength.

    The gain has one maximum over the strength as a rule, so the first that does not gain ends it.

    Arguments:
        rows: The row of every filled cell.
        counts: Its count.
        base: The probability that the row below gives it.
        totals: Scratch space for the total of every row; zero before and after.
        strengths: The strengths to choose from, growing.
    """
    for i in range(len(counts)):
        totals[rows[i]] += counts[i]
    sums, n = np.empty(len(counts), dtype=np.int64), 0
    for i in range(len(counts)):
        if totals[rows[i]] > 0:
            sums[n] = totals[rows[i]]
            totals[rows[i]] = 0
            n += 1
    best, chosen = _gain(counts, base, sums[:n], strengths[0]), strengths[0]
    for strength in strengths[1:]:
        gain = _gain(counts, base, sums[:n], strength)
        if gain <= best:
            break
        best, chosen = gain, strength
    return best, chosen


@njit(cache=True, nogil=True)
def _gain(counts: np.ndarray, base: np.ndarray, sums: np.ndarray, alpha: float) -> float:
    """The gain at one strength; ``sums`` are the totals of the rows."""
    gain, product = 0.0, 1.0
    for i in range(len(counts)):
        c = counts[i]
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
    for n in sums:
        gain -= lgamma(n + alpha) - nothing
    return gain


@njit(cache=True, nogil=True)
def _merged(
    keys: np.ndarray,
    codes: np.ndarray,
    size: int,
    counts: np.ndarray,
    base: np.ndarray,
    room: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The cells of a level of fewer parents.

    Returns where each cell went, and the row, count and probability from below of every new one.

    Arguments:
        keys: The row of every cell at the new level.
        codes: The child's code.
        size: How many codes it has.
        counts: The rows of data in a cell.
        base: What lies below the new level.
        room: Zeros, and zeros again afterwards.
    """
    place, n = np.empty(len(keys), dtype=np.int64), 0
    rows, merged = np.empty(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
    below = np.empty(len(keys))
    for i in range(len(keys)):
        cell = keys[i] * size + codes[i]
        if room[cell] == 0:
            rows[n], below[n] = keys[i], base[i]
            n += 1
            room[cell] = n
        place[i] = room[cell] - 1
        merged[place[i]] += counts[i]
    for i in range(len(keys)):
        room[keys[i] * size + codes[i]] = 0
    return place, rows[:n], merged[:n], below[:n]


@njit(cache=True, nogil=True)
def _totals(rows: np.ndarray, counts: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The total of every cell's row."""
    for i in range(len(rows)):
        room[rows[i]] += counts[i]
    found = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        found[i] = room[rows[i]]
    for i in range(len(rows)):
        room[rows[i]] = 0
    return found


@njit(cache=True, nogil=True)
def _binary_gains(
    child: int, ones_together: np.ndarray, n: int, marginal: np.ndarray, strengths: np.ndarray
) -> np.ndarray:
    """Gain and strength of every variable as the child's only parent, all of two values.

    Arguments:
        child: The child.
        ones_together: In how many rows two variables are both 1.
        n: The number of rows.
        marginal: The child's own probabilities.
        strengths: The strengths of the rows to choose from.
    """
    gains = np.empty((2, len(ones_together)))
    rows, counts = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    base, totals = np.empty(4), np.zeros(2, dtype=np.int64)
    table = np.empty((2, 2), dtype=np.int64)
    for parent in range(len(ones_together)):
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
        gains[0, parent], gains[1, parent] = _best_gain(
            rows[:filled], counts[:filled], base[:filled], totals, strengths
        )
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

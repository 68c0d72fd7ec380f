r"""The ``corrected`` oracle: a dependence measure that accounts for its sample size.

The maximal (HGR) correlation with its upward bias on small samples removed, and 0 where a G-test
does not find the dependence significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numba import njit
from scipy.special import chdtrc
from scipy.stats import chi2

from fspn.jit import patient
from fspn.learn.dependence.base import Bits, Column, pairwise, phi_matrix
from fspn.learn.network.counting import code_counts

MIN_POOLED_ROWS = 10


@dataclass(frozen=True)
class Corrected:
    r"""The maximal correlation without its small-sample bias, if a G-test is significant.

    On n rows of independent variables with r and c values the squared HGR correlation is about
    :math:`b = (\sqrt{r-1} + \sqrt{c-1})^2 / n`, the edge of the spectrum of noise. The measure is
    :math:`\sqrt{(\rho^2 - b)^+ / (1 - b)}`. Rare values are pooled first, so that both the test and
    the bias hold on small slices.

    Arguments:
        level: The significance level of the test, before it is divided by the number of pairs.
        bins: Into how many values of about equal frequency reals are cut.
    """

    level: float = 0.01
    bins: int = 16

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        left = [pooling(column, self.bins) for column in first]
        right = left if second is first else [pooling(column, self.bins) for column in second]
        level = self.level / max(len(first) * len(second), 1)
        binary_left, binary_right = (np.array([p.size <= 2 for p in s]) for s in (left, right))
        known = np.zeros((len(left), len(right)))
        known[np.ix_(binary_left, binary_right)] = _binary_matrix(
            [p for p in left if p.size <= 2],
            None if second is first else [p for p in right if p.size <= 2],
            level,
        )
        return pairwise(
            known.shape,
            lambda pairs: np.array([_corrected(left[i], right[j], level) for i, j in pairs]),
            np.outer(binary_left, binary_right),
            known,
            second is first,
        )


@dataclass(frozen=True)
class Pooling:
    """A view of a column with its rare values merged.

    Arguments:
        values: The codes of the rows.
        groups: The group of every code.
        size: The number of groups.
    """

    values: np.ndarray
    groups: np.ndarray
    size: int

    def bits(self, block: slice) -> np.ndarray:
        """The groups of a block of rows."""
        return self.groups[self.values[block]]


def pool(column: Column, bins: int) -> Column:
    """The column with reals cut into bins and rare values merged with their neighbours."""
    pooled = pooling(column, bins)
    return Column(pooled.groups[pooled.values], pooled.size, column.ordered)


def pooling(column: Column, bins: int) -> Pooling:
    """How rare values are merged with their neighbours; reals are cut into bins first.

    At most sqrt(n / 5) values are left: with more, the table of two columns has more cells than
    there are rows to fill them, and no test could find any dependence.
    """
    if column.size == 0:
        cuts = np.unique(np.quantile(column.values, np.linspace(0, 1, bins + 1)[1:-1]))
        codes = np.searchsorted(cuts, column.values, side="left")
        return pooling(Column(codes.astype(np.int32), len(cuts) + 1), bins)
    counts = code_counts(column.values, column.size)
    n = len(column.values)
    least, most = min(MIN_POOLED_ROWS, max(n // 4, 1)), max(int(np.sqrt(n / 5)), 2)
    if column.size > most:
        least = max(least, -(-n // most))
    elif counts.min() >= least:
        return Pooling(column.values, np.arange(column.size, dtype=np.int32), column.size)
    order = np.arange(column.size) if column.ordered else np.argsort(-counts, kind="stable")
    groups = np.empty(column.size, dtype=np.int32)
    groups[order] = _group(counts[order], least)
    return Pooling(column.values, groups, int(groups.max()) + 1)


def _group(counts: np.ndarray, least: int) -> np.ndarray:
    """Runs of values that hold at least ``least`` rows each."""
    groups, group, held = np.zeros(len(counts), dtype=np.int32), 0, 0
    remaining = counts.sum()
    for position, count in enumerate(counts):
        if held >= least and remaining >= least:
            group, held = group + 1, 0
        groups[position] = group
        held += count
        remaining -= count
    return groups


def _corrected(x: Pooling, y: Pooling, level: float) -> float:
    if x.size < 2 or y.size < 2:
        return 0.0
    table = _grouped_table(x.values, x.groups, y.values, y.groups, x.size, y.size)
    p, q = table.sum(axis=1), table.sum(axis=0)
    if chdtrc((x.size - 1) * (y.size - 1), _g_statistic(table, p, q)) > level:
        return 0.0
    return _unbiased(_maximal_correlation(table, p, q), x.size, y.size, len(x.values))


@patient
@njit(cache=True, nogil=True)
def _grouped_table(
    first: np.ndarray,
    first_groups: np.ndarray,
    second: np.ndarray,
    second_groups: np.ndarray,
    n_first: int,
    n_second: int,
) -> np.ndarray:
    table = np.zeros((n_first, n_second))
    for row in range(len(first)):
        table[first_groups[first[row]], second_groups[second[row]]] += 1.0
    return table


@patient
@njit(cache=True, nogil=True)
def _g_statistic(table: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    r""":math:`G = 2 \sum_{ij} n_{ij} \ln (n_{ij} n / p_i q_j)`."""
    n, statistic = p.sum(), 0.0
    for i in range(len(p)):
        for j in range(len(q)):
            if table[i, j] > 0:
                statistic += table[i, j] * log(table[i, j] * n / (p[i] * q[j]))
    return 2.0 * statistic


def _unbiased(rho: float, r: int, c: int, n: float) -> float:
    bias = min((np.sqrt(r - 1) + np.sqrt(c - 1)) ** 2 / n, 0.999)
    return float(np.sqrt(max((rho**2 - bias) / (1 - bias), 1e-12)))


@patient
@njit(cache=True, nogil=True)
def _maximal_correlation(table: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The second singular value of the scaled table, by power iteration without the first pair."""
    n = p.sum()
    rest = np.empty_like(table)
    for i in range(len(p)):
        for j in range(len(q)):
            scale = sqrt(p[i] * q[j])
            rest[i, j] = table[i, j] / scale - scale / n if scale > 0 else 0.0
    vector = np.linspace(1.0, 2.0, len(p))
    middle = np.empty(len(q))
    value = 0.0
    for _ in range(100):
        middle[:] = 0.0
        for i in range(len(p)):
            for j in range(len(q)):
                middle[j] += rest[i, j] * vector[i]
        norm = 0.0
        for i in range(len(p)):
            total = 0.0
            for j in range(len(q)):
                total += rest[i, j] * middle[j]
            vector[i] = total
            norm += total * total
        norm = sqrt(norm)
        if norm <= 1e-15 or abs(norm - value) <= 1e-6 * norm:
            return sqrt(min(norm, 1.0))
        value = norm
        vector /= norm
    return sqrt(min(value, 1.0))


def _binary_matrix(first: list[Pooling], second: list[Pooling] | None, level: float) -> np.ndarray:
    r"""For two binary variables the maximal correlation is :math:`|\phi|`: one matrix product."""
    if not first or second == []:
        return np.zeros((len(first), len(first if second is None else second)))
    n = len(first[0].values)
    right: list[Bits] | None = None if second is None else [pooled.bits for pooled in second]
    squared = phi_matrix([pooled.bits for pooled in first], right, n) ** 2
    bias = min(4.0 / n, 0.999)
    unbiased = np.sqrt(np.maximum((squared - bias) / (1 - bias), 1e-12))
    return np.where(n * squared > chi2.isf(level, 1), np.minimum(unbiased, 1.0), 0.0)

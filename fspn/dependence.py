r"""Independence oracles: how strongly do two variables depend on each other?

``rdc`` is the randomized dependence coefficient of Lopez-Paz et al. (2013), the paper's oracle:
the largest canonical correlation between random sine features of the two variables' copula ranks.
For coded variables the features depend on the value alone, so the whole computation follows from
the contingency table, which is orders of magnitude faster than working on the rows.

``corrected`` knows its sample size: the maximal (HGR) correlation, with its upward bias on small
samples taken off, and 0 where a G-test does not find the dependence significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import chi2, rankdata

from fspn.counts import contingency

MIN_POOLED_ROWS = 10
MAX_TABLE_CELLS = 4_000_000


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
    """A measure of dependence in [0, 1] for all pairs of two groups of columns."""

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray: ...


@dataclass(frozen=True)
class RDC:
    r"""The randomized dependence coefficient.

    .. math:: \text{rdc}(x, y) = \sup_{a, b} \rho(a^T \sin(W_x [r(x), 1]), b^T \sin(W_y [r(y), 1]))

    with r the copula rank and W normal, of scale s over the number of coordinates. The ranks of an
    unordered variable mean nothing, so each of its values is a coordinate of its own (one-hot).

    Arguments:
        k: The number of random features.
        s: The scale of the projections.
        seed: The seed of the projections.
    """

    k: int = 20
    s: float = 1.0 / 6.0
    seed: int = 0

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        left = [_whitened(x, self._features(x, 0)) for x in first]
        right = [_whitened(y, self._features(y, 1)) for y in second]
        return np.array(
            [
                [_canonical_correlation(x, fx, y, fy) for y, fy in zip(second, right, strict=True)]
                for x, fx in zip(first, left, strict=True)
            ]
        )

    def _features(self, column: Column, side: int) -> np.ndarray:
        """The features of every code, or of every row of a column of reals."""
        rng = np.random.default_rng([self.seed, side])
        if column.size and not column.ordered:
            # One-hot inputs pick one row each; written out they would be a square of the domain.
            weights = rng.normal(size=(column.size + 1, self.k))
            return np.sin(self.s / len(weights) * (weights[:-1] + weights[-1]))
        if column.size == 0:
            ranks = rankdata(column.values, method="max") / len(column.values)
        else:
            counts = np.bincount(column.values, minlength=column.size)
            ranks = np.cumsum(counts) / max(len(column.values), 1)
        weights = rng.normal(size=(2, self.k))
        return np.sin(self.s / 2 * (np.column_stack([ranks, np.ones(len(ranks))]) @ weights))


def _whitened(column: Column, features: np.ndarray) -> np.ndarray:
    """The features turned so that they have mean 0 and the identity as covariance."""
    weights = _row_weights(column)
    centred = features - weights @ features
    variances, axes = np.linalg.eigh(centred.T @ (centred * weights[:, None]))
    kept = variances > 1e-10 * max(float(variances[-1]), 1e-12)
    return centred @ (axes[:, kept] / np.sqrt(variances[kept]))


def _row_weights(column: Column) -> np.ndarray:
    if column.size == 0:
        return np.full(len(column.values), 1.0 / len(column.values))
    return np.bincount(column.values, minlength=column.size) / len(column.values)


def _canonical_correlation(x: Column, fx: np.ndarray, y: Column, fy: np.ndarray) -> float:
    """The largest singular value of the cross-covariance of whitened features."""
    n = len(x.values)
    if x.size and y.size and x.size * y.size <= MAX_TABLE_CELLS:
        between = fx.T @ (contingency(x.values, y.values, x.size, y.size) / n) @ fy
    else:
        between = (fx[x.values] if x.size else fx).T @ (fy[y.values] if y.size else fy) / n
    if between.size == 0:
        return 0.0
    return min(float(np.linalg.norm(between, 2)), 1.0)


def rdc_matrix(
    codes: Sequence[np.ndarray],
    sizes: Sequence[int],
    k: int = 20,
    s: float = 1.0 / 6.0,
    seed: int = 0,
) -> np.ndarray:
    """The RDC of all pairs of columns of ordered codes, with ones on the diagonal."""
    columns = [Column(column, size) for column, size in zip(codes, sizes, strict=True)]
    matrix = RDC(k, s, seed).matrix(columns, columns)
    matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, 1.0)
    return matrix


@dataclass(frozen=True)
class Corrected:
    r"""The maximal correlation, without its small-sample bias, where a G-test finds any.

    On n rows of independent variables with r and c values the squared HGR correlation is about
    :math:`b = (\sqrt{r-1} + \sqrt{c-1})^2 / n`, the edge of the spectrum of noise. What is
    reported is :math:`\sqrt{(\rho^2 - b)^+ / (1 - b)}`. Rare values are pooled first, so that both
    the test and the bias hold on small slices.

    Arguments:
        level: The significance level of the test, before it is divided by the number of pairs.
        bins: Into how many values of about equal frequency reals are cut.
    """

    level: float = 0.01
    bins: int = 16

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        pooled_first = [pool(column, self.bins) for column in first]
        pooled_second = [pool(column, self.bins) for column in second]
        level = self.level / max(len(first) * len(second), 1)
        if all(x.size <= 2 for x in [*pooled_first, *pooled_second]):
            return _binary_matrix(pooled_first, pooled_second, level)
        return np.array([[_corrected(x, y, level) for y in pooled_second] for x in pooled_first])


def pool(column: Column, bins: int) -> Column:
    """The column with reals cut into bins and rare values merged with their neighbours.

    At most sqrt(n / 5) values are left: with more, the table of two columns has more cells than
    there are rows to fill them, and no test could find any dependence.
    """
    if column.size == 0:
        cuts = np.unique(np.quantile(column.values, np.linspace(0, 1, bins + 1)[1:-1]))
        codes = np.searchsorted(cuts, column.values, side="left")
        return pool(Column(codes.astype(np.int32), len(cuts) + 1), bins)
    counts = np.bincount(column.values, minlength=column.size)
    n = len(column.values)
    least, most = min(MIN_POOLED_ROWS, max(n // 4, 1)), max(int(np.sqrt(n / 5)), 2)
    if column.size > most:
        least = max(least, -(-n // most))
    elif counts.min() >= least:
        return column
    order = np.arange(column.size) if column.ordered else np.argsort(-counts, kind="stable")
    groups = np.empty(column.size, dtype=np.int32)
    groups[order] = _group(counts[order], least)
    return Column(groups[column.values], int(groups.max()) + 1, column.ordered)


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


def _corrected(x: Column, y: Column, level: float) -> float:
    if x.size < 2 or y.size < 2:
        return 0.0
    table = contingency(x.values, y.values, x.size, y.size).astype(np.float64)
    n = table.sum()
    p, q = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(p, q) / n
    filled = table > 0
    statistic = 2.0 * float(table[filled] @ np.log(table[filled] / expected[filled]))
    if chi2.sf(statistic, (x.size - 1) * (y.size - 1)) > level:
        return 0.0
    rho = _second_singular_value(table / np.sqrt(np.outer(p, q)), np.sqrt(p / n), np.sqrt(q / n))
    return _unbiased(rho, x.size, y.size, n)


def _unbiased(rho: float, r: int, c: int, n: float) -> float:
    bias = min((np.sqrt(r - 1) + np.sqrt(c - 1)) ** 2 / n, 0.999)
    return float(np.sqrt(max((rho**2 - bias) / (1 - bias), 1e-12)))


def _second_singular_value(matrix: np.ndarray, left: np.ndarray, right: np.ndarray) -> float:
    """By power iteration on the matrix without its first singular pair, which is known."""
    rest = matrix - np.outer(left, right)
    gram = rest @ rest.T if rest.shape[0] <= rest.shape[1] else rest.T @ rest
    vector = np.linspace(1.0, 2.0, len(gram))
    value = 0.0
    for _ in range(100):
        vector = gram @ vector
        norm = float(np.linalg.norm(vector))
        if norm <= 1e-15 or abs(norm - value) <= 1e-6 * norm:
            return float(np.sqrt(min(norm, 1.0)))
        value, vector = norm, vector / norm
    return float(np.sqrt(min(value, 1.0)))


def _binary_matrix(first: list[Column], second: list[Column], level: float) -> np.ndarray:
    r"""For two binary variables the maximal correlation is :math:`|\phi|`: one matrix product."""
    left, right = _standardised(first), _standardised(second)
    n = max(left.shape[0], 1)
    phi = np.abs(left.T @ right) / n
    significant = n * phi**2 > chi2.isf(level, 1)
    bias = min(4.0 / n, 0.999)
    unbiased = np.sqrt(np.maximum((phi**2 - bias) / (1 - bias), 1e-12))
    return np.where(significant, np.minimum(unbiased, 1.0), 0.0)


def _standardised(columns: list[Column]) -> np.ndarray:
    matrix = np.column_stack([column.values for column in columns]).astype(np.float32)
    matrix -= matrix.mean(axis=0)
    deviation = matrix.std(axis=0)
    return matrix / np.where(deviation > 0, deviation, 1.0)


ORACLES: dict[str, type[RDC] | type[Corrected]] = {"rdc": RDC, "corrected": Corrected}

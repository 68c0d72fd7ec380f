r"""Independence oracles: how strongly do two variables depend on each other?

``rdc`` is the randomized dependence coefficient of Lopez-Paz et al. (2013), the paper's oracle:
the largest canonical correlation between random sine features of the two variables' copula ranks.
For coded variables the features depend on the value alone, so the whole computation follows from
the contingency table, which is orders of magnitude faster than working on the rows.

``corrected`` (:mod:`fspn.learn.dependence.corrected`) knows its sample size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from fspn.learn.dependence.base import Bits, Column, Oracle, pairwise, phi_matrix
from fspn.learn.dependence.corrected import Corrected, pool
from fspn.learn.network.counting import code_counts, contingency

__all__ = ["ORACLES", "RDC", "Column", "Corrected", "Oracle", "pool", "rdc_matrix"]

MAX_TABLE_CELLS = 4_000_000


@dataclass(frozen=True)
class RDC:
    r"""The randomized dependence coefficient.

    .. math:: \text{rdc}(x, y) = \sup_{a, b} \rho(a^T \sin(W_x [r(x), 1]), b^T \sin(W_y [r(y), 1]))

    with r the copula rank and W normal, of scale s over the number of coordinates. The ranks of an
    unordered variable mean nothing, so each of its values is a coordinate of its own (one-hot).
    Between columns of one list the larger of rdc(x, y) and rdc(y, x) is taken.

    Arguments:
        k: The number of random features.
        s: The scale of the projections.
        seed: The seed of the projections.
    """

    k: int = 20
    s: float = 1.0 / 6.0
    seed: int = 0

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        same = second is first
        binary_first, binary_second = (np.array([c.size == 2 for c in s]) for s in (first, second))
        known = np.zeros((len(first), len(second)))
        known[np.ix_(binary_first, binary_second)] = _binary_matrix(first, None if same else second)
        done = np.outer(binary_first, binary_second)
        left = [self._whitened(x, 0, ~done[i]) for i, x in enumerate(first)]
        right = [self._whitened(y, 1, ~done[:, j]) for j, y in enumerate(second)]

        def measure(i: int, j: int) -> float:
            directions = [(left[i], right[j]), *([(right[i], left[j])] if same else [])]
            return _canonical_correlation(first[i], second[j], directions)

        return pairwise(
            known.shape,
            measure,
            done,
            known,
            same,
        )

    def _whitened(self, column: Column, side: int, partners: np.ndarray) -> np.ndarray:
        """The whitened features of a column that is to be measured against any partner."""
        return _whitened(column, self._features(column, side)) if partners.any() else np.empty(0)

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
            counts = code_counts(column.values, column.size)
            ranks = np.cumsum(counts) / max(len(column.values), 1)
        weights = rng.normal(size=(2, self.k))
        return np.sin(self.s / 2 * (np.column_stack([ranks, np.ones(len(ranks))]) @ weights))


def _binary_matrix(first: Sequence[Column], second: Sequence[Column] | None) -> np.ndarray:
    r"""All features of a binary variable are one line, so its coefficient is :math:`|\phi|`."""
    left = _bits(first)
    right = None if second is None else _bits(second)
    if not left or right == []:
        return np.zeros((len(left), len(left if right is None else right)))
    return phi_matrix(left, right, len(first[0].values))


def _bits(columns: Sequence[Column]) -> list[Bits]:
    return [column.values.__getitem__ for column in columns if column.size == 2]


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
    return code_counts(column.values, column.size) / len(column.values)


def _canonical_correlation(
    x: Column, y: Column, directions: list[tuple[np.ndarray, np.ndarray]]
) -> float:
    """The largest singular value of the cross-covariance of whitened features.

    Arguments:
        x: One column.
        y: The other.
        directions: Pairs of features, of x and of y; the largest value over all of them counts.
    """
    n = len(x.values)
    dense = x.size and y.size and x.size * y.size <= MAX_TABLE_CELLS
    joint = contingency(x.values, y.values, x.size, y.size) / n if dense else None
    best = 0.0
    for fx, fy in directions:
        if joint is not None:
            between = fx.T @ joint @ fy
        else:
            between = (fx[x.values] if x.size else fx).T @ (fy[y.values] if y.size else fy) / n
        if between.size:
            best = max(best, float(np.linalg.norm(between, 2)))
    return min(best, 1.0)


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
    np.fill_diagonal(matrix, 1.0)
    return matrix


ORACLES: dict[str, type[RDC] | type[Corrected]] = {"rdc": RDC, "corrected": Corrected}

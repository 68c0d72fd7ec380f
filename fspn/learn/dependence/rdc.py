r"""Independence oracles: how strongly do two variables depend on each other?

``rdc`` is the randomized dependence coefficient of Lopez-Paz et al. (2013), the paper's oracle:
the largest canonical correlation between random sine features of the two variables' copula ranks.
For coded variables the features depend on the value alone, so the whole computation follows from
the contingency table, which is orders of magnitude faster than working on the rows.

``corrected`` (:mod:`fspn.learn.dependence.corrected`) accounts for its sample size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import rankdata

from fspn.learn.dependence.base import Bits, Column, Oracle, pairwise, phi_matrix
from fspn.learn.dependence.canonical import Coded, Sines, Whitened, correlations
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
        if all(column.size and len(column.values) for column in [*first, *second]):
            return self._of_codes(first, second)
        same = second is first
        known, done = _binary_pairs(first, second)
        left = self._whitened(first, 0, np.asarray(~done.all(axis=1)))
        right = self._whitened(second, 1, np.asarray(~done.all(axis=0)))

        def measure(pairs: Sequence[tuple[int, int]]) -> np.ndarray:
            found = [
                _cross_covariance(first[i], second[j], directions)
                for i, j in pairs
                for directions in [[(left[i], right[j]), *([(right[i], left[j])] if same else [])]]
            ]
            largest = _largest_singular_values([matrix for both in found for matrix in both])
            return np.minimum(largest.reshape(len(pairs), -1).max(axis=1), 1.0)

        return pairwise(known.shape, measure, done, known, same)

    def _of_codes(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        """The coefficients of coded columns: a row of pairs at a time, without a pass in Python."""
        known, done = _binary_pairs(first, second)
        if done.all():
            return known
        ours = _coded(first)
        if second is not first:
            left, right = self._features_of(first, ours, 0), None
            others = _coded(second)
            found = _correlations(ours, left, others, self._features_of(second, others, 1))
        else:
            left, right = (self._features_of(first, ours, side) for side in (0, 1))
            found = np.maximum(
                _correlations(ours, left, ours, right, True),
                _correlations(ours, right, ours, left, True),
            )
            found += np.triu(found, 1).T
        return np.where(done, known, found)

    def _features_of(self, columns: Sequence[Column], coded: Coded, side: int) -> Whitened:
        """The whitened features of coded columns."""
        sines = self._sines(side)
        if sines is not None and all(column.ordered for column in columns):
            return coded.whitened(sines)
        return coded.own(self._whitened(columns, side, np.ones(len(columns), dtype=bool)))

    def _sines(self, side: int) -> Sines | None:
        """The features of ordered columns."""
        return _sines(self.seed, side, self.k, self.s)

    def _whitened(self, columns: Sequence[Column], side: int, used: np.ndarray) -> list[np.ndarray]:
        """The whitened features of the columns that are to be measured against any other."""
        chosen = np.flatnonzero(used).tolist()
        counts = [_counts(columns[i]) for i in chosen]
        features = [
            self._features(columns[i], side, own) for i, own in zip(chosen, counts, strict=True)
        ]
        shares = [
            own / max(len(columns[i].values), 1) for i, own in zip(chosen, counts, strict=True)
        ]
        whitened = [np.empty(0)] * len(columns)
        for i, found in zip(chosen, _whiten(features, shares), strict=True):
            whitened[i] = found
        return whitened

    def _features(self, column: Column, side: int, counts: np.ndarray) -> np.ndarray:
        """The features of every code, or of every row of a column of reals."""
        if column.size and not column.ordered:
            # One-hot inputs pick one row each; written out they would be a square of the domain.
            weights = _projection(self.seed, side, column.size + 1, self.k)
            return np.sin(self.s / len(weights) * (weights[:-1] + weights[-1]))
        if column.size == 0:
            ranks = rankdata(column.values, method="max") / len(column.values)
        else:
            ranks = np.cumsum(counts) / max(len(column.values), 1)
        weights = _projection(self.seed, side, 2, self.k)
        return np.sin(self.s / 2 * (np.column_stack([ranks, np.ones(len(ranks))]) @ weights))


@lru_cache(maxsize=64)
def _projection(seed: int, side: int, n_inputs: int, k: int) -> np.ndarray:
    """The normal weights of one side, cached: drawing them takes longer than using them."""
    weights = np.random.default_rng([seed, side]).normal(size=(n_inputs, k))
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=64)
def _sines(seed: int, side: int, k: int, s: float) -> Sines | None:
    return Sines.of(*(s / 2 * _projection(seed, side, 2, k)))


def _coded(columns: Sequence[Column]) -> Coded:
    return Coded.of([column.values for column in columns], [column.size for column in columns])


def _correlations(
    first: Coded, left: Whitened, second: Coded, right: Whitened, triangle: bool = False
) -> np.ndarray:
    """The canonical correlations of all pairs, or of those with i <= j."""
    return np.array(
        [
            correlations(
                codes,
                left.features[begin:end, :count],
                second.codes,
                second.starts,
                right.features,
                right.counts,
                i if triangle else 0,
            )
            for i, (codes, begin, end, count) in enumerate(
                zip(first.codes, first.starts, first.starts[1:], left.counts, strict=False)
            )
        ]
    )


def _binary_pairs(
    first: Sequence[Column], second: Sequence[Column]
) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of the pairs of binary columns, and which pairs these are."""
    known = np.zeros((len(first), len(second)))
    rows, columns = ([i for i, c in enumerate(side) if c.size == 2] for side in (first, second))
    done = np.zeros(known.shape, dtype=bool)
    if rows and columns:
        at = np.ix_(rows, columns)
        known[at] = _binary_matrix(first, None if second is first else second)
        done[at] = True
    return known, done


def _binary_matrix(first: Sequence[Column], second: Sequence[Column] | None) -> np.ndarray:
    r"""All features of a binary variable are one line, so its coefficient is :math:`|\phi|`."""
    left = _bits(first)
    right = None if second is None else _bits(second)
    if not left or right == []:
        return np.zeros((len(left), len(left if right is None else right)))
    return phi_matrix(left, right, len(first[0].values))


def _bits(columns: Sequence[Column]) -> list[Bits]:
    return [column.values.__getitem__ for column in columns if column.size == 2]


def _counts(column: Column) -> np.ndarray:
    """The rows of every code; every row of a column of reals counts as one."""
    if column.size == 0:
        return np.ones(len(column.values))
    return code_counts(column.values, column.size)


def _whiten(features: Sequence[np.ndarray], shares: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Features turned so that they have mean 0 and the identity as covariance."""
    if not features:
        return
    centred = [one - own @ one for one, own in zip(features, shares, strict=True)]
    covariances = [c.T @ (c * own[:, None]) for c, own in zip(centred, shares, strict=True)]
    for one, variances, axes in zip(centred, *np.linalg.eigh(np.stack(covariances)), strict=True):
        kept = variances > 1e-10 * max(float(variances[-1]), 1e-12)
        yield one @ (axes[:, kept] / np.sqrt(variances[kept]))


def _cross_covariance(
    x: Column, y: Column, directions: list[tuple[np.ndarray, np.ndarray]]
) -> list[np.ndarray]:
    """The cross-covariances of whitened features, in one pass over the rows.

    Arguments:
        x: One column.
        y: The other.
        directions: Pairs of features, of x and of y.
    """
    n = len(x.values)
    if x.size and y.size and x.size * y.size <= MAX_TABLE_CELLS:
        joint = contingency(x.values, y.values, x.size, y.size) / n
        return [fx.T @ joint @ fy for fx, fy in directions]
    return [
        (fx[x.values] if x.size else fx).T @ (fy[y.values] if y.size else fy) / n
        for fx, fy in directions
    ]


def _largest_singular_values(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """The canonical correlation of each pair; matrices of one shape are decomposed in one call."""
    found = np.zeros(len(matrices))
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for place, matrix in enumerate(matrices):
        if matrix.size:
            by_shape.setdefault(matrix.shape, []).append(place)
    for places in by_shape.values():
        stacked = np.stack([matrices[place] for place in places])
        found[places] = np.linalg.svd(stacked, compute_uv=False)[:, 0]
    return found


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


ORACLES: dict[str, type[Oracle]] = {"rdc": RDC, "corrected": Corrected}

r"""Multi-leaf of reals: a Gaussian mixture (Section 5, step 3), fitted by EM.

.. math:: \Pr(h) = \sum_j w_j \prod_i \Pr\nolimits_j(h_i)

with a normal distribution per component for a real variable and a smoothed categorical one for a
coded variable. The components are diagonal: with a full covariance the mass of a box has no closed
form, and inference must be exact. The number of components is chosen by BIC.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from fspn.learn.partition import kmeans, row_features, some_rows
from fspn.learn.slices import Slice
from fspn.model.leaves.base import Univariate
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture
from fspn.model.nodes import Node, Product, Sum, UniLeaf, count_parameters

SIZES = (1, 2, 4, 8)
MIN_ROWS_PER_COMPONENT = 20
MAX_FIT_ROWS = 5_000
EM_STEPS = 30


def fit_mixture(data: Slice, scope: Sequence[int], alpha: float, rng: np.random.Generator) -> Node:
    """The mixture of the lowest BIC, as a sum over products of uni-leaves."""
    rows = some_rows(data, MAX_FIT_ROWS, rng)
    features = row_features(rows, scope)
    sizes = [k for k in SIZES if k == 1 or rows.n_rows >= MIN_ROWS_PER_COMPONENT * k]
    fitted = [_fit(rows, scope, features, k, alpha, rng) for k in sizes]
    price = 0.5 * np.log(max(rows.n_rows, 2))
    return min(fitted, key=lambda found: price * count_parameters(found[0]) - found[1])[0]


def _fit(
    data: Slice,
    scope: Sequence[int],
    features: np.ndarray,
    k: int,
    alpha: float,
    rng: np.random.Generator,
) -> tuple[Node, float]:
    """A mixture of at most k components by EM from k-means clusters, and its log-likelihood."""
    labels = kmeans(features, k, rng) if k > 1 else np.zeros(data.n_rows, dtype=int)
    shares = (labels[:, None] == np.unique(labels)).astype(np.float64)
    for _ in range(EM_STEPS if shares.shape[1] > 1 else 1):
        weights = shares.sum(axis=0) / shares.sum()
        parts = [[_component(data, v, share, alpha) for v in scope] for share in shares.T]
        logs = np.column_stack([_log_density(data, scope, part) for part in parts])
        with np.errstate(divide="ignore"):
            logs += np.log(weights)
        total = logsumexp(logs, axis=1, keepdims=True)
        shares = np.exp(logs - total)
    return _as_node(scope, weights, parts), float(total.sum())


def _component(data: Slice, variable: int, share: np.ndarray, alpha: float) -> Univariate:
    """One variable of one component, from weighted rows."""
    values, described = data.values(variable), data.domain[variable]
    if described.is_coded:
        counts = np.bincount(values, weights=share, minlength=described.size)
        return Categorical.from_counts(counts, alpha)
    total = max(float(share.sum()), 1e-12)
    mean = float(share @ values) / total
    floor = max(1e-3 * float(values.std()), 1e-6 * max(1.0, float(np.abs(values).max())))
    scale = max(np.sqrt(float(share @ (values - mean) ** 2) / total), floor)
    return GaussianMixture(np.ones(1), np.array([mean]), np.array([scale]))


def _log_density(data: Slice, scope: Sequence[int], part: Sequence[Univariate]) -> np.ndarray:
    total = np.zeros(data.n_rows)
    for variable, dist in zip(scope, part, strict=True):
        values = data.values(variable)
        if isinstance(dist, Categorical):
            total += np.log(dist.p)[values]
        elif isinstance(dist, GaussianMixture):
            z = (values - dist.means[0]) / dist.scales[0]
            total += -0.5 * z**2 - np.log(dist.scales[0]) - 0.5 * np.log(2 * np.pi)
    return total


def _as_node(scope: Sequence[int], weights: np.ndarray, parts: list[list[Univariate]]) -> Node:
    products = tuple(
        Product(tuple(UniLeaf(v, dist) for v, dist in zip(scope, part, strict=True)))
        for part in parts
    )
    return products[0] if len(products) == 1 else Sum(weights, products)

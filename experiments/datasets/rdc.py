"""The dependence level of a dataset: the average pairwise RDC.

The measure is kept apart from the learner's oracle (`fspn.learn.dependence.rdc`, which it agrees
with), so that a change of the oracle never changes the datasets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RDC_FEATURES = 20
RDC_SCALE = 3.0
RDC_ROWS = 3_500
RIDGE = 1e-9


def rdc_matrix(
    codes: Sequence[np.ndarray],
    sizes: Sequence[int],
    k: int = RDC_FEATURES,
    s: float = RDC_SCALE,
    seed: int = 0,
) -> np.ndarray:
    r"""Randomized dependence coefficient (Lopez-Paz et al., 2013) of all pairs of columns.

    .. math:: \phi(x) = \sin(w F(x) + b), \quad w, b \sim N(0, s^2), \qquad
        rdc(x, y) = \max_{a, b} corr(a^T \phi(x), b^T \phi(y))

    F is the empirical distribution function of the ordinal value. A feature depends on the
    value only, so all covariances follow from the counts of values and of pairs of values.

    Arguments:
        codes: one array of codes 0..size-1 per column.
        sizes: domain sizes.
        k: number of random features per column.
        s: standard deviation of the random weights.
        seed: seed of the random weights.
    """
    rng = np.random.default_rng(seed)
    whitened = [
        _whitened_features(np.bincount(c, minlength=n), rng.normal(0, s, (2, k)))
        for c, n in zip(codes, sizes, strict=True)
    ]
    matrix = np.eye(len(codes))
    for i in range(len(codes)):
        for j in range(i):
            pair = np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j])
            joint = pair.reshape(sizes[i], sizes[j]) / len(codes[i])
            matrix[i, j] = matrix[j, i] = _norm(whitened[i].T @ joint @ whitened[j])
    return matrix


def average_rdc(codes: Sequence[np.ndarray], sizes: Sequence[int]) -> float:
    """The mean of `rdc_matrix` over all pairs of different columns."""
    matrix = rdc_matrix(codes, sizes)
    return float(matrix[np.tril_indices(len(matrix), -1)].mean())


def _whitened_features(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Features per value, centred and with unit covariance under the empirical marginal."""
    marginal = counts / counts.sum()
    features = np.sin(np.outer(np.cumsum(marginal), weights[0]) + weights[1])
    features -= marginal @ features
    variance, directions = np.linalg.eigh((features * marginal[:, None]).T @ features)
    keep = variance > RIDGE * max(variance[-1], np.finfo(float).tiny)
    return features @ (directions[:, keep] / np.sqrt(variance[keep]))


def _norm(matrix: np.ndarray) -> float:
    if not matrix.size:
        return 0.0
    return float(min(np.linalg.svd(matrix, compute_uv=False)[0], 1.0))

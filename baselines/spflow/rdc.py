r"""SPFlow's RDC, from value frequencies and one matrix product instead of 190 iterative CCAs.

SPFlow one-hot encodes a discrete column, replaces every one-hot column by its empirical CDF,
projects to \(k\) random directions and takes the sine. All of this depends on the row only through
its value, so the features are a (values x k) table, and whitening them needs its SVD only. The
covariance of all whitened columns is one matrix product; each pair's \(k \times k\) block \(G\)
holds the canonical correlations as singular values. SPFlow takes the first one from scikit-learn's
power method, which stops early; the same iteration is run here on \(G\), for all pairs at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEATURES = 10
SCALE = 1.0 / 6.0
MAX_ITERATIONS = 100
TOLERANCE = 1e-6
ROWS_PER_BLOCK = 16_384
RANK_TOLERANCE = 1e6 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Whitened:
    """One column's features, whitened: U S V' is the SVD of the standardised features.

    Arguments:
        rows: U per value of the domain, scaled to unit covariance; zero-padded to `FEATURES`.
        singular: S, padded with ones.
        start: Coordinates of the first feature, from which the power method starts.
    """

    rows: np.ndarray
    singular: np.ndarray
    start: np.ndarray


def rdc_matrix(data: np.ndarray, cards: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Matrix of RDC values; draws from `random` exactly what SPFlow draws.

    Arguments:
        data: Codes as floats, shape (rows, columns).
        cards: Domain sizes.
        random: SPFlow's generator.
    """
    codes = data.astype(np.int64)
    gaussians = [random.normal(size=(int(d) + 1, FEATURES)) for d in cards]
    columns = [
        _whiten(np.bincount(codes[:, i], minlength=int(d)) / len(codes), gaussians[i])
        for i, d in enumerate(cards)
    ]
    m = len(cards)
    left, right = np.triu_indices(m, k=1)
    blocks = _covariance(codes, columns).reshape(m, FEATURES, m, FEATURES)
    matrix = np.eye(m)
    values = _first_correlations(blocks.transpose(0, 2, 1, 3)[left, right], columns, left, right)
    matrix[left, right] = matrix[right, left] = values
    return matrix


def _whiten(share: np.ndarray, gaussian: np.ndarray) -> Whitened:
    seen = share > 0
    weight = share[seen]
    features = _features(share, gaussian)[seen]
    centred = features - weight @ features
    deviation = np.sqrt(weight @ centred**2)
    standard = centred / np.where(deviation > 0, deviation, 1.0)
    left, singular, right = np.linalg.svd(np.sqrt(weight)[:, None] * standard, full_matrices=False)
    rank = int(np.sum(singular > singular[0] * RANK_TOLERANCE))
    rows = np.zeros((len(share), FEATURES))
    rows[np.flatnonzero(seen), :rank] = left[:, :rank] / np.sqrt(weight)[:, None]
    padded, start = np.ones(FEATURES), np.zeros(FEATURES)
    padded[:rank] = singular[:rank]
    start[:rank] = singular[:rank] * right[:rank, 0]
    return Whitened(rows, padded, start)


def _features(share: np.ndarray, gaussian: np.ndarray) -> np.ndarray:
    """sin(s / (d + 1) * [ecdf of the one-hot columns, 1] N), one row per value."""
    one_hot = np.tile(1.0 - share, (len(share), 1))
    np.fill_diagonal(one_hot, 1.0)
    copula = np.concatenate([one_hot, np.ones((len(share), 1))], axis=1)
    return np.sin(SCALE / copula.shape[1] * (copula @ gaussian))


def _covariance(codes: np.ndarray, columns: list[Whitened]) -> np.ndarray:
    total = np.zeros((FEATURES * len(columns), FEATURES * len(columns)))
    for start in range(0, len(codes), ROWS_PER_BLOCK):
        block = codes[start : start + ROWS_PER_BLOCK]
        rows = np.concatenate([c.rows[block[:, i]] for i, c in enumerate(columns)], axis=1)
        total += rows.T @ rows
    return total / len(codes)


def _first_correlations(
    blocks: np.ndarray, columns: list[Whitened], left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Power method x = G y, y = G' x for a batch of blocks, with scikit-learn's stopping rule."""
    scale = np.stack([c.singular for c in columns])[left]
    y = np.stack([c.start for c in columns])[right]
    result = np.zeros(len(blocks))
    before = np.full(scale.shape, 100.0)
    going = np.arange(len(blocks))
    for _ in range(MAX_ITERATIONS):
        block = blocks[going]
        x = np.einsum("bij,bj->bi", block, y)
        weights = x / scale[going]
        norm = np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), np.finfo(float).tiny)
        x, weights = x / norm, weights / norm
        y = np.einsum("bij,bi->bj", block, x)
        length = np.maximum(np.linalg.norm(x, axis=1), np.finfo(float).tiny)
        result[going] = np.linalg.norm(y, axis=1) / length
        open_ = np.sum((weights - before) ** 2, axis=1) >= TOLERANCE
        before, y, going = weights[open_], y[open_], going[open_]
        if not len(going):
            break
    return result

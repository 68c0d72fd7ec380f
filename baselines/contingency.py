"""Mutual information of column pairs from their contingency tables."""

from __future__ import annotations

import numpy as np

from fspn.learn.network.counting import contingency


def mutual_information(counts: np.ndarray) -> float:
    r"""\(I(X; Y) = \sum_{xy} \hat p(x, y) \ln \hat p(x, y) / (\hat p(x) \hat p(y))\) in nats."""
    joint = counts / counts.sum()
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(joint[seen] / outer[seen])))


def pairwise_mutual_information(codes: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Symmetric matrix of mutual information; binary tables go through one matrix product."""
    if (cards <= 2).all():
        return _binary_mutual_information(codes)
    columns = np.ascontiguousarray(codes.T)
    m = len(cards)
    information = np.zeros((m, m))
    for i in range(m):
        for j in range(i):
            counts = contingency(columns[i], columns[j], int(cards[i]), int(cards[j]))
            information[i, j] = information[j, i] = mutual_information(counts)
    return information


def _binary_mutual_information(codes: np.ndarray) -> np.ndarray:
    ones = codes.astype(np.float64)
    n = len(ones)
    both = ones.T @ ones / n
    p = np.diag(both).copy()
    information = np.zeros_like(both)
    cells = (
        (both, np.outer(p, p)),
        (p[:, None] - both, np.outer(p, 1 - p)),
        (p[None, :] - both, np.outer(1 - p, p)),
        (1 - p[:, None] - p[None, :] + both, np.outer(1 - p, 1 - p)),
    )
    for joint, outer in cells:
        # Half a row: what floating point leaves of an empty cell is not a count.
        seen = joint > 0.5 / n
        information[seen] += joint[seen] * np.log(joint[seen] / outer[seen])
    np.fill_diagonal(information, 0.0)
    return np.maximum(information, 0.0)

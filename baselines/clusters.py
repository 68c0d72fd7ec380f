"""Random soft clusters of rows: where expectation maximisation may begin."""

from __future__ import annotations

import numpy as np

LLOYD_STEPS = 3
SOFTNESS = 0.1


def soft_clusters(
    points: np.ndarray, weights: np.ndarray, n_clusters: int, rng: np.random.Generator
) -> np.ndarray:
    """Softened memberships after a few steps of k-means from random rows.

    Arguments:
        points: One point per row.
        weights: Of the rows.
        n_clusters: At most as many as there are rows.
        rng: Draws the first centres.
    """
    share = weights / weights.sum()
    centres = points[rng.choice(len(points), n_clusters, replace=False, p=share)]
    for _ in range(LLOYD_STEPS):
        label = ((centres**2).sum(axis=1) - 2.0 * points @ centres.T).argmin(axis=1)
        member = np.zeros((len(points), n_clusters), dtype=np.float32)
        member[np.arange(len(points)), label] = weights
        sizes = member.sum(axis=0)
        full = sizes > 0
        centres[full] = (member.T @ points)[full] / sizes[full, None]
    shares = np.full((len(points), n_clusters), SOFTNESS / n_clusters)
    shares[np.arange(len(points)), label] += 1.0 - SOFTNESS
    return shares

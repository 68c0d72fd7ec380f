r"""Values that are names, grouped by what they tell about other columns.

The profile of a name is the distributions of a few other columns given it. Names of similar
profiles share a cell: k-means on the square roots of the profiles (Hellinger distance), weighted by
rows. Where there is room for a thousand cells the most frequent value of each of those columns says
enough: names are sorted by them, and cut into cells of about equal rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fspn.learn.network.counting import contingency
from fspn.learn.pair_information import pair_information
from fspn.schema.binning import cut

STEPS = 12
PARTNERS = 3
MAX_PROFILE = 600

Partner = tuple[float, np.ndarray, int]
"""What names tell about a column, in nats, its codes and how many there are."""


def partners_of(
    name: np.ndarray, rows: np.ndarray, tables: list[tuple[np.ndarray, int]]
) -> list[Partner]:
    """The columns that names tell most about, with what they tell; the strongest first.

    Arguments:
        name: The name of every row.
        rows: The rows of every name.
        tables: The codes and sizes of the other columns.
    """
    found = [(_told(name, len(rows), own, size), own, size) for own, size in tables]
    return sorted((part for part in found if part[0] > 0), key=lambda part: -part[0])[:PARTNERS]


def group_names(
    name: np.ndarray, rows: np.ndarray, partners: Sequence[Partner], n_cells: int
) -> np.ndarray | None:
    """The group of every name, numbered from 0; None where partners have too many values.

    Arguments:
        name: The name of every row.
        rows: The rows of every name, for its weight.
        partners: The columns that names tell most about, at least one.
        n_cells: The number of groups, at most.
    """
    total = sum(part[0] for part in partners)
    profiles, width = [], 0
    for told, own, size in partners:
        if width + size <= MAX_PROFILE:
            width += size
            profiles.append(np.sqrt(told / total) * _profile(name, len(rows), own, size))
    return _k_means(np.concatenate(profiles, axis=1), rows, n_cells) if profiles else None


def sorted_names(
    name: np.ndarray, rows: np.ndarray, partners: Sequence[Partner], n_cells: int
) -> np.ndarray:
    """Groups of names that are neighbours by the columns that they tell most about.

    Arguments:
        name: The name of every row.
        rows: The rows of every name, for its weight.
        partners: The columns that names tell most about, at least one.
        n_cells: The number of groups, at most.
    """
    order = np.lexsort([_mode(name, len(rows), own, size) for _, own, size in reversed(partners)])
    group = np.empty(len(rows), dtype=np.int64)
    starts = cut(rows[order], n_cells, float(rows.sum()) / n_cells)
    group[order] = np.searchsorted(starts, np.arange(len(rows)), side="right") - 1
    return group


def _mode(name: np.ndarray, n: int, own: np.ndarray, size: int) -> np.ndarray:
    """The most frequent code of a column given each name; 0 for a name without rows."""
    keys, counts = np.unique(name.astype(np.int64) * size + own, return_counts=True)
    order = np.argsort(counts, kind="stable")
    mode = np.zeros(n, dtype=np.int64)
    mode[keys[order] // size] = keys[order] % size
    return mode


def _told(name: np.ndarray, n: int, own: np.ndarray, size: int) -> float:
    """The mutual information of names and a column, beyond what chance would give."""
    told = pair_information(name, own, n, size)
    return told.nats - 0.5 * told.first * (told.second - 1)


def _profile(name: np.ndarray, n: int, own: np.ndarray, size: int) -> np.ndarray:
    counts = contingency(name, own, n, size)
    average = counts.sum(axis=0) / max(counts.sum(), 1.0)
    return np.sqrt((counts + average) / (counts.sum(axis=1, keepdims=True) + 1.0))


def _k_means(points: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """Lloyd's algorithm from centres far apart; deterministic on every machine."""
    centres = points[_far_apart(points, weights, k)]
    group = np.zeros(len(points), dtype=np.int64)
    for _ in range(STEPS):
        distance = (centres**2).sum(axis=1) - 2.0 * (points @ centres.T)
        nearest = distance.argmin(axis=1)
        if np.array_equal(nearest, group):
            break
        group = nearest
        held = np.bincount(group, weights, len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, group, points * weights[:, None])
        centres = np.where(held[:, None] > 0, sums / np.maximum(held, 1e-300)[:, None], centres)
    return np.unique(group, return_inverse=True)[1]


def _far_apart(points: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """Start with the heaviest point, then add the one of largest rows times squared distance."""
    chosen = [int(weights.argmax())]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(k, len(points)) and (distance * weights).max() > 1e-12:
        chosen.append(int((distance * weights).argmax()))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)

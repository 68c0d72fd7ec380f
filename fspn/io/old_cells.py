"""The cells of files of version 1: borders, and one density over the whole line."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fspn.model.leaves.base import Univariate
from fspn.schema.cells import Cells
from fspn.schema.events import RealRange

PIECES = 64
"""Into so many pieces a cell is cut; inside them the density counts as uniform."""

STEPS = 80


def cells_of_shape(cuts: np.ndarray, shape: Univariate) -> Cells:
    r"""Cells :math:`(c_k, c_{k+1}]` with the density of ``shape`` inside, by its quantiles.

    Arguments:
        cuts: The inner borders.
        shape: The density.
    """
    below = np.concatenate([[0.0], _mass_up_to(shape, cuts), [1.0]])
    levels = [np.linspace(a, b, PIECES + 1)[1:-1] for a, b in pairwise(below)]
    inner = [_quantiles(shape, each) for each in levels]
    borders = np.concatenate(
        [part for k, own in enumerate(inner) for part in (own, cuts[k : k + 1])]
    )
    borders = np.unique(borders)
    left = np.concatenate([[-np.inf], borders])
    right = np.concatenate([borders, [np.inf]])
    mass = np.diff(np.concatenate([[0.0], _mass_up_to(shape, borders), [1.0]]))
    first = np.concatenate([[0], np.searchsorted(borders, cuts) + 1])
    scale = max(float(borders[-1] - borders[0]), 1e-9) / PIECES
    return Cells(left, right, np.maximum(mass, 1e-300), first, 0.0, scale)


def _mass_up_to(shape: Univariate, values: np.ndarray) -> np.ndarray:
    return np.exp(shape.log_probability(RealRange(np.full(len(values), -np.inf), values)))


def _quantiles(shape: Univariate, levels: np.ndarray) -> np.ndarray:
    """Quantiles of the density, by bisection."""
    low, high = np.full(len(levels), -1.0), np.full(len(levels), 1.0)
    for _ in range(STEPS):
        low = np.where(_mass_up_to(shape, low) > levels, 2 * low, low)
        high = np.where(_mass_up_to(shape, high) < levels, 2 * high, high)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = _mass_up_to(shape, middle) >= levels
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high

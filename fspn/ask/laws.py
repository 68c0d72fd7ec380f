"""The law of one column given evidence: its moments and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from fspn.model.leaves import reals

PANELS = 64
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
BISECTIONS = 80
TAIL = 1e-12


class ColumnLaw(Protocol):
    """What is asked of a law, one row per evidence; NaN where the evidence is impossible."""

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance, shape (n,)."""
        ...

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The quantiles at some shares, shape (n, shares)."""
        ...


class DiscreteLaw:
    """Probabilities of sorted numbers.

    Arguments:
        values: The numbers.
        shares: Their probabilities, shape (n, values).
    """

    def __init__(self, values: np.ndarray, shares: np.ndarray):
        self.values = values
        self.shares = shares

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        mean = self.shares @ self.values
        return mean, (self.shares * (self.values - mean[:, None]) ** 2).sum(axis=1)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        reached = reached_cells(self.shares, shares)[0]
        found = self.values[reached]
        lost = np.isnan(self.shares).any(axis=1)
        return np.where(lost[:, None], np.nan, found) if lost.any() else found


class RealLaw:
    r"""A law of reals by its distribution function, :math:`F(x) = \Pr(X \le x \mid E)`.

    :math:`E[X] = a + \int_a^b (1 - F)` and :math:`E[(X-a)^2] = 2 \int_a^b (x - a)(1 - F)` by
    Gauss-Legendre quadrature between quantiles.

    Arguments:
        cdf: F of one evidence (its position) at some points.
        n: How many evidences.
    """

    def __init__(self, cdf: Callable[[int, np.ndarray], np.ndarray], n: int):
        self.cdf = cdf
        self.n = n

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([self._moments(event) for event in range(self.n)]).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _moments(self, event: int) -> tuple[float, float]:
        levels = np.concatenate([[TAIL], (np.arange(PANELS - 1) + 1) / PANELS, [1 - TAIL]])
        borders = np.unique(self._invert(event, levels))
        if len(borders) < 2 or np.isnan(borders).any():
            return float(borders[0]), 0.0 * float(borders[0])
        half = 0.5 * np.diff(borders)
        points = (0.5 * (borders[1:] + borders[:-1]))[:, None] + half[:, None] * NODES
        beyond = 1.0 - self.cdf(event, points.ravel()).reshape(points.shape)
        steps, start = half[:, None] * WEIGHTS * beyond, borders[0]
        mean = float(steps.sum())
        return start + mean, float((2 * (points - start) * steps).sum()) - mean**2

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        return np.array([self._invert(event, shares) for event in range(self.n)])

    def _invert(self, event: int, shares: np.ndarray) -> np.ndarray:
        """Bisection, from an interval that is doubled until it holds all but the tails."""
        targets = np.clip(shares, TAIL, 1 - TAIL)
        if np.isnan(self.cdf(event, np.zeros(1))).any():
            return np.full(len(shares), np.nan)
        ladder = np.concatenate([[0.0], np.logspace(-9, 18, 271)])
        grid = np.concatenate([-ladder[::-1], ladder[1:]])
        place = np.searchsorted(self.cdf(event, grid), targets)
        low, high = grid[np.maximum(place - 1, 0)], grid[np.minimum(place, len(grid) - 1)]
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.cdf(event, middle) < targets
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high


def reached_cells(cells: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per evidence and share the cell in which it is reached, and how much of that cell it takes.

    Arguments:
        cells: The probabilities of the cells, shape (n, cells).
        shares: Numbers in [0, 1].
    """
    before = np.cumsum(np.nan_to_num(cells), axis=1)
    place = (before[:, None, :] < shares[None, :, None] - 1e-12).sum(axis=2)
    filled = np.where(cells > 0, np.arange(cells.shape[1]), -1).max(axis=1)
    first = np.where(cells > 0, np.arange(cells.shape[1]), cells.shape[1]).min(axis=1)
    place = np.maximum(np.minimum(place, filled[:, None]), first[:, None])
    place = np.clip(place, 0, cells.shape[1] - 1)
    own = np.take_along_axis(np.nan_to_num(cells), place, axis=1)
    start = np.take_along_axis(before, place, axis=1) - own
    inside = np.divide(shares - start, own, out=np.zeros_like(own), where=own > 0)
    return place, np.clip(inside, 0.0, 1.0)


class BinnedLaw:
    """Probabilities of cells of reals, with a law inside each.

    Arguments:
        shape: The law whose restriction to a cell is the law inside of it.
        lower: The lower ends of the cells, cut to the evidence, shape (n, cells).
        upper: Their upper ends.
        shares: The probabilities of the cells, shape (n, cells).
    """

    def __init__(
        self, shape: reals.Density, lower: np.ndarray, upper: np.ndarray, shares: np.ndarray
    ):
        self.shape = shape
        self.lower = lower
        self.upper = upper
        self.shares = shares

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        levels = 0.5 * (NODES + 1.0)
        points = self._inside(
            np.repeat(self.lower[:, :, None], len(levels), axis=2),
            np.repeat(self.upper[:, :, None], len(levels), axis=2),
            np.broadcast_to(levels, (*self.lower.shape, len(levels))),
        )
        weights = self.shares[:, :, None] * (0.5 * WEIGHTS)
        some = weights > 0
        mean = np.where(some, weights * points, 0.0).sum(axis=(1, 2))
        spread = np.where(some, weights * (points - mean[:, None, None]) ** 2, 0.0).sum(axis=(1, 2))
        lost = np.isnan(self.shares).any(axis=1)
        return np.where(lost, np.nan, mean), np.where(lost, np.nan, spread)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        place, inside = reached_cells(self.shares, shares)
        lower = np.take_along_axis(self.lower, place, axis=1)
        upper = np.take_along_axis(self.upper, place, axis=1)
        found = self._inside(lower, upper, inside)
        return np.where(np.isnan(self.shares).any(axis=1)[:, None], np.nan, found)

    def _inside(self, lower: np.ndarray, upper: np.ndarray, levels: np.ndarray) -> np.ndarray:
        found = reals.quantiles(self.shape, lower.ravel(), upper.ravel(), levels.ravel())
        return found.reshape(lower.shape)

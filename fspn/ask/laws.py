"""The distribution of one column given evidence: moments, quantiles, and the law within cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from fspn.ask.values import allowed_ranges, inside_cells
from fspn.schema.cells import Cells
from fspn.schema.events import Constraint

PANELS = 64
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
BISECTIONS = 80
TAIL = 1e-12


class ColumnLaw(Protocol):
    """The distribution of a column given each evidence; NaN where the evidence is impossible."""

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance, shape (n,)."""
        ...

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The quantiles at the given levels, shape (n, levels)."""
        ...


class DiscreteLaw:
    """Probabilities of sorted numbers.

    Arguments:
        values: The numbers.
        shares: Their probabilities, shape (n, values).
    """

    def __init__(self, values: np.ndarray, shares: np.ndarray):
        self.values = np.asarray(values, dtype=np.float64)
        self.shares = shares

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        mean = self.shares @ self.values
        return mean, (self.shares * (self.values - mean[:, None]) ** 2).sum(axis=1)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        found = self.values[reached_cells(self.shares, shares)[0]]
        return np.where(np.isnan(self.shares).any(axis=1)[:, None], np.nan, found)


class CellLaw:
    """Probabilities of cells with a law within each, restricted to the evidence.

    Arguments:
        cells: The cells.
        shares: Their probabilities, shape (n, cells).
        constraint: What the evidence says about the column itself.
    """

    def __init__(self, cells: Cells, shares: np.ndarray, constraint: Constraint | None):
        self.cells = cells
        self.shares = shares
        self.lower, self.upper = allowed_ranges(constraint, len(shares))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([self._moments(event) for event in range(len(self.shares))])
        return found.reshape(-1, 2)[:, 0], found.reshape(-1, 2)[:, 1]

    def _moments(self, event: int) -> tuple[float, float]:
        parts = cut_pieces(self.cells, self.lower[event], self.upper[event])
        weights = self.shares[event][parts.cell] * parts.share
        mean = float(weights @ parts.middle)
        return mean, float(weights @ (parts.variance + (parts.middle - mean) ** 2))

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        place, inside = reached_cells(self.shares, shares)
        rows = np.repeat(np.arange(len(place)), len(shares))
        found = inside_cells(
            self.cells, place.ravel(), inside.ravel(), self.lower[rows], self.upper[rows]
        ).reshape(place.shape)
        return np.where(np.isnan(self.shares).any(axis=1)[:, None], np.nan, found)


class Pieces:
    """The pieces of cells, restricted to ranges of the line.

    Arguments:
        cell: The cell of every piece.
        share: Its fraction of the mass that is left of its cell.
        middle: Its mean.
        variance: Its variance.
        log_size: The logarithm of its number of values, or of its length.
    """

    def __init__(
        self,
        cell: np.ndarray,
        mass: np.ndarray,
        middle: np.ndarray,
        variance: np.ndarray,
        log_size: np.ndarray,
        n_cells: int,
    ):
        total = np.bincount(cell, weights=mass, minlength=n_cells)[cell]
        self.cell = cell
        self.share = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
        self.middle = middle
        self.variance = variance
        self.log_size = log_size

    def entropies(self, n_cells: int) -> np.ndarray:
        """The entropy within every cell, with respect to counting measure and length."""
        some = self.share > 0
        logs = np.zeros(len(self.share))
        logs[some] = np.log(self.share[some]) - self.log_size[some]
        return -np.bincount(self.cell, weights=self.share * logs, minlength=n_cells)


def cut_pieces(cells: Cells, lower: np.ndarray, upper: np.ndarray) -> Pieces:
    """The pieces of all cells that lie in some disjoint ranges.

    The two infinite pieces beyond the training values count at their finite ends: their law has no
    mean.
    """
    found = [_cut(cells, low, high) for low, high in zip(lower, upper, strict=True) if low <= high]
    if not found:
        found = [_cut(cells, np.inf, np.inf)]
    cell, mass, middle, variance, log_size = (
        np.concatenate(parts) for parts in zip(*found, strict=True)
    )
    return Pieces(cell, mass, middle, variance, log_size, cells.size)


def _cut(cells: Cells, low: float, high: float) -> tuple[np.ndarray, ...]:
    """Cell, mass, mean, variance and logarithm of the size of every piece in one range."""
    left, right, step = cells.left, cells.right, cells.step
    start, end = np.maximum(left, low), np.minimum(right, high)
    if step > 0:
        start = left + np.ceil((start - left) / step) * step
        end = left + np.floor((end - left) / step) * step
    rows = cells.rows_before
    before = np.full(len(left), low), np.full(len(left), high)
    mass = np.minimum(cells.rows_up_to(before[1], False), rows[1:]) - np.maximum(
        cells.rows_up_to(before[0], True), rows[:-1]
    )
    mass = np.where(start <= end, np.maximum(mass, 0.0), 0.0)
    if low == high and not mass.any():
        mass = np.where((start <= end) & (left < high) & (high <= right), 1.0, 0.0)
    outer = np.isinf(left) | np.isinf(right)
    start = np.where(np.isinf(start), end, start)
    end = np.where(np.isinf(end), start, end)
    middle = np.where(mass > 0, 0.5 * (start + end), 0.0)
    length = np.where(mass > 0, end - start, 0.0)
    if step > 0:
        count = np.rint(length / step) + 1
        return cells.cell_of_piece, mass, middle, step**2 * (count**2 - 1) / 12, np.log(count)
    sizes = np.where(outer, np.log(cells.scale) + 2, np.log(np.where(length > 0, length, 1.0)))
    return cells.cell_of_piece, mass, middle, length**2 / 12, sizes


def reached_cells(cells: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell in which each quantile is reached, and the fraction of the cell that is needed.

    Arguments:
        cells: The probabilities of the cells, shape (n, cells).
        shares: The levels of the quantiles, in [0, 1].
    """
    known = np.nan_to_num(cells)
    before = np.cumsum(known, axis=1)
    place = (before[:, None, :] < shares[None, :, None] - 1e-12).sum(axis=2)
    codes = np.arange(cells.shape[1])
    first = np.where(known > 0, codes, cells.shape[1]).min(axis=1)
    last = np.where(known > 0, codes, 0).max(axis=1)
    place = np.clip(np.maximum(place, first[:, None]), 0, last[:, None])
    own = np.take_along_axis(known, place, axis=1)
    start = np.take_along_axis(before, place, axis=1) - own
    inside = np.divide(shares - start, own, out=np.zeros_like(own), where=own > 0)
    return place, np.clip(inside, 0.0, 1.0)


class RealLaw:
    r"""A distribution of reals by its distribution function, :math:`F(x) = \Pr(X \le x \mid E)`.

    :math:`E[X] = a + \int_a^b (1 - F)` and :math:`E[(X-a)^2] = 2 \int_a^b (x - a)(1 - F)` by
    Gauss-Legendre quadrature between quantiles.

    Arguments:
        cdf: F given one evidence (by its position) at some points.
        n: The number of evidences.
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
        """Invert F by bisection, from a grid that reaches far enough for any column."""
        targets = np.clip(shares, TAIL, 1 - TAIL)
        if np.isnan(self.cdf(event, np.zeros(1))).any():
            return np.full(len(shares), np.nan)
        steps = np.concatenate([[0.0], np.logspace(-9, 18, 271)])
        grid = np.concatenate([-steps[::-1], steps[1:]])
        place = np.searchsorted(self.cdf(event, grid), targets)
        low, high = grid[np.maximum(place - 1, 0)], grid[np.minimum(place, len(grid) - 1)]
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.cdf(event, middle) < targets
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

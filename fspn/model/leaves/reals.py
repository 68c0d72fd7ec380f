r"""Densities on the line, by their masses and log-densities alone: quantiles, draws, modes.

Whatever the family, :math:`\Pr(a < X \le b)` and :math:`p(x)` are enough: quantiles of the law
restricted to an interval are found by bisection, its mode among quantiles and the family's own
peaks, refined by golden sections.
"""

from __future__ import annotations

import numpy as np

from fspn.model.leaves.base import Univariate
from fspn.schema.events import RealPoint, RealRange

BISECTIONS = 60
GRID = 64
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
GOLDEN_STEPS = 45
TAIL = 1e-13


def mass(dist: Univariate, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    r""":math:`\Pr(\text{lower} < X \le \text{upper})`, zero where the interval is empty."""
    low, high = np.broadcast_arrays(np.asarray(lower, float), np.asarray(upper, float))
    logs = dist.log_probability(RealRange(low.ravel(), high.ravel())).reshape(low.shape)
    return np.where(low < high, np.exp(logs), 0.0)


def density(dist: Univariate, values: np.ndarray) -> np.ndarray:
    """The log-density at some points, of any shape."""
    return dist.log_probability(RealPoint(values.ravel())).reshape(values.shape)


def quantiles(
    dist: Univariate, lower: np.ndarray, upper: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Quantiles of the distribution restricted to ``(lower, upper]``, by bisection.

    Arguments:
        dist: The law.
        lower: One end per question, shape (n,).
        upper: The other end.
        shares: The levels of the quantiles in [0, 1], shape (n,).
    """
    low, high = ends(dist, lower, upper)
    whole = mass(dist, lower, upper)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        below = mass(dist, lower, middle) < shares * whole
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def draw(
    dist: Univariate, lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """One draw per interval, from the distribution restricted to it."""
    return quantiles(dist, lower, upper, rng.random(len(lower)))


def mode(dist: Univariate, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the density is highest in each interval, and its logarithm there."""
    if dist.is_unimodal:
        top = np.clip(np.full(len(lower), dist.peaks[0]), lower, upper)
        return top, np.where(lower <= upper, density(dist, top), -np.inf)
    low, high = ends(dist, lower, upper)
    candidates = _candidates(dist, low, high)
    best = density(dist, candidates).argmax(axis=1)
    rows = np.arange(len(low))
    left = candidates[rows, np.maximum(best - 1, 0)]
    right = candidates[rows, np.minimum(best + 1, candidates.shape[1] - 1)]
    found = np.column_stack([candidates[rows, best], _climb(dist, left, right)])
    logs = density(dist, found)
    place = logs.argmax(axis=1)
    return found[rows, place], np.where(low <= high, logs[rows, place], -np.inf)


def ends(dist: Univariate, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval with finite ends, beyond which the distribution has next to no mass."""
    first, last = support(dist)
    low = np.where(np.isfinite(lower), lower, np.minimum(first, upper - (last - first)))
    high = np.where(np.isfinite(upper), upper, np.maximum(last, lower + (last - first)))
    return (
        np.where(np.isfinite(low), low, first).astype(np.float64),
        np.where(np.isfinite(high), high, last).astype(np.float64),
    )


def support(dist: Univariate) -> tuple[float, float]:
    """An interval that holds all of the mass up to rounding."""
    steps = np.concatenate([[0.0], np.logspace(-12, 18, 361)])
    points = np.concatenate([-steps[::-1], steps[1:]])
    below = mass(dist, np.full(len(points), -np.inf), points)
    above = mass(dist, points, np.full(len(points), np.inf))
    first = points[np.flatnonzero(below <= TAIL)[-1:]]
    last = points[np.flatnonzero(above <= TAIL)[:1]]
    return (
        float(first[0]) if len(first) else float(points[0]),
        float(last[0]) if len(last) else float(points[-1]),
    )


def _candidates(dist: Univariate, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sorted points per interval: its ends, an even grid, and the family's peaks or quantiles."""
    n, levels = len(low), (np.arange(GRID) + 0.5) / GRID
    even = low[:, None] + (high - low)[:, None] * levels
    # An interval is open below: the density there is that of the next value.
    first = np.nextafter(low, high)[:, None]
    peaks = np.tile(dist.peaks, (n, 1))
    if peaks.shape[1] == 0:
        ends = np.repeat(low, GRID), np.repeat(high, GRID)
        peaks = quantiles(dist, *ends, np.tile(levels, n)).reshape(n, GRID)
    peaks = np.clip(peaks, first, high[:, None])
    return np.sort(np.column_stack([first, even, peaks, high]), axis=1)


def _climb(dist: Univariate, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Golden-section search for the maximum between two points that bracket it."""
    for _ in range(GOLDEN_STEPS):
        a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        rising = density(dist, a) < density(dist, b)
        left, right = np.where(rising, a, left), np.where(rising, right, b)
    return 0.5 * (left + right)

r"""Two clusters of rows by a Gaussian mixture on indicator columns.

A column of two values is one coordinate in \(\{0, 1\}\), any other one coordinate per value. With
diagonal variances the log-density of a row is a sum of one number per column and code,

.. math:: \ln \pi_k + c_k - \frac{1}{2} \sum_i \frac{1 - 2 \mu_{k x_i}}{\sigma^2_{k x_i}}

so a step of EM is two passes of look-ups over the codes, whatever the number of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

ITERATIONS, STARTS = 100, 3
FIRST_ITERATIONS = 10
LARGE = 20_000
"""Cells from which matrix products are faster than look-ups."""
TOLERANCE = 1e-3
LEAST_VARIANCE = 1e-3


def split_rows(
    codes: np.ndarray, weights: np.ndarray, cards: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Which rows belong to the second cluster: hard assignment, best of three starts.

    Every start gets a few steps; the best of them then all.
    """
    seeds = _seeds(codes, weights, rng)
    if codes.size > LARGE and (cards <= 2).all():
        return _binary_rows(codes, weights, seeds)
    first = np.concatenate(([0], np.cumsum(cards)[:-1])).astype(np.int64)
    return _two_gaussians(codes, weights, first, cards.astype(np.int64), seeds)


def _binary_rows(codes: np.ndarray, weights: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """The mixture on columns of two values, by matrix products."""
    x, w = codes.astype(np.float32), weights / weights.sum()
    overall = w @ x
    best, best_odds, best_fit = -np.inf, np.zeros(len(x)), None
    for one, two in seeds:
        mean = 0.5 * overall + 0.5 * x[[one, two]].astype(np.float64)
        variance = np.tile(overall * (1.0 - overall) + LEAST_VARIANCE, (2, 1))
        now, odds, fit = _climb(x, w, (mean, variance, np.full(2, 0.5)), FIRST_ITERATIONS)
        if now > best:
            best, best_odds, best_fit = now, odds, fit
    if best_fit is not None:
        _, best_odds, _ = _climb(x, w, best_fit, ITERATIONS - FIRST_ITERATIONS)
    return best_odds > 0.0


Fit = tuple[np.ndarray, np.ndarray, np.ndarray]


def _climb(x: np.ndarray, w: np.ndarray, fit: Fit, steps: int) -> tuple[float, np.ndarray, Fit]:
    """EM: the mean log-density, the log-odds of the second cluster, and the parameters."""
    before = -np.inf
    for _ in range(steps):
        mean, variance, share = fit
        linear = -0.5 * (1.0 - 2.0 * mean) / variance
        base = np.log(share) - 0.5 * (mean**2 / variance + np.log(2.0 * np.pi * variance)).sum(1)
        logs = x @ linear.T.astype(np.float32) + base
        odds = logs[:, 1] - logs[:, 0]
        now = float(w @ np.logaddexp(logs[:, 0], logs[:, 1]))
        if now - before < TOLERANCE:
            break
        before = now
        second = w / (1.0 + np.exp(-np.clip(odds, -500.0, 500.0)))
        parts = np.stack([w - second, second])
        total = parts.sum(axis=1, keepdims=True) + 1e-12
        mean = np.asarray(parts.astype(np.float32) @ x, dtype=np.float64) / total
        fit = (mean, mean * (1.0 - mean) + LEAST_VARIANCE, total[:, 0] / total.sum())
    return now, odds, fit


def _seeds(codes: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two rows per start, the second drawn by its distance from the first (k-means++)."""
    seeds = np.zeros((STARTS, 2), dtype=np.int64)
    for start in range(STARTS):
        one = _draw(weights, rng)
        distance = _distances(codes, one) * weights
        seeds[start] = one, _draw(distance, rng) if distance.any() else one
    return seeds


def _draw(weights: np.ndarray, rng: np.random.Generator) -> int:
    """A row, drawn in proportion to the weights."""
    below = weights.cumsum()
    return min(int(below.searchsorted(rng.random() * below[-1], side="right")), len(weights) - 1)


@njit(cache=True)
def _distances(codes: Any, one: int) -> Any:
    """In how many columns each row differs from one of them."""
    n, m = codes.shape
    found = np.zeros(n)
    for r in range(n):
        for i in range(m):
            if codes[r, i] != codes[one, i]:
                found[r] += 1.0
    return found


@njit(cache=True)
def _two_gaussians(codes: Any, weights: Any, first: Any, cards: Any, seeds: Any) -> Any:
    size = first[-1] + cards[-1]
    best = -np.inf
    overall = _means(codes, weights, first, size)
    mean, spread = np.empty((2, size)), np.empty((2, size))
    best_mean, best_spread = np.empty((2, size)), np.empty((2, size))
    share, best_share = np.empty(2), np.empty(2)
    odds = np.zeros(len(codes))
    for start in range(len(seeds)):
        for k in range(2):
            mean[k] = 0.5 * overall
            for i in range(codes.shape[1]):
                mean[k, first[i] + codes[seeds[start, k], i]] += 0.5
            spread[k] = overall * (1.0 - overall) + LEAST_VARIANCE
            share[k] = 0.5
        now = _steps(codes, weights, first, cards, mean, spread, share, odds, FIRST_ITERATIONS)
        if now > best:
            best = now
            best_mean[:], best_spread[:], best_share[:] = mean, spread, share
    more = ITERATIONS - FIRST_ITERATIONS
    _steps(codes, weights, first, cards, best_mean, best_spread, best_share, odds, more)
    return odds > 0.0


@njit(cache=True)
def _steps(
    codes: Any, weights: Any, first: Any, cards: Any, mean: Any, spread: Any, share: Any,
    odds: Any, steps: int,
) -> float:  # fmt: skip
    before = -np.inf
    now = -np.inf
    for _ in range(steps):
        now = _odds(codes, weights, first, cards, mean, spread, share, odds)
        if now - before < TOLERANCE:
            break
        before = now
        _fit_two(codes, weights, first, odds, mean, spread, share)
    return now


@njit(cache=True)
def _means(codes: Any, weights: Any, first: Any, size: int) -> Any:
    sums = np.zeros(size)
    for r in range(len(codes)):
        for i in range(codes.shape[1]):
            sums[first[i] + codes[r, i]] += weights[r]
    return sums / weights.sum()


@njit(cache=True)
def _odds(
    codes: Any, weights: Any, first: Any, cards: Any, mean: Any, spread: Any, share: Any, odds: Any
) -> float:
    """Log-odds of the second cluster for every row; returns the mean log-density."""
    m = len(cards)
    own = np.zeros((2, mean.shape[1]))
    base = np.log(share)
    for i in range(m):
        for v in range(1 if cards[i] == 2 else 0, cards[i]):
            for k in range(2):
                mu, var = mean[k, first[i] + v], spread[k, first[i] + v]
                own[k, first[i] + v] = -0.5 * (1.0 - 2.0 * mu) / var
                base[k] -= 0.5 * (mu * mu / var + np.log(var) + np.log(2.0 * np.pi))
    total = 0.0
    for r in range(len(codes)):
        a, b = base[0], base[1]
        for i in range(m):
            place = first[i] + codes[r, i]
            a += own[0, place]
            b += own[1, place]
        odds[r] = b - a
        total += weights[r] * (max(a, b) + np.log1p(np.exp(-abs(a - b))))
    return total / weights.sum()


@njit(cache=True)
def _fit_two(
    codes: Any, weights: Any, first: Any, odds: Any, mean: Any, spread: Any, share: Any
) -> None:
    mean[:] = 0.0
    share[:] = 1e-9
    for r in range(len(codes)):
        second = weights[r] / (1.0 + np.exp(-min(max(odds[r], -500.0), 500.0)))
        one = weights[r] - second
        share[0] += one
        share[1] += second
        for i in range(codes.shape[1]):
            place = first[i] + codes[r, i]
            mean[0, place] += one
            mean[1, place] += second
    for k in range(2):
        mean[k] /= share[k]
        spread[k] = mean[k] * (1.0 - mean[k]) + LEAST_VARIANCE
    share /= share.sum()

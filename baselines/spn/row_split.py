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
TOLERANCE = 1e-3
LEAST_VARIANCE = 1e-3


def split_rows(
    codes: np.ndarray, weights: np.ndarray, cards: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Which rows belong to the second cluster: hard assignment, best of three starts."""
    first = np.concatenate(([0], np.cumsum(cards)[:-1])).astype(np.int64)
    seeds = _seeds(codes, weights, rng)
    return _two_gaussians(codes, weights, first, cards.astype(np.int64), seeds)


def _seeds(codes: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two rows per start, the second drawn by its distance from the first (k-means++)."""
    seeds = np.zeros((STARTS, 2), dtype=np.int64)
    share = weights / weights.sum()
    for start in range(STARTS):
        one = int(rng.choice(len(codes), p=share))
        distance = (codes != codes[one]).sum(axis=1) * share
        far = distance.sum()
        two = int(rng.choice(len(codes), p=distance / far)) if far > 0 else one
        seeds[start] = one, two
    return seeds


@njit(cache=True)
def _two_gaussians(codes: Any, weights: Any, first: Any, cards: Any, seeds: Any) -> Any:
    n = len(codes)
    size = first[-1] + cards[-1]
    best = -np.inf
    labels = np.zeros(n, dtype=np.bool_)
    overall = _means(codes, weights, first, size)
    mean, spread = np.empty((2, size)), np.empty((2, size))
    for start in range(len(seeds)):
        mean[:] = overall
        for k in range(2):
            mean[k] *= 0.5
            for i in range(codes.shape[1]):
                mean[k, first[i] + codes[seeds[start, k], i]] += 0.5
            spread[k] = overall * (1.0 - overall) + LEAST_VARIANCE
        share = np.full(2, 0.5)
        before = -np.inf
        odds = np.empty(n)
        for _ in range(ITERATIONS):
            now = _odds(codes, weights, first, cards, mean, spread, share, odds)
            if now - before < TOLERANCE:
                break
            before = now
            _fit_two(codes, weights, first, odds, mean, spread, share)
        if now > best:
            best = now
            labels[:] = odds > 0.0
    return labels


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

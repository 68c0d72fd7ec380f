"""Counting and scoring the candidate splits of one leaf, and sending rows down the trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def split_counts(codes: Any, weights: Any, rows: Any, target: int, first: Any, counts: Any) -> None:
    """Adds rows to the counts of (value of a column, value of the target), shape (values, d)."""
    m = codes.shape[1]
    for r in rows:
        y, w = codes[r, target], weights[r]
        for j in range(m):
            counts[first[j] + codes[r, j], y] += w


@njit(cache=True)
def split_counts_binary(codes: Any, weights: Any, rows: Any, target: int, counts: Any) -> None:
    """As `split_counts` where all columns have two values: contiguous sums of the ones."""
    m = codes.shape[1]
    ones = np.zeros((2, m), dtype=np.float32)
    total = np.zeros(2)
    for r in rows:
        y, w = codes[r, target], np.float32(weights[r])
        total[y] += w
        own, row = ones[y], codes[r]
        for j in range(m):
            own[j] += w * row[j]
    for j in range(m):
        for y in range(2):
            counts[2 * j + 1, y] += ones[y, j]
            counts[2 * j, y] += total[y] - ones[y, j]


@njit(cache=True)
def best_splits(counts: Any, first: Any, cards: Any, target: int, alpha: float) -> Any:
    r"""Per column the gain of the best split \(x_j \le c\) in log marginal likelihood, and c.

    .. math:: \sum_{s} \ln \frac{\prod_y \Gamma(N_{sy} + \alpha) / \Gamma(\alpha)}
              {\Gamma(N_s + \alpha d) / \Gamma(\alpha d)}

    over the two sides s, minus the same of the whole leaf.
    """
    m, d = len(cards), counts.shape[1]
    gains, cuts = np.full(m, -np.inf), np.zeros(m, dtype=np.int32)
    low, high = np.empty(d), np.empty(d)
    whole = np.zeros(d)
    for v in range(cards[target]):
        whole += counts[first[target] + v]
    base = _evidence(whole, alpha)
    for j in range(m):
        if j == target:
            continue
        low[:] = 0.0
        for c in range(cards[j] - 1):
            low += counts[first[j] + c]
            high[:] = whole - low
            if low.sum() > 0.5 and high.sum() > 0.5:
                gain = _evidence(low, alpha) + _evidence(high, alpha) - base
                if gain > gains[j]:
                    gains[j], cuts[j] = gain, c
    return gains, cuts


@njit(cache=True)
def _evidence(counts: Any, alpha: float) -> float:
    d = len(counts)
    value = math.lgamma(alpha * d) - d * math.lgamma(alpha) - math.lgamma(counts.sum() + alpha * d)
    for y in range(d):
        value += math.lgamma(counts[y] + alpha)
    return value


@njit(cache=True)
def tree_scores(codes: Any, roots: Any, nodes: Any, place: Any, width: Any, logs: Any) -> Any:
    """Sums of log-probabilities; a node is (column, cut, low child, high child), a leaf -1 first.

    Arguments:
        codes: Rows.
        roots: The root node of every column's tree.
        nodes: All nodes, shape (nodes, 4).
        place: Where the distribution of each node begins in `logs`.
        width: Domain sizes.
        logs: Logarithms of the leaves' distributions.
    """
    scores = np.zeros(len(codes))
    for r in range(len(codes)):
        row = codes[r]
        for i in range(len(roots)):
            at = roots[i]
            while nodes[at, 0] >= 0:
                at = nodes[at, 2] if row[nodes[at, 0]] <= nodes[at, 1] else nodes[at, 3]
            scores[r] += logs[place[at] + row[i]]
    return scores

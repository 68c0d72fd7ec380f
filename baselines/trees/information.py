r"""Weighted mutual information of all pairs of columns, by the fastest of three ways of counting.

Few columns, or columns of many values, are counted pair by pair. For columns of two values the
counts of pairs of ones say everything: they come from one matrix product, or, where ones are
rare, from a walk over the pairs of ones of every row, whose work does not grow with the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

NARROW = 40
"""Up to so many columns, counting pair by pair beats a matrix product."""
RARE = 0.1
"""Up to this share of ones, walking over pairs of ones beats a matrix product."""


def pair_information(
    codes: np.ndarray, weights: np.ndarray, cards: np.ndarray, spread: float = 0.0
) -> np.ndarray:
    r"""\(N I(X_i; X_j)\) of all pairs of columns.

    Arguments:
        codes: Table of codes, shape (rows, columns).
        weights: Of the rows.
        cards: Domain sizes.
        spread: Rows that are spread evenly over the cells of every pair before.
    """
    if len(cards) > NARROW and (cards == 2).all():
        return binary_information(pairs_of_ones(codes, weights), float(weights.sum()), spread)
    columns = np.ascontiguousarray(codes.T)
    return _by_pairs(columns, weights, cards.astype(np.int64), spread)


def pairs_of_ones(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted counts of rows in which both columns are 1; on the diagonal those of one column."""
    if np.count_nonzero(codes) <= RARE * codes.size:
        return np.asarray(_walk(np.ascontiguousarray(codes), weights.astype(np.float64)))
    x, w = codes.astype(np.float32), weights.astype(np.float32)
    weighted = x if (w == 1).all() else x * w[:, None]
    return np.asarray((weighted.T @ x).astype(np.float64))


@njit(cache=True)
def _walk(codes: Any, weights: Any) -> Any:
    n, m = codes.shape
    counts = np.zeros((m, m))
    ones = np.empty(m, dtype=np.int64)
    for r in range(n):
        w = weights[r]
        if w == 0.0:
            continue
        k = 0
        for i in range(m):
            if codes[r, i]:
                ones[k] = i
                k += 1
        for a in range(k):
            row = counts[ones[a]]
            for b in range(a, k):
                row[ones[b]] += w
    for i in range(m):
        for j in range(i):
            counts[i, j] = counts[j, i]
    return counts


@njit(cache=True)
def _xlogx(x: float) -> float:
    return x * np.log(x) if x > 1e-9 else 0.0


@njit(cache=True)
def binary_information(pairs: Any, total: float, spread: float) -> Any:
    r"""\(N I(X_i; X_j)\) from `pairs_of_ones` and the sum of the weights.

    Arguments:
        pairs: Counts of pairs of ones.
        total: Sum of all weights.
        spread: Rows that are spread evenly over the cells of every pair before.
    """
    m = len(pairs)
    found = np.zeros((m, m))
    single, own = np.empty(m), np.empty(m)
    whole = total + spread
    for i in range(m):
        single[i] = pairs[i, i] + 0.5 * spread
        own[i] = _xlogx(single[i]) + _xlogx(whole - single[i])
    top = _xlogx(whole)
    # Most pairs of a sparse table never meet: for those two of the four logarithms are known.
    apart = _xlogx(0.25 * spread)
    for i in range(m):
        for j in range(i):
            both = pairs[i, j] + 0.25 * spread
            one, two = single[i] - both, single[j] - both
            cells = apart if pairs[i, j] == 0.0 else _xlogx(both)
            cells += _xlogx(one) + _xlogx(two) + _xlogx(whole - single[i] - two)
            found[i, j] = found[j, i] = max(cells - own[i] - own[j] + top, 0.0)
    return found


@njit(cache=True)
def _by_pairs(columns: Any, weights: Any, cards: Any, spread: float) -> Any:
    m, n = columns.shape
    found = np.zeros((m, m))
    largest = cards.max()
    counts = np.empty((largest, largest))
    rows, across = np.empty(largest), np.empty(largest)
    for i in range(m):
        for j in range(i):
            a, b = cards[i], cards[j]
            counts[:a, :b] = spread / (a * b)
            for r in range(n):
                counts[columns[i, r], columns[j, r]] += weights[r]
            rows[:a] = 0.0
            across[:b] = 0.0
            value = 0.0
            total = 0.0
            for x in range(a):
                for y in range(b):
                    c = counts[x, y]
                    if c > 0.0:
                        value += c * np.log(c)
                        rows[x] += c
                        across[y] += c
                        total += c
            for x in range(a):
                if rows[x] > 0.0:
                    value -= rows[x] * np.log(rows[x])
            for y in range(b):
                if across[y] > 0.0:
                    value -= across[y] * np.log(across[y])
            if total > 0.0:
                value += total * np.log(total)
            found[i, j] = found[j, i] = value
    return found

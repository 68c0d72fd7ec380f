r"""Weighted mutual information of all pairs of columns, by the faster of two ways of counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from baselines.trees.counts import Indicators

NARROW = 40
"""Up to so many columns, counting pair by pair beats a matrix product with its logarithms."""


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
    if len(cards) > NARROW and (cards <= 2).all():
        seen = Indicators.of(codes, cards).counts(weights)
        return seen.plus(seen.uniform(), spread).mutual_information()
    columns = np.ascontiguousarray(codes.T)
    return _by_pairs(columns, weights, cards.astype(np.int64), spread)


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

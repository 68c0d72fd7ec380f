"""Loops over rows, columns and trees, compiled: counts, scores, box queries.

`parents[k, i]` is the parent of column i in tree k, -1 for a root; `order[k]` has parents before
their children; `tables[k, i, u, x]` is Pr(x | u) (or its logarithm, or a count), u = 0 for a root.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TINY = 1e-150


@njit(cache=True)
def edge_counts(codes: Any, weights: Any, parents: Any, counts: Any) -> None:
    """Adds the weighted rows to the tables of each tree; `weights` has one column per tree."""
    n, m = codes.shape
    for k in range(len(parents)):
        for r in range(n):
            w = weights[r, k]
            if w > 0.0:
                for i in range(m):
                    u = codes[r, parents[k, i]] if parents[k, i] >= 0 else 0
                    counts[k, i, u, codes[r, i]] += w


@njit(cache=True)
def log_scores(codes: Any, parents: Any, logs: Any) -> Any:
    """Log-probability of every row under every tree, shape (rows, trees)."""
    n, m = codes.shape
    scores = np.empty((n, len(parents)))
    for k in range(len(parents)):
        for r in range(n):
            total = 0.0
            for i in range(m):
                u = codes[r, parents[k, i]] if parents[k, i] >= 0 else 0
                total += logs[k, i, u, codes[r, i]]
            scores[r, k] = total
    return scores


@njit(cache=True)
def log_boxes(first: Any, last: Any, parents: Any, order: Any, tables: Any, cards: Any) -> Any:
    """Log-probability of closed ranges of codes under every tree: messages from leaves to root."""
    n, m = first.shape
    found = np.empty((n, len(parents)))
    inner = np.empty((m, tables.shape[2]))
    message = np.empty(tables.shape[2])
    for r in range(n):
        for k in range(len(parents)):
            inner[:] = 1.0
            total = 0.0
            for step in range(m - 1, -1, -1):
                i = order[k, step]
                above = parents[k, i]
                states = cards[above] if above >= 0 else 1
                largest = 0.0
                for u in range(states):
                    value = 0.0
                    for x in range(first[r, i], last[r, i] + 1):
                        value += tables[k, i, u, x] * inner[i, x]
                    message[u] = value
                    largest = max(largest, value)
                if largest == 0.0:
                    total = -np.inf
                    break
                # Products of many small messages would vanish; their scale is kept apart.
                scale = largest if above < 0 or largest < TINY else 1.0
                total += np.log(scale)
                if above >= 0:
                    for u in range(states):
                        inner[above, u] *= message[u] / scale
                    low = 0.0
                    for u in range(states):
                        low = max(low, inner[above, u])
                    if 0.0 < low < TINY:
                        total += np.log(low)
                        for u in range(states):
                            inner[above, u] /= low
            found[r, k] = total
    return found

"""Passes over an SPGM: scores of rows, expected counts, and probabilities of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

VARIABLE, PRODUCT, SUM = 0, 1, 2
BLOCK = 64
TINY = 1e-150


@njit(cache=True)
def pair_counts(columns: Any, weights: Any, pairs: Any, place: Any, cards: Any) -> Any:
    """Weighted counts of the pairs of every table, flat."""
    counts = np.zeros(place[-1])
    n = columns.shape[1]
    for t in range(len(pairs)):
        own, at, d = columns[pairs[t, 1]], place[t], cards[pairs[t, 1]]
        if pairs[t, 0] < 0:
            for r in range(n):
                counts[at + own[r]] += weights[r]
        else:
            above = columns[pairs[t, 0]]
            for r in range(n):
                counts[at + above[r] * d + own[r]] += weights[r]
    return counts


@njit(cache=True)
def _upward(
    columns: Any, start: int, size: int, kinds: Any, variable: Any, above: Any, table: Any,
    bounds: Any, children: Any, choice: Any, place: Any, cards: Any, logs: Any,
    log_weights: Any, values: Any,
) -> None:  # fmt: skip
    """Logarithm of every node's value for a block of complete rows."""
    for node in range(len(kinds)):
        out = values[node]
        first, last = bounds[node], bounds[node + 1]
        if kinds[node] == SUM:
            up = columns[above[node]]
            for r in range(size):
                u = up[start + r]
                top = -np.inf
                for e in range(first, last):
                    top = max(top, values[children[e], r] + log_weights[choice[e] + u])
                total = 0.0
                for e in range(first, last):
                    total += np.exp(values[children[e], r] + log_weights[choice[e] + u] - top)
                out[r] = top + np.log(total)
            continue
        out[:size] = 0.0
        if kinds[node] == VARIABLE:
            at, d, own = place[table[node]], cards[variable[node]], columns[variable[node]]
            if above[node] < 0:
                for r in range(size):
                    out[r] = logs[at + own[start + r]]
            else:
                up = columns[above[node]]
                for r in range(size):
                    out[r] = logs[at + up[start + r] * d + own[start + r]]
        for e in range(first, last):
            child = values[children[e]]
            for r in range(size):
                out[r] += child[r]


@njit(cache=True)
def log_scores(
    columns: Any, kinds: Any, variable: Any, above: Any, table: Any, bounds: Any, children: Any,
    choice: Any, place: Any, cards: Any, logs: Any, log_weights: Any,
) -> Any:  # fmt: skip
    """Log-probabilities of complete rows; `columns` has one column per row."""
    n = columns.shape[1]
    scores = np.empty(n)
    values = np.empty((len(kinds), BLOCK))
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        _upward(
            columns, start, size, kinds, variable, above, table, bounds, children, choice, place,
            cards, logs, log_weights, values,
        )  # fmt: skip
        scores[start : start + size] = values[len(kinds) - 1, :size]
    return scores


@njit(cache=True)
def expected_counts(
    columns: Any, weights: Any, kinds: Any, variable: Any, above: Any, table: Any, bounds: Any,
    children: Any, choice: Any, place: Any, cards: Any, logs: Any, log_weights: Any,
) -> Any:  # fmt: skip
    """Expected counts of all tables and of all children of sum nodes, by a downward pass."""
    n = columns.shape[1]
    counts, chosen = np.zeros(place[-1]), np.zeros(len(log_weights))
    values = np.empty((len(kinds), BLOCK))
    flow = np.empty((len(kinds), BLOCK))
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        _upward(
            columns, start, size, kinds, variable, above, table, bounds, children, choice, place,
            cards, logs, log_weights, values,
        )  # fmt: skip
        flow[:] = 0.0
        flow[len(kinds) - 1, :size] = weights[start : start + size]
        for node in range(len(kinds) - 1, -1, -1):
            mine = flow[node]
            if kinds[node] == VARIABLE:
                at, d, own = place[table[node]], cards[variable[node]], columns[variable[node]]
                for r in range(size):
                    u = columns[above[node], start + r] if above[node] >= 0 else 0
                    counts[at + u * d + own[start + r]] += mine[r]
            for e in range(bounds[node], bounds[node + 1]):
                below = flow[children[e]]
                if kinds[node] == SUM:
                    child, up = values[children[e]], columns[above[node]]
                    for r in range(size):
                        at = choice[e] + up[start + r]
                        part = mine[r] * np.exp(child[r] + log_weights[at] - values[node, r])
                        below[r] += part
                        chosen[at] += part
                else:
                    for r in range(size):
                        below[r] += mine[r]
    return counts, chosen


@njit(cache=True)
def log_boxes(
    lower: Any, upper: Any, kinds: Any, variable: Any, above: Any, table: Any, bounds: Any,
    children: Any, choice: Any, place: Any, cards: Any, probabilities: Any, log_weights: Any,
) -> Any:  # fmt: skip
    """Log-probabilities of closed ranges of codes.

    The message of a node is a vector over the values of the column above it, scaled to a largest
    entry of 1; the logarithm of the scale is kept apart, so that nothing vanishes.
    """
    found = np.empty(len(lower))
    width = cards.max()
    messages, scales = np.empty((len(kinds), width)), np.empty(len(kinds))
    inner = np.empty(width)
    for q in range(len(lower)):
        for node in range(len(kinds)):
            first, last = bounds[node], bounds[node + 1]
            states = cards[above[node]] if above[node] >= 0 else 1
            out = messages[node]
            scale = 0.0
            if kinds[node] == SUM:
                own = children[first:last]
                scale = _mix(out[:states], own, choice[first:last], log_weights, messages, scales)
            elif kinds[node] == PRODUCT:
                out[:states] = 1.0
                scale = _multiply(out, 0, states, children[first:last], messages, scales)
            else:
                v = variable[node]
                low, high = lower[q, v], upper[q, v] + 1
                inner[low:high] = 1.0
                scale = _multiply(inner, low, high, children[first:last], messages, scales)
                at, d = place[table[node]], cards[v]
                for u in range(states):
                    value = 0.0
                    for x in range(low, high):
                        value += probabilities[at + u * d + x] * inner[x]
                    out[u] = value
            scales[node] = scale + _rescale(out[:states])
        found[q] = scales[len(kinds) - 1]
    return found


@njit(cache=True)
def _multiply(out: Any, low: int, high: int, children: Any, messages: Any, scales: Any) -> float:
    """Multiplies the children's messages into `out`; returns the logarithm of the scale."""
    scale = 0.0
    for c in children:
        scale += scales[c]
        largest = 0.0
        for u in range(low, high):
            out[u] *= messages[c, u]
            largest = max(largest, out[u])
        if 0.0 < largest < TINY:
            scale += np.log(largest)
            for u in range(low, high):
                out[u] /= largest
    return scale


@njit(cache=True)
def _mix(
    out: Any, children: Any, choice: Any, log_weights: Any, messages: Any, scales: Any
) -> float:
    """The weighted sum of the children's messages; returns the logarithm of its scale."""
    out[:] = 0.0
    top = -np.inf
    for c in children:
        top = max(top, scales[c])
    if top == -np.inf:
        return 0.0
    for e in range(len(children)):
        for u in range(len(out)):
            share = np.exp(scales[children[e]] + log_weights[choice[e] + u] - top)
            out[u] += share * messages[children[e], u]
    return top


@njit(cache=True)
def _rescale(out: Any) -> float:
    """Divides a message by its largest entry; returns the logarithm of that."""
    largest = out.max()
    if largest == 0.0:
        return -np.inf
    out /= largest
    return np.log(largest)

r"""Passes over an SPGM: scores of rows, expected counts, and probabilities of boxes.

Rows are scored without logarithms: tables and values are relative to a product of single columns
(`Spgm.base`), so that the value of a node is a ratio of two likelihoods and close to one. A
block in which any value leaves the range of doubles nevertheless is scored by logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

VARIABLE, PRODUCT, SUM = 0, 1, 2
BLOCK = 128
TINY = 1e-150
SMALLEST, LARGEST = 1e-280, 1e280


@njit(cache=True)
def pair_counts(columns: Any, weights: Any, graph: Any) -> Any:
    """Weighted counts of the pairs of every table, flat."""
    pairs, place = graph.pairs, graph.place
    counts = np.zeros(place[-1])
    n = columns.shape[1]
    for t in range(len(pairs)):
        own, at, d = columns[pairs[t, 1]], place[t], graph.cards[pairs[t, 1]]
        if pairs[t, 0] < 0:
            for r in range(n):
                counts[at + own[r]] += weights[r]
        else:
            above = columns[pairs[t, 0]]
            for r in range(n):
                counts[at + above[r] * d + own[r]] += weights[r]
    return counts


@njit(cache=True)
def _cells(columns: Any, start: int, size: int, graph: Any, node: int, cells: Any) -> None:
    """Where the rows of a block are in the table of a variable node."""
    at, own = graph.place[graph.table[node]], columns[graph.variable[node], start : start + size]
    if graph.above[node] < 0:
        for r in range(size):
            cells[r] = at + own[r]
    else:
        up, d = columns[graph.above[node], start : start + size], graph.cards[graph.variable[node]]
        for r in range(size):
            cells[r] = at + up[r] * d + own[r]


@njit(cache=True, fastmath={"nnan", "nsz"})
def _within_range(out: Any) -> bool:
    low, high = 1.0, 1.0
    for value in out:
        low = min(low, value)
        high = max(high, value)
    return low > SMALLEST and high < LARGEST


@njit(cache=True)
def _upward(columns: Any, start: int, size: int, model: Any, values: Any, cells: Any) -> bool:
    """Every node's value for a block of complete rows; False if one is out of range."""
    graph = model.graph
    ratios, weights, children = model.ratios, model.weights, graph.children
    for node in range(len(graph.kinds)):
        out = values[node, :size]
        first, last = graph.bounds[node], graph.bounds[node + 1]
        if graph.kinds[node] == SUM:
            up = columns[graph.above[node], start : start + size]
            out[:] = 0.0
            for e in range(first, last):
                child, at = values[children[e], :size], graph.choice[e]
                for r in range(size):
                    out[r] += child[r] * weights[at + up[r]]
        else:
            if graph.kinds[node] == VARIABLE:
                _cells(columns, start, size, graph, node, cells)
                for r in range(size):
                    out[r] = ratios[cells[r]]
            else:
                out[:] = 1.0
            for e in range(first, last):
                child = values[children[e], :size]
                for r in range(size):
                    out[r] *= child[r]
        if not _within_range(out):
            return False
    return True


@njit(cache=True)
def _upward_logs(columns: Any, start: int, size: int, model: Any, values: Any, cells: Any) -> None:
    """Logarithm of every node's value for a block of complete rows."""
    graph = model.graph
    log_weights, children, choice = model.log_weights, graph.children, graph.choice
    for node in range(len(graph.kinds)):
        out = values[node]
        first, last = graph.bounds[node], graph.bounds[node + 1]
        if graph.kinds[node] == SUM:
            up = columns[graph.above[node]]
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
        if graph.kinds[node] == VARIABLE:
            _cells(columns, start, size, graph, node, cells)
            for r in range(size):
                out[r] = model.logs[cells[r]]
        for e in range(first, last):
            child = values[children[e]]
            for r in range(size):
                out[r] += child[r]


@njit(cache=True)
def log_scores(columns: Any, model: Any) -> Any:
    """Log-probabilities of complete rows; `columns` has one column per row."""
    n, m = columns.shape[1], len(columns)
    root = len(model.graph.kinds) - 1
    scores = np.empty(n)
    values, cells = np.empty((root + 1, BLOCK)), np.empty(BLOCK, dtype=np.int64)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        if _upward(columns, start, size, model, values, cells):
            for r in range(size):
                scores[start + r] = np.log(values[root, r])
            for v in range(m):
                own, base = columns[v], model.base[v]
                for r in range(start, start + size):
                    scores[r] += base[own[r]]
        else:
            _upward_logs(columns, start, size, model, values, cells)
            scores[start : start + size] = values[root, :size]
    return scores


@njit(cache=True)
def _share(
    up: Any, mine: Any, values: Any, flow: Any, model: Any, node: int, linear: bool, chosen: Any
) -> None:
    """Hands the flow of a sum node to its children, as each contributed to its value."""
    graph, size = model.graph, len(mine)
    for e in range(graph.bounds[node], graph.bounds[node + 1]):
        child, at = graph.children[e], graph.choice[e]
        for r in range(size):
            if linear:
                part = mine[r] * values[child, r] * model.weights[at + up[r]] / values[node, r]
            else:
                gain = values[child, r] + model.log_weights[at + up[r]] - values[node, r]
                part = mine[r] * np.exp(gain)
            flow[child, r] += part
            chosen[at + up[r]] += part


@njit(cache=True)
def expected_counts(columns: Any, row_weights: Any, model: Any) -> Any:
    """Expected counts of all tables and of all children of sum nodes, by a downward pass."""
    graph = model.graph
    n, root = columns.shape[1], len(graph.kinds) - 1
    counts, chosen = np.zeros(graph.place[-1]), np.zeros(len(model.weights))
    values, cells = np.empty((root + 1, BLOCK)), np.empty(BLOCK, dtype=np.int64)
    flow = np.empty((root + 1, BLOCK))
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        linear = _upward(columns, start, size, model, values, cells)
        if not linear:
            _upward_logs(columns, start, size, model, values, cells)
        flow[:] = 0.0
        flow[root, :size] = row_weights[start : start + size]
        for node in range(root, -1, -1):
            mine = flow[node, :size]
            if graph.kinds[node] == SUM:
                up = columns[graph.above[node], start : start + size]
                _share(up, mine, values, flow, model, node, linear, chosen)
                continue
            if graph.kinds[node] == VARIABLE:
                _cells(columns, start, size, graph, node, cells)
                for r in range(size):
                    counts[cells[r]] += mine[r]
            for e in range(graph.bounds[node], graph.bounds[node + 1]):
                below = flow[graph.children[e], :size]
                for r in range(size):
                    below[r] += mine[r]
    return counts, chosen


@njit(cache=True)
def log_boxes(lower: Any, upper: Any, model: Any) -> Any:
    """Log-probabilities of closed ranges of codes.

    The message of a node is a vector over the values of the column above it, scaled to a largest
    entry of 1; the logarithm of the scale is kept apart, so that nothing vanishes.
    """
    graph = model.graph
    kinds, above, bounds, children = graph.kinds, graph.above, graph.bounds, graph.children
    cards, log_weights = graph.cards, model.log_weights
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
                scale = _mix(
                    out[:states], own, graph.choice[first:last], log_weights, messages, scales
                )
            elif kinds[node] == PRODUCT:
                out[:states] = 1.0
                scale = _multiply(out, 0, states, children[first:last], messages, scales)
            else:
                v = graph.variable[node]
                low, high = lower[q, v], upper[q, v] + 1
                inner[low:high] = 1.0
                scale = _multiply(inner, low, high, children[first:last], messages, scales)
                at, d = graph.place[graph.table[node]], cards[v]
                for u in range(states):
                    value = 0.0
                    for x in range(low, high):
                        value += model.probabilities[at + u * d + x] * inner[x]
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

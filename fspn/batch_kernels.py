"""Loops over many events: packed ones, boxes of values, and pairs of query and evidence."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit, prange

from fspn.dense_kernels import new_dense_state
from fspn.kernels import kernel, new_state
from fspn.tree_kernels import FRAME, evaluate


@njit(cache=True, nogil=True)
def run_events(
    root, ints, tables, numbers, lower, upper, w, weights, sizes, depth, buffer, first, out
):
    """The log-probability of every event, one after the other; > 0 asks for a larger buffer."""
    keep = np.zeros(lower.shape[1], dtype=np.bool_)
    frames = np.empty((depth[0], FRAME), dtype=np.int64)
    partial = np.empty((depth[0], 2))
    saved = np.empty(depth[1], dtype=np.int64)
    V, F, W = new_state(depth[2])
    B, G, P = new_dense_state(depth[2])
    for q in range(lower.shape[0]):
        value, need = evaluate(
            root, ints, tables, numbers, lower[q], upper[q], w[q], weights, sizes, keep,
            buffer, first, frames, partial, saved, V, F, W, B, G, P,
        )  # fmt: skip
        if need > 0:
            return need
        out[q] = value
    return 0


@njit(cache=True, parallel=True, nogil=True)
def run_events_parallel(
    root, ints, tables, numbers, lower, upper, w, weights, sizes, depth, buffers, first, out
):
    """The same on several threads, with a buffer each."""
    n_threads = buffers.shape[0]
    needs = np.zeros(n_threads, dtype=np.int64)
    n = lower.shape[0]
    for t in prange(n_threads):
        part = slice(t * n // n_threads, (t + 1) * n // n_threads)
        needs[t] = run_events(
            root, ints, tables, numbers, lower[part], upper[part], w[part], weights, sizes, depth,
            buffers[t], first, out[part],
        )  # fmt: skip
    return needs.max()


@njit(cache=True, nogil=True)
def run_boxes(
    root, ints, tables, numbers, sizes, depth, lower, upper, values, starts, buffer, first, out
):
    """Boxes of values: codes are looked up on the way. NaN and infinities leave a side open."""
    m = lower.shape[1]
    low = np.empty((1, m), dtype=np.int64)
    high = np.empty((1, m), dtype=np.int64)
    w = np.full(m, -1, dtype=np.int64)
    weights = np.zeros(1)
    keep = np.zeros(m, dtype=np.bool_)
    frames = np.empty((depth[0], FRAME), dtype=np.int64)
    partial = np.empty((depth[0], 2))
    saved = np.empty(depth[1], dtype=np.int64)
    V, F, W = new_state(depth[2])
    B, G, P = new_dense_state(depth[2])
    for q in range(lower.shape[0]):
        _codes_of(lower[q], upper[q], values, starts, low[0], high[0])
        value, need = evaluate(
            root, ints, tables, numbers, low[0], high[0], w, weights, sizes, keep,
            buffer, first, frames, partial, saved, V, F, W, B, G, P,
        )  # fmt: skip
        if need > 0:
            return need
        out[q] = value
    return 0


@njit(cache=True, nogil=True)
def codes_of_boxes(lower, upper, values, starts):
    """The first and last codes of boxes of values."""
    low = np.empty(lower.shape, dtype=np.int64)
    high = np.empty(lower.shape, dtype=np.int64)
    for q in range(lower.shape[0]):
        _codes_of(lower[q], upper[q], values, starts, low[q], high[q])
    return low, high


@kernel()
def _codes_of(lower, upper, values, starts, low, high):
    for v in range(len(lower)):
        start, end = starts[v], starts[v + 1]
        a, b = lower[v], upper[v]
        if a == b:
            found = _first_not_below(values, start, end, a)
            low[v] = found - start
            high[v] = low[v] if found < end and values[found] == a else low[v] - 1
        else:
            low[v] = 0 if np.isnan(a) else _first_not_below(values, start, end, a) - start
            high[v] = (end if np.isnan(b) else _first_above(values, start, end, b)) - start - 1


@kernel()
def _first_not_below(values, first, last, x):
    # Most domains are runs of integers.
    steps = x - values[first]
    if 0.0 <= steps < last - first and values[first + np.int64(steps)] == x:
        return first + np.int64(steps)
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < x:
            first = middle + 1
        else:
            last = middle
    return first


@kernel()
def _first_above(values, first, last, x):
    while first < last:
        middle = (first + last) >> 1
        if values[middle] <= x:
            first = middle + 1
        else:
            last = middle
    return first


@njit(cache=True, nogil=True)
def run_conditionals(root, ints, tables, numbers, sizes, depth, pairs, n, buffer, first, out):
    """The probabilities of n questions about single codes given others.

    ``pairs`` holds per question how many variables are asked for and how many are given, then
    variable and code of each; a code of -1 is impossible. NaN where the evidence is impossible.
    Returns (buffer needed if larger than this one, how often the evidence was impossible).
    """
    m = len(sizes)
    low = np.empty((2, m), dtype=np.int64)
    high = np.empty((2, m), dtype=np.int64)
    w = np.full(m, -1, dtype=np.int64)
    weights = np.zeros(1)
    keep = np.zeros(m, dtype=np.bool_)
    frames = np.empty((depth[0], FRAME), dtype=np.int64)
    partial = np.empty((depth[0], 2))
    saved = np.empty(depth[1], dtype=np.int64)
    V, F, W = new_state(depth[2])
    B, G, P = new_dense_state(depth[2])
    place, n_impossible = 0, 0
    logs = np.empty(2)
    for q in range(n):
        place = _read_question(pairs, place, sizes, low, high)
        for event in range(2):
            logs[event], need = evaluate(
                root, ints, tables, numbers, low[event], high[event], w, weights, sizes, keep,
                buffer, first, frames, partial, saved, V, F, W, B, G, P,
            )  # fmt: skip
            if need > 0:
                return need, 0
        if logs[1] == -np.inf:
            n_impossible += 1
            out[q] = np.nan
        else:
            out[q] = exp(logs[0] - logs[1])
    return 0, n_impossible


@kernel()
def _read_question(pairs, place, sizes, low, high):
    """The boxes of joint and evidence; returns where the next question begins."""
    for v in range(len(sizes)):
        low[0, v] = low[1, v] = 0
        high[0, v] = high[1, v] = sizes[v] - 1
    n_asked, n_given = pairs[place], pairs[place + 1]
    place += 2
    for i in range(n_asked + n_given):
        v, code = pairs[place], pairs[place + 1]
        for event in range(1 if i < n_asked else 2):
            low[event, v] = max(low[event, v], code)
            high[event, v] = min(high[event, v], code)
        place += 2
    return place

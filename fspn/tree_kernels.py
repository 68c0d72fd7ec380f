"""FSPN-Infer on a flattened tree, and the loops over many events."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import get_thread_id, njit, prange

from fspn.kernels import BLOCK, FACTORIZE, PRODUCT, SUM, UNI_LEAF, eliminate


@njit(cache=True, nogil=True)
def _constrained(node, ints, lo, hi, w, sizes):
    """Whether the event says anything about the node's scope."""
    scope = ints[node + 2]
    for s in range(scope, scope + ints[node + 1]):
        v = ints[s]
        if lo[v] > 0 or hi[v] < sizes[v] - 1 or w[v] >= 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _range_mass(pmf, cumulative, low, high, w, weights, numbers):
    """The probability of a range of codes, weighted where the event has weights."""
    if low > high:
        return 0.0
    if w >= 0:
        total = 0.0
        for x in range(low, high + 1):
            total += numbers[pmf + x] * weights[w + x]
        return total
    if low == high:
        return numbers[pmf + low]
    return numbers[cumulative + high + 1] - numbers[cumulative + low]


@njit(cache=True, nogil=True)
def _joint(node, ints, tables, numbers, lo, hi, w, weights):
    """A sparse joint table plus its product term."""
    n, variables = ints[node + 3], ints[node + 4]
    n_rows, rows, shares = ints[node + 5], ints[node + 6], ints[node + 7]
    epsilon, marginals = numbers[ints[node + 8]], ints[node + 9]
    first = ints[variables]
    start, end = 0, n_rows
    while start < end:
        middle = (start + end) >> 1
        if tables[rows + middle * n] < lo[first]:
            start = middle + 1
        else:
            end = middle
    mass = 0.0
    for r in range(start, n_rows):
        if tables[rows + r * n] > hi[first]:
            break
        share = numbers[shares + r]
        for j in range(n):
            v, x = ints[variables + j], tables[rows + r * n + j]
            if x < lo[v] or x > hi[v]:
                share = 0.0
                break
            if w[v] >= 0:
                share *= weights[w[v] + x]
        mass += share
    spread = 1.0
    for j in range(n):
        v, m = ints[variables + j], marginals + 2 * j
        spread *= _range_mass(ints[m], ints[m + 1], lo[v], hi[v], w[v], weights, numbers)
    total = (1.0 - epsilon) * mass + epsilon * spread
    return log(total) if total > 0 else -np.inf


@njit(cache=True, nogil=True)
def evaluate(node, ints, tables, numbers, lo, hi, w, weights, sizes, keep, buffer, top, stack, sp):
    """The log-probability of the event on a node; a second value > 0 asks for a larger buffer."""
    if not _constrained(node, ints, lo, hi, w, sizes):
        return 0.0, 0
    kind = ints[node]
    if kind == UNI_LEAF:
        v = ints[node + 3]
        p = _range_mass(ints[node + 5], ints[node + 6], lo[v], hi[v], w[v], weights, numbers)
        return (log(p) if p > 0 else -np.inf), 0
    if kind == PRODUCT:
        total = 0.0
        for c in range(ints[node + 3]):
            value, need = evaluate(
                ints[node + 4 + c], ints, tables, numbers, lo, hi, w, weights, sizes, keep,
                buffer, top, stack, sp,
            )
            if need > 0 or value == -np.inf:
                return value, need
            total += value
        return total, 0
    if kind == SUM:
        total = -np.inf
        for c in range(ints[node + 3]):
            value, need = evaluate(
                ints[node + 5 + c], ints, tables, numbers, lo, hi, w, weights, sizes, keep,
                buffer, top, stack, sp,
            )
            if need > 0:
                return value, need
            total = _log_add(total, value + numbers[ints[node + 4] + c])
        return total, 0
    if kind == FACTORIZE:
        left = ints[node + 3]
        if not _scope_constrained(ints[node + 4], ints[node + 5], ints, lo, hi, w, sizes):
            return evaluate(
                left, ints, tables, numbers, lo, hi, w, weights, sizes, keep, buffer, top, stack, sp
            )
        total = -np.inf
        for b in range(ints[node + 6]):
            box = ints[node + 7 + b]
            n_cells = ints[box + 1]
            alive = True
            for c in range(n_cells):
                v = ints[box + 2 + 3 * c]
                stack[sp + 2 * c], stack[sp + 2 * c + 1] = lo[v], hi[v]
                lo[v] = max(lo[v], ints[box + 3 + 3 * c])
                hi[v] = min(hi[v], ints[box + 4 + 3 * c])
                alive = alive and lo[v] <= hi[v]
            need = 0
            if alive:
                inner = sp + 2 * n_cells
                value, need = evaluate(
                    ints[box], ints, tables, numbers, lo, hi, w, weights, sizes, keep,
                    buffer, top, stack, inner,
                )
                if need == 0 and value > -np.inf:
                    rest, need = evaluate(
                        left, ints, tables, numbers, lo, hi, w, weights, sizes, keep,
                        buffer, top, stack, inner,
                    )
                    total = _log_add(total, value + rest)
            for c in range(n_cells - 1, -1, -1):
                v = ints[box + 2 + 3 * c]
                lo[v], hi[v] = stack[sp + 2 * c], stack[sp + 2 * c + 1]
            if need > 0:
                return 0.0, need
        return total, 0
    if kind == BLOCK:
        block, base = ints[node + 3], ints[node + 4]
        scale, start, cells, top, kept, n_kept = eliminate(
            block, ints, tables, numbers, lo, hi, w, weights, keep, buffer, top
        )
        if top < 0:
            return 0.0, -top
        if scale == -np.inf or cells == 0:
            return -np.inf, 0
        if base < 0:
            return scale + log(buffer[start]), 0
        total = -np.inf
        for d in range(n_kept):
            v = ints[ints[block + 4 + kept[d]]]
            stack[sp + 2 * d], stack[sp + 2 * d + 1] = lo[v], hi[v]
        for c in range(cells):
            if buffer[start + c] <= 0.0:
                continue
            rest_of = c
            for d in range(n_kept - 1, -1, -1):
                v = ints[ints[block + 4 + kept[d]]]
                extent = stack[sp + 2 * d + 1] - stack[sp + 2 * d] + 1
                lo[v] = hi[v] = stack[sp + 2 * d] + rest_of % extent
                rest_of //= extent
            value, need = evaluate(
                base, ints, tables, numbers, lo, hi, w, weights, sizes, keep,
                buffer, top, stack, sp + 2 * n_kept,
            )
            if need > 0:
                total = np.nan
                break
            total = _log_add(total, value + log(buffer[start + c]))
        for d in range(n_kept):
            v = ints[ints[block + 4 + kept[d]]]
            lo[v], hi[v] = stack[sp + 2 * d], stack[sp + 2 * d + 1]
        if np.isnan(total):
            return 0.0, need
        return scale + total, 0
    return _joint(node, ints, tables, numbers, lo, hi, w, weights), 0


@njit(cache=True, nogil=True)
def _scope_constrained(n, scope, ints, lo, hi, w, sizes):
    for s in range(scope, scope + n):
        v = ints[s]
        if lo[v] > 0 or hi[v] < sizes[v] - 1 or w[v] >= 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _log_add(a, b):
    if a == -np.inf:
        return b
    if b == -np.inf:
        return a
    if a < b:
        a, b = b, a
    return a + log(1.0 + exp(b - a))


@njit(cache=True, nogil=True)
def run_events(root, ints, tables, numbers, lower, upper, w, weights, sizes, buffer, out):
    """The log-probability of every event, one after the other; > 0 asks for a larger buffer."""
    m = lower.shape[1]
    keep = np.zeros(m, dtype=np.bool_)
    stack = np.empty(4 * m + 256, dtype=np.int64)
    for q in range(lower.shape[0]):
        value, need = evaluate(
            root, ints, tables, numbers, lower[q], upper[q], w[q], weights, sizes, keep,
            buffer, 0, stack, 0,
        )
        if need > 0:
            return need
        out[q] = value
    return 0


@njit(cache=True, parallel=True, nogil=True)
def run_events_parallel(root, ints, tables, numbers, lower, upper, w, weights, sizes, buffers, out):
    """The same on several threads, with a buffer each."""
    m = lower.shape[1]
    needs = np.zeros(buffers.shape[0], dtype=np.int64)
    for q in prange(lower.shape[0]):
        keep = np.zeros(m, dtype=np.bool_)
        stack = np.empty(4 * m + 256, dtype=np.int64)
        thread = get_thread_id()
        value, need = evaluate(
            root, ints, tables, numbers, lower[q], upper[q], w[q], weights, sizes, keep,
            buffers[thread], 0, stack, 0,
        )
        needs[thread] = max(needs[thread], need)
        out[q] = value
    return needs.max()


@njit(cache=True, nogil=True)
def encode_boxes(lower, upper, values, starts, lo, hi):
    """Ranges of values to ranges of codes; NaN and infinities leave a side open."""
    for q in range(lower.shape[0]):
        for v in range(lower.shape[1]):
            first, last = starts[v], starts[v + 1]
            a, b = lower[q, v], upper[q, v]
            lo[q, v] = 0 if np.isnan(a) else _first_not_below(values, first, last, a) - first
            hi[q, v] = (last if np.isnan(b) else _first_above(values, first, last, b)) - first - 1


@njit(cache=True, nogil=True)
def _first_not_below(values, first, last, x):
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < x:
            first = middle + 1
        else:
            last = middle
    return first


@njit(cache=True, nogil=True)
def _first_above(values, first, last, x):
    while first < last:
        middle = (first + last) >> 1
        if values[middle] <= x:
            first = middle + 1
        else:
            last = middle
    return first

r"""The fast engine's inner loops: a flattened FSPN evaluated without Python objects.

A program is three pools of numbers (structure, tables, probabilities) and :mod:`fspn.compile`
writes it. An event is, per variable, the range ``lower .. upper`` of codes and optionally a weight
per code. Tree nodes are evaluated as FSPN-Infer does. A *block*, a group of nested factorize nodes
with tables, is evaluated variable by variable from the last to the first: what the boxes of one
event have in common is computed once and kept as a function of the conditioning variables (a
message), so that f nested factorize nodes with l regions do not cost :math:`l^f`. Variables that
the event says nothing about, and on which nothing constrained depends, are never visited.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit, prange

UNI_LEAF, PRODUCT, SUM, FACTORIZE, BLOCK, JOINT = range(6)

MAX_DIMS = 14
TINY = 1e-120


@njit(cache=True, nogil=True)
def _row_of(rung, keys, tables):
    """The row of a rung for a key, or -1."""
    if rung[1] >= 0:
        return tables[rung[1] + keys]
    low, high = rung[2], rung[2] + rung[3]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if tables[middle] < keys:
            low = middle + 1
        else:
            high = middle
    return low - rung[2] if low < end and tables[low] == keys else -1


@njit(cache=True, nogil=True)
def _entry(rung, row, x, tables, numbers):
    """The share of one code in a row."""
    low, high = tables[rung[4] + row], tables[rung[4] + row + 1]
    while low < high:
        middle = (low + high) >> 1
        code = tables[rung[5] + middle]
        if code == x:
            return numbers[rung[6] + middle]
        if code < x:
            low = middle + 1
        else:
            high = middle
    return 0.0


@njit(cache=True, nogil=True)
def _point(var, code, x, ints, tables, numbers):
    """P(x | codes of the parents) by climbing the ladder; ``code`` holds every variable's code."""
    p = numbers[ints[var + 2] + x]
    n_parents, n_rungs = ints[var + 3], ints[var + 4]
    parents = var + 5
    rungs = parents + 2 * n_parents
    key, width = 0, 0
    for r in range(n_rungs):
        rung = ints[rungs + 8 * r : rungs + 8 * r + 8]
        while width < rung[0]:
            key = key * ints[parents + 2 * width + 1] + code[ints[parents + 2 * width]]
            width += 1
        row = _row_of(rung, key, tables)
        if row >= 0:
            p = p * numbers[rung[7] + row] + _entry(rung, row, x, tables, numbers)
    return p


@njit(cache=True, nogil=True)
def _advance(code, dims, n_dims, low, high):
    """The next cell, last dimension first; False after the last one."""
    for d in range(n_dims - 1, -1, -1):
        v = dims[d]
        if code[v] < high[v]:
            code[v] += 1
            return True
        code[v] = low[v]
    return False


@njit(cache=True, nogil=True)
def _offset(code, message, dims, low, high):
    """Where the current cell lies in a message."""
    index = 0
    for d in range(message[1]):
        v = dims[d]
        index = index * (high[v] - low[v] + 1) + code[v] - low[v]
    return index


@njit(cache=True, nogil=True)
def _insert(dims, n_dims, v, rank):
    """Add a variable to a list sorted by rank, once."""
    place = n_dims
    for d in range(n_dims):
        if dims[d] == v:
            return n_dims
    while place > 0 and rank[dims[place - 1]] > rank[v]:
        dims[place] = dims[place - 1]
        place -= 1
    dims[place] = v
    return n_dims + 1


@njit(cache=True, nogil=True)
def _cells(dims, n_dims, low, high):
    cells = 1
    for d in range(n_dims):
        cells *= high[dims[d]] - low[dims[d]] + 1
    return cells


@njit(cache=True, nogil=True)
def _rescale(buffer, start, cells):
    """Divide a message by its largest value where that is tiny; the logarithm taken out, and 1.0
    as a second value unless the message is zero everywhere."""
    top = 0.0
    for c in range(start, start + cells):
        if buffer[c] > top:
            top = buffer[c]
    if top <= 0.0:
        return 0.0, 0.0
    if top > TINY:
        return 0.0, 1.0
    for c in range(start, start + cells):
        buffer[c] /= top
    return log(top), 1.0


@njit(cache=True, nogil=True)
def _weigh(out, cells, x, low, high, w, weights):
    """Multiply every run of ``x`` values in the buffer by the event's weights."""
    width = high[x] - low[x] + 1
    for c in range(0, cells, width):
        for j in range(width):
            out[c + j] *= weights[w[x] + low[x] + j]


@njit(cache=True, nogil=True)
def _sum_out(var, x, message, mdims, n_other, code, low, high, rank, ints, tables, numbers, buffer, top, dims):
    """Sum x out: climb the ladder once, carrying the whole row product along.

    ``message`` gives M[others, x] (x fastest). Level 0 is the base row times M; each rung refines
    it on the parents that it adds. Returns (start, number of dims, new top), top -1 if full.
    """
    width_x = high[x] - low[x] + 1
    n_dims = 0
    for d in range(n_other):
        dims[n_dims] = mdims[d]
        n_dims += 1
    cells = _cells(dims, n_dims, low, high)
    if top + cells > len(buffer):
        return 0, 0, -(top + cells)
    below = top
    top += cells
    base = ints[var + 2] + low[x]
    for c in range(cells):
        total = 0.0
        for j in range(width_x):
            total += numbers[base + j] * buffer[message + c * width_x + j]
        buffer[below + c] = total
    n_parents, n_rungs = ints[var + 3], ints[var + 4]
    parents = var + 5
    rungs = parents + 2 * n_parents
    below_dims = np.empty(MAX_DIMS, dtype=np.int64)
    n_below = n_dims
    for r in range(n_rungs):
        rung = ints[rungs + 8 * r : rungs + 8 * r + 8]
        for d in range(n_dims):
            below_dims[d] = dims[d]
        n_below = n_dims
        for p in range(rung[0]):
            v = ints[parents + 2 * p]
            if high[v] > low[v]:
                if n_dims >= MAX_DIMS - 1:
                    return 0, 0, -(1 << 40)
                n_dims = _insert(dims, n_dims, v, rank)
        cells = _cells(dims, n_dims, low, high)
        if top + cells > len(buffer):
            return 0, 0, -(top + cells)
        here = top
        top += cells
        for d in range(n_dims):
            code[dims[d]] = low[dims[d]]
        for c in range(cells):
            key = 0
            for p in range(rung[0]):
                key = key * ints[parents + 2 * p + 1] + code[ints[parents + 2 * p]]
            lower = 0
            for d in range(n_below):
                v = below_dims[d]
                lower = lower * (high[v] - low[v] + 1) + code[v] - low[v]
            value = buffer[below + lower]
            row = _row_of(rung, key, tables)
            if row >= 0:
                value *= numbers[rung[7] + row]
                other = 0
                for d in range(n_other):
                    v = mdims[d]
                    other = other * (high[v] - low[v] + 1) + code[v] - low[v]
                start = message + other * width_x - low[x]
                for e in range(tables[rung[4] + row], tables[rung[4] + row + 1]):
                    symbol = tables[rung[5] + e]
                    if low[x] <= symbol <= high[x]:
                        value += numbers[rung[6] + e] * buffer[start + symbol]
            buffer[here + c] = value
            _advance(code, dims, n_dims, low, high)
        below = here
    return below, n_dims, top


@njit(cache=True, nogil=True)
def _join(x, first, nexts, message_at, message_dims, message_size, code, low, high, rank, w, weights, buffer, top, dims):
    """The product of all messages that speak of x, and of its weights: M[others, x].

    Returns (start, number of other dims, new top), top negative if the buffer is full.
    """
    n_dims = 0
    m = first
    count = 0
    while m >= 0:
        count += 1
        for d in range(message_size[m]):
            v = message_dims[m, d]
            if v != x:
                if n_dims >= MAX_DIMS - 1:
                    return 0, 0, -(1 << 40)
                n_dims = _insert(dims, n_dims, v, rank)
        m = nexts[m]
    if count == 1 and w[x] < 0:
        return message_at[first], n_dims, top
    width = high[x] - low[x] + 1
    cells = _cells(dims, n_dims, low, high)
    if top + cells * width > len(buffer):
        return 0, 0, -(top + cells * width)
    here = top
    top += cells * width
    for c in range(here, top):
        buffer[c] = 1.0
    m = first
    while m >= 0:
        for d in range(n_dims):
            code[dims[d]] = low[dims[d]]
        for c in range(cells):
            index = 0
            for d in range(message_size[m] - 1):
                v = message_dims[m, d]
                index = index * (high[v] - low[v] + 1) + code[v] - low[v]
            source = message_at[m] + index * width
            target = here + c * width
            for j in range(width):
                buffer[target + j] *= buffer[source + j]
            _advance(code, dims, n_dims, low, high)
        m = nexts[m]
    if w[x] >= 0:
        _weigh(buffer[here:top], cells * width, x, low, high, w, weights)
    return here, n_dims, top


@njit(cache=True, nogil=True)
def eliminate(block, ints, tables, numbers, lo, hi, w_of, weights, keep, buffer, top):
    """Sum a block's variables out, from the last to the first, except those to keep.

    Kept variables stay as dimensions of the result, in the order of the block.
    Returns (log-scale, start of the result, its cells, new top, kept variables' local numbers,
    their count); a negative top asks for a larger buffer.
    """
    k, n_external = ints[block + 1], ints[block + 2]
    low = np.empty(k, dtype=np.int64)
    high = np.empty(k, dtype=np.int64)
    w = np.empty(k, dtype=np.int64)
    code = np.empty(k, dtype=np.int64)
    rank = np.empty(k, dtype=np.int64)
    heads = np.full(k + 1, -1, dtype=np.int64)
    nexts = np.empty(k + 1, dtype=np.int64)
    message_at = np.empty(k + 1, dtype=np.int64)
    message_size = np.empty(k + 1, dtype=np.int64)
    message_dims = np.empty((k + 1, MAX_DIMS), dtype=np.int64)
    dims = np.empty(MAX_DIMS, dtype=np.int64)
    other = np.empty(MAX_DIMS, dtype=np.int64)
    kept = np.empty(MAX_DIMS, dtype=np.int64)
    n_kept = 0
    scale = 0.0
    product = 1.0
    variables = block + 4
    for i in range(k):
        var = ints[variables + i]
        g = ints[var]
        low[i], high[i], w[i] = lo[g], hi[g], w_of[g]
        code[i] = low[i]
        if low[i] > high[i]:
            return -np.inf, 0, 0, top, kept, 0
        rank[i] = k + i
        if high[i] > low[i] and (i < n_external or keep[g]):
            rank[i] = i
    n_messages = 0
    for i in range(k - 1, n_external - 1, -1):
        var = ints[variables + i]
        is_kept = rank[i] < k
        is_point = low[i] == high[i]
        size = ints[var + 1]
        if not is_point and not is_kept:
            if heads[i] < 0 and w[i] < 0 and low[i] == 0 and high[i] == size - 1:
                continue
            if heads[i] < 0:
                width = high[i] - low[i] + 1
                if top + width > len(buffer):
                    return 0.0, 0, 0, -(top + width), kept, 0
                start, n_other = top, 0
                top += width
                for j in range(width):
                    buffer[start + j] = weights[w[i] + low[i] + j] if w[i] >= 0 else 1.0
            else:
                start, n_other, top = _join(
                    i, heads[i], nexts, message_at, message_dims, message_size,
                    code, low, high, rank, w, weights, buffer, top, other,
                )
                if top < 0:
                    return 0.0, 0, 0, top, kept, 0
            start, n_dims, top = _sum_out(
                var, i, start, other, n_other, code, low, high, rank,
                ints, tables, numbers, buffer, top, dims,
            )
            if top < 0:
                return 0.0, 0, 0, top, kept, 0
        else:
            n_dims = 0
            if is_kept:
                n_dims = _insert(dims, 0, i, rank)
            for p in range(ints[var + 3]):
                v = ints[var + 5 + 2 * p]
                if high[v] > low[v]:
                    n_dims = _insert(dims, n_dims, v, rank)
            factor = weights[w[i] + low[i]] if (w[i] >= 0 and is_point) else 1.0
            if n_dims == 0:
                product *= factor * _point(var, code, code[i], ints, tables, numbers)
                if product < TINY:
                    if product <= 0.0:
                        return -np.inf, 0, 0, top, kept, 0
                    scale += log(product)
                    product = 1.0
                continue
            cells = _cells(dims, n_dims, low, high)
            if top + cells > len(buffer):
                return 0.0, 0, 0, -(top + cells), kept, 0
            start = top
            top += cells
            for d in range(n_dims):
                code[dims[d]] = low[dims[d]]
            for c in range(cells):
                value = factor * _point(var, code, code[i], ints, tables, numbers)
                if is_kept and w[i] >= 0:
                    value *= weights[w[i] + code[i]]
                buffer[start + c] = value
                _advance(code, dims, n_dims, low, high)
            for d in range(n_dims):
                code[dims[d]] = low[dims[d]]
        if n_dims == 0:
            product *= buffer[start]
            if product < TINY:
                if product <= 0.0:
                    return -np.inf, 0, 0, top, kept, 0
                scale += log(product)
                product = 1.0
            continue
        cells = _cells(dims, n_dims, low, high)
        taken, alive = _rescale(buffer, start, cells)
        if alive == 0.0:
            return -np.inf, 0, 0, top, kept, 0
        scale += taken
        target = dims[n_dims - 1]
        if rank[target] < k:
            target = k
        message_at[n_messages], message_size[n_messages] = start, n_dims
        for d in range(n_dims):
            message_dims[n_messages, d] = dims[d]
        nexts[n_messages] = heads[target]
        heads[target] = n_messages
        n_messages += 1
    scale += log(product)
    m = heads[k]
    while m >= 0:
        for d in range(message_size[m]):
            n_kept = _insert(kept, n_kept, message_dims[m, d], rank)
        m = nexts[m]
    for i in range(n_external, k):
        if rank[i] < k:
            n_kept = _insert(kept, n_kept, i, rank)
    cells = _cells(kept, n_kept, low, high)
    if top + cells > len(buffer):
        return 0.0, 0, 0, -(top + cells), kept, 0
    start = top
    top += cells
    for d in range(n_kept):
        code[kept[d]] = low[kept[d]]
    for c in range(cells):
        value = 1.0
        m = heads[k]
        while m >= 0:
            index = 0
            for d in range(message_size[m]):
                v = message_dims[m, d]
                index = index * (high[v] - low[v] + 1) + code[v] - low[v]
            value *= buffer[message_at[m] + index]
            m = nexts[m]
        buffer[start + c] = value
        _advance(code, kept, n_kept, low, high)
    return scale, start, cells, top, kept, n_kept

r"""The fast engine's inner loops for tables: exact sums, variable by variable.

A program is three pools of numbers (structure, tables, probabilities); :mod:`fspn.compile` writes
it. An event is, per variable, the range ``lower .. upper`` of codes and optionally a weight per
code. A *block* is a group of nested factorize nodes with tables. FSPN-Infer would evaluate the
left child once per region, which costs :math:`l^f` for f nested nodes with l regions. Here what the
regions of one event have in common is computed once: every table is cut down to the event, and the
variables that the event leaves open are summed out one by one, in an order fixed when the model
was compiled. Variables that the event says nothing about, and on which nothing constrained
depends, are never visited.

Layout of a factor: its dimensions are the open variables, the one that is summed out first last
(fastest), so that every sum runs over consecutive numbers.
"""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

UNI_LEAF, PRODUCT, SUM, FACTORIZE, BLOCK, JOINT = range(6)

# Places in a block's record, in a variable's record, and in the record of one rung.
SIZE, EXTERNAL, ORDER, VARIABLES = 1, 2, 3, 4
GLOBAL, CODES, BASE, PARENTS, RUNGS, FIRST_PARENT = range(6)
WIDTH, INDEX, KEYS, N_ROWS, STARTS, SYMBOLS, SHARES, TAILS = range(8)
RUNG = 8

MAX_DIMS = 14
TINY = 1e-120
TOO_MANY_DIMS = 1 << 40


@njit(cache=True, nogil=True)
def scratch_size(k):
    """How many integers :func:`eliminate` needs for a block of k variables."""
    return 2 * MAX_DIMS + 16 * k + 1 + 2 * k * MAX_DIMS


@njit(cache=True, nogil=True)
def _row_of(rung, key, ints, tables):
    """The row of a rung for a key, or -1."""
    if ints[rung + INDEX] >= 0:
        return tables[ints[rung + INDEX] + key]
    first = ints[rung + KEYS]
    low, end = first, first + ints[rung + N_ROWS]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if tables[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low - first if low < end and tables[low] == key else -1


@njit(cache=True, nogil=True)
def _share(rung, row, x, ints, tables, numbers):
    """The share of one code in a row."""
    symbols = ints[rung + SYMBOLS]
    low, high = tables[ints[rung + STARTS] + row], tables[ints[rung + STARTS] + row + 1]
    while low < high:
        middle = (low + high) >> 1
        code = tables[symbols + middle]
        if code == x:
            return numbers[ints[rung + SHARES] + middle]
        if code < x:
            low = middle + 1
        else:
            high = middle
    return 0.0


@njit(cache=True, nogil=True)
def _point(var, code, x, ints, tables, numbers):
    """P(x | parents) by climbing the ladder; ``code`` holds the code of every variable."""
    p = numbers[ints[var + BASE] + x]
    parents = var + FIRST_PARENT
    rung = parents + 2 * ints[var + PARENTS]
    key, width = np.int64(0), 0
    for _ in range(ints[var + RUNGS]):
        while width < ints[rung + WIDTH]:
            key = key * ints[parents + 2 * width + 1] + code[ints[parents + 2 * width]]
            width += 1
        row = _row_of(rung, key, ints, tables)
        if row >= 0:
            share = _share(rung, row, x, ints, tables, numbers)
            p = p * numbers[ints[rung + TAILS] + row] + share
        rung += RUNG
    return p


@njit(cache=True, nogil=True)
def _row(var, code, low, high, target, step, ints, tables, numbers, buffer):
    """The codes low .. high of the row P(. | parents), written every ``step`` numbers."""
    base = ints[var + BASE]
    for x in range(low, high + 1):
        buffer[target + (x - low) * step] = numbers[base + x]
    parents = var + FIRST_PARENT
    rung = parents + 2 * ints[var + PARENTS]
    key, width = np.int64(0), 0
    for _ in range(ints[var + RUNGS]):
        while width < ints[rung + WIDTH]:
            key = key * ints[parents + 2 * width + 1] + code[ints[parents + 2 * width]]
            width += 1
        row = _row_of(rung, key, ints, tables)
        if row >= 0:
            tail = numbers[ints[rung + TAILS] + row]
            for x in range(high - low + 1):
                buffer[target + x * step] *= tail
            symbols, shares = ints[rung + SYMBOLS], ints[rung + SHARES]
            start = ints[rung + STARTS] + row
            for e in range(tables[start], tables[start + 1]):
                symbol = tables[symbols + e]
                if low <= symbol <= high:
                    buffer[target + (symbol - low) * step] += numbers[shares + e]
        rung += RUNG


@njit(cache=True, nogil=True)
def _advance(code, dims, n_dims, low, high):
    """The next cell of some dimensions, the last one fastest; after the last cell, the first."""
    for d in range(n_dims - 1, -1, -1):
        v = dims[d]
        if code[v] < high[v]:
            code[v] += 1
            return
        code[v] = low[v]


@njit(cache=True, nogil=True)
def _place(code, dims, n_dims, low, high):
    """Where the current cell lies in a factor with the given dimensions."""
    index = np.int64(0)
    for d in range(n_dims):
        v = dims[d]
        index = index * (high[v] - low[v] + 1) + code[v] - low[v]
    return index


@njit(cache=True, nogil=True)
def _insert(dims, n_dims, v, rank):
    """Add a variable to dimensions sorted by falling rank, once; returns how many there are."""
    for d in range(n_dims):
        if dims[d] == v:
            return n_dims
    place = n_dims
    while place > 0 and rank[dims[place - 1]] < rank[v]:
        dims[place] = dims[place - 1]
        place -= 1
    dims[place] = v
    return n_dims + 1


@njit(cache=True, nogil=True)
def _cells(dims, n_dims, low, high):
    cells = np.int64(1)
    for d in range(n_dims):
        cells *= high[dims[d]] - low[dims[d]] + 1
    return cells


@njit(cache=True, nogil=True)
def _stride(dims, n_dims, v, low, high):
    """How far apart neighbouring codes of v lie."""
    stride = np.int64(1)
    for d in range(n_dims - 1, -1, -1):
        if dims[d] == v:
            return stride
        stride *= high[dims[d]] - low[dims[d]] + 1
    return stride


@njit(cache=True, nogil=True)
def _weigh(i, dims, n_dims, cells, start, code, low, high, place, weights, buffer):
    """Multiply a factor by the weights of one of its variables."""
    for c in range(cells):
        buffer[start + c] *= weights[place + code[i]]
        _advance(code, dims, n_dims, low, high)


@njit(cache=True, nogil=True)
def _cut_table(i, var, dims, n_dims, start, code, low, high, ints, tables, numbers, buffer):
    """The table of variable i as a factor over its open dimensions."""
    if low[i] == high[i]:
        for c in range(_cells(dims, n_dims, low, high)):
            buffer[start + c] = _point(var, code, code[i], ints, tables, numbers)
            _advance(code, dims, n_dims, low, high)
        return
    step = _stride(dims, n_dims, i, low, high)
    last = high[i]
    high[i] = low[i]
    rows = _cells(dims, n_dims, low, high)
    for _ in range(rows):
        high[i] = last
        target = start + _place(code, dims, n_dims, low, high)
        _row(var, code, low[i], last, target, step, ints, tables, numbers, buffer)
        high[i] = low[i]
        _advance(code, dims, n_dims, low, high)
    high[i] = last


@njit(cache=True, nogil=True)
def _sum_out(v, head, link, at, n_of, dims_of, out_dims, n_out, start, code, low, high, buffer, places):
    """The product of all factors that hold v (their last dimension), summed over v."""
    width = high[v] - low[v] + 1
    n_factors = 0
    f = head
    while f >= 0:
        n_factors += 1
        f = link[f]
    for c in range(_cells(out_dims, n_out, low, high)):
        f = head
        for j in range(n_factors):
            places[j] = at[f] + width * _place(code, dims_of[f], n_of[f] - 1, low, high)
            f = link[f]
        total = 0.0
        if n_factors == 1:
            for x in range(width):
                total += buffer[places[0] + x]
        elif n_factors == 2:
            for x in range(width):
                total += buffer[places[0] + x] * buffer[places[1] + x]
        else:
            for x in range(width):
                value = buffer[places[0] + x]
                for j in range(1, n_factors):
                    value *= buffer[places[j] + x]
                total += value
        buffer[start + c] = total
        _advance(code, out_dims, n_out, low, high)


@njit(cache=True, nogil=True)
def _rescale(buffer, start, cells):
    """Divide a factor by its largest value where that is tiny; the logarithm that was taken out,
    minus infinity where the factor is zero everywhere."""
    top = 0.0
    for c in range(start, start + cells):
        top = max(top, buffer[c])
    if top > TINY:
        return 0.0
    if top <= 0.0:
        return -np.inf
    for c in range(start, start + cells):
        buffer[c] /= top
    return log(top)


@njit(cache=True, nogil=True)
def _read_event(block, ints, lo, hi, w_of, keep, low, high, w, code, rank, needed):
    """The event on a block's own variables, and which of them matter; False if it is empty."""
    k, n_external, order = ints[block + SIZE], ints[block + EXTERNAL], ints[block + ORDER]
    for i in range(k):
        var = ints[block + VARIABLES + i]
        g = ints[var + GLOBAL]
        low[i], high[i], w[i] = lo[g], hi[g], w_of[g]
        code[i] = low[i]
        if low[i] > high[i]:
            return False
        kept = i < n_external or keep[g]
        rank[i] = 2 * k + i if kept and high[i] > low[i] else ints[order + i]
        open_all = low[i] == 0 and high[i] == ints[var + CODES] - 1
        needed[i] = not open_all or w[i] >= 0 or kept
    for i in range(k - 1, n_external - 1, -1):
        if needed[i]:
            var = ints[block + VARIABLES + i]
            for p in range(ints[var + PARENTS]):
                needed[ints[var + FIRST_PARENT + 2 * p]] = True
    return True


@njit(cache=True, nogil=True)
def _hang(f, at, n_of, dims_of, start, dims, n_dims, k, rank, heads, link):
    """Store a factor under the variable that is summed out first; under k if none is."""
    at[f], n_of[f] = start, n_dims
    for d in range(n_dims):
        dims_of[f, d] = dims[d]
    last = dims[n_dims - 1]
    bucket = last if rank[last] < k else k
    link[f] = heads[bucket]
    heads[bucket] = f


@njit(cache=True, nogil=True)
def eliminate(block, ints, tables, numbers, lo, hi, w_of, weights, keep, buffer, top, scratch):
    """Sum a block's variables out, except external ones and those to keep.

    Returns (log-scale, start, cells, new top, number of kept dimensions); the kept variables'
    local numbers are the first entries of ``scratch``. A negative top asks for a larger buffer.
    """
    k, n_external = ints[block + SIZE], ints[block + EXTERNAL]
    kept = scratch[:MAX_DIMS]
    dims = scratch[MAX_DIMS : 2 * MAX_DIMS]
    rest = scratch[2 * MAX_DIMS :]
    low, high, w, code = rest[:k], rest[k : 2 * k], rest[2 * k : 3 * k], rest[3 * k : 4 * k]
    rank, needed = rest[4 * k : 5 * k], rest[5 * k : 6 * k]
    heads, rest = rest[6 * k : 7 * k + 1], rest[7 * k + 1 :]
    n_factors = 0
    scale, product = 0.0, 1.0
    if not _read_event(block, ints, lo, hi, w_of, keep, low, high, w, code, rank, needed):
        return -np.inf, 0, 0, top, 0
    heads[:] = -1
    link, at, n_of = rest[: 2 * k], rest[2 * k : 4 * k], rest[4 * k : 6 * k]
    places = rest[6 * k : 8 * k]
    dims_of = rest[8 * k : 8 * k + 2 * k * MAX_DIMS].reshape(2 * k, MAX_DIMS)
    for i in range(k - 1, n_external - 1, -1):
        if not needed[i]:
            continue
        var = ints[block + VARIABLES + i]
        n_dims = _insert(dims, 0, i, rank) if high[i] > low[i] else 0
        for p in range(ints[var + PARENTS]):
            v = ints[var + FIRST_PARENT + 2 * p]
            if high[v] > low[v]:
                if n_dims == MAX_DIMS:
                    return 0.0, 0, 0, -TOO_MANY_DIMS, 0
                n_dims = _insert(dims, n_dims, v, rank)
        if n_dims == 0:
            product *= _point(var, code, code[i], ints, tables, numbers)
            if w[i] >= 0:
                product *= weights[w[i] + code[i]]
            if product < TINY:
                if product <= 0.0:
                    return -np.inf, 0, 0, top, 0
                scale += log(product)
                product = 1.0
            continue
        cells = _cells(dims, n_dims, low, high)
        start = top
        top += cells
        if top > len(buffer):
            return 0.0, 0, 0, -top, 0
        _cut_table(i, var, dims, n_dims, start, code, low, high, ints, tables, numbers, buffer)
        if w[i] >= 0:
            _weigh(i, dims, n_dims, cells, start, code, low, high, w[i], weights, buffer)
        _hang(n_factors, at, n_of, dims_of, start, dims, n_dims, k, rank, heads, link)
        n_factors += 1
    order = ints[block + ORDER] + k
    for position in range(k):
        v = ints[order + position]
        if heads[v] < 0 or rank[v] >= k:
            continue
        n_dims = 0
        f = heads[v]
        while f >= 0:
            for d in range(n_of[f] - 1):
                if n_dims == MAX_DIMS:
                    return 0.0, 0, 0, -TOO_MANY_DIMS, 0
                n_dims = _insert(dims, n_dims, dims_of[f, d], rank)
            f = link[f]
        cells = _cells(dims, n_dims, low, high)
        start = top
        top += cells
        if top > len(buffer):
            return 0.0, 0, 0, -top, 0
        _sum_out(
            v, heads[v], link, at, n_of, dims_of, dims, n_dims, start, code, low, high, buffer,
            places,
        )  # fmt: skip
        scale += _rescale(buffer, start, cells)
        if scale == -np.inf:
            return -np.inf, 0, 0, top, 0
        if n_dims == 0:
            scale += log(buffer[start])
        else:
            _hang(n_factors, at, n_of, dims_of, start, dims, n_dims, k, rank, heads, link)
            n_factors += 1
    return _finish(
        k, n_external, scale + log(product), heads[k], link, at, n_of, dims_of, kept, code, low,
        high, rank, buffer, top,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _finish(k, n_external, scale, head, link, at, n_of, dims_of, kept, code, low, high, rank, buffer, top):
    """The product of the factors that are left, over the kept variables."""
    n_kept = 0
    f = head
    while f >= 0:
        for d in range(n_of[f]):
            if n_kept == MAX_DIMS:
                return 0.0, 0, 0, -TOO_MANY_DIMS, 0
            n_kept = _insert(kept, n_kept, dims_of[f, d], rank)
        f = link[f]
    cells = _cells(kept, n_kept, low, high)
    start = top
    top += cells
    if top > len(buffer):
        return 0.0, 0, 0, -top, 0
    for c in range(cells):
        value = 1.0
        f = head
        while f >= 0:
            value *= buffer[at[f] + _place(code, dims_of[f], n_of[f], low, high)]
            f = link[f]
        buffer[start + c] = value
        _advance(code, kept, n_kept, low, high)
    return scale, start, cells, top, n_kept

r"""Exact sums on a block of small tables, each of them written out cell by cell.

The general way (:mod:`fspn.elimination`) reads tables sparsely and can stop at kept variables; its
bookkeeping costs more than the arithmetic where tables are small. Here a table is a piece of the
buffer with one stride per variable, so that a known variable moves its start, an open one is a
loop, and nothing is copied. Variables are numbered in the order in which they are summed out. In
every table and message the one that is summed out last lies fastest: the innermost loop runs over
consecutive numbers.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

from fspn.kernels import REORDER, TINY, TOO_MANY_DIMS, kernel

MAX_VARIABLES = 62

# Places in a dense block's record, and in the record of one of its variables.
SIZE, VARIABLES = 0, 1
GLOBAL, CODES, ANCESTORS, TABLE, VARIABLE = 0, 1, 2, 3, 4
START, N_DIMS, FIRST_DIM = range(3)

# Rows of B: per variable its first code and number of codes, and the list of factors that wait for
# it; the dimensions of the result in the making, and how far a loop over them has come.
LOW, EXTENT, HEAD, DIM, COUNT = range(5)
# A row of G is a factor: the next one in its list, its place in the buffer, its variables as bits,
# and its stride per variable.
LINK, AT, BITS, STRIDE = range(4)
# Columns of P are the factors of one step: their number in G, place and strides of the variable
# that is summed out and of the innermost dimension.
FACTOR, PLACE, DOWN, ALONG = range(4)

MAX_CELLS = 1 << 40


@njit(cache=True, nogil=True)
def new_dense_state(k):
    """B, G and P for blocks of up to k variables."""
    k = min(k, MAX_VARIABLES)
    blocks = np.empty((5, k + 1), dtype=np.int64)
    return blocks, np.empty((3 * k + 1, STRIDE + k), dtype=np.int64), np.empty((4, 3 * k), np.int64)


@kernel()
def _read_event(ints, block, lo, hi, w, B):
    """The event on the block's variables; returns the tables that matter as bits, or -1."""
    needed = np.int64(0)
    var = block + VARIABLES
    for r in range(ints[block + SIZE]):
        v = ints[var + GLOBAL]
        low, high = lo[v], hi[v]
        if low > high:
            return -1
        B[LOW, r], B[EXTENT, r], B[HEAD, r] = low, high - low + 1, -1
        if low > 0 or high < ints[var + CODES] - 1 or w[v] >= 0:
            needed |= ints[var + ANCESTORS]
        var += VARIABLE
    return needed


@kernel()
def _open_table(ints, table, B, G, f):
    """The table as factor f; returns the variable that is summed out first, -1 for a number."""
    at, bits, first = ints[table + START], np.int64(0), -1
    entry = table + FIRST_DIM
    for _ in range(ints[table + N_DIMS]):
        d, stride = ints[entry], ints[entry + 1]
        at += B[LOW, d] * stride
        if B[EXTENT, d] > 1:
            if bits == 0:
                first = d
            bits |= np.int64(1) << d
            G[f, STRIDE + d] = stride
        entry += 2
    G[f, AT], G[f, BITS] = at, bits
    return first


@kernel()
def _weigh(B, G, f, r, place, weights, buffer, top):
    """The event's weights of an open variable as factor f."""
    for x in range(B[EXTENT, r]):
        buffer[top + x] = weights[place + B[LOW, r] + x]
    G[f, AT], G[f, BITS], G[f, STRIDE + r] = top, np.int64(1) << r, 1
    G[f, LINK] = B[HEAD, r]
    B[HEAD, r] = f


@kernel()
def _gather(B, G, P, r):
    """The factors that wait for variable r as columns of P; returns (how many, their bits)."""
    n, bits = 0, np.int64(0)
    f = B[HEAD, r]
    while f >= 0:
        P[FACTOR, n], P[PLACE, n], P[DOWN, n] = f, G[f, AT], G[f, STRIDE + r]
        bits |= G[f, BITS]
        n += 1
        f = G[f, LINK]
    return n, bits & ~(np.int64(1) << r)


@kernel()
def _shape(B, G, f, r, k, bits):
    """Dimensions and strides of result f; returns (number of dimensions, cells)."""
    n = 0
    for d in range(r + 1, k):
        if (bits >> d) & 1:
            B[DIM, n], B[COUNT, n] = d, 0
            n += 1
    cells = 1
    for place in range(n - 1, -1, -1):
        d = B[DIM, place]
        G[f, STRIDE + d] = cells
        cells = min(cells * B[EXTENT, d], MAX_CELLS)
    return n, cells


@kernel()
def _lines_first(G, P, n, h):
    """Put the factors over the innermost dimension h in front; returns how many they are."""
    n_lines = 0
    for i in range(n):
        f = P[FACTOR, i]
        if (G[f, BITS] >> h) & 1:
            place, down = P[PLACE, i], P[DOWN, i]
            for row in range(3):
                P[row, i] = P[row, n_lines]
            P[FACTOR, n_lines], P[PLACE, n_lines], P[DOWN, n_lines] = f, place, down
            P[ALONG, n_lines] = G[f, STRIDE + h]
            n_lines += 1
    return n_lines


@kernel(fastmath=REORDER)
def _sum_to_number(P, n, extent, buffer):
    """The sum over a variable of a product of vectors."""
    total = 0.0
    first, step = P[PLACE, 0], P[DOWN, 0]
    if n == 1:
        for y in range(extent):
            total += buffer[np.uintp(first + y * step)]
    elif n == 2:
        second, other = P[PLACE, 1], P[DOWN, 1]
        for y in range(extent):
            total += buffer[np.uintp(first + y * step)] * buffer[np.uintp(second + y * other)]
    else:
        for y in range(extent):
            value = buffer[np.uintp(first + y * step)]
            for i in range(1, n):
                value *= buffer[np.uintp(P[PLACE, i] + y * P[DOWN, i])]
            total += value
    return total


@kernel(fastmath=REORDER)
def _sum_to_line(P, n, n_lines, extent, start, length, buffer):
    """The same where the first ``n_lines`` factors are matrices: a line of sums.

    Returns the line's own sum.
    """
    for j in range(length):
        buffer[np.uintp(start + j)] = 0.0
    for y in range(extent):
        factor = 1.0
        for i in range(n_lines, n):
            factor *= buffer[np.uintp(P[PLACE, i] + y * P[DOWN, i])]
        first, step = P[PLACE, 0] + y * P[DOWN, 0], P[ALONG, 0]
        if n_lines == 1:
            for j in range(length):
                buffer[np.uintp(start + j)] += factor * buffer[np.uintp(first + j * step)]
        elif n_lines == 2:
            second, other = P[PLACE, 1] + y * P[DOWN, 1], P[ALONG, 1]
            for j in range(length):
                buffer[np.uintp(start + j)] += factor * (
                    buffer[np.uintp(first + j * step)] * buffer[np.uintp(second + j * other)]
                )
        else:
            for j in range(length):
                value = factor
                for i in range(n_lines):
                    value *= buffer[np.uintp(P[PLACE, i] + y * P[DOWN, i] + j * P[ALONG, i])]
                buffer[np.uintp(start + j)] += value
    total = 0.0
    for j in range(length):
        total += buffer[np.uintp(start + j)]
    return total


@kernel()
def _next_line(B, G, P, n, n_dims):
    """Move all factors to the next line of the result."""
    for place in range(n_dims - 2, -1, -1):
        d = B[DIM, place]
        B[COUNT, place] += 1
        back = B[COUNT, place] == B[EXTENT, d]
        steps = 1 - B[EXTENT, d] if back else 1
        for i in range(n):
            f = P[FACTOR, i]
            if (G[f, BITS] >> d) & 1:
                P[PLACE, i] += steps * G[f, STRIDE + d]
        if not back:
            return
        B[COUNT, place] = 0


@kernel()
def _sum_out(B, G, P, n, n_dims, r, start, cells, buffer):
    """Sum variable r out of the gathered factors; returns the sum of the result's cells."""
    if n_dims == 0:
        buffer[start] = _sum_to_number(P, n, B[EXTENT, r], buffer)
        return buffer[start]
    h = B[DIM, n_dims - 1]
    n_lines, length = _lines_first(G, P, n, h), B[EXTENT, h]
    total = 0.0
    for line in range(start, start + cells, length):
        total += _sum_to_line(P, n, n_lines, B[EXTENT, r], line, length, buffer)
        if n_dims > 1:
            _next_line(B, G, P, n, n_dims)
    return total


@kernel()
def sum_block(ints, block, lo, hi, w, weights, B, G, P, buffer, top):
    """The log-probability of an event on a dense block; a second value > 0 asks for more buffer."""
    k = ints[block + SIZE]
    needed = _read_event(ints, block, lo, hi, w, B)
    if needed < 0:
        return -np.inf, 0
    scale, product, f = 0.0, 1.0, 0
    for r in range(k):
        if not (needed >> r) & 1:
            continue
        var = block + VARIABLES + VARIABLE * r
        first = _open_table(ints, ints[var + TABLE], B, G, f)
        if first < 0:
            product *= buffer[G[f, AT]]
        else:
            G[f, LINK] = B[HEAD, first]
            B[HEAD, first] = f
            f += 1
        place = w[ints[var + GLOBAL]]
        if place >= 0:
            if B[EXTENT, r] == 1:
                product *= weights[place + B[LOW, r]]
            elif top + B[EXTENT, r] > len(buffer):
                return 0.0, top + B[EXTENT, r]
            else:
                _weigh(B, G, f, r, place, weights, buffer, top)
                top += B[EXTENT, r]
                f += 1
        if product < TINY:
            if product <= 0.0:
                return -np.inf, 0
            scale += log(product)
            product = 1.0
    for r in range(k):
        if B[HEAD, r] < 0:
            continue
        n, bits = _gather(B, G, P, r)
        n_dims, cells = _shape(B, G, f, r, k, bits)
        start, top = top, top + cells
        if top > len(buffer):
            return 0.0, min(top, TOO_MANY_DIMS)
        total = _sum_out(B, G, P, n, n_dims, r, start, cells, buffer)
        if total < TINY:
            if total <= 0.0:
                return -np.inf, 0
            scale += log(total)
            for c in range(start, start + cells):
                buffer[c] /= total
        if n_dims == 0:
            product *= buffer[start]
            if product < TINY:
                scale += log(product)
                product = 1.0
        else:
            G[f, AT], G[f, BITS], G[f, LINK] = start, bits, B[HEAD, B[DIM, 0]]
            B[HEAD, B[DIM, 0]] = f
            f += 1
    return scale + log(product), 0

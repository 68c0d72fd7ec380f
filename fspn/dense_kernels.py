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

from fspn.kernels import ONE, REORDER, TINY, TOO_MANY_DIMS, kernel
from fspn.line_kernels import (
    ACROSS,
    ALONG,
    DOWN,
    FACTOR,
    PLACE,
    line_of_one,
    line_of_two,
    multiply_lines,
    multiply_vectors,
    sum_to_number,
)
from fspn.vector_kernels import lowest_bit, short

MAX_VARIABLES = 62

# Places in a dense block's record, and in the record of one of its variables.
SIZE, VARIABLES = 0, 1
GLOBAL, CODES, ANCESTORS, TABLE, VARIABLE = 0, 1, 2, 3, 4
START, N_DIMS, FIRST_DIM = range(3)

# Rows of B: per variable its first code and number of codes, and the list of factors that wait for
# it (one more column takes what waits for none); the dimensions of the result in the making, and
# how far a loop over them has come.
LOW, EXTENT, HEAD, DIM, COUNT = range(5)
# A row of G is a factor: the next one in its list, its place in the buffer, its variables as bits,
# and its stride per variable.
LINK, AT, BITS, STRIDE = range(4)

MAX_CELLS = 1 << 40

# The logarithm of 1e-200: an answer above it needs no care for numbers that become 0.
LEAST = -460.0


@njit(cache=True, nogil=True)
def new_dense_state(k):
    """B, G and P for blocks of up to k variables."""
    k = min(k, MAX_VARIABLES)
    variables = np.empty((5, k + 1), dtype=np.int64)
    factors = np.empty((3 * k + 1, STRIDE + k), dtype=np.int64)
    return variables, factors, np.empty((5, 3 * k + 1), dtype=np.int64)


@kernel(forceinline=True)
def _read_event(ints, block, lo, hi, w, B):
    """The event on the block's variables; returns the tables that matter as bits, or -1."""
    needed, least = np.int64(0), np.int64(1)
    var = block + VARIABLES
    for r in range(ints[block + SIZE]):
        short()
        v = np.uintp(ints[np.uintp(var + GLOBAL)])
        extent = hi[v] - lo[v] + 1
        B[LOW, r], B[EXTENT, r], B[HEAD, r] = lo[v], extent, -1
        # No branches: which variables are constrained, or open, changes from event to event.
        says = (extent < ints[np.uintp(var + CODES)]) | (w[v] >= 0)
        needed |= ints[np.uintp(var + ANCESTORS)] & -np.int64(says)
        least = min(least, extent)
        var += VARIABLE
    return needed if least > 0 else -1


@kernel(forceinline=True)
def _open_table(ints, table, B, G, f):
    """The table as factor f; returns the variable that is summed out first, -1 for a number."""
    at, bits, first = ints[np.uintp(table + START)], np.int64(0), -1
    entry = table + FIRST_DIM
    for _ in range(ints[np.uintp(table + N_DIMS)]):
        short()
        d, stride = ints[np.uintp(entry)], ints[np.uintp(entry + 1)]
        at += B[LOW, np.uintp(d)] * stride
        is_open = np.int64(B[EXTENT, np.uintp(d)] > 1)
        first = d if is_open > (bits != 0) else first
        bits |= is_open << d
        G[np.uintp(f), np.uintp(STRIDE + d)] = stride
        entry += 2
    G[np.uintp(f), AT], G[np.uintp(f), BITS] = at, bits
    return first


@kernel(forceinline=True)
def _weigh(B, G, f, r, place, weights, buffer, top):
    """The event's weights of an open variable as factor f."""
    for x in range(B[EXTENT, r]):
        short()
        buffer[top + x] = weights[place + B[LOW, r] + x]
    G[f, AT], G[f, BITS], G[f, STRIDE + r] = top, np.int64(1) << r, 1


@kernel(forceinline=True)
def _wait(B, G, f, r):
    """Put factor f on the list of those that wait for variable r; returns r as a bit."""
    G[np.uintp(f), LINK] = B[HEAD, np.uintp(r)]
    B[HEAD, np.uintp(r)] = f
    return np.int64(1) << r


@kernel(forceinline=True)
def _gather(B, G, P, r):
    """The factors that wait for variable r as columns of P; returns (how many, their bits)."""
    n, bits = 0, np.int64(0)
    f = B[HEAD, r]
    while f >= 0:
        short()
        P[FACTOR, n], P[PLACE, n], P[DOWN, n] = f, G[f, AT], G[f, STRIDE + r]
        bits |= G[f, BITS]
        n += 1
        f = G[f, LINK]
    return n, bits & ~(np.int64(1) << r)


@kernel(forceinline=True)
def _shape(B, G, f, bits):
    """Dimensions and strides of result f; returns (number of dimensions, cells)."""
    n = 0
    while bits != 0:
        short()
        B[DIM, n], B[COUNT, n] = lowest_bit(bits), 0
        bits &= bits - 1
        n += 1
    cells = 1
    for place in range(n - 1, -1, -1):
        short()
        d = B[DIM, place]
        G[np.uintp(f), np.uintp(STRIDE + d)] = cells
        cells = min(cells * B[EXTENT, np.uintp(d)], MAX_CELLS)
    return n, cells


@kernel(forceinline=True)
def _swap(P, i, j):
    """Exchange two factors of a step."""
    for row in range(5):
        P[row, i], P[row, j] = P[row, j], P[row, i]


@kernel(forceinline=True)
def _lines_first(G, P, n, h, outer):
    """Put the factors over the innermost dimension h in front; returns how many they are.

    The first of all is one that moves from line to line of the result, if there is one.
    """
    n_lines = 0
    for i in range(n):
        short()
        f = np.uintp(P[FACTOR, i])
        bits = G[f, BITS]
        if (bits >> h) & 1:
            P[ALONG, i] = G[f, np.uintp(STRIDE + h)]
            if i > n_lines:
                _swap(P, i, n_lines)
            if n_lines > 0 and bits & outer != 0:
                _swap(P, 0, n_lines)
            n_lines += 1
    return n_lines


@kernel(forceinline=True)
def _step_across(G, P, n, d):
    """How far each factor moves from line to line, along dimension d."""
    for i in range(n):
        short()
        f = P[FACTOR, i]
        P[ACROSS, i] = G[f, STRIDE + d] if (G[f, BITS] >> d) & 1 else 0


@kernel(forceinline=True)
def _next_sheet(B, G, P, n, n_dims):
    """All lines along one dimension are done: back along it, and on along the others."""
    for place in range(n_dims - 2, -1, -1):
        short()
        d = B[DIM, place]
        B[COUNT, place] += 1
        back = place == n_dims - 2 or B[COUNT, place] == B[EXTENT, d]
        steps = 1
        if place == n_dims - 2:
            steps = -B[EXTENT, d]
        elif back:
            steps = 1 - B[EXTENT, d]
        for i in range(n):
            short()
            f = P[FACTOR, i]
            if (G[f, BITS] >> d) & 1:
                P[PLACE, i] += steps * G[f, STRIDE + d]
        if not back:
            return
        B[COUNT, place] = 0


@kernel(forceinline=True)
def _changing(G, P, first, n, outer):
    """Whether one of the factors first .. n - 1 moves from line to line of the result."""
    bits = np.int64(0)
    for i in range(first, n):
        short()
        bits |= G[P[FACTOR, i], BITS]
    return bits & outer != 0


@kernel(fastmath=REORDER, forceinline=True)
def _sum_out(B, G, P, n, n_dims, r, start, cells, buffer):
    """Sum variable r out of the gathered factors.

    Behind the result there is room for a matrix and a vector.
    """
    extent = B[EXTENT, r]
    if n_dims == 0:
        buffer[start] = sum_to_number(P, n, extent, buffer)
        return
    h, outer = B[DIM, n_dims - 1], np.int64(0)
    for place in range(n_dims - 1):
        short()
        outer |= np.int64(1) << B[DIM, place]
    n_lines, length, end = _lines_first(G, P, n, h, outer), B[EXTENT, h], start + cells
    free, matrix = end + 8, end + 8 + extent
    b, step, again = ONE, 0, False
    if n > n_lines + 1:
        again = outer != 0 and _changing(G, P, n_lines, n, outer)
        multiply_vectors(P, n_lines, n, extent, free, buffer)
        b, step = free, 1
    again_lines = False
    if n_lines > 2:
        again_lines = outer != 0 and _changing(G, P, 1, n_lines, outer)
        P[PLACE, n], P[DOWN, n], P[ALONG, n] = matrix, length, 1
    n_sheet = 0
    if n_dims > 1:
        _step_across(G, P, n, B[DIM, n_dims - 2])
        n_sheet = B[EXTENT, B[DIM, n_dims - 2]]
    for line in range(start, end, length):
        short()
        if n == n_lines + 1:
            b, step = P[PLACE, n_lines], P[DOWN, n_lines]
        if n_lines == 1:
            line_of_one(P, b, step, extent, line, length, buffer)
        elif n_lines == 2:
            line_of_two(P, 1, b, step, extent, line, length, buffer)
        else:
            if line == start or again_lines:
                multiply_lines(P, 1, n_lines, extent, matrix, length, buffer)
            line_of_two(P, n, b, step, extent, line, length, buffer)
        if n_dims > 1:
            for i in range(n):
                short()
                P[PLACE, i] += P[ACROSS, i]
            n_sheet -= 1
            if n_sheet == 0 and n_dims > 2:
                _next_sheet(B, G, P, n, n_dims)
                n_sheet = B[EXTENT, B[DIM, n_dims - 2]]
            if again:
                multiply_vectors(P, n_lines, n, extent, free, buffer)


@kernel()
def _scale_up(buffer, start, cells):
    """Make a message sum to one; returns what it summed to."""
    total = 0.0
    for c in range(start, start + cells):
        total += buffer[c]
    if total > 0.0:
        for c in range(start, start + cells):
            buffer[c] /= total
    return total


@kernel(forceinline=True)
def _open_tables(ints, block, needed, w, weights, B, G, buffer, top):
    """All tables that matter as factors.

    Returns (log of those that are a number, but for a last factor, and that factor; how many
    factors, the variables that they wait for as bits; where the buffer is free, or minus the room
    that it takes; whether there are weights).
    """
    scale, product, f, waiting, weighted = 0.0, 1.0, np.int64(0), np.int64(0), False
    while needed != 0:
        r = lowest_bit(needed)
        needed &= needed - 1
        var = block + VARIABLES + VARIABLE * r
        first = _open_table(ints, ints[np.uintp(var + TABLE)], B, G, f)
        # No branches: which tables are a number changes from event to event.
        is_factor = np.int64(first >= 0)
        product *= buffer[np.uintp(ONE if first >= 0 else G[np.uintp(f), AT])]
        slot = first if first >= 0 else ints[block + SIZE]
        G[np.uintp(f), LINK] = B[HEAD, np.uintp(slot)]
        B[HEAD, np.uintp(slot)] = f
        waiting |= is_factor << slot
        f += is_factor
        place = w[np.uintp(ints[np.uintp(var + GLOBAL)])]
        if place >= 0:
            weighted = True
            if B[EXTENT, r] == 1:
                product *= weights[place + B[LOW, r]]
            elif top + B[EXTENT, r] > len(buffer):
                return 0.0, 1.0, f, waiting, -top - B[EXTENT, r], True
            else:
                _weigh(B, G, f, r, place, weights, buffer, top)
                waiting |= _wait(B, G, f, r)
                top += B[EXTENT, r]
                f += 1
        if product < TINY:
            if product <= 0.0:
                return 0.0, 0.0, f, waiting, top, weighted
            scale += log(product)
            product = 1.0
    return scale, product, f, waiting, top, weighted


@kernel(forceinline=True)
def _sum_all(B, G, P, f, waiting, buffer, top, scale, product, careful):
    """Sum out all variables that factors wait for; returns as :func:`sum_block`."""
    while waiting != 0:
        r = lowest_bit(waiting)
        waiting &= waiting - 1
        n, bits = _gather(B, G, P, r)
        n_dims, cells = _shape(B, G, f, bits)
        start, top = top, top + cells
        room = top + 16 + B[EXTENT, r]
        if n_dims > 0:
            room += B[EXTENT, r] * B[EXTENT, B[DIM, n_dims - 1]]
        if room > len(buffer):
            return 0.0, min(room, TOO_MANY_DIMS)
        _sum_out(B, G, P, n, n_dims, r, start, cells, buffer)
        if careful:
            total = _scale_up(buffer, start, cells)
            if total <= 0.0:
                return -np.inf, 0
            scale += log(total)
        if n_dims == 0:
            product *= buffer[start]
            if product < TINY:
                if product <= 0.0:
                    return -np.inf, 0
                scale += log(product)
                product = 1.0
        else:
            G[f, AT], G[f, BITS] = start, bits
            waiting |= _wait(B, G, f, B[DIM, 0])
            f += 1
    return scale + log(product), 0


@kernel(forceinline=True)
def sum_block(ints, block, lo, hi, w, weights, B, G, P, buffer, top):
    """The log-probability of an event on a dense block; a second value > 0 asks for more buffer.

    First without a look at how small the messages become. What is lost where numbers below 1e-308
    become 0 can only matter if the answer is next to nothing too; it is then computed again, with
    messages scaled up.
    """
    careful = False
    while True:
        needed = _read_event(ints, block, lo, hi, w, B)
        if needed < 0:
            return -np.inf, 0
        scale, product, f, waiting, free, weighted = _open_tables(
            ints, block, needed, w, weights, B, G, buffer, top
        )
        if product <= 0.0:
            return -np.inf, 0
        if free < 0:
            return 0.0, -free
        careful |= weighted
        value, need = _sum_all(B, G, P, f, waiting, buffer, free, scale, product, careful)
        if careful or value > LEAST or need > 0:
            return value, need
        careful = True

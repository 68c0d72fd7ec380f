r"""Exact sums on a block of small tables, each of them written out cell by cell.

The general elimination (:mod:`fspn.engine.elimination`) reads tables sparsely and can keep
variables; its bookkeeping costs more than the arithmetic where tables are small. Here a table is a
slice of the buffer with one stride per variable: a known variable moves its offset, an open one is
a loop, and nothing is copied. In every table and message the variable that is summed out last has
stride 1, so that the innermost loop runs over consecutive numbers. Ancestors that the event does
not constrain are not summed at all where a presummed table (:mod:`fspn.engine.presum`) has done so.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import log

import numpy as np

from fspn.engine.factor_kernels import (
    AT,
    AT_CELL,
    BITS,
    DIM,
    EXTENT,
    HEAD,
    LINK,
    STRIDE,
    TABLE,
    open_table,
)
from fspn.engine.kernels import ONE, TINY, TOO_MANY_DIMS, kernel
from fspn.engine.level_kernels import (
    BELOW,
    add_entries,
    cells_below,
    own_sparse_table,
    put_below,
)
from fspn.engine.line_kernels import (
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
from fspn.engine.program import (
    DENSE,
    DENSE_TABLE,
    DENSE_VARIABLE,
    DENSE_VARIABLE_SIZE,
    PRESUM,
    PRESUM_SIZE,
)
from fspn.engine.vector_kernels import lowest_bit, no_unroll

# Variables are numbered by rank, their position in the elimination order, and tables by visit:
# those of children before those of their parents (:mod:`fspn.engine.program`).

# A sum over the entries of a table takes as long per cell of the result as so many products; from
# so many products on it is looked at whether that pays.
ENTRIES, MIN_PRODUCTS = 48, 1 << 14

MAX_CELLS = 1 << 40

# The logarithm of 1e-200: an answer above it needs no care for numbers that become 0.
SAFE_LOG = -460.0


@kernel(forceinline=True)
def _read_event(ints, block, lo, hi, w, B):
    """The event on the block's variables.

    Returns the relevant tables as bits, or -1 if the event is impossible; the unconstrained
    variables, and those with several codes, as bits; and whether there are weights.
    """
    needed, free, is_open, negative = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    place = np.int64(-1)
    var = block + DENSE.first_variable
    for _ in range(ints[block + DENSE.n_variables]):
        no_unroll()
        v = np.uintp(ints[np.uintp(var + DENSE_VARIABLE.variable)])
        r = ints[np.uintp(var + DENSE_VARIABLE.rank)]
        span = hi[v] - lo[v]
        # No branches: which variables are constrained, or open, changes from event to event.
        says = ((span - ints[np.uintp(var + DENSE_VARIABLE.last)]) | ~w[v]) >> 63
        needed |= ints[np.uintp(var + DENSE_VARIABLE.ancestors)] & says
        free |= (says + 1) << r
        is_open |= np.int64(span > 0) << r
        B[EXTENT, np.uintp(r)] = span + 1
        place &= w[v]
        negative |= span
        var += DENSE_VARIABLE_SIZE
    return needed if negative >= 0 else -1, free, is_open, place >= 0


@kernel(forceinline=True)
def _may_presum(ints, presum, needed, free):
    """Whether a parent may be summed out beforehand: it is free, and no table to come mentions it.

    A variable that a table before this one mentions is no longer free.
    """
    is_free = ints[np.uintp(presum + PRESUM.parent)] & free != 0
    return is_free & (ints[np.uintp(presum + PRESUM.children)] & needed == 0)


@kernel(forceinline=True)
def _presum(ints, table, needed, free):
    """The table with as many parents presummed as may be, and the tables that are still needed.

    A table that is not written out is passed on the way to one that is.
    """
    found, still = table, needed
    while True:
        no_unroll()
        one = table + DENSE_TABLE.first_presum
        other = one + PRESUM_SIZE
        first = _may_presum(ints, one, needed, free)
        if not (first | _may_presum(ints, other, needed, free)):
            return found, still
        table = ints[np.uintp((one if first else other) + PRESUM.presummed)]
        needed &= ~ints[np.uintp(table + DENSE_TABLE.merged)]
        if ints[np.uintp(table + DENSE_TABLE.start)] >= 0:
            found, still = table, needed


@kernel(forceinline=True)
def _weigh(B, G, f, r, place, weights, buffer, top):
    """The event's weights of an open variable as factor f."""
    for x in range(B[EXTENT, r]):
        buffer[top + x] = weights[place + x]
    G[f, AT], G[f, BITS], G[f, TABLE], G[f, STRIDE + r] = top, np.int64(1) << r, -1, 1


@kernel(forceinline=True)
def _wait(B, G, f, r, waiting):
    """Put factor f into the bucket of variable r; returns the variables with a bucket."""
    # No branch: the first of a list is linked to -1, whatever its head was.
    G[np.uintp(f), LINK] = B[HEAD, np.uintp(r)] | (((waiting >> r) & 1) - 1)
    B[HEAD, np.uintp(r)] = f
    return waiting | np.int64(1) << r


@kernel(forceinline=True)
def _gather(state, r):
    """The factors in the bucket of variable r as columns of P; returns (number, their bits)."""
    B, G, P = state.variables, state.factors, state.terms
    n, bits = 0, np.int64(0)
    f = B[HEAD, r]
    while f >= 0:
        no_unroll()
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
        no_unroll()
        B[DIM, n], B[AT_CELL, n] = lowest_bit(bits), 0
        bits &= bits - 1
        n += 1
    cells = 1
    for place in range(n - 1, -1, -1):
        no_unroll()
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

    The very first is one that changes from line to line of the result, if there is one.
    """
    n_lines = 0
    for i in range(n):
        no_unroll()
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
        no_unroll()
        f = P[FACTOR, i]
        P[ACROSS, i] = G[f, STRIDE + d] if (G[f, BITS] >> d) & 1 else 0


@kernel(forceinline=True)
def _next_sheet(state, n, n_dims):
    """Advance to the next sheet: all lines along one dimension are done."""
    B, G, P = state.variables, state.factors, state.terms
    for place in range(n_dims - 2, -1, -1):
        no_unroll()
        d = B[DIM, place]
        B[AT_CELL, place] += 1
        back = place == n_dims - 2 or B[AT_CELL, place] == B[EXTENT, d]
        steps = 1
        if place == n_dims - 2:
            steps = -B[EXTENT, d]
        elif back:
            steps = 1 - B[EXTENT, d]
        for i in range(n):
            no_unroll()
            f = P[FACTOR, i]
            if (G[f, BITS] >> d) & 1:
                P[PLACE, i] += steps * G[f, STRIDE + d]
        if not back:
            return
        B[AT_CELL, place] = 0


@kernel(forceinline=True)
def _changing(G, P, first, n, outer):
    """Whether one of the factors first .. n - 1 changes from line to line of the result."""
    bits = np.int64(0)
    for i in range(first, n):
        no_unroll()
        bits |= G[P[FACTOR, i], BITS]
    return bits & outer != 0


@kernel(forceinline=True)
def _sum_out(state, n, n_dims, r, start, cells, buffer):
    """Sum variable r out of the gathered factors.

    Behind the result there is scratch space for a matrix and a vector, with some padding.
    """
    B, G, P = state.variables, state.factors, state.terms
    extent = B[EXTENT, r]
    if n_dims == 0:
        buffer[start] = sum_to_number(P, n, extent, start + 8, buffer)
        return
    h, outer = B[DIM, n_dims - 1], np.int64(0)
    for place in range(n_dims - 1):
        no_unroll()
        outer |= np.int64(1) << B[DIM, place]
    n_lines, length, end = _lines_first(G, P, n, h, outer), B[EXTENT, h], start + cells
    free, matrix = end + 8, end + 16 + extent
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
        no_unroll()
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
                no_unroll()
                P[PLACE, i] += P[ACROSS, i]
            n_sheet -= 1
            if n_sheet == 0 and n_dims > 2:
                _next_sheet(state, n, n_dims)
                n_sheet = B[EXTENT, B[DIM, n_dims - 2]]
            if again and line + length < end:
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
def _open_tables(ints, block, needed, free, is_open, weighted, event, state, buffer, top):
    """Open all relevant tables as factors.

    Returns (logarithm of the tables that are a single number, except for a last factor, and that
    factor; the number of factors, the variables with a bucket as bits; the top of the buffer, or
    minus the size that is needed).
    """
    B, G = state.variables, state.factors
    lo, w, weights = event.lower, event.places, event.weights
    scale, product, f, waiting = 0.0, 1.0, np.int64(0), np.int64(0)
    none = np.int64(1) << ints[block + DENSE.n_variables]
    while needed != 0:
        visit = lowest_bit(needed)
        needed &= needed - 1
        var = block + DENSE.first_variable + DENSE_VARIABLE_SIZE * visit
        table, needed = _presum(ints, ints[np.uintp(var + DENSE_VARIABLE.table)], needed, free)
        at, bits = open_table(ints, table, lo, is_open, G, f)
        # What is open here stays. A variable of one code may go all the same: there is no sum.
        free &= ~bits
        # No branches: which tables are a number changes from event to event. What is none reads
        # the number one, at place 0.
        is_factor = np.int64(bits != 0)
        product *= buffer[np.uintp(at & (is_factor - 1))]
        waiting = _wait(B, G, f, lowest_bit(bits | none), waiting)
        f += is_factor
        if weighted:
            v = np.uintp(ints[np.uintp(var + DENSE_VARIABLE.variable)])
            r, place = ints[np.uintp(var + DENSE_VARIABLE.rank)], w[v]
            extent = B[EXTENT, r]
            if place >= 0 and extent == 1:
                product *= weights[place + lo[v]]
            elif place >= 0:
                if top + extent > len(buffer):
                    return 0.0, 1.0, f, waiting, -top - extent
                _weigh(B, G, f, r, place + lo[v], weights, buffer, top)
                waiting = _wait(B, G, f, r, waiting)
                top += extent
                f += 1
        if product < TINY:
            if product <= 0.0:
                return 0.0, 0.0, f, waiting & ~none, top
            scale += log(product)
            product = 1.0
    return scale, product, f, waiting & ~none, top


@kernel(forceinline=True)
def _sum_all(pools, lo, is_open, state, f, waiting, buffer, top, scale, product, careful):
    """Sum out all variables that have a bucket; returns as :func:`sum_block`."""
    B, G, P = state.variables, state.factors, state.terms
    while waiting != 0:
        r = lowest_bit(waiting)
        waiting &= waiting - 1
        n, bits = _gather(state, r)
        n_dims, cells = _shape(B, G, f, bits)
        whole, own = bits, -1
        extent = B[EXTENT, r]
        if cells * extent > MIN_PRODUCTS and extent > ENTRIES:
            own = own_sparse_table(pools.ints, G, P, n, r)
            if own >= 0:
                few = cells_below(pools.ints, is_open, state, n, own, r)
                own = own if few * extent + ENTRIES * cells < cells * extent else -1
            if own >= 0:
                bits = put_below(pools.ints, lo, is_open, state, n, own, r, f)
                n_dims, cells = _shape(B, G, f + BELOW, bits)
        start, top = top, top + cells
        room = top + 24 + B[EXTENT, r]
        if n_dims > 0:
            room += B[EXTENT, r] * B[EXTENT, B[DIM, n_dims - 1]]
        if room > len(buffer):
            return 0.0, min(room, TOO_MANY_DIMS)
        _sum_out(state, n, n_dims, r, start, cells, buffer)
        if own >= 0:
            G[f + BELOW, AT], G[f + BELOW, BITS] = start, bits
            bits = whole
            n_dims, cells = _shape(B, G, f, bits)
            start, top = top, top + cells
            if top > len(buffer):
                return 0.0, min(top, TOO_MANY_DIMS)
            add_entries(pools, lo, state, n, r, f, n_dims, start, cells, buffer)
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
            G[f, AT], G[f, BITS], G[f, TABLE] = start, bits, -1
            waiting = _wait(B, G, f, B[DIM, 0], waiting)
            f += 1
    return scale + log(product), 0


@kernel(forceinline=True)
def sum_block(pools, block, event, state, buffer, top):
    """The log-probability of an event on a dense block; a second value > 0 asks for more buffer.

    First without scaling. Underflow below 1e-308 can only matter if the answer is tiny too; it is
    then computed again, with scaled messages.
    """
    ints, B = pools.ints, state.variables
    lo, hi, w = event.lower, event.upper, event.places
    careful = False
    while True:
        needed, free, is_open, weighted = _read_event(ints, block, lo, hi, w, B)
        if needed < 0:
            return -np.inf, 0
        scale, product, f, waiting, at = _open_tables(
            ints, block, needed, free, is_open, weighted, event, state, buffer, top
        )
        if product <= 0.0:
            return -np.inf, 0
        if at < 0:
            return 0.0, -at
        value, need = _sum_all(
            pools, lo, is_open, state, f, waiting, buffer, at, scale, product, careful
        )
        if careful or value > SAFE_LOG or need > 0:
            return value, need
        careful = True

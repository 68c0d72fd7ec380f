r"""Sums over the entries of a table's last back-off level, in place of all of its cells.

Of a table over many cells most are never filled:

.. math:: P(x \mid u) = S(x, u) + T(u) \, P_{below}(x \mid u')

with few entries S, and u' some of the parents u. A sum over the child x of the table times messages
M costs the entries, plus a sum over the smaller table below.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.engine.factor_kernels import AT, AT_CELL, BITS, DIM, EXTENT, STRIDE, TABLE, open_table
from fspn.engine.kernels import REORDER, kernel, row_of
from fspn.engine.line_kernels import ALONG, DOWN, FACTOR, PLACE
from fspn.engine.program import DENSE_TABLE, DIMENSION, DIMENSION_SIZE, FIRST_DIMENSION, LEVEL
from fspn.engine.vector_kernels import lowest_bit

# Spare rows of G behind factor f: the table of the lower levels, what it sums to, and how the keys
# of the last level's rows move.
LOWER, BELOW, KEY = 1, 2, 3


@kernel()
def own_sparse_table(ints, G, P, n, r):
    """Which of the gathered factors is r's own table with a sparse last level; or -1."""
    for i in range(n):
        table = G[P[FACTOR, i], TABLE]
        if table >= 0 and ints[table + DENSE_TABLE.child] == r:
            return i
    return -1


@kernel()
def cells_below(ints, is_open, state, n, own, r):
    """How many cells the sum over r has if the table of the lower levels takes the own one's place.

    That may be all of them: other factors can speak of the same variables.
    """
    B, G, P = state.variables, state.factors, state.terms
    below = ints[G[P[FACTOR, own], TABLE] + DENSE_TABLE.below]
    bits = ints[below + DENSE_TABLE.dims] & is_open
    for i in range(n):
        if i != own:
            bits |= G[P[FACTOR, i], BITS]
    bits &= ~(np.int64(1) << r)
    cells = np.int64(1)
    while bits != 0:
        cells *= B[EXTENT, lowest_bit(bits)]
        bits &= bits - 1
    return cells


@kernel()
def put_below(ints, lo, is_open, state, n, own, r, f):
    r"""Replace r's own table by that of the lower levels; returns the result's bits.

    .. math:: \sum_x P(x \mid u) M(x) = T(u) \sum_x P_{below}(x \mid u') M(x)
              + \sum_x S(x, u) M(x)

    The first sum is one over a much smaller table, the second one (:func:`add_entries`) over the
    few entries S of the last level.
    """
    G, P = state.factors, state.terms
    table = G[P[FACTOR, own], TABLE]
    key, entry = np.int64(0), table + FIRST_DIMENSION
    for _ in range(ints[table + DENSE_TABLE.n_dims]):
        step = ints[entry + DIMENSION.key_stride]
        key += lo[ints[entry + DIMENSION.variable]] * step
        G[f + KEY, STRIDE + ints[entry + DIMENSION.rank]] = step
        entry += DIMENSION_SIZE
    G[f + KEY, AT], G[f + KEY, BITS] = key, ints[table + DENSE_TABLE.dims]
    at, bits = open_table(ints, ints[table + DENSE_TABLE.below], lo, is_open, G, f + LOWER)
    for i in range(n):
        if i != own:
            bits |= G[P[FACTOR, i], BITS]
    P[PLACE, own], P[DOWN, own] = at, G[f + LOWER, STRIDE + r]
    G[f + LOWER, TABLE] = table
    P[FACTOR, own] = f + LOWER
    return bits & ~(np.int64(1) << r)


@kernel()
def _place(G, B, row, n_dims):
    """The offset in a factor, or the key, at the current line of the result."""
    at = G[row, AT]
    for place in range(n_dims - 1):
        d = B[DIM, place]
        if (G[row, BITS] >> d) & 1:
            at += B[AT_CELL, place] * G[row, STRIDE + d]
    return at


@kernel()
def _along(G, B, row, n_dims):
    """Its step from cell to cell of a line."""
    d = B[DIM, n_dims - 1]
    return G[row, STRIDE + d] if (G[row, BITS] >> d) & 1 else 0


@kernel(fastmath=REORDER, forceinline=True)
def _entries_by_one(
    tables, numbers, codes, shares, at, end, first, extent, place, down, buffer
):  # fmt: skip
    """The sum over a row's entries of their shares times one message, the most common case.

    Codes of a row are sorted: where its first and last are in the range, all of them are.
    """
    total = 0.0
    if at == end:
        return total
    place -= first * down
    if tables[codes + at] >= first and tables[codes + end - 1] < first + extent:
        for e in range(at, end):
            x = np.int64(tables[np.uintp(codes + e)])
            total += numbers[np.uintp(shares + e)] * buffer[np.uintp(place + x * down)]
        return total
    for e in range(at, end):
        x = np.int64(tables[np.uintp(codes + e)])
        if first <= x < first + extent:
            total += numbers[np.uintp(shares + e)] * buffer[np.uintp(place + x * down)]
    return total


@kernel()
def add_entries(pools, lo, state, n, r, f, n_dims, start, cells, buffer):
    """The sums of the lower levels, in row BELOW, times the tails, plus those over the entries."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    B, G, P = state.variables, state.factors, state.terms
    n = _others(G, P, n, f)
    table = G[f + LOWER, TABLE]
    level, first = ints[table + DENSE_TABLE.level], np.int64(0)
    entry = table + FIRST_DIMENSION
    for _ in range(ints[table + DENSE_TABLE.n_dims]):
        if ints[entry + DIMENSION.rank] == r:
            first = lo[ints[entry + DIMENSION.variable]]
        entry += DIMENSION_SIZE
    extent, length = B[EXTENT, r], B[EXTENT, B[DIM, n_dims - 1]] if n_dims > 0 else 1
    key_step = _along(G, B, f + KEY, n_dims) if n_dims > 0 else 0
    below_step = _along(G, B, f + BELOW, n_dims) if n_dims > 0 else 0
    for i in range(n):
        P[ALONG, i] = _along(G, B, P[FACTOR, i], n_dims) if n_dims > 0 else 0
        P[DOWN, i] = G[P[FACTOR, i], STRIDE + r]
    codes, shares = ints[level + LEVEL.codes], ints[level + LEVEL.shares]
    starts, tails = ints[level + LEVEL.starts], ints[level + LEVEL.tails]
    for line in range(start, start + cells, length):
        key, below = _place(G, B, f + KEY, n_dims), _place(G, B, f + BELOW, n_dims)
        for i in range(n):
            P[PLACE, i] = _place(G, B, P[FACTOR, i], n_dims)
        for c in range(length):
            value, row = buffer[below], row_of(ints, tables, level, key)
            if row >= 0:
                value *= numbers[tails + row]
                at, end = np.int64(tables[starts + row]), np.int64(tables[starts + row + 1])
                if n == 1:
                    place = P[PLACE, 0] + c * P[ALONG, 0]
                    value += _entries_by_one(
                        tables, numbers, codes, shares, at, end, first, extent, place, P[DOWN, 0],
                        buffer,
                    )  # fmt: skip
                else:
                    for e in range(at, end):
                        x = tables[codes + e] - first
                        if 0 <= x < extent:
                            term = numbers[shares + e]
                            for i in range(n):
                                term *= buffer[P[PLACE, i] + c * P[ALONG, i] + x * P[DOWN, i]]
                            value += term
            buffer[line + c] = value
            key, below = key + key_step, below + below_step
        for place in range(n_dims - 2, -1, -1):
            B[AT_CELL, place] += 1
            if B[AT_CELL, place] < B[EXTENT, B[DIM, place]]:
                break
            B[AT_CELL, place] = 0


@kernel()
def _others(G, P, n, f):
    """Keep the factors other than the lower levels' table; returns their number."""
    kept = 0
    for i in range(n):
        if P[FACTOR, i] != f + LOWER:
            P[FACTOR, kept] = P[FACTOR, i]
            kept += 1
    return kept

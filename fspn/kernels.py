r"""The fast engine's inner loops for tables: exact sums, variable by variable.

A *block* is a group of nested factorize nodes with tables. FSPN-Infer would evaluate the left child
once per region, which costs :math:`l^f` for f nested nodes with l regions. Here what the regions of
one event have in common is computed once: the variables that the event leaves open are summed out
one by one, in an order fixed when the model was compiled. Variables that the event says nothing
about, and on which nothing constrained depends, are never visited.

Tables stay sparse as long as possible. When variable v is summed out, one table that holds v is
read row by row, :math:`P(x \mid u) = S(x, u) + T(u) P_{below}(x)`: its entries S one at a time, its
tails T as one number per row. All other factors are dense arrays over the open variables, the one
that is summed out first last (fastest), so that sums run over consecutive numbers.

An event is, per variable, the range ``lower .. upper`` of codes and optionally a weight per code.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from numba import njit

UNI_LEAF, PRODUCT, SUM, FACTORIZE, BLOCK, JOINT = range(6)

# Places in a block's record, in a variable's record, and in the record of one rung.
SIZE, EXTERNAL, ORDER, VARIABLES = 1, 2, 3, 4
GLOBAL, CODES, BASE, PARENTS, RUNGS, FIRST_PARENT = range(6)
WIDTH, INDEX, KEYS, N_ROWS, STARTS, SYMBOLS, SHARES, TAILS = range(8)
BY_SYMBOL, SYMBOL_KEYS, SYMBOL_SHARES, RUNG = 8, 9, 10, 11

MAX_DIMS = 24

# Sums may be reordered (and so run in parallel lanes); nothing else of IEEE arithmetic is given up.
REORDER = {"reassoc", "contract"}
TINY = 1e-120
TOO_MANY_DIMS = 1 << 40


# The state of an elimination is two arrays of integers, V and F, made once for many events (views
# and tuples of arrays inside the loops would cost more than the arithmetic). Rows of V, one column
# per variable of the block and one for the kept ones: the range of codes (open where LOW < HIGH),
# the current code (at LOW between loops), the place of its weights or -1, when it is summed out (2k
# and above: never), whether its table matters, and linked lists of the tables (by child) and of
# the dense factors that wait for it.
LOW, HIGH, CODE, WEIGHT, RANK, NEEDED, TABLES, NEXT_TABLE, FACTORS = range(9)
N_ROWS_OF_V = 9

# A row of F is a dense factor: the next one in its list, its place in the buffer, its number of
# dimensions, and those. The last rows are lists of dimensions in the making: KEPT ... SPARE.
LINK, AT, DIMS, FIRST = range(4)
SPARE, OTHERS, RESULT, KEPT = 1, 2, 3, 4

# W drives a loop over the cells of some dimensions (columns): their extents and current counts, and
# up to MAX_PLACES places that move along, each with its step per dimension.
EXTENT, COUNT, PLACE, STEP = range(4)
MAX_PLACES = 10


def kernel(**options: Any) -> Callable[[Any], Any]:
    """Compile a function that allocates nothing.

    Without numba's reference counts, whose atomic operations on every array argument of every call
    took more than half of the time.
    """
    return njit(cache=True, nogil=True, _nrt=False, **options)


@njit(cache=True, nogil=True)
def new_state(k):
    """V, F and W for blocks of up to k variables."""
    variables = np.empty((N_ROWS_OF_V, k + 1), dtype=np.int64)
    factors = np.empty((3 * k + 5, FIRST + MAX_DIMS), dtype=np.int64)
    return variables, factors, np.empty((STEP + MAX_PLACES, MAX_DIMS), dtype=np.int64)


@kernel()
def _row_of(ints, tables, rung, key):
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


@kernel()
def _share(ints, tables, numbers, rung, row, x):
    """The share of one code in a row."""
    starts, symbols = ints[rung + STARTS] + row, ints[rung + SYMBOLS]
    low, high = tables[starts], tables[starts + 1]
    while high - low > 4:
        middle = (low + high) >> 1
        if tables[symbols + middle] <= x:
            low = middle
        else:
            high = middle
    for e in range(low, high):
        if tables[symbols + e] == x:
            return numbers[ints[rung + SHARES] + e]
    return 0.0


@kernel()
def point(ints, tables, numbers, V, var, x):
    """P(x | current codes of the parents) by climbing the ladder."""
    p = numbers[ints[var + BASE] + x]
    parent = var + FIRST_PARENT
    rung = parent + 2 * ints[var + PARENTS]
    key, width = np.int64(0), 0
    for _ in range(ints[var + RUNGS]):
        while width < ints[rung + WIDTH]:
            key = key * ints[parent + 1] + V[CODE, ints[parent]]
            parent += 2
            width += 1
        row = _row_of(ints, tables, rung, key)
        if row >= 0:
            p = p * numbers[ints[rung + TAILS] + row] + _share(ints, tables, numbers, rung, row, x)
        rung += RUNG
    return p


@kernel()
def advance(V, F, dims, n):
    """The next cell of some dimensions, the last one fastest; after the last cell, the first."""
    for d in range(n - 1, -1, -1):
        v = F[dims, FIRST + d]
        if V[CODE, v] < V[HIGH, v]:
            V[CODE, v] += 1
            return
        V[CODE, v] = V[LOW, v]


@kernel()
def place_of(V, F, dims, n):
    """Where the current cell lies in a factor with the given dimensions."""
    index = np.int64(0)
    for d in range(n):
        v = F[dims, FIRST + d]
        index = index * (V[HIGH, v] - V[LOW, v] + 1) + V[CODE, v] - V[LOW, v]
    return index


@kernel()
def insert(V, F, dims, n, v):
    """Add a variable to dimensions sorted by falling rank, once; returns how many there are."""
    for d in range(n):
        if F[dims, FIRST + d] == v:
            return n
    place = n
    while place > 0 and V[RANK, F[dims, FIRST + place - 1]] < V[RANK, v]:
        F[dims, FIRST + place] = F[dims, FIRST + place - 1]
        place -= 1
    F[dims, FIRST + place] = v
    return n + 1


@kernel()
def count_cells(V, F, dims, n):
    """The number of cells of some dimensions."""
    cells = np.int64(1)
    for d in range(n):
        cells *= V[HIGH, F[dims, FIRST + d]] - V[LOW, F[dims, FIRST + d]] + 1
    return cells


@kernel()
def _stride(V, F, dims, n, v):
    """How far apart neighbouring codes of v lie in a factor."""
    stride = np.int64(1)
    for d in range(n - 1, -1, -1):
        if F[dims, FIRST + d] == v:
            return stride
        stride *= V[HIGH, F[dims, FIRST + d]] - V[LOW, F[dims, FIRST + d]] + 1
    return stride


@kernel()
def open_dims(ints, V, F, i, var, dims):
    """The open variables of a table, sorted; -1 where there are too many."""
    n = 0
    if V[HIGH, i] > V[LOW, i]:
        F[dims, FIRST] = i
        n = 1
    for p in range(ints[var + PARENTS]):
        v = ints[var + FIRST_PARENT + 2 * p]
        if V[HIGH, v] > V[LOW, v]:
            if n == MAX_DIMS:
                return -1
            n = insert(V, F, dims, n, v)
    return n


@kernel()
def hang(V, F, k, f, start, dims, n):
    """Store dense factor f under the variable that is summed out first, or with the kept ones."""
    F[f, AT], F[f, DIMS] = start, n
    for d in range(n):
        F[f, FIRST + d] = F[dims, FIRST + d]
    last = F[dims, FIRST + n - 1]
    bucket = last if V[RANK, last] < k else k
    F[f, LINK] = V[FACTORS, bucket]
    V[FACTORS, bucket] = f


@kernel()
def _loop_over(V, F, W, dims, n):
    """Start a loop over the cells of some dimensions."""
    for d in range(n):
        v = F[dims, FIRST + d]
        W[EXTENT, d] = V[HIGH, v] - V[LOW, v] + 1
        W[COUNT, d] = 0


@kernel()
def _follow_factor(V, F, W, place, dims, n, factor, n_factor):
    """Let a place move along in a factor (or list of dimensions) from its first cell."""
    W[PLACE, place] = 0
    for d in range(n):
        W[STEP + place, d] = 0
        stride = np.int64(1)
        for e in range(n_factor - 1, -1, -1):
            u = F[factor, FIRST + e]
            if u == F[dims, FIRST + d]:
                W[STEP + place, d] = stride
            stride *= V[HIGH, u] - V[LOW, u] + 1


@kernel()
def _follow_key(ints, V, F, W, place, dims, n, var, width):
    """Let a place move along as the key of the first ``width`` parents."""
    key, parents = np.int64(0), var + FIRST_PARENT
    for d in range(n):
        W[STEP + place, d] = 0
    for p in range(width):
        key = key * ints[parents + 2 * p + 1] + V[LOW, ints[parents + 2 * p]]
    stride = np.int64(1)
    for p in range(width - 1, -1, -1):
        for d in range(n):
            if F[dims, FIRST + d] == ints[parents + 2 * p]:
                W[STEP + place, d] = stride
        stride *= ints[parents + 2 * p + 1]
    W[PLACE, place] = key


@kernel()
def _next_line(W, n, n_places):
    """Move to the next line, a run of the last dimension."""
    for d in range(n - 2, -1, -1):
        W[COUNT, d] += 1
        if W[COUNT, d] < W[EXTENT, d]:
            for place in range(n_places):
                W[PLACE, place] += W[STEP + place, d]
            return
        for place in range(n_places):
            W[PLACE, place] -= W[STEP + place, d] * (W[EXTENT, d] - 1)
        W[COUNT, d] = 0


@kernel()
def write_table(ints, tables, numbers, V, F, W, i, var, dims, n, start, buffer):
    """The table of variable i as a dense factor over its open dimensions."""
    if V[LOW, i] == V[HIGH, i]:
        _write_column(ints, tables, numbers, V, F, W, i, var, dims, n, start, buffer)
        return
    rows, n_rows = len(F) - SPARE, 0
    for d in range(n):
        if F[dims, FIRST + d] != i:
            F[rows, FIRST + n_rows] = F[dims, FIRST + d]
            n_rows += 1
    F[rows, FIRST + n_rows] = i
    step = _stride(V, F, dims, n, i)
    _loop_over(V, F, W, rows, n_rows + 1)
    _follow_factor(V, F, W, 0, rows, n_rows + 1, dims, n)
    rung = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for r in range(ints[var + RUNGS]):
        _follow_key(ints, V, F, W, 1 + r, rows, n_rows + 1, var, ints[rung + RUNG * r + WIDTH])
    for _ in range(count_cells(V, F, rows, n_rows)):
        _write_row(ints, tables, numbers, V, W, i, var, start + W[PLACE, 0], step, buffer)
        _next_line(W, n_rows + 1, 1 + ints[var + RUNGS])


@kernel()
def _write_row(ints, tables, numbers, V, W, i, var, target, step, buffer):
    """One row P(. | u); places 1, 2, ... of W are the keys of u on every rung."""
    low, high = V[LOW, i], V[HIGH, i]
    base = ints[var + BASE]
    for x in range(low, high + 1):
        buffer[target + (x - low) * step] = numbers[base + x]
    rung = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for r in range(ints[var + RUNGS]):
        row = _row_of(ints, tables, rung, W[PLACE, 1 + r])
        if row >= 0:
            tail = numbers[ints[rung + TAILS] + row]
            for x in range(high - low + 1):
                buffer[target + x * step] *= tail
            symbols, shares = ints[rung + SYMBOLS], ints[rung + SHARES]
            line = ints[rung + STARTS] + row
            for e in range(tables[line], tables[line + 1]):
                symbol = tables[symbols + e]
                if low <= symbol <= high:
                    buffer[target + (symbol - low) * step] += numbers[shares + e]
        rung += RUNG


@kernel()
def _write_column(ints, tables, numbers, V, F, W, i, var, dims, n, start, buffer):
    """P(x | u) of the known x over the open parents."""
    cells, x = count_cells(V, F, dims, n), V[LOW, i]
    p = numbers[ints[var + BASE] + x]
    for c in range(start, start + cells):
        buffer[c] = p
    rung = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for _ in range(ints[var + RUNGS]):
        _loop_over(V, F, W, dims, n)
        _follow_key(ints, V, F, W, 0, dims, n, var, ints[rung + WIDTH])
        extent, step, tails = W[EXTENT, n - 1], W[STEP, n - 1], ints[rung + TAILS]
        # A list pays where many rows are open; for a single run of rows it is slower than looking.
        listed = (
            n > 1 and ints[rung + INDEX] >= 0 and _covers(ints, F, var, ints[rung + WIDTH], dims, n)
        )
        for line in range(start, start + cells, extent):
            key = W[PLACE, 0]
            for c in range(line, line + extent):
                row = _row_of(ints, tables, rung, key)
                if row >= 0:
                    share = 0.0 if listed else _share(ints, tables, numbers, rung, row, x)
                    buffer[c] = buffer[c] * numbers[tails + row] + share
                key += step
            _next_line(W, n, 1)
        if listed:
            _add_listed(ints, tables, numbers, V, F, var, rung, x, dims, n, start, buffer)
        rung += RUNG


@kernel()
def _covers(ints, F, var, width, dims, n):
    """Whether all dimensions are among the first ``width`` parents."""
    for d in range(n):
        found = False
        for p in range(width):
            found = found or ints[var + FIRST_PARENT + 2 * p] == F[dims, FIRST + d]
        if not found:
            return False
    return True


@kernel()
def _add_listed(ints, tables, numbers, V, F, var, rung, x, dims, n, start, buffer):
    """Add the shares of code x in all rows that the event allows, from the list of its rows."""
    parents, width = var + FIRST_PARENT, ints[rung + WIDTH]
    first = ints[rung + BY_SYMBOL] + x
    for e in range(tables[first], tables[first + 1]):
        key = np.int64(tables[ints[rung + SYMBOL_KEYS] + e])
        cell, allowed = np.int64(0), True
        for p in range(width - 1, -1, -1):
            v, size = ints[parents + 2 * p], ints[parents + 2 * p + 1]
            code = key % size
            key //= size
            if code < V[LOW, v] or code > V[HIGH, v]:
                allowed = False
                break
            if V[HIGH, v] > V[LOW, v]:
                cell += (code - V[LOW, v]) * _stride(V, F, dims, n, v)
        if allowed:
            buffer[start + cell] += numbers[ints[rung + SYMBOL_SHARES] + e]


@kernel()
def union(V, F, head, v, dims):
    """The dimensions of all factors in a list, without v; -1 where there are too many."""
    n = 0
    f = head
    while f >= 0:
        for d in range(F[f, DIMS]):
            if F[f, FIRST + d] != v:
                if n == MAX_DIMS - 1:
                    return -1
                n = insert(V, F, dims, n, F[f, FIRST + d])
        f = F[f, LINK]
    return n


@kernel()
def multiply(V, F, W, head, v, dims, n, start, buffer):
    """M[others, v]: the product of all factors in a list; ones where the list is empty."""
    width = V[HIGH, v] - V[LOW, v] + 1
    cells = count_cells(V, F, dims, n)
    for c in range(start, start + cells * width):
        buffer[c] = 1.0
    F[dims, FIRST + n] = v
    f = head
    while f >= 0:
        _loop_over(V, F, W, dims, n + 1)
        _follow_factor(V, F, W, 0, dims, n + 1, f, F[f, DIMS])
        for c in range(cells):
            source, target = F[f, AT] + W[PLACE, 0], start + c * width
            for x in range(width):
                buffer[target + x] *= buffer[source + x]
            _next_line(W, n + 1, 1)
        f = F[f, LINK]


@kernel(fastmath=REORDER)
def sum_dense(V, F, W, v, head, dims, n, start, buffer):
    """Sum v out of the product of all factors in a list, without writing the product down.

    ``dims`` are the dimensions of the result; there is room for v behind them.
    """
    F[dims, FIRST + n] = v
    _loop_over(V, F, W, dims, n + 1)
    n_factors = 0
    f = head
    while f >= 0:
        _follow_factor(V, F, W, n_factors, dims, n + 1, f, F[f, DIMS])
        W[PLACE, n_factors] = F[f, AT]
        n_factors += 1
        f = F[f, LINK]
    width = W[EXTENT, n]
    for c in range(start, start + count_cells(V, F, dims, n)):
        first, total = W[PLACE, 0], 0.0
        if n_factors == 1:
            for x in range(width):
                total += buffer[first + x]
        elif n_factors == 2:
            second = W[PLACE, 1]
            for x in range(width):
                total += buffer[first + x] * buffer[second + x]
        else:
            for x in range(width):
                value = buffer[first + x]
                for j in range(1, n_factors):
                    value *= buffer[W[PLACE, j] + x]
                total += value
        buffer[c] = total
        _next_line(W, n + 1, n_factors)


@kernel(fastmath=REORDER)
def sum_child(ints, tables, numbers, V, F, W, x, var, message, n_other, others, dims, top, buffer):
    """Sum x out of M[others, x] P(x | u), reading the table of x sparsely.

    Level 0 is the base row times M; every rung refines it on the parents that it adds.
    Returns (start, number of dimensions, new top); a negative top asks for more.
    """
    low, high = V[LOW, x], V[HIGH, x]
    width = high - low + 1
    n = n_other
    for d in range(n):
        F[dims, FIRST + d] = F[others, FIRST + d]
    cells = count_cells(V, F, dims, n)
    below, top = top, top + cells
    if top > len(buffer):
        return 0, 0, -top
    base = ints[var + BASE] + low
    for c in range(cells):
        total = 0.0
        for j in range(width):
            total += numbers[base + j] * buffer[message + c * width + j]
        buffer[below + c] = total
    rung = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    lower = len(F) - SPARE
    for _ in range(ints[var + RUNGS]):
        n_lower = n
        for d in range(n):
            F[lower, FIRST + d] = F[dims, FIRST + d]
        for p in range(ints[rung + WIDTH]):
            u = ints[var + FIRST_PARENT + 2 * p]
            if V[HIGH, u] > V[LOW, u]:
                if n == MAX_DIMS:
                    return 0, 0, -TOO_MANY_DIMS
                n = insert(V, F, dims, n, u)
        cells = count_cells(V, F, dims, n)
        here, top = top, top + cells
        if top > len(buffer):
            return 0, 0, -top
        _loop_over(V, F, W, dims, n)
        _follow_key(ints, V, F, W, 0, dims, n, var, ints[rung + WIDTH])
        _follow_factor(V, F, W, 1, dims, n, lower, n_lower)
        _follow_factor(V, F, W, 2, dims, n, others, n_other)
        _refine(ints, tables, numbers, W, rung, n, low, high, message, below, here, cells, buffer)
        below = here
        rung += RUNG
    return below, n, top


@kernel(fastmath=REORDER)
def _refine(ints, tables, numbers, W, rung, n, low, high, message, below, here, cells, buffer):
    """One rung of :func:`sum_child`; the places are the key, the cell below, and the row of M."""
    symbols, shares = ints[rung + SYMBOLS], ints[rung + SHARES]
    starts, tails, width = ints[rung + STARTS], ints[rung + TAILS], high - low + 1
    extent = W[EXTENT, n - 1] if n > 0 else 1
    key_step = W[STEP, n - 1] if n > 0 else 0
    lower_step = W[STEP + 1, n - 1] if n > 0 else 0
    other_step = W[STEP + 2, n - 1] if n > 0 else 0
    for line in range(here, here + cells, extent):
        key, lower, other = W[PLACE, 0], below + W[PLACE, 1], W[PLACE, 2]
        for c in range(line, line + extent):
            value = buffer[lower]
            row = _row_of(ints, tables, rung, key)
            if row >= 0:
                value *= numbers[tails + row]
                source = message + width * other - low
                for e in range(tables[starts + row], tables[starts + row + 1]):
                    symbol = tables[symbols + e]
                    if low <= symbol <= high:
                        value += numbers[shares + e] * buffer[source + symbol]
            buffer[c] = value
            key += key_step
            lower += lower_step
            other += other_step
        _next_line(W, n, 3)


@kernel()
def sum_parent(
    ints, tables, numbers, V, F, W, x, var, v, message, others, n_other, dims, n, start, buffer, top
):
    """Sum parent v out of M[others, v] P(x | u), where M speaks of parents only.

    The table is read sparsely: entries are spread over the result, tails are gathered per row of
    the other parents. ``dims`` are the dimensions of the result, x among them. Returns the new top.
    """
    low, high = V[LOW, x], V[HIGH, x]
    for c in range(start, start + count_cells(V, F, dims, n)):
        buffer[c] = 0.0
    loop, n_rest = len(F) - SPARE, 0
    for d in range(n):
        if F[dims, FIRST + d] != x:
            F[loop, FIRST + n_rest] = F[dims, FIRST + d]
            n_rest += 1
    F[loop, FIRST + n_rest] = v
    rest, rest_cells = top, count_cells(V, F, loop, n_rest)
    step, n_rungs = _stride(V, F, dims, n, x), ints[var + RUNGS]
    _loop_over(V, F, W, loop, n_rest + 1)
    _follow_factor(V, F, W, 0, loop, n_rest + 1, others, n_other + 1)
    _follow_factor(V, F, W, 1, loop, n_rest + 1, dims, n)
    rung = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for r in range(n_rungs):
        _follow_key(ints, V, F, W, 2 + r, loop, n_rest + 1, var, ints[rung + RUNG * r + WIDTH])
    for c in range(rest, rest + rest_cells):
        target = start + W[PLACE, 1] - low * step
        gathered = 0.0
        for y in range(W[EXTENT, n_rest]):
            weight = buffer[message + W[PLACE, 0] + y]
            for r in range(n_rungs - 1, -1, -1):
                key = W[PLACE, 2 + r] + y * W[STEP + 2 + r, n_rest]
                weight = _spread(
                    ints, tables, numbers, rung + RUNG * r, key, weight, low, high, target, step,
                    buffer,
                )  # fmt: skip
            gathered += weight
        buffer[c] = gathered
        base = ints[var + BASE]
        for symbol in range(low, high + 1):
            buffer[target + symbol * step] += gathered * numbers[base + symbol]
        _next_line(W, n_rest + 1, 2 + n_rungs)
    return top + rest_cells


@kernel()
def _spread(ints, tables, numbers, rung, key, weight, low, high, target, step, buffer):
    """Add a weighted row's entries to the result; returns the weight of its tail."""
    row = _row_of(ints, tables, rung, key)
    if row < 0:
        return weight
    symbols, shares, line = ints[rung + SYMBOLS], ints[rung + SHARES], ints[rung + STARTS] + row
    for e in range(tables[line], tables[line + 1]):
        symbol = tables[symbols + e]
        if low <= symbol <= high:
            buffer[target + symbol * step] += weight * numbers[shares + e]
    return weight * numbers[ints[rung + TAILS] + row]


@kernel(fastmath=REORDER)
def rescale(buffer, start, cells):
    """Divide a factor by its largest value where that is tiny.

    Returns the logarithm that was taken out, minus infinity where all of the factor is zero.
    """
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


@kernel()
def read_event(ints, V, block, lo, hi, weight_of, keep):
    """The event on a block's own variables, and which of them matter; False if it is empty."""
    k, n_external, order = ints[block + SIZE], ints[block + EXTERNAL], ints[block + ORDER]
    for i in range(k):
        var = ints[block + VARIABLES + i]
        g = ints[var + GLOBAL]
        low, high = lo[g], hi[g]
        if low > high:
            return False
        V[LOW, i], V[HIGH, i], V[CODE, i], V[WEIGHT, i] = low, high, low, weight_of[g]
        kept = i < n_external or keep[g]
        V[RANK, i] = 2 * k + i if kept and high > low else ints[order + i]
        partly = low > 0 or high < ints[var + CODES] - 1
        V[NEEDED, i] = partly or V[WEIGHT, i] >= 0 or kept
        V[TABLES, i] = -1
        V[FACTORS, i] = -1
    V[TABLES, k] = -1
    V[FACTORS, k] = -1
    for i in range(k - 1, n_external - 1, -1):
        if V[NEEDED, i]:
            var = ints[block + VARIABLES + i]
            for p in range(ints[var + PARENTS]):
                V[NEEDED, ints[var + FIRST_PARENT + 2 * p]] = 1
    return True


@kernel()
def hang_weights(V, F, k, i, f, weights, buffer, top):
    """The event's weights of an open variable as a factor of their own; returns the new top."""
    width = V[HIGH, i] - V[LOW, i] + 1
    if top + width > len(buffer):
        return -(top + width)
    for x in range(width):
        buffer[top + x] = weights[V[WEIGHT, i] + V[LOW, i] + x]
    own = len(F) - OTHERS
    F[own, FIRST] = i
    hang(V, F, k, f, top, own, 1)
    return top + width

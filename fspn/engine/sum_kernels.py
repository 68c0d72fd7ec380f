"""Summing one variable out of the tables and factors that hold it."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import log

import numpy as np

from fspn.engine.kernels import (
    AT,
    DIMS,
    EXTENT,
    FIRST,
    HIGH,
    LINK,
    LOW,
    MAX_DIMS,
    PLACE,
    REORDER,
    SPARE,
    STEP,
    TINY,
    TOO_MANY_DIMS,
    count_cells,
    follow_factor,
    follow_key,
    insert,
    kernel,
    loop_over,
    next_line,
    row_of,
    stride_of,
)
from fspn.engine.program import LEVEL, LEVEL_SIZE, PARENT_SIZE, VARIABLE


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
def multiply(state, head, v, dims, n, start, buffer):
    """M[others, v]: the product of all factors in a list; ones where the list is empty."""
    V, F, W = state.variables, state.factors, state.walk
    width = V[HIGH, v] - V[LOW, v] + 1
    cells = count_cells(V, F, dims, n)
    for c in range(start, start + cells * width):
        buffer[c] = 1.0
    F[dims, FIRST + n] = v
    f = head
    while f >= 0:
        loop_over(state, dims, n + 1)
        follow_factor(state, 0, dims, n + 1, f, F[f, DIMS])
        for c in range(cells):
            source, target = F[f, AT] + W[PLACE, 0], start + c * width
            for x in range(width):
                buffer[target + x] *= buffer[source + x]
            next_line(W, n + 1, 1)
        f = F[f, LINK]


@kernel(fastmath=REORDER)
def sum_dense(state, v, head, dims, n, start, buffer):
    """Sum v out of the product of all factors in a list, without storing the product.

    ``dims`` are the dimensions of the result, with space for v behind them.
    """
    V, F, W = state.variables, state.factors, state.walk
    F[dims, FIRST + n] = v
    loop_over(state, dims, n + 1)
    n_factors = 0
    f = head
    while f >= 0:
        follow_factor(state, n_factors, dims, n + 1, f, F[f, DIMS])
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
        next_line(W, n + 1, n_factors)


@kernel(fastmath=REORDER)
def sum_child(pools, state, x, var, message, n_other, others, dims, top, buffer):
    """Sum x out of M[others, x] P(x | u), reading the table of x sparsely.

    Level 0 is the base row times M; every level refines it on the parents that it adds.
    Returns (start, number of dimensions, new top); a negative top asks for more.
    """
    ints, numbers = pools.ints, pools.numbers
    V, F, W = state.variables, state.factors, state.walk
    low, high = V[LOW, x], V[HIGH, x]
    width = high - low + 1
    n = n_other
    for d in range(n):
        F[dims, FIRST + d] = F[others, FIRST + d]
    cells = count_cells(V, F, dims, n)
    below, top = top, top + cells
    if top > len(buffer):
        return 0, 0, -top
    base = ints[var + VARIABLE.base] + low
    for c in range(cells):
        total = 0.0
        for j in range(width):
            total += numbers[base + j] * buffer[message + c * width + j]
        buffer[below + c] = total
    level = var + VARIABLE.first_parent + PARENT_SIZE * ints[var + VARIABLE.n_parents]
    lower = len(F) - SPARE
    for _ in range(ints[var + VARIABLE.n_levels]):
        n_lower = n
        for d in range(n):
            F[lower, FIRST + d] = F[dims, FIRST + d]
        for p in range(ints[level + LEVEL.width]):
            u = ints[var + VARIABLE.first_parent + PARENT_SIZE * p]
            if V[HIGH, u] > V[LOW, u]:
                if n == MAX_DIMS:
                    return 0, 0, -TOO_MANY_DIMS
                n = insert(V, F, dims, n, u)
        cells = count_cells(V, F, dims, n)
        here, top = top, top + cells
        if top > len(buffer):
            return 0, 0, -top
        loop_over(state, dims, n)
        follow_key(ints, state, 0, dims, n, var, ints[level + LEVEL.width])
        follow_factor(state, 1, dims, n, lower, n_lower)
        follow_factor(state, 2, dims, n, others, n_other)
        _refine(pools, W, level, n, low, high, message, below, here, cells, buffer)
        below = here
        level += LEVEL_SIZE
    return below, n, top


@kernel(fastmath=REORDER)
def _refine(pools, W, level, n, low, high, message, below, here, cells, buffer):
    """One level of :func:`sum_child`; the places are the key, the cell below, and the row of M."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    symbols, shares = ints[level + LEVEL.codes], ints[level + LEVEL.shares]
    starts, tails, width = ints[level + LEVEL.starts], ints[level + LEVEL.tails], high - low + 1
    extent = W[EXTENT, n - 1] if n > 0 else 1
    key_step = W[STEP, n - 1] if n > 0 else 0
    lower_step = W[STEP + 1, n - 1] if n > 0 else 0
    other_step = W[STEP + 2, n - 1] if n > 0 else 0
    for line in range(here, here + cells, extent):
        key, lower, other = W[PLACE, 0], below + W[PLACE, 1], W[PLACE, 2]
        for c in range(line, line + extent):
            value = buffer[lower]
            row = row_of(ints, tables, level, key)
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
        next_line(W, n, 3)


@kernel()
def sum_parent(pools, state, x, var, v, message, others, n_other, dims, n, start, buffer, top):
    """Sum parent v out of M[others, v] P(x | u), where M mentions parents only.

    The table is read sparsely: entries are spread over the result, tails are gathered per row of
    the other parents. ``dims`` are the dimensions of the result, x among them. Returns the new top.
    """
    ints, numbers = pools.ints, pools.numbers
    V, F, W = state.variables, state.factors, state.walk
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
    step, n_levels = stride_of(V, F, dims, n, x), ints[var + VARIABLE.n_levels]
    loop_over(state, loop, n_rest + 1)
    follow_factor(state, 0, loop, n_rest + 1, others, n_other + 1)
    follow_factor(state, 1, loop, n_rest + 1, dims, n)
    level = var + VARIABLE.first_parent + PARENT_SIZE * ints[var + VARIABLE.n_parents]
    for r in range(n_levels):
        follow_key(
            ints, state, 2 + r, loop, n_rest + 1, var, ints[level + LEVEL_SIZE * r + LEVEL.width]
        )
    for c in range(rest, rest + rest_cells):
        target = start + W[PLACE, 1] - low * step
        gathered = 0.0
        for y in range(W[EXTENT, n_rest]):
            weight = buffer[message + W[PLACE, 0] + y]
            for r in range(n_levels - 1, -1, -1):
                key = W[PLACE, 2 + r] + y * W[STEP + 2 + r, n_rest]
                weight = _spread(
                    pools, level + LEVEL_SIZE * r, key, weight, low, high,
                    target, step, buffer,
                )  # fmt: skip
            gathered += weight
        buffer[c] = gathered
        base = ints[var + VARIABLE.base]
        for symbol in range(low, high + 1):
            buffer[target + symbol * step] += gathered * numbers[base + symbol]
        next_line(W, n_rest + 1, 2 + n_levels)
    return top + rest_cells


@kernel()
def _spread(pools, level, key, weight, low, high, target, step, buffer):
    """Add a weighted row's entries to the result; returns the weight of its tail."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    row = row_of(ints, tables, level, key)
    if row < 0:
        return weight
    symbols, shares, line = (
        ints[level + LEVEL.codes],
        ints[level + LEVEL.shares],
        ints[level + LEVEL.starts] + row,
    )
    for e in range(tables[line], tables[line + 1]):
        symbol = tables[symbols + e]
        if low <= symbol <= high:
            buffer[target + symbol * step] += weight * numbers[shares + e]
    return weight * numbers[ints[level + LEVEL.tails] + row]


@kernel(fastmath=REORDER)
def rescale(buffer, start, cells):
    """Divide a factor by its largest value where that is tiny.

    Returns the logarithm of the divisor, minus infinity where the whole factor is zero.
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

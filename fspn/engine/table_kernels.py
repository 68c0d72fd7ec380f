"""Reading single cells of a CPT, and writing a table out over its open variables."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.engine.kernels import (
    CODE,
    EXTENT,
    FIRST,
    HIGH,
    LOW,
    PLACE,
    SPARE,
    STEP,
    count_cells,
    follow_factor,
    follow_key,
    kernel,
    loop_over,
    next_line,
    row_of,
    stride_of,
)
from fspn.engine.program import LEVEL, LEVEL_SIZE, PARENT, PARENT_SIZE, VARIABLE


@kernel()
def _share(pools, level, row, x):
    """The entry of one code in a row of a level."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    starts, symbols = ints[level + LEVEL.starts] + row, ints[level + LEVEL.codes]
    low, high = tables[starts], tables[starts + 1]
    while high - low > 4:
        middle = (low + high) >> 1
        if tables[symbols + middle] <= x:
            low = middle
        else:
            high = middle
    for e in range(low, high):
        if tables[symbols + e] == x:
            return numbers[ints[level + LEVEL.shares] + e]
    return 0.0


@kernel()
def point(pools, V, var, x):
    """P(x | current codes of the parents), from the first back-off level up."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    p = numbers[ints[var + VARIABLE.base] + x]
    parent = var + VARIABLE.first_parent
    level = parent + PARENT_SIZE * ints[var + VARIABLE.n_parents]
    key, width = np.int64(0), 0
    for _ in range(ints[var + VARIABLE.n_levels]):
        while width < ints[level + LEVEL.width]:
            key = key * ints[parent + PARENT.n_codes] + V[CODE, ints[parent]]
            parent += PARENT_SIZE
            width += 1
        row = row_of(ints, tables, level, key)
        if row >= 0:
            p = p * numbers[ints[level + LEVEL.tails] + row] + _share(pools, level, row, x)
        level += LEVEL_SIZE
    return p


@kernel()
def write_table(pools, state, i, var, dims, n, start, buffer):
    """The table of variable i as a dense factor over its open dimensions."""
    ints = pools.ints
    V, F, W = state.variables, state.factors, state.walk
    if V[LOW, i] == V[HIGH, i]:
        _write_column(pools, state, i, var, dims, n, start, buffer)
        return
    rows, n_rows = len(F) - SPARE, 0
    for d in range(n):
        if F[dims, FIRST + d] != i:
            F[rows, FIRST + n_rows] = F[dims, FIRST + d]
            n_rows += 1
    F[rows, FIRST + n_rows] = i
    step = stride_of(V, F, dims, n, i)
    loop_over(state, rows, n_rows + 1)
    follow_factor(state, 0, rows, n_rows + 1, dims, n)
    level = var + VARIABLE.first_parent + PARENT_SIZE * ints[var + VARIABLE.n_parents]
    for r in range(ints[var + VARIABLE.n_levels]):
        follow_key(
            ints, state, 1 + r, rows, n_rows + 1, var, ints[level + LEVEL_SIZE * r + LEVEL.width]
        )
    for _ in range(count_cells(V, F, rows, n_rows)):
        _write_row(pools, V, W, i, var, start + W[PLACE, 0], step, buffer)
        next_line(W, n_rows + 1, 1 + ints[var + VARIABLE.n_levels])


@kernel()
def _write_row(pools, V, W, i, var, target, step, buffer):
    """One row P(. | u); indices 1, 2, ... of W are the keys of u on every level."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    low, high = V[LOW, i], V[HIGH, i]
    base = ints[var + VARIABLE.base]
    for x in range(low, high + 1):
        buffer[target + (x - low) * step] = numbers[base + x]
    level = var + VARIABLE.first_parent + PARENT_SIZE * ints[var + VARIABLE.n_parents]
    for r in range(ints[var + VARIABLE.n_levels]):
        row = row_of(ints, tables, level, W[PLACE, 1 + r])
        if row >= 0:
            tail = numbers[ints[level + LEVEL.tails] + row]
            for x in range(high - low + 1):
                buffer[target + x * step] *= tail
            symbols, shares = ints[level + LEVEL.codes], ints[level + LEVEL.shares]
            line = ints[level + LEVEL.starts] + row
            for e in range(tables[line], tables[line + 1]):
                symbol = tables[symbols + e]
                if low <= symbol <= high:
                    buffer[target + (symbol - low) * step] += numbers[shares + e]
        level += LEVEL_SIZE


@kernel()
def _write_column(pools, state, i, var, dims, n, start, buffer):
    """P(x | u) of the known x over the open parents."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    V, F, W = state.variables, state.factors, state.walk
    cells, x = count_cells(V, F, dims, n), V[LOW, i]
    p = numbers[ints[var + VARIABLE.base] + x]
    for c in range(start, start + cells):
        buffer[c] = p
    level = var + VARIABLE.first_parent + PARENT_SIZE * ints[var + VARIABLE.n_parents]
    for _ in range(ints[var + VARIABLE.n_levels]):
        loop_over(state, dims, n)
        follow_key(ints, state, 0, dims, n, var, ints[level + LEVEL.width])
        extent, step, tails = W[EXTENT, n - 1], W[STEP, n - 1], ints[level + LEVEL.tails]
        # A list pays where many rows are open; for a single run of rows it is slower than looking.
        listed = (
            n > 1
            and ints[level + LEVEL.row_of_key] >= 0
            and _covers(ints, F, var, ints[level + LEVEL.width], dims, n)
        )
        for line in range(start, start + cells, extent):
            key = W[PLACE, 0]
            for c in range(line, line + extent):
                row = row_of(ints, tables, level, key)
                if row >= 0:
                    share = 0.0 if listed else _share(pools, level, row, x)
                    buffer[c] = buffer[c] * numbers[tails + row] + share
                key += step
            next_line(W, n, 1)
        if listed:
            _add_listed(pools, V, F, var, level, x, dims, n, start, buffer)
        level += LEVEL_SIZE


@kernel()
def _covers(ints, F, var, width, dims, n):
    """Whether all dimensions are among the first ``width`` parents."""
    for d in range(n):
        found = False
        for p in range(width):
            parent = ints[var + VARIABLE.first_parent + PARENT_SIZE * p]
            found = found or parent == F[dims, FIRST + d]
        if not found:
            return False
    return True


@kernel()
def _add_listed(pools, V, F, var, level, x, dims, n, start, buffer):
    """Add the shares of code x in all rows that the event allows, from the list of its rows."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    parents, width = var + VARIABLE.first_parent, ints[level + LEVEL.width]
    first = ints[level + LEVEL.by_code] + x
    for e in range(tables[first], tables[first + 1]):
        key = np.int64(tables[ints[level + LEVEL.code_keys] + e])
        cell, allowed = np.int64(0), True
        for p in range(width - 1, -1, -1):
            parent = parents + PARENT_SIZE * p
            v, size = ints[parent], ints[parent + PARENT.n_codes]
            code = key % size
            key //= size
            if code < V[LOW, v] or code > V[HIGH, v]:
                allowed = False
                break
            if V[HIGH, v] > V[LOW, v]:
                cell += (code - V[LOW, v]) * stride_of(V, F, dims, n, v)
        if allowed:
            buffer[start + cell] += numbers[ints[level + LEVEL.code_shares] + e]

"""Reading single cells of a cpt, and writing a table out over its open variables."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.engine.kernels import (
    BASE,
    BY_SYMBOL,
    CODE,
    EXTENT,
    FIRST,
    FIRST_PARENT,
    HIGH,
    INDEX,
    LEVEL_RECORD,
    LEVELS,
    LOW,
    PARENTS,
    PLACE,
    SHARES,
    SPARE,
    STARTS,
    STEP,
    SYMBOL_KEYS,
    SYMBOL_SHARES,
    SYMBOLS,
    TAILS,
    WIDTH,
    count_cells,
    follow_factor,
    follow_key,
    kernel,
    loop_over,
    next_line,
    row_of,
    stride_of,
)


@kernel()
def _share(ints, tables, numbers, level, row, x):
    """The share of one code in a row."""
    starts, symbols = ints[level + STARTS] + row, ints[level + SYMBOLS]
    low, high = tables[starts], tables[starts + 1]
    while high - low > 4:
        middle = (low + high) >> 1
        if tables[symbols + middle] <= x:
            low = middle
        else:
            high = middle
    for e in range(low, high):
        if tables[symbols + e] == x:
            return numbers[ints[level + SHARES] + e]
    return 0.0


@kernel()
def point(ints, tables, numbers, V, var, x):
    """P(x | current codes of the parents) by climbing the cpt."""
    p = numbers[ints[var + BASE] + x]
    parent = var + FIRST_PARENT
    level = parent + 2 * ints[var + PARENTS]
    key, width = np.int64(0), 0
    for _ in range(ints[var + LEVELS]):
        while width < ints[level + WIDTH]:
            key = key * ints[parent + 1] + V[CODE, ints[parent]]
            parent += 2
            width += 1
        row = row_of(ints, tables, level, key)
        if row >= 0:
            p = p * numbers[ints[level + TAILS] + row] + _share(
                ints, tables, numbers, level, row, x
            )
        level += LEVEL_RECORD
    return p


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
    step = stride_of(V, F, dims, n, i)
    loop_over(V, F, W, rows, n_rows + 1)
    follow_factor(V, F, W, 0, rows, n_rows + 1, dims, n)
    level = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for r in range(ints[var + LEVELS]):
        follow_key(
            ints, V, F, W, 1 + r, rows, n_rows + 1, var, ints[level + LEVEL_RECORD * r + WIDTH]
        )
    for _ in range(count_cells(V, F, rows, n_rows)):
        _write_row(ints, tables, numbers, V, W, i, var, start + W[PLACE, 0], step, buffer)
        next_line(W, n_rows + 1, 1 + ints[var + LEVELS])


@kernel()
def _write_row(ints, tables, numbers, V, W, i, var, target, step, buffer):
    """One row P(. | u); places 1, 2, ... of W are the keys of u on every level."""
    low, high = V[LOW, i], V[HIGH, i]
    base = ints[var + BASE]
    for x in range(low, high + 1):
        buffer[target + (x - low) * step] = numbers[base + x]
    level = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for r in range(ints[var + LEVELS]):
        row = row_of(ints, tables, level, W[PLACE, 1 + r])
        if row >= 0:
            tail = numbers[ints[level + TAILS] + row]
            for x in range(high - low + 1):
                buffer[target + x * step] *= tail
            symbols, shares = ints[level + SYMBOLS], ints[level + SHARES]
            line = ints[level + STARTS] + row
            for e in range(tables[line], tables[line + 1]):
                symbol = tables[symbols + e]
                if low <= symbol <= high:
                    buffer[target + (symbol - low) * step] += numbers[shares + e]
        level += LEVEL_RECORD


@kernel()
def _write_column(ints, tables, numbers, V, F, W, i, var, dims, n, start, buffer):
    """P(x | u) of the known x over the open parents."""
    cells, x = count_cells(V, F, dims, n), V[LOW, i]
    p = numbers[ints[var + BASE] + x]
    for c in range(start, start + cells):
        buffer[c] = p
    level = var + FIRST_PARENT + 2 * ints[var + PARENTS]
    for _ in range(ints[var + LEVELS]):
        loop_over(V, F, W, dims, n)
        follow_key(ints, V, F, W, 0, dims, n, var, ints[level + WIDTH])
        extent, step, tails = W[EXTENT, n - 1], W[STEP, n - 1], ints[level + TAILS]
        # A list pays where many rows are open; for a single run of rows it is slower than looking.
        listed = (
            n > 1
            and ints[level + INDEX] >= 0
            and _covers(ints, F, var, ints[level + WIDTH], dims, n)
        )
        for line in range(start, start + cells, extent):
            key = W[PLACE, 0]
            for c in range(line, line + extent):
                row = row_of(ints, tables, level, key)
                if row >= 0:
                    share = 0.0 if listed else _share(ints, tables, numbers, level, row, x)
                    buffer[c] = buffer[c] * numbers[tails + row] + share
                key += step
            next_line(W, n, 1)
        if listed:
            _add_listed(ints, tables, numbers, V, F, var, level, x, dims, n, start, buffer)
        level += LEVEL_RECORD


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
def _add_listed(ints, tables, numbers, V, F, var, level, x, dims, n, start, buffer):
    """Add the shares of code x in all rows that the event allows, from the list of its rows."""
    parents, width = var + FIRST_PARENT, ints[level + WIDTH]
    first = ints[level + BY_SYMBOL] + x
    for e in range(tables[first], tables[first + 1]):
        key = np.int64(tables[ints[level + SYMBOL_KEYS] + e])
        cell, allowed = np.int64(0), True
        for p in range(width - 1, -1, -1):
            v, size = ints[parents + 2 * p], ints[parents + 2 * p + 1]
            code = key % size
            key //= size
            if code < V[LOW, v] or code > V[HIGH, v]:
                allowed = False
                break
            if V[HIGH, v] > V[LOW, v]:
                cell += (code - V[LOW, v]) * stride_of(V, F, dims, n, v)
        if allowed:
            buffer[start + cell] += numbers[ints[level + SYMBOL_SHARES] + e]

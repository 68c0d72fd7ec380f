"""Variable elimination on one block of tables; the steps are in :mod:`fspn.engine.kernels`."""

from __future__ import annotations

from math import log

import numpy as np

from fspn.engine.kernels import (
    AT,
    CODE,
    DIMS,
    FACTORS,
    FIRST,
    HIGH,
    KEPT,
    LINK,
    LOW,
    MAX_DIMS,
    MAX_PLACES,
    NEEDED,
    NEXT_WAITING,
    OTHERS,
    PLACE,
    RANK,
    RESULT,
    STEP,
    TINY,
    TOO_MANY_DIMS,
    WAITING,
    WEIGHT,
    count_cells,
    follow_factor,
    insert,
    kernel,
    loop_over,
    next_line,
    open_dims,
    put_in_bucket,
    put_weights_in_bucket,
    read_event,
)
from fspn.engine.program import PARENT_SIZE, TABLES, VARIABLE
from fspn.engine.sum_kernels import (
    multiply,
    rescale,
    sum_child,
    sum_dense,
    sum_parent,
    union,
)
from fspn.engine.table_kernels import (
    point,
    write_table,
)


@kernel()
def _write(pools, state, block, i, n_factors, buffer, top):
    """One table as dense factor number ``n_factors``; returns the new top."""
    ints = pools.ints
    V, F = state.variables, state.factors
    dims = len(F) - OTHERS
    var = ints[block + TABLES.first_variable + i]
    n = open_dims(ints, V, F, i, var, dims)
    start, top = top, top + count_cells(V, F, dims, n)
    if top > len(buffer):
        return -top
    write_table(pools, state, i, var, dims, n, start, buffer)
    put_in_bucket(V, F, ints[block + TABLES.n_variables], n_factors, start, dims, n)
    return top


@kernel()
def _place_tables(pools, state, block, weights, buffer, top):
    """Hang every table that matters under the variable that is summed out first.

    Tables without open variables are single numbers. Returns (logarithm of their product, number of
    dense factors, new top).
    """
    ints = pools.ints
    V, F = state.variables, state.factors
    k, n_external = ints[block + TABLES.n_variables], ints[block + TABLES.n_external]
    scale, product, n_factors = 0.0, 1.0, 0
    dims = len(F) - OTHERS
    for i in range(k - 1, -1, -1):
        if not V[NEEDED, i]:
            continue
        if V[WEIGHT, i] >= 0 and i >= n_external:
            if V[HIGH, i] == V[LOW, i]:
                product *= weights[V[WEIGHT, i] + V[LOW, i]]
            else:
                top = put_weights_in_bucket(V, F, k, i, n_factors, weights, buffer, top)
                if top < 0:
                    return 0.0, 0, top
                n_factors += 1
        if i < n_external:
            continue
        var = ints[block + TABLES.first_variable + i]
        n = open_dims(ints, V, F, i, var, dims)
        if n < 0:
            return 0.0, 0, -TOO_MANY_DIMS
        if n == 0:
            product *= point(pools, V, var, V[CODE, i])
            if product < TINY:
                if product <= 0.0:
                    return -np.inf, 0, top
                scale += log(product)
                product = 1.0
        elif V[RANK, F[dims, FIRST + n - 1]] < k:
            bucket = F[dims, FIRST + n - 1]
            V[NEXT_WAITING, i] = V[WAITING, bucket]
            V[WAITING, bucket] = i
        else:
            top = _write(pools, state, block, i, n_factors, buffer, top)
            if top < 0:
                return 0.0, 0, top
            n_factors += 1
    return scale + log(product), n_factors, top


@kernel()
def _driver(ints, V, F, block, v):
    """The table to read sparsely: v's own if it is in the bucket, else the widest one.

    Tables of a variable with a known value are faster written out.
    """
    dims = len(F) - OTHERS
    best, most = -1, 0
    i = V[WAITING, v]
    while i >= 0:
        if i == v:
            return v
        if V[HIGH, i] > V[LOW, i]:
            n = open_dims(ints, V, F, i, ints[block + TABLES.first_variable + i], dims)
            if n > most:
                best, most = i, n
        i = V[NEXT_WAITING, i]
    return best


@kernel()
def _write_others(pools, state, block, v, driver, n_factors, buffer, top):
    """All tables in v's bucket but one as dense factors; (number of factors, new top)."""
    V = state.variables
    i = V[WAITING, v]
    while i >= 0 and top >= 0:
        if i != driver:
            top = _write(pools, state, block, i, n_factors, buffer, top)
            n_factors += 1
        i = V[NEXT_WAITING, i]
    return n_factors, top


@kernel()
def _only_parents(ints, V, F, v, var):
    """Whether all factors in v's bucket mention the driver's parents only."""
    f = V[FACTORS, v]
    while f >= 0:
        for d in range(F[f, DIMS]):
            known = False
            for p in range(ints[var + VARIABLE.n_parents]):
                parent = ints[var + VARIABLE.first_parent + PARENT_SIZE * p]
                known = known or parent == F[f, FIRST + d]
            if not known:
                return False
        f = F[f, LINK]
    return True


@kernel()
def _sum_out(pools, state, block, v, n_factors, dims, buffer, top):
    """Sum v out of everything in its bucket.

    Returns (start, number of dimensions, number of factors, new top).
    """
    ints = pools.ints
    V, F = state.variables, state.factors
    driver = _driver(ints, V, F, block, v)
    n_factors, top = _write_others(pools, state, block, v, driver, n_factors, buffer, top)
    if top < 0:
        return 0, 0, n_factors, top
    sparse = driver == v
    if driver >= 0 and not sparse:
        var = ints[block + TABLES.first_variable + driver]
        sparse = (
            _only_parents(ints, V, F, v, var) and ints[var + VARIABLE.n_levels] <= MAX_PLACES - 2
        )
        if not sparse:
            top = _write(pools, state, block, driver, n_factors, buffer, top)
            if top < 0:
                return 0, 0, n_factors, top
            n_factors += 1
    others = len(F) - OTHERS
    n = union(V, F, V[FACTORS, v], v, others)
    if n < 0:
        return 0, 0, n_factors, -TOO_MANY_DIMS
    if not sparse and _count(F, V[FACTORS, v]) <= MAX_PLACES:
        for d in range(n):
            F[dims, FIRST + d] = F[others, FIRST + d]
        start, top = top, top + count_cells(V, F, dims, n)
        if top > len(buffer):
            return 0, 0, n_factors, -top
        sum_dense(state, v, V[FACTORS, v], dims, n, start, buffer)
        return start, n, n_factors, top
    f = V[FACTORS, v]
    F[others, FIRST + n] = v
    if f >= 0 and F[f, LINK] < 0:
        message = F[f, AT]
    else:
        message, top = top, top + count_cells(V, F, others, n + 1)
        if top > len(buffer):
            return 0, 0, n_factors, -top
        multiply(state, f, v, others, n, message, buffer)
    if sparse and driver != v:
        var = ints[block + TABLES.first_variable + driver]
        n_dims = open_dims(ints, V, F, driver, var, dims) - 1
        start, top = top, top + count_cells(V, F, dims, n_dims)
        if 2 * top > len(buffer):
            return 0, 0, n_factors, -2 * top
        top = sum_parent(
            pools, state, driver, var, v, message, others, n, dims, n_dims,
            start, buffer, top,
        )  # fmt: skip
        return start, n_dims, n_factors, top
    if driver == v:
        var = ints[block + TABLES.first_variable + v]
        start, n, top = sum_child(pools, state, v, var, message, n, others, dims, top, buffer)
        return start, n, n_factors, top
    # Too many factors to follow at once: their product is one factor.
    F[n_factors, AT], F[n_factors, DIMS], F[n_factors, LINK] = message, n + 1, -1
    for d in range(n + 1):
        F[n_factors, FIRST + d] = F[others, FIRST + d]
        F[dims, FIRST + d] = F[others, FIRST + d]
    start, top = top, top + count_cells(V, F, dims, n)
    if top > len(buffer):
        return 0, 0, n_factors, -top
    sum_dense(state, v, n_factors, dims, n, start, buffer)
    return start, n, n_factors, top


@kernel()
def _count(F, head):
    """The number of factors in a list."""
    n = 0
    while head >= 0:
        n += 1
        head = F[head, LINK]
    return n


@kernel()
def eliminate(pools, block, event, keep, state, buffer, top):
    """Sum a block's variables out, except external ones and those to keep.

    Returns (log-scale, start, cells, new top, number of kept dimensions); the kept variables'
    local numbers are then the dimensions in row KEPT of F. A negative top asks for a larger
    buffer.
    """
    ints = pools.ints
    V, F = state.variables, state.factors
    lo, hi, weight_of, weights = event.lower, event.upper, event.places, event.weights
    k = ints[block + TABLES.n_variables]
    dims = len(F) - RESULT
    if not read_event(ints, V, block, lo, hi, weight_of, keep):
        return -np.inf, 0, 0, top, 0
    scale, n_factors, top = _place_tables(pools, state, block, weights, buffer, top)
    if top < 0 or scale == -np.inf:
        return scale, 0, 0, top, 0
    order = ints[block + TABLES.order] + k
    for position in range(k):
        v = ints[order + position]
        if V[WAITING, v] < 0 and V[FACTORS, v] < 0:
            continue
        start, n, n_factors, top = _sum_out(pools, state, block, v, n_factors, dims, buffer, top)
        if top < 0:
            return 0.0, 0, 0, top, 0
        scale += rescale(buffer, start, count_cells(V, F, dims, n))
        if scale == -np.inf:
            return -np.inf, 0, 0, top, 0
        if n == 0:
            scale += log(buffer[start])
        else:
            put_in_bucket(V, F, ints[block + TABLES.n_variables], n_factors, start, dims, n)
            n_factors += 1
    return _finish(state, k, scale, buffer, top)


@kernel()
def _finish(state, k, scale, buffer, top):
    """The product of the factors that are left, over the kept variables."""
    V, F = state.variables, state.factors
    head, kept = V[FACTORS, k], len(F) - KEPT
    n = 0
    f = head
    while f >= 0:
        for d in range(F[f, DIMS]):
            if n == MAX_DIMS:
                return 0.0, 0, 0, -TOO_MANY_DIMS, 0
            n = insert(V, F, kept, n, F[f, FIRST + d])
        f = F[f, LINK]
    cells = count_cells(V, F, kept, n)
    start, top = top, top + cells
    if top > len(buffer):
        return 0.0, 0, 0, -top, 0
    for c in range(start, start + cells):
        buffer[c] = 1.0
    f = head
    while f >= 0:
        _times_factor(state, f, kept, n, start, cells, buffer)
        f = F[f, LINK]
    return scale, start, cells, top, n


@kernel()
def _times_factor(state, f, dims, n, start, cells, buffer):
    """Multiply a table over some dimensions by a factor, line by line."""
    V, F, W = state.variables, state.factors, state.walk
    last = F[dims, FIRST + n - 1]
    width = V[HIGH, last] - V[LOW, last] + 1
    loop_over(state, dims, n)
    follow_factor(state, 0, dims, n, f, F[f, DIMS])
    step = W[STEP, n - 1]
    for line in range(start, start + cells, width):
        source = F[f, AT] + W[PLACE, 0]
        for x in range(width):
            buffer[line + x] *= buffer[source + x * step]
        next_line(W, n, 1)

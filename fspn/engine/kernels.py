r"""The fast engine's inner loops for tables: exact sums, variable by variable.

A *block* is a group of nested factorize nodes with tables. FSPN-Infer would evaluate the left child
once per region, which costs :math:`l^f` for f nested nodes with l regions. Here what the regions of
one event have in common is computed once: the variables that the event leaves open are summed out
one by one, in an order fixed when the model was compiled. Barren variables, which the event does
not constrain and on which nothing constrained depends, are never visited.

Tables stay sparse as long as possible. When variable v is summed out, one table that holds v is
read row by row, :math:`P(x \mid u) = S(x, u) + T(u) P_{below}(x)`: its entries S one at a time, its
tails T as one number per row. All other factors are dense arrays over the open variables; the one
summed out first has stride 1, so that sums run over consecutive numbers.

An event is, per variable, the range ``lower .. upper`` of codes and optionally a weight per code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable

from fspn.engine.numba_cache import stamp_of_kernels, stamped
from fspn.engine.program import LEVEL, PARENT, PARENT_SIZE, TABLES, VARIABLE
from fspn.engine.workspace import EliminationState

MAX_DIMS = 24

# Where both pools of probabilities hold the number one.
ONE = 0

# Sums may be reordered (and so run in parallel lanes); nothing else of IEEE arithmetic is given up.
REORDER = {"reassoc", "contract"}
TINY = 1e-120
TOO_MANY_DIMS = 1 << 40


# The state of an elimination is arrays of integers, made once for many events (views inside the
# loops would cost more than the arithmetic): V = state.variables, F = state.factors and
# W = state.walk. Rows of V, one column per variable of the block and one for the kept ones: the
# range of codes (open where LOW < HIGH), the current code (at LOW between loops), the place of its
# weights or -1, when it is summed out (2k and above: never), whether its table matters, and linked
# lists of the tables (by child) and of the dense factors that wait for it.
LOW, HIGH, CODE, WEIGHT, RANK, NEEDED, WAITING, NEXT_WAITING, FACTORS = range(9)
N_ROWS_OF_V = 9

# A row of F is a dense factor: the next one in its list, its place in the buffer, its number of
# dimensions, and those. The last rows are lists of dimensions in the making: KEPT ... SPARE.
LINK, AT, DIMS, FIRST = range(4)
SPARE, OTHERS, RESULT, KEPT = 1, 2, 3, 4

# W drives a loop over the cells of some dimensions (columns): their extents and current counts, and
# up to MAX_PLACES places that move along, each with its step per dimension.
EXTENT, COUNT, PLACE, STEP = range(4)
MAX_PLACES = 10
MAX_LEVELS = 256  # Validation refuses tables of more.
MOST_CELLS = np.int64(1 << 40)  # No buffer has so many; counting on would wrap around.


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Compile a function that calls kernels; the cache notices a change of any of them."""
    make = njit(cache=True, nogil=True, **options)
    return lambda function: stamped(make(function), stamp_of_kernels())


def kernel(**options: Any) -> Callable[[Any], Any]:
    """Compile a function that allocates nothing.

    Without numba's reference counts, whose atomic operations on every array argument of every call
    took more than half of the time. What is called from a function that is to be inlined would be
    inlined as well, and so on down to one function of everything: hence the default.
    """
    return compiled(_nrt=False, **{"forceinline": False, **options})


@register_jitable
def _walk_shape():
    """Rows and columns of W: a table of many levels has a place for the key of each."""
    return STEP + MAX_PLACES + MAX_LEVELS, MAX_DIMS + MAX_LEVELS


@register_jitable
def state_words(k):
    """The number of words in the state of an elimination on up to k variables."""
    rows, columns = _walk_shape()
    return N_ROWS_OF_V * (k + 1) + (3 * k + 5) * (FIRST + MAX_DIMS) + rows * columns


@compiled()
def new_state(k, words):
    """For blocks of up to k variables, in the given words."""
    n_variables, n_factors = N_ROWS_OF_V * (k + 1), (3 * k + 5) * (FIRST + MAX_DIMS)
    variables, rest = words[:n_variables], words[n_variables:]
    return EliminationState(
        variables.reshape((N_ROWS_OF_V, k + 1)),
        rest[:n_factors].reshape((3 * k + 5, FIRST + MAX_DIMS)),
        rest[n_factors:].reshape(_walk_shape()),
    )


@kernel()
def row_of(ints, tables, level, key):
    """The row of a level for a key, or -1."""
    if ints[level + LEVEL.row_of_key] >= 0:
        return tables[ints[level + LEVEL.row_of_key] + key]
    first = ints[level + LEVEL.keys]
    low, end = first, first + ints[level + LEVEL.n_rows]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if tables[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low - first if low < end and tables[low] == key else -1


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
    """The number of cells of some dimensions, at most ``MOST_CELLS``."""
    cells = np.int64(1)
    for d in range(n):
        extent = V[HIGH, F[dims, FIRST + d]] - V[LOW, F[dims, FIRST + d]] + 1
        cells = min(cells * extent, MOST_CELLS)
    return cells


@kernel()
def stride_of(V, F, dims, n, v):
    """The stride of v in a factor."""
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
    for p in range(ints[var + VARIABLE.n_parents]):
        v = ints[var + VARIABLE.first_parent + PARENT_SIZE * p]
        if V[HIGH, v] > V[LOW, v]:
            if n == MAX_DIMS:
                return -1
            n = insert(V, F, dims, n, v)
    return n


@kernel()
def put_in_bucket(V, F, k, f, start, dims, n):
    """Store dense factor f under the variable that is summed out first, or with the kept ones."""
    F[f, AT], F[f, DIMS] = start, n
    for d in range(n):
        F[f, FIRST + d] = F[dims, FIRST + d]
    last = F[dims, FIRST + n - 1]
    bucket = last if V[RANK, last] < k else k
    F[f, LINK] = V[FACTORS, bucket]
    V[FACTORS, bucket] = f


@kernel()
def loop_over(state, dims, n):
    """Start a loop over the cells of some dimensions."""
    V, F, W = state.variables, state.factors, state.walk
    for d in range(n):
        v = F[dims, FIRST + d]
        W[EXTENT, d] = V[HIGH, v] - V[LOW, v] + 1
        W[COUNT, d] = 0


@kernel()
def follow_factor(state, place, dims, n, factor, n_factor):
    """Make an index follow the loop through a factor (or list of dimensions)."""
    V, F, W = state.variables, state.factors, state.walk
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
def follow_key(ints, state, place, dims, n, var, width):
    """Make an index follow the loop as the key of the first ``width`` parents."""
    V, F, W = state.variables, state.factors, state.walk
    key, parents = np.int64(0), var + VARIABLE.first_parent
    for d in range(n):
        W[STEP + place, d] = 0
    for p in range(width):
        parent = parents + PARENT_SIZE * p
        key = key * ints[parent + PARENT.n_codes] + V[LOW, ints[parent]]
    stride = np.int64(1)
    for p in range(width - 1, -1, -1):
        for d in range(n):
            if F[dims, FIRST + d] == ints[parents + PARENT_SIZE * p]:
                W[STEP + place, d] = stride
        stride *= ints[parents + PARENT_SIZE * p + PARENT.n_codes]
    W[PLACE, place] = key


@kernel()
def next_line(W, n, n_places):
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
def read_event(ints, V, block, lo, hi, weight_of, keep):
    """The event on a block's own variables, and which of them matter; False if it is empty."""
    k, n_external, order = (
        ints[block + TABLES.n_variables],
        ints[block + TABLES.n_external],
        ints[block + TABLES.order],
    )
    for i in range(k):
        var = ints[block + TABLES.first_variable + i]
        g = ints[var + VARIABLE.variable]
        low, high = lo[g], hi[g]
        if low > high:
            return False
        V[LOW, i], V[HIGH, i], V[CODE, i], V[WEIGHT, i] = low, high, low, weight_of[g]
        kept = i < n_external or keep[g]
        V[RANK, i] = 2 * k + i if kept and high > low else ints[order + i]
        partly = low > 0 or high < ints[var + VARIABLE.n_codes] - 1
        V[NEEDED, i] = partly or V[WEIGHT, i] >= 0 or kept
        V[WAITING, i] = -1
        V[FACTORS, i] = -1
    V[WAITING, k] = -1
    V[FACTORS, k] = -1
    for i in range(k - 1, n_external - 1, -1):
        if V[NEEDED, i]:
            var = ints[block + TABLES.first_variable + i]
            for p in range(ints[var + VARIABLE.n_parents]):
                V[NEEDED, ints[var + VARIABLE.first_parent + PARENT_SIZE * p]] = 1
    return True


@kernel()
def put_weights_in_bucket(V, F, k, i, f, weights, buffer, top):
    """The event's weights of an open variable as a factor of their own; returns the new top."""
    width = V[HIGH, i] - V[LOW, i] + 1
    if top + width > len(buffer):
        return -(top + width)
    for x in range(width):
        buffer[top + x] = weights[V[WEIGHT, i] + V[LOW, i] + x]
    own = len(F) - OTHERS
    F[own, FIRST] = i
    put_in_bucket(V, F, k, f, top, own, 1)
    return top + width

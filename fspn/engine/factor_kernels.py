"""Factors of a dense block: written-out tables, and messages, with a stride per variable."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from fspn.engine.kernels import compiled, kernel
from fspn.engine.program import DENSE_TABLE, DIMENSION, DIMENSION_SIZE, FIRST_DIMENSION
from fspn.engine.vector_kernels import no_unroll
from fspn.engine.workspace import DenseState

MAX_VARIABLES = 62

# Rows of B = state.variables: per variable its number of codes, and the list of factors that wait
# for it (one more column takes what waits for none); the dimensions of the result in the making,
# and how far a loop over them has come.
EXTENT, HEAD, DIM, AT_CELL = range(4)
# A row of G = state.factors is a factor: the next one in its list, its place in the buffer, its
# variables as bits, the record of the table that it is or -1, and its stride per variable. Columns
# of P = state.terms are the factors of one step (:mod:`fspn.engine.line_kernels`).
LINK, AT, BITS, TABLE, STRIDE = range(5)


@register_jitable
def dense_state_words(k):
    """How many words the state of an elimination on up to k variables takes."""
    k = min(k, MAX_VARIABLES)
    return 4 * (k + 1) + (3 * k + 4) * (STRIDE + k) + 5 * (3 * k + 1)


@compiled()
def new_dense_state(k, words):
    """For blocks of up to k variables, in the given words."""
    k = min(k, MAX_VARIABLES)
    n_variables, n_factors = 4 * (k + 1), (3 * k + 4) * (STRIDE + k)
    variables, rest = words[:n_variables], words[n_variables:]
    return DenseState(
        variables.reshape((4, k + 1)),
        rest[:n_factors].reshape((3 * k + 4, STRIDE + k)),
        rest[n_factors:].reshape((5, 3 * k + 1)),
    )


@kernel(forceinline=True)
def open_table(ints, table, lo, is_open, G, f):
    """The table as factor f; returns (where it begins, its open variables as bits)."""
    at = ints[np.uintp(table + DENSE_TABLE.start)]
    bits = ints[np.uintp(table + DENSE_TABLE.dims)] & is_open
    entry = table + FIRST_DIMENSION
    for _ in range(ints[np.uintp(table + DENSE_TABLE.n_dims)]):
        no_unroll()
        stride = ints[np.uintp(entry + DIMENSION.stride)]
        at += lo[np.uintp(ints[np.uintp(entry + DIMENSION.variable)])] * stride
        G[np.uintp(f), np.uintp(STRIDE + ints[np.uintp(entry + DIMENSION.rank)])] = stride
        entry += DIMENSION_SIZE
    G[np.uintp(f), AT], G[np.uintp(f), BITS], G[np.uintp(f), TABLE] = at, bits, table
    return at, bits

"""Loops over many events: packed ones, boxes of values, and pairs of query and evidence."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit, prange

from fspn.code_kernels import codes_of_box
from fspn.dense_kernels import new_dense_state
from fspn.kernels import kernel, new_state
from fspn.tree_kernels import FRAME, evaluate


@njit(cache=True, nogil=True)
def new_workspace(m, depth):
    """What :func:`fspn.tree_kernels.evaluate` writes to, apart from the buffer."""
    return (
        np.zeros(m, dtype=np.bool_),
        np.empty((depth[0], FRAME), dtype=np.int64),
        np.empty((depth[0], 2)),
        np.empty(depth[1], dtype=np.int64),
        *new_state(depth[2]),
        *new_dense_state(depth[2]),
    )


@njit(cache=True, nogil=True)
def run_events(
    root, ints, tables, numbers, lower, upper, w, weights, sizes, depth, buffer, first, out
):
    """The log-probability of every event, one after the other; > 0 asks for a larger buffer."""
    workspace = new_workspace(lower.shape[1], depth)
    program = (root, ints, tables, numbers)
    sides = np.empty((2, lower.shape[1]), dtype=np.int64)
    return _each_event(
        program, lower, upper, sides, w, weights, sizes, buffer, first, workspace, out
    )


# The loops allocate nothing and so do without reference counts.


@kernel()
def _each_event(program, lower, upper, sides, w, weights, sizes, buffer, first, workspace, out):
    # An evaluation that ends for want of room leaves the sides as narrow as they were just then.
    low, high = sides[0], sides[1]
    for q in range(lower.shape[0]):
        for v in range(lower.shape[1]):
            low[v], high[v] = max(lower[q, v], 0), min(upper[q, v], sizes[v] - 1)
        value, need = evaluate(*program, low, high, w[q], weights, sizes, buffer, first, *workspace)
        if need > 0:
            return need
        out[q] = value
    return 0


@njit(cache=True, parallel=True, nogil=True)
def run_events_parallel(
    root, ints, tables, numbers, lower, upper, w, weights, sizes, depth, buffers, first, out
):
    """The same on several threads, with a buffer each."""
    n_threads = buffers.shape[0]
    needs = np.zeros(n_threads, dtype=np.int64)
    n = lower.shape[0]
    for t in prange(n_threads):
        part = slice(t * n // n_threads, (t + 1) * n // n_threads)
        needs[t] = run_events(
            root, ints, tables, numbers, lower[part], upper[part], w[part], weights, sizes, depth,
            buffers[t], first, out[part],
        )  # fmt: skip
    return needs.max()


@njit(cache=True, nogil=True)
def run_boxes(
    root, ints, tables, numbers, sizes, depth,
    lower, upper, values, starts, runs, buffer, first, out,
):  # fmt: skip
    """Boxes of values: codes are looked up on the way. NaN leaves a side open."""
    m = lower.shape[1]
    codes = np.empty((2, m), dtype=np.int64)
    unweighted = (np.full(m, -1, dtype=np.int64), np.zeros(1))
    program, coding = (root, ints, tables, numbers), (values, starts, runs)
    workspace = new_workspace(m, depth)
    return _each_box(
        program, lower, upper, coding, codes, unweighted, sizes, buffer, first, workspace, out
    )


@kernel()
def _each_box(
    program, lower, upper, coding, codes, unweighted, sizes, buffer, first, workspace, out
):
    low, high = codes[0], codes[1]
    for q in range(lower.shape[0]):
        codes_of_box(lower, upper, q, *coding, low, high)
        value, need = evaluate(*program, low, high, *unweighted, sizes, buffer, first, *workspace)
        if need > 0:
            return need
        out[q] = value
    return 0


@njit(cache=True, nogil=True)
def run_conditionals(root, ints, tables, numbers, sizes, depth, pairs, n, buffer, first, out):
    """The probabilities of n questions about single codes given others.

    ``pairs`` holds per question how many variables are asked for and how many are given, then
    variable and code of each; a code of -1 is impossible. NaN where the evidence is impossible.
    Returns (buffer needed if larger than this one, how often the evidence was impossible).
    """
    m = len(sizes)
    low = np.empty((2, m), dtype=np.int64)
    high = np.empty((2, m), dtype=np.int64)
    unweighted = (np.full(m, -1, dtype=np.int64), np.zeros(1))
    program, workspace = (root, ints, tables, numbers), new_workspace(m, depth)
    return _each_question(
        program, pairs, n, low, high, unweighted, sizes, buffer, first, workspace, out
    )


@kernel()
def _each_question(program, pairs, n, low, high, unweighted, sizes, buffer, first, workspace, out):
    place, n_impossible = 0, 0
    for q in range(n):
        place = _read_question(pairs, place, sizes, low, high)
        given, need = evaluate(
            *program, low[1], high[1], *unweighted, sizes, buffer, first, *workspace
        )
        if need > 0:
            return need, 0
        if given == -np.inf:
            n_impossible += 1
            out[q] = np.nan
            continue
        both, need = evaluate(
            *program, low[0], high[0], *unweighted, sizes, buffer, first, *workspace
        )
        if need > 0:
            return need, 0
        out[q] = exp(both - given)
    return 0, n_impossible


@kernel()
def _read_question(pairs, place, sizes, low, high):
    """The boxes of joint and evidence; returns where the next question begins."""
    for v in range(len(sizes)):
        low[0, v] = low[1, v] = 0
        high[0, v] = high[1, v] = sizes[v] - 1
    n_asked, n_given = pairs[place], pairs[place + 1]
    place += 2
    for i in range(n_asked + n_given):
        v, code = pairs[place], pairs[place + 1]
        for event in range(1 if i < n_asked else 2):
            low[event, v] = max(low[event, v], code)
            high[event, v] = min(high[event, v], code)
        place += 2
    return place

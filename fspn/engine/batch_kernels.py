"""Loops over many events: packed ones, boxes of values, and pairs of query and evidence."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp, isnan

import numpy as np
from numba import prange

from fspn.engine.code_kernels import codes_of_box
from fspn.engine.factor_kernels import dense_state_words, new_dense_state
from fspn.engine.kernels import compiled, kernel, new_state, state_words
from fspn.engine.memo_kernels import FIRST_ENTRY, empty_memory, new_memory
from fspn.engine.message_kernels import run_messages
from fspn.engine.pools import Pools
from fspn.engine.program import NEEDS
from fspn.engine.region_kernels import new_region_buffers, run_regions
from fspn.engine.tensor_kernels import new_stack
from fspn.engine.tree_kernels import FRAME_WORDS, evaluate
from fspn.engine.workspace import Event, RegionBuffers, TensorStack, Workspace

CHUNK = 16


@compiled()
def new_workspace(m, needs):
    """The scratch arrays of all kernels, apart from the buffer.

    A model without regions needs two allocations in all: one per array would take as long as a
    simple question.
    """
    n_frames, n_sides = needs[NEEDS.n_frames], needs[NEEDS.n_sides]
    k, n_heads = needs[NEEDS.n_block_variables], needs[NEEDS.n_heads]
    n_stack = n_frames * FRAME_WORDS
    n_own = n_stack + n_sides + FIRST_ENTRY
    words = np.empty(n_own + state_words(k) + dense_state_words(k), dtype=np.int64)
    partial = np.empty((n_frames, 2))
    frames = words[:n_stack].reshape((n_frames, FRAME_WORDS))
    states = words[n_own:]
    no_words, no_numbers = words[:0], partial.reshape(2 * n_frames)[:0]
    no_keep = np.zeros(m, dtype=np.bool_)
    tree = Workspace(
        no_keep,
        frames,
        partial,
        words[n_stack : n_stack + n_sides],
        new_state(k, states[: state_words(k)]),
        new_dense_state(k, states[state_words(k) :]),
        new_memory(n_heads)
        if n_heads
        else empty_memory(no_words, words[n_own - FIRST_ENTRY : n_own], no_numbers),
        new_stack(m, needs[NEEDS.n_message_answers])
        if needs[NEEDS.messages] >= 0
        else TensorStack(frames, partial, frames, no_keep),
    )
    if needs[NEEDS.regions] >= 0:
        return tree, new_region_buffers(m, needs[NEEDS.n_region_answers]), needs
    unused = RegionBuffers(
        no_words, no_words, no_numbers, partial[:0], frames[:0], frames[:0], no_words
    )
    return tree, unused, needs


@kernel()
def _answer(root, pools, events, sizes, n, buffer, first, work, out, start):
    """The log-probabilities of the first n events of a chunk go to ``out`` from ``start`` on.

    Their sides are overwritten. Returns 0, or the buffer size that is needed. This is the only
    caller of the evaluators, so that they can be inlined here: passing arrays as arguments costs
    more than many an event.
    """
    tree, region_buffers, needs = work
    plan, messages = needs[NEEDS.regions], needs[NEEDS.messages]
    by_regions = plan >= 0 and root == needs[NEEDS.root]
    by_messages = messages >= 0 and root == needs[NEEDS.root]
    for q in range(n):
        places = events.places[min(q, len(events.places) - 1)]
        event = Event(events.lower[q], events.upper[q], places, events.weights)
        if by_regions:
            value = run_regions(plan, pools, event, sizes, region_buffers)
            if not isnan(value):
                out[start + q] = value
                continue
        if by_messages:
            value, need = run_messages(messages, pools, event, sizes, buffer, first, tree)
            if need > 0:
                return need
            if not isnan(value):
                out[start + q] = value
                continue
        value, need = evaluate(root, pools, event, sizes, buffer, first, tree)
        if need > 0:
            return need
        out[start + q] = value
    return 0


@compiled()
def run_events(
    root, ints, tables, numbers, lower, upper, w, weights, sizes, needs, buffer, first, out
):
    """The log-probability of every event in order; a result > 0 asks for a larger buffer."""
    m = lower.shape[1]
    low, high = np.empty((CHUNK, m), dtype=np.int64), np.empty((CHUNK, m), dtype=np.int64)
    pools, work = Pools(ints, tables, numbers), new_workspace(m, needs)
    for start in range(0, len(lower), CHUNK):
        n = min(CHUNK, len(lower) - start)
        for q in range(n):
            for v in range(m):
                low[q, v] = max(lower[start + q, v], 0)
                high[q, v] = min(upper[start + q, v], sizes[v] - 1)
        events = Event(low, high, w[start : start + n], weights)
        need = _answer(root, pools, events, sizes, n, buffer, first, work, out, start)
        if need > 0:
            return need
    return 0


@compiled(parallel=True)
def run_events_parallel(
    root, ints, tables, numbers, lower, upper, w, weights, sizes, needs, buffers, first, out
):
    """The log-probability of every event, on several threads with a buffer each."""
    n_threads = buffers.shape[0]
    more = np.zeros(n_threads, dtype=np.int64)
    n = lower.shape[0]
    for t in prange(n_threads):
        part = slice(t * n // n_threads, (t + 1) * n // n_threads)
        more[t] = run_events(
            root, ints, tables, numbers, lower[part], upper[part], w[part], weights, sizes, needs,
            buffers[t], first, out[part],
        )  # fmt: skip
    return more.max()


@compiled()
def run_boxes(
    root, ints, tables, numbers, sizes, needs,
    lower, upper, values, starts, edges, others, buffer, first, out,
):  # fmt: skip
    """The log-probability of boxes of values, whose codes are looked up. NaN leaves a side open."""
    m = lower.shape[1]
    sides = np.full((2 * CHUNK + 1, m), -1, dtype=np.int64)
    low, high = sides[:CHUNK], sides[CHUNK : 2 * CHUNK]
    events = Event(low, high, sides[2 * CHUNK :], numbers[:1])
    pools, work = Pools(ints, tables, numbers), new_workspace(m, needs)
    coding = (values, starts, edges, others)
    for start in range(0, len(lower), CHUNK):
        n = min(CHUNK, len(lower) - start)
        for q in range(n):
            codes_of_box(lower, upper, start + q, *coding, low[q], high[q])
        need = _answer(root, pools, events, sizes, n, buffer, first, work, out, start)
        if need > 0:
            return need
    return 0


@compiled()
def run_conditionals(root, ints, tables, numbers, sizes, needs, pairs, n, buffer, first, out):
    """The probabilities of n questions about single codes given others.

    ``pairs`` holds per question how many variables are asked for and how many are given, then
    variable and code of each; a code of -1 is impossible. NaN where the evidence is impossible.
    Returns (buffer needed if larger than this one, how often the evidence was impossible).
    """
    m = len(sizes)
    sides = np.full((5, m), -1, dtype=np.int64)
    low, high = sides[:2], sides[2:4]
    events = Event(low, high, sides[4:], numbers[:1])
    pools, work = Pools(ints, tables, numbers), new_workspace(m, needs)
    logs = np.empty(2)
    place, before, n_impossible = 0, -1, 0
    for q in range(n):
        known = before >= 0 and _same_evidence(pairs, before, place)
        before, place = place, _read_question(pairs, place, sizes, low, high)
        n_events = 1 if known else 2
        need = _answer(root, pools, events, sizes, n_events, buffer, first, work, logs, 0)
        if need > 0:
            return need, 0
        impossible = logs[1] == -np.inf
        n_impossible += impossible
        out[q] = np.nan if impossible else exp(logs[0] - logs[1])
    return 0, n_impossible


@kernel()
def _same_evidence(pairs, first, second):
    """Whether two questions have the same evidence, whose probability is then computed once."""
    same = pairs[first + 1] == pairs[second + 1]
    one, other = first + 2 + 2 * pairs[first], second + 2 + 2 * pairs[second]
    for i in range(2 * pairs[first + 1] if same else 0):
        same &= pairs[one + i] == pairs[other + i]
    return same


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

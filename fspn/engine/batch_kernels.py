"""The one entry from Python: many events, as boxes of values, packed codes, or short questions."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp, isnan

import numpy as np
from numba.extending import register_jitable

from fspn.engine.code_kernels import codes_of_box
from fspn.engine.factor_kernels import dense_state_words, new_dense_state
from fspn.engine.handle_kernels import (
    ARENA,
    BUFFER,
    EDGES,
    FREE,
    INTS,
    LINKS,
    NEEDED,
    NUMBERS,
    OTHERS,
    SCRATCH,
    SIZES,
    STARTS,
    TABLES,
    VALUES,
    VECTORS,
    codes_at,
    numbers_at,
    words_at,
)
from fspn.engine.kernels import compiled, kernel, new_state, state_words
from fspn.engine.memo_kernels import FIRST_ENTRY, empty_memory, new_memory
from fspn.engine.message_kernels import run_messages
from fspn.engine.pools import Pools
from fspn.engine.program import NEEDS
from fspn.engine.region_kernels import new_region_buffers, run_regions
from fspn.engine.tensor_kernels import new_stack
from fspn.engine.tree_kernels import FRAME_WORDS, evaluate
from fspn.engine.workspace import Event, RegionBuffers, TensorStack, Workspace

BOXES, CODES, QUESTIONS = range(3)
"""What a call is about; see :func:`answer`."""

# A list of questions: where they begin; then weights; then per question how many constraints are
# given and how many are asked for, and these, what is given first. A constraint is a variable and
# its code; or minus one minus a variable, its first and last code, and the place of its weights or
# -1.
N_GIVEN, N_ASKED, FIRST_CONSTRAINT = range(3)
VARIABLE, FIRST, LAST, WEIGHTS = range(4)
POINT, RANGE = 2, 4

CHUNK = 16


@register_jitable
def workspace_words(needs):
    """How many words :func:`new_workspace` takes."""
    k, n_frames = needs[NEEDS.n_block_variables], needs[NEEDS.n_frames]
    own = n_frames * (FRAME_WORDS + 2) + needs[NEEDS.n_sides] + FIRST_ENTRY
    return own + state_words(k) + dense_state_words(k)


@compiled()
def new_workspace(m, needs, words, arena, links, vectors):
    """What the kernels of trees and of regions write to, apart from the buffer.

    All of a model without regions and memos lies in the given words; the last three arrays are for
    regions.
    """
    n_frames, n_sides = needs[NEEDS.n_frames], needs[NEEDS.n_sides]
    k, n_heads = needs[NEEDS.n_block_variables], needs[NEEDS.n_heads]
    n_stack = n_frames * FRAME_WORDS
    n_saved = n_stack + n_sides
    n_own = n_saved + FIRST_ENTRY
    n_partial = n_own + 2 * n_frames
    frames = words[:n_stack].reshape((n_frames, FRAME_WORDS))
    numbers = words[n_own:n_partial].view(np.float64)
    partial = numbers.reshape((n_frames, 2))
    states = words[n_partial:]
    no_words, no_numbers = words[:0], numbers[:0]
    no_keep = np.zeros(m, dtype=np.bool_)
    tree = Workspace(
        no_keep,
        frames,
        partial,
        words[n_stack:n_saved],
        new_state(k, states[: state_words(k)]),
        new_dense_state(k, states[state_words(k) :]),
        new_memory(n_heads)
        if n_heads
        else empty_memory(no_words, words[n_saved:n_own], no_numbers),
        new_stack(m, needs[NEEDS.n_message_answers])
        if needs[NEEDS.messages] >= 0
        else TensorStack(frames, partial, frames, no_keep),
    )
    if needs[NEEDS.regions] >= 0:
        return (
            tree,
            new_region_buffers(m, needs[NEEDS.n_region_answers], arena, links, vectors),
            needs,
        )
    unused = RegionBuffers(arena, links, vectors, partial[:0], frames[:0], frames[:0], no_words)
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
def answer(form, root, handles, one, two, places, weights, out):
    """Answers of many events, one after the other; > 0 asks for a larger buffer.

    One function for all forms, so that the compiler goes through the kernels once:

    - BOXES: closed boxes of values from ``one`` to ``two``, NaN leaving a side open;
      log-probabilities.
    - CODES: boxes of codes, bytes of int64 in arrays of float64, with the places of their weights;
      log-probabilities.
    - QUESTIONS: ``weights`` holds a list of questions; probabilities, NaN where the evidence is
      impossible.
    """
    sizes, needs = words_at(handles, SIZES), words_at(handles, NEEDED)
    buffer, scratch = numbers_at(handles, BUFFER), words_at(handles, SCRATCH)
    pools = Pools(words_at(handles, INTS), codes_at(handles, TABLES), numbers_at(handles, NUMBERS))
    m, first = len(sizes), handles[FREE, 0]
    arena, links = words_at(handles, ARENA), words_at(handles, LINKS)
    work = new_workspace(m, needs, scratch, arena, links, numbers_at(handles, VECTORS))
    # New memory, of which the compiler knows that nothing else lies in it.
    sides = np.empty((3 * CHUNK, m), dtype=np.int64)
    low, high, weights_at = sides[:CHUNK], sides[CHUNK : 2 * CHUNK], sides[2 * CHUNK :]
    edges = numbers_at(handles, EDGES).reshape((2, m))
    values, starts = numbers_at(handles, VALUES), words_at(handles, STARTS)
    coding = (values, starts, edges, words_at(handles, OTHERS))
    from_codes, to_codes, all_places = one.view(np.int64), two.view(np.int64), places.view(np.int64)
    step, target, place, before = CHUNK, out, 0, -1
    if form == QUESTIONS:
        step, target, place = 1, np.zeros(2), int(weights[0])
    else:
        weights_at[:1] = -1
    events = Event(low, high, weights_at[: 2 if form == QUESTIONS else 1], weights)
    for start in range(0, len(out), step):
        n = min(step, len(out) - start)
        if form == BOXES:
            for q in range(n):
                codes_of_box(one, two, start + q, *coding, low[q], high[q])
        elif form == CODES:
            for q in range(n):
                for v in range(m):
                    low[q, v] = max(from_codes[start + q, v], 0)
                    high[q, v] = min(to_codes[start + q, v], sizes[v] - 1)
            events = Event(low, high, all_places[start : start + n], weights)
        else:
            known = before >= 0 and _same_evidence(weights, before, place)
            before, place = place, _read_question(weights, place, sizes, events)
            if weights[before + N_GIVEN] == 0:
                known, target[1] = True, 0.0
            n = 1 if known else 2
        # The one call of all, so that the compiler takes the kernels in here, and only once.
        first_out = 0 if form == QUESTIONS else start
        need = _answer(root, pools, events, sizes, n, buffer, first, work, target, first_out)
        if need > 0:
            return need
        if form == QUESTIONS:
            out[start] = np.nan if target[1] == -np.inf else exp(target[0] - target[1])
    return 0


@kernel()
def _same_evidence(asked, first, second):
    """Whether two questions are given the same: then its probability is computed once."""
    same = asked[first + N_GIVEN] == asked[second + N_GIVEN]
    shift, place = second - first, first + FIRST_CONSTRAINT
    for _ in range(int(asked[first + N_GIVEN]) if same else 0):
        size = POINT if asked[place] >= 0.0 else RANGE
        for i in range(place, place + size):
            same &= asked[i] == asked[i + shift]
        if not same:
            return False
        place += size
    return same


@kernel()
def _read_question(asked, place, sizes, events):
    """The events of query and evidence, and of the evidence; returns where the next one begins."""
    for event in range(2):
        for v in range(len(sizes)):
            events.lower[event, v], events.upper[event, v] = 0, sizes[v] - 1
            events.places[event, v] = -1
    n_given = int(asked[place + N_GIVEN])
    n = n_given + int(asked[place + N_ASKED])
    place += FIRST_CONSTRAINT
    for i in range(n):
        v, low = int(asked[place + VARIABLE]), int(asked[place + FIRST])
        high, weights = low, -1
        if v < 0:
            v, high, weights = -1 - v, int(asked[place + LAST]), int(asked[place + WEIGHTS])
            place += RANGE
        else:
            place += POINT
        for event in range(2 if i < n_given else 1):
            events.lower[event, v] = max(events.lower[event, v], low)
            events.upper[event, v] = min(events.upper[event, v], high)
            events.places[event, v] = max(events.places[event, v], weights)
    return place

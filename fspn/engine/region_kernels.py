r"""FSPN-Infer over all distinct sub-events at once, for models whose factorize nodes have regions.

The regions of a factorize node cut an event into sub-events. Here a node is evaluated once per
event, for all sub-events that reach it: a *context*. A node's answer is one number, or a vector
with one number per sub-event where they differ in its variables,

.. math:: \Pr(E_i) = e^{scale} \cdot factor \cdot vector_i .

The order of evaluation is a list of instructions (:mod:`fspn.engine.compile_regions`) on a stack
of such answers. A factorize node makes the context of its left child, all pairs of a sub-event and
a region that meet, each distinct one once; then it sums :math:`p_i q_i` over the pairs.

Contexts (:mod:`fspn.engine.context_kernels`) live in ``arena``, pairs and maps between contexts in
``links``, vectors in ``vectors``; if one of them is full the evaluation is abandoned, and the tree
kernels answer.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import log

import numpy as np

from fspn.engine.answer_kernels import (
    FACTOR,
    SCALE,
    VECTOR,
    collect_boxes,
    filled,
    finish,
    plus,
    push,
    scale_by,
    spread,
    times,
    times_projected,
    vector_of,
)
from fspn.engine.context_kernels import (
    differs_of,
    high_of,
    low_of,
    meets,
    rows_of,
    whole_event,
)
from fspn.engine.kernels import compiled, kernel
from fspn.engine.meet_kernels import meet
from fspn.engine.program import FACTORIZE_NODE, LEAF, NODE
from fspn.engine.projection_kernels import forget_projections, project
from fspn.engine.region_program import (
    ADD,
    ADD_STEP,
    ALONE,
    BEGIN,
    COLLECT,
    COLLECT_STEP,
    CONTEXT,
    END,
    FRAME,
    FRAME_SIZE,
    GROUP,
    GROUP_STEP,
    JOINT_MASS,
    JOINT_STEP,
    LEAF_MASS,
    LEAF_STEP,
    MUL,
    MUL_PROJECTED,
    PLAN,
    PROJECT,
    PROJECT_STEP,
    REGIONS,
    REGIONS_STEP,
    RIGHT,
    RIGHT_STEP,
    SKIP,
    SKIP_STEP,
    SPAN,
    SPAN_SIZE,
    SUM_BEGIN,
    UNPROJECT,
)
from fspn.engine.tree_kernels import joint_mass, range_mass, scope_constrained
from fspn.engine.workspace import RegionBuffers

# Untouched pages take no memory: this is for some hundred thousand sub-events of one event.
ARENA_WORDS, LINK_WORDS, VECTOR_WORDS = 1 << 23, 1 << 22, 1 << 20
BUFFER_FULL = np.nan
# So many sub-events are asked of a leaf one by one.
FEW = 8


def region_room(has_regions: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arena, links and vectors of a thread; a model that has no regions needs none."""
    used = int(has_regions)
    return (
        np.empty(used * ARENA_WORDS, dtype=np.int64),
        np.empty(used * LINK_WORDS, dtype=np.int64),
        np.empty(used * VECTOR_WORDS),
    )


@compiled()
def new_region_buffers(n_variables, n_slots, arena, links, vectors):
    """Empty stacks beside the given arrays."""
    return RegionBuffers(
        arena,
        links,
        vectors,
        np.empty((n_slots + 1, 2)),
        np.empty((3, n_slots + 1), dtype=np.int64),
        np.empty((n_slots + 1, FRAME_SIZE), dtype=np.int64),
        np.empty(n_variables + 1, dtype=np.int64),
    )


@kernel()
def _leaf(code, n_words, pools, event, sizes, buffers, context, seen, s):
    """Multiply the top answer by the probabilities of a leaf; False where a buffer is full.

    ``seen`` is the context as the leaf's variable sees it.
    """
    ints, numbers = pools.ints, pools.numbers
    lo, hi, w, weights = event.lower, event.upper, event.places, event.weights
    arena, places, vectors = buffers.arena, buffers.places, buffers.vectors
    leaf, span = ints[code + LEAF_STEP.leaf], ints[code + LEAF_STEP.span]
    v, pmf = ints[leaf + LEAF.variable], ints[leaf + LEAF.pmf]
    cumulative = ints[leaf + LEAF.cumulative]
    low, high, n_seen, varies = lo[v], hi[v], 1, False
    word, shift, bits = 0, 0, 0
    if span >= 0:
        word, shift, bits = ints[span + SPAN.word], ints[span + SPAN.shift], ints[span + SPAN.bits]
        n_seen = arena[seen + CONTEXT.size]
        varies = low_of(arena[seen + CONTEXT.varies + word], shift, 2 * bits) != 0
    if not varies:
        if span >= 0:
            side = arena[rows_of(seen, n_words) + word]
            low, high = low_of(side, shift, bits), high_of(side, shift, bits)
        if low > 0 or high < sizes[v] - 1 or w[v] >= 0:
            mass = range_mass(pmf, cumulative, low, high, w[v], weights, numbers)
            scale_by(buffers.answers, s, mass)
        return True
    n = arena[context + CONTEXT.size]
    place, masses = vector_of(places, s, n, vectors), filled(s, places)
    if place < 0 or masses + n_seen > len(vectors):
        return False
    side = rows_of(seen, n_words) + word
    for e in range(n_seen):
        low, high = low_of(arena[side], shift, bits), high_of(arena[side], shift, bits)
        mass = range_mass(pmf, cumulative, low, high, w[v], weights, numbers)
        vectors[masses + e] = mass
        side += n_words
    for e in range(n):
        shown = e if seen == context else buffers.links[arena[seen + CONTEXT.links] + e]
        vectors[place + e] *= vectors[masses + shown]
    return True


@kernel()
def _set_ranges(code, row, ints, lo, hi, arena):
    """Set the event to a sub-event, for the variables of a sparse table."""
    for j in range(ints[code + JOINT_STEP.n_spans]):
        span = ints[ints[code + JOINT_STEP.spans] + j]
        word, shift, bits = ints[span + SPAN.word], ints[span + SPAN.shift], ints[span + SPAN.bits]
        v = ints[span + SPAN.variable]
        lo[v] = low_of(arena[row + word], shift, bits)
        hi[v] = high_of(arena[row + word], shift, bits)


@kernel()
def _joint(code, n_words, pools, event, sizes, buffers, context, seen, s):
    """Multiply the top answer by the probabilities of a joint table; False: a buffer is full.

    ``seen`` is the context as the table's variables see it.
    """
    ints, arena, places = pools.ints, buffers.arena, buffers.places
    vectors, lo, hi = buffers.vectors, event.lower, event.upper
    leaf, mask = ints[code + JOINT_STEP.leaf], ints[code + JOINT_STEP.mask]
    row = rows_of(seen, n_words)
    if not meets(context + CONTEXT.varies, mask, n_words, arena, ints):
        if _asked(leaf, mask, n_words, ints, event, sizes, arena, context):
            _set_ranges(code, row, ints, lo, hi, arena)
            scale_by(buffers.answers, s, joint_mass(leaf, pools, event))
            _set_ranges(code, rows_of(0, n_words), ints, lo, hi, arena)
        return True
    n, n_seen = arena[context + CONTEXT.size], arena[seen + CONTEXT.size]
    place, masses = vector_of(places, s, n, vectors), filled(s, places)
    if place < 0 or masses + n_seen > len(vectors):
        return False
    for e in range(n_seen):
        _set_ranges(code, row, ints, lo, hi, arena)
        vectors[masses + e] = joint_mass(leaf, pools, event)
        row += n_words
    _set_ranges(code, rows_of(0, n_words), ints, lo, hi, arena)
    for e in range(n):
        shown = e if seen == context else buffers.links[arena[seen + CONTEXT.links] + e]
        vectors[place + e] *= vectors[masses + shown]
    return True


@kernel()
def _asked(node, mask, n_words, ints, event, sizes, arena, context):
    """Whether the event or any sub-event of the context constrains a node's scope."""
    if meets(differs_of(context, n_words), mask, n_words, arena, ints):
        return True
    scope, length = ints[node + NODE.scope], ints[node + NODE.scope_length]
    return scope_constrained(length, scope, ints, event, sizes)


@kernel()
def _pack_free(plan, ints, sizes, free):
    """The packed event that constrains nothing."""
    for i in range(ints[plan + PLAN.n_words]):
        free[i] = 0
    for j in range(ints[plan + PLAN.n_spans]):
        span = ints[plan + PLAN.spans] + SPAN_SIZE * j
        shift = ints[span + SPAN.shift] + ints[span + SPAN.bits]
        free[ints[span + SPAN.word]] |= (sizes[ints[span + SPAN.variable]] - 1) << shift


@kernel()
def run_regions(plan, pools, event, sizes, buffers):
    """The log-probability of an event by a plan; NaN where a buffer was full."""
    ints, numbers, lo, hi = pools.ints, pools.numbers, event.lower, event.upper
    arena, links, vectors, answers, places, frames, free = buffers
    for v in range(len(sizes)):
        if lo[v] > hi[v]:
            return -np.inf
    n_words, begin = ints[plan + PLAN.n_words], ints[plan + PLAN.code]
    _pack_free(plan, ints, sizes, free)
    top = whole_event(plan, ints, lo, hi, arena, free)
    context, n_links, depth, s = 0, 0, 0, -1
    code = begin
    while True:
        op = ints[code]
        n = arena[context + CONTEXT.size]
        if op in (LEAF_MASS, JOINT_MASS):
            is_leaf, seen = op == LEAF_MASS, context
            mask = ints[code + (LEAF_STEP.mask if is_leaf else JOINT_STEP.mask)]
            varies = context + CONTEXT.varies
            is_many = n > FEW or arena[context + CONTEXT.is_implicit] != 0
            if mask >= 0 and is_many and meets(varies, mask, n_words, arena, ints):
                seen, top, n_links = project(
                    mask, ints, n_words, context, top, arena, links, n_links
                )
                if seen < 0:
                    return BUFFER_FULL
            if is_leaf:
                done = _leaf(code, n_words, pools, event, sizes, buffers, context, seen, s)
            else:
                done = _joint(code, n_words, pools, event, sizes, buffers, context, seen, s)
            if not done:
                return BUFFER_FULL
            code += len(LEAF_STEP) if is_leaf else len(JOINT_STEP)
        elif op == BEGIN:
            s = push(s, 0.0, 1.0, filled(s, places), answers, places)
            code += len(ALONE)
        elif op == SUM_BEGIN:
            s = push(s, -np.inf, 0.0, filled(s, places), answers, places)
            code += len(ALONE)
        elif op == MUL:
            times(s, n, answers, places, vectors)
            s -= 1
            code += len(ALONE)
        elif op == ADD:
            plus(s, n, numbers[ints[code + ADD_STEP.weight]], answers, places, vectors)
            s -= 1
            code += len(ADD_STEP)
        elif op == SKIP:
            node, mask = ints[code + SKIP_STEP.node], ints[code + SKIP_STEP.mask]
            asked = _asked(node, mask, n_words, ints, event, sizes, arena, context)
            code = code + len(SKIP_STEP) if asked else begin + ints[code + SKIP_STEP.target]
        elif op == PROJECT:
            frame = frames[depth]
            depth += 1
            frame[FRAME.context] = context
            mask = ints[code + PROJECT_STEP.mask]
            context, top, n_links = project(
                mask, ints, n_words, context, top, arena, links, n_links
            )
            if context < 0:
                return BUFFER_FULL
            frame[FRAME.links] = arena[context + CONTEXT.links]
            code += len(PROJECT_STEP)
        elif op == UNPROJECT:
            depth -= 1
            frame = frames[depth]
            if context != frame[FRAME.context]:
                context = frame[FRAME.context]
                all_n = arena[context + CONTEXT.size]
                if not spread(s, n, all_n, frame[FRAME.links], links, places, vectors):
                    return BUFFER_FULL
            code += len(ALONE)
        elif op == MUL_PROJECTED:
            depth -= 1
            frame = frames[depth]
            if context == frame[FRAME.context]:
                times(s, n, answers, places, vectors)
            else:
                context = frame[FRAME.context]
                all_n = arena[context + CONTEXT.size]
                if not times_projected(
                    s, n, all_n, frame[FRAME.links], links, answers, places, vectors
                ):
                    return BUFFER_FULL
            s -= 1
            code += len(ALONE)
        elif op == REGIONS:
            frame = frames[depth]
            depth += 1
            frame[FRAME.context] = context
            node, mask = ints[code + REGIONS_STEP.node], ints[code + REGIONS_STEP.right_mask]
            length = ints[node + FACTORIZE_NODE.right_length]
            scope = ints[node + FACTORIZE_NODE.right_scope]
            asked = meets(differs_of(context, n_words), mask, n_words, arena, ints)
            asked = asked or scope_constrained(length, scope, ints, event, sizes)
            frame[FRAME.is_unasked] = not asked
            if asked:
                mask = ints[code + REGIONS_STEP.cut_mask]
                seen, top, n_links = project(
                    mask, ints, n_words, context, top, arena, links, n_links
                )
                if seen < 0:
                    return BUFFER_FULL
                frame[FRAME.arena], frame[FRAME.links] = top, n_links
                n_boxes = ints[node + FACTORIZE_NODE.n_boxes]
                context, top, n_links = meet(
                    code, n_boxes, n_words, ints, buffers, context, seen, top, n_links
                )
                if context < 0:
                    return BUFFER_FULL
            frame[FRAME.links_end] = n_links
            code += len(REGIONS_STEP)
        elif op == RIGHT:
            frame = frames[depth - 1]
            if frame[FRAME.is_unasked]:
                depth -= 1
                code = begin + ints[code + RIGHT_STEP.target]
                continue
            start = filled(s, places)
            context, top, n_links = frame[FRAME.context], frame[FRAME.arena], frame[FRAME.links_end]
            forget_projections(context, top, arena)
            n = arena[context + CONTEXT.size]
            s = push(s, -np.inf, 1.0, start, answers, places)
            if vector_of(places, s, n, vectors) < 0:
                return BUFFER_FULL
            for e in range(n):
                vectors[start + e] = 0.0
            code += len(RIGHT_STEP)
        elif op == GROUP:
            base = frames[depth - 1][FRAME.links]
            first, last = ints[code + GROUP_STEP.first], ints[code + GROUP_STEP.last]
            empty = links[base + first] == links[base + last]
            code = begin + ints[code + GROUP_STEP.target] if empty else code + len(GROUP_STEP)
        elif op == COLLECT:
            base = frames[depth - 1][FRAME.links]
            collect_boxes(code, n, s, ints, base, links, answers, places, vectors)
            s -= 1
            code += len(COLLECT_STEP)
        elif op == END:
            depth -= 1
            s = finish(s, n, answers, places, vectors)
            code += len(ALONE)
        else:
            break
    value = answers[0, FACTOR]
    value *= vectors[places[VECTOR, 0]] if places[VECTOR, 0] >= 0 else 1.0
    return answers[0, SCALE] + log(value) if value > 0.0 else -np.inf

r"""FSPN-Infer over all distinct sub-events at once, for models whose factorize nodes have regions.

The regions of a factorize node cut an event into sub-events. Here a node is visited once per event,
with all sub-events that reach it: a *context*. A node's answer is one number, or a vector with one
number per sub-event where they differ in its variables,

.. math:: \Pr(E_i) = e^{scale} \cdot factor \cdot vector_i .

The way through the nodes is a list of instructions (:mod:`fspn.engine.compile_regions`) on a stack
of such answers. A factorize node makes the context of its left child, all pairs of a sub-event and
a region that meet, each distinct one once; then it sums :math:`p_i q_i` over the pairs.

Contexts (:mod:`fspn.engine.context_kernels`) live in ``arena``, pairs and maps between contexts in
``links``, vectors in ``vectors``; an evaluation that finds no room is given up, and the tree
kernels answer.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp, log

import numpy as np

from fspn.engine.context_kernels import (
    SIZE,
    VARIABLES,
    WIDTH,
    enter,
    is_cut,
    leave,
    meet,
    project,
    row_of,
)
from fspn.engine.kernels import TINY, compiled, kernel
from fspn.engine.tree_kernels import joint_mass, range_mass, scope_constrained

BEGIN, LEAF, JOINT_LEAF, MUL, SKIP, SUM_BEGIN, ADD, PROJECT, UNPROJECT = range(9)
REGIONS, RIGHT, GROUP, COLLECT, END, STOP = range(9, 15)

MAX_WORDS = 1 << 22
# What is kept of a context while another one is in force, and of a factorize node at work.
SAVED_CONTEXT, SAVED_ARENA, SAVED_LINKS, MODE, KEPT = range(5)
PLAIN, CUT = 0, 1
NO_ROOM = np.nan


@compiled()
def new_room(n_variables, n_slots):
    """Empty stacks; a model that has no regions needs none."""
    words = MAX_WORDS if n_slots else 1
    return (
        np.empty(words, dtype=np.int64),
        np.empty(words, dtype=np.int64),
        np.empty(words),
        np.empty((n_slots + 1, 2)),
        np.empty((3, n_slots + 1), dtype=np.int64),
        np.empty((n_slots + 1, KEPT), dtype=np.int64),
        np.full((2, n_variables), -1, dtype=np.int64),
    )


@kernel()
def _scale_by(answers, s, factor):
    """Multiply an answer by a number."""
    product = answers[s, 1] * factor
    if 0.0 < product < TINY:
        answers[s, 0] += log(product)
        product = 1.0
    answers[s, 1] = product


@kernel()
def _vector(places, s, n, vectors):
    """The vector of an answer, all ones if it had none; -1 where there is no room.

    ``places`` holds per answer its vector or -1, where that may begin, and its length.
    """
    if places[0, s] < 0:
        start = places[1, s]
        if start + n > len(vectors):
            return -1
        places[0, s], places[2, s] = start, n
        for e in range(n):
            vectors[start + e] = 1.0
    return places[0, s]


@kernel()
def _leaf(leaf, ints, numbers, lo, hi, w, weights, sizes, context, arena, column, vectors, start):
    """Multiply a vector by the masses of a leaf of a variable that regions cut."""
    v, pmf, cumulative = ints[leaf + 3], ints[leaf + 5], ints[leaf + 6]
    step = 2 * arena[context + WIDTH]
    side = row_of(context, arena, 0) + 2 * column[0, v]
    for e in range(arena[context + SIZE]):
        low, high = arena[side], arena[side + 1]
        if w[v] >= 0:
            p = range_mass(pmf, cumulative, low, high, w[v], weights, numbers)
        elif low == high:
            p = numbers[pmf + low]
        else:
            p = numbers[cumulative + high + 1] - numbers[cumulative + low]
        vectors[start + e] *= p
        side += step


@kernel()
def _joint(leaf, ints, tables, numbers, lo, hi, w, weights, context, arena, column, vectors, start):
    """Multiply a vector by the masses of a sparse joint table."""
    n, variables = ints[leaf + 3], ints[leaf + 4]
    for e in range(arena[context + SIZE]):
        row = row_of(context, arena, e)
        for j in range(n):
            v = ints[variables + j]
            if column[0, v] >= 0:
                side = row + 2 * column[0, v]
                # The event's own range waits in the context's place.
                arena[side], lo[v] = lo[v], arena[side]
                arena[side + 1], hi[v] = hi[v], arena[side + 1]
        vectors[start + e] *= joint_mass(leaf, ints, tables, numbers, lo, hi, w, weights)
        for j in range(n):
            v = ints[variables + j]
            if column[0, v] >= 0:
                side = row + 2 * column[0, v]
                arena[side], lo[v] = lo[v], arena[side]
                arena[side + 1], hi[v] = hi[v], arena[side + 1]


@kernel()
def _times(s, n, answers, places, vectors):
    """Multiply the answer below the top one by it."""
    answers[s - 1, 0] += answers[s, 0]
    _scale_by(answers, s - 1, answers[s, 1])
    mine, other = places[0, s], places[0, s - 1]
    if mine >= 0 and other >= 0:
        for e in range(n):
            vectors[other + e] *= vectors[mine + e]
    elif mine >= 0:
        places[0, s - 1], places[2, s - 1] = mine, n


@kernel()
def _plus(s, n, weight, answers, places, vectors):
    """Add the top answer, times e to the power of ``weight``, to the one below it."""
    if answers[s, 1] <= 0.0:
        return
    scale = answers[s, 0] + weight + log(answers[s, 1])
    mine, other = places[0, s], places[0, s - 1]
    if answers[s - 1, 0] == -np.inf:
        answers[s - 1, 0], answers[s - 1, 1] = scale, 1.0
        places[0, s - 1], places[2, s - 1] = mine, n
        return
    top = max(scale, answers[s - 1, 0])
    a, b = exp(answers[s - 1, 0] - top), exp(scale - top)
    answers[s - 1, 0] = top
    if mine < 0 and other < 0:
        answers[s - 1, 0] += log(a + b)
    elif mine < 0:
        for e in range(n):
            vectors[other + e] = a * vectors[other + e] + b
    elif other < 0:
        for e in range(n):
            vectors[mine + e] = a + b * vectors[mine + e]
        places[0, s - 1], places[2, s - 1] = mine, n
    else:
        for e in range(n):
            vectors[other + e] = a * vectors[other + e] + b * vectors[mine + e]


@kernel()
def _collect(s, first, last, base, factor, links, places, vectors):
    """Add p_i q_i over the pairs of some regions; p is the top answer, q the one below the sum."""
    total, p, q = places[0, s - 1], places[0, s], places[0, s - 2]
    for i in range(links[base + first], links[base + last], 2):
        e, k = links[i], links[i + 1]
        value = factor if p < 0 else factor * vectors[p + e]
        vectors[total + e] += value if q < 0 else value * vectors[q + k]


@kernel()
def _finish(s, n, answers, places, vectors):
    """The sum over the regions takes the place of the left child's answer."""
    total, start = places[0, s], places[1, s - 1]
    largest = 0.0
    for e in range(n):
        vectors[start + e] = vectors[total + e]
        largest = max(largest, vectors[start + e])
    scale = answers[s, 0] + answers[s - 1, 0]
    if largest == 0.0 or answers[s - 1, 1] <= 0.0 or scale == -np.inf:
        answers[s - 1, 0], answers[s - 1, 1] = 0.0, 0.0
    else:
        # At most one, so that no product of many of them underflows.
        for e in range(n):
            vectors[start + e] /= largest
        answers[s - 1, 0] = scale + log(answers[s - 1, 1]) + log(largest)
        answers[s - 1, 1] = 1.0
    places[0, s - 1], places[2, s - 1] = start, n
    return s - 1


@kernel()
def _push(s, places, start):
    s += 1
    places[0, s], places[1, s] = -1, start
    return s


@kernel()
def _filled(s, places):
    """How far the vectors are filled up to the top answer."""
    if s < 0:
        return 0
    return places[1, s] if places[0, s] < 0 else places[0, s] + places[2, s]


@kernel()
def run_regions(
    start, ints, tables, numbers, lo, hi, w, weights, sizes,
    arena, links, vectors, answers, places, frames, column,
):  # fmt: skip
    """The log-probability of an event by a list of instructions; NaN where there was no room."""
    for v in range(len(sizes)):
        column[0, v] = column[1, v] = -1
    context, top, n_links, depth, s = 0, VARIABLES, 0, 0, -1
    arena[SIZE], arena[WIDTH] = 1, 0
    code = start
    while True:
        op = ints[code]
        n = arena[context + SIZE]
        if op == LEAF:
            leaf = ints[code + 1]
            v = ints[leaf + 3]
            if column[0, v] >= 0:
                place = _vector(places, s, n, vectors)
                if place < 0:
                    return NO_ROOM
                _leaf(
                    leaf, ints, numbers, lo, hi, w, weights, sizes,
                    context, arena, column, vectors, place,
                )  # fmt: skip
            elif lo[v] > 0 or hi[v] < sizes[v] - 1 or w[v] >= 0:
                p = range_mass(ints[leaf + 5], ints[leaf + 6], lo[v], hi[v], w[v], weights, numbers)
                _scale_by(answers, s, p)
            code += 2
        elif op == JOINT_LEAF:
            leaf = ints[code + 1]
            if is_cut(ints[leaf + 2], ints[leaf + 1], ints, column):
                place = _vector(places, s, n, vectors)
                if place < 0:
                    return NO_ROOM
                _joint(
                    leaf, ints, tables, numbers, lo, hi, w, weights,
                    context, arena, column, vectors, place,
                )  # fmt: skip
            elif scope_constrained(ints[leaf + 1], ints[leaf + 2], ints, lo, hi, w, sizes):
                _scale_by(answers, s, joint_mass(leaf, ints, tables, numbers, lo, hi, w, weights))
            code += 2
        elif op in (BEGIN, SUM_BEGIN):
            s = _push(s, places, _filled(s, places))
            answers[s, 0] = 0.0 if op == BEGIN else -np.inf
            answers[s, 1] = 1.0 if op == BEGIN else 0.0
            code += 1
        elif op == MUL:
            _times(s, n, answers, places, vectors)
            s -= 1
            code += 1
        elif op == ADD:
            _plus(s, n, numbers[ints[code + 1]], answers, places, vectors)
            s -= 1
            code += 2
        elif op == SKIP:
            node = ints[code + 1]
            scope, length = ints[node + 2], ints[node + 1]
            asked = scope_constrained(length, scope, ints, lo, hi, w, sizes)
            code = code + 3 if asked or is_cut(scope, length, ints, column) else ints[code + 2]
        elif op in (PROJECT, REGIONS):
            node = ints[code + 1]
            frame = frames[depth]
            frame[SAVED_CONTEXT], frame[SAVED_ARENA], frame[SAVED_LINKS] = context, top, n_links
            frame[MODE] = PLAIN if op == PROJECT and n == 1 else CUT
            if op == REGIONS:
                length, scope = ints[node + 4], ints[node + 5]
                asked = scope_constrained(length, scope, ints, lo, hi, w, sizes)
                if not asked and not is_cut(scope, length, ints, column):
                    frame[MODE] = PLAIN
            if frame[MODE] == CUT:
                if op == PROJECT:
                    new, n_links = project(node, ints, context, top, arena, links, n_links, column)
                else:
                    new, n_links = meet(
                        node, code, ints, lo, hi, context, top, arena, links, n_links, column
                    )
                if new < 0:
                    return NO_ROOM
                leave(context, arena, column)
                context, top = top, new
                enter(context, arena, column)
            depth += 1
            code += 2 if op == PROJECT else 3 + ints[code + 2]
        elif op == UNPROJECT:
            depth -= 1
            frame = frames[depth]
            code += 1
            if frame[MODE] == PLAIN:
                continue
            leave(context, arena, column)
            small = n
            context, top = frame[SAVED_CONTEXT], frame[SAVED_ARENA]
            enter(context, arena, column)
            n, place = arena[context + SIZE], places[0, s]
            if place >= 0:
                spread = place + small
                if spread + n > len(vectors):
                    return NO_ROOM
                for e in range(n):
                    vectors[spread + e] = vectors[place + links[frame[SAVED_LINKS] + e]]
                for e in range(n):
                    vectors[place + e] = vectors[spread + e]
                places[2, s] = n
            n_links = frame[SAVED_LINKS]
        elif op == RIGHT:
            frame = frames[depth - 1]
            if frame[MODE] == PLAIN:
                depth -= 1
                code = ints[code + 1]
                continue
            filled = _filled(s, places)
            leave(context, arena, column)
            context, top = frame[SAVED_CONTEXT], frame[SAVED_ARENA]
            enter(context, arena, column)
            n = arena[context + SIZE]
            s = _push(s, places, filled)
            if _vector(places, s, n, vectors) < 0 or n_links >= len(links):
                return NO_ROOM
            for e in range(n):
                vectors[filled + e] = 0.0
            answers[s, 0], answers[s, 1] = -np.inf, 1.0
            code += 2
        elif op == GROUP:
            base = frames[depth - 1][SAVED_LINKS]
            empty = links[base + ints[code + 1]] == links[base + ints[code + 2]]
            code = ints[code + 3] if empty else code + 4
        elif op == COLLECT:
            base = frames[depth - 1][SAVED_LINKS]
            scale = answers[s, 0] + (log(answers[s, 1]) if answers[s, 1] > 0.0 else -np.inf)
            if scale > answers[s - 1, 0]:
                # The sum is kept at the largest scale of its terms.
                shrink = exp(answers[s - 1, 0] - scale)
                total = places[0, s - 1]
                for e in range(n):
                    vectors[total + e] *= shrink
                answers[s - 1, 0] = scale
            if scale > -np.inf:
                _collect(
                    s, ints[code + 1], ints[code + 2], base, exp(scale - answers[s - 1, 0]),
                    links, places, vectors,
                )  # fmt: skip
            s -= 1
            code += 3
        elif op == END:
            depth -= 1
            n_links = frames[depth][SAVED_LINKS]
            s = _finish(s, n, answers, places, vectors)
            code += 1
        else:
            break
    value = answers[0, 1] * (vectors[places[0, 0]] if places[0, 0] >= 0 else 1.0)
    return answers[0, 0] + log(value) if value > 0.0 else -np.inf

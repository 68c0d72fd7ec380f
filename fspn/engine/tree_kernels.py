"""FSPN-Infer on a flattened tree."""

from __future__ import annotations

from math import exp, log

import numpy as np

from fspn.engine.dense_kernels import sum_block
from fspn.engine.elimination import eliminate
from fspn.engine.kernels import (
    FIRST,
    KEPT,
    ONE,
    TINY,
    kernel,
)
from fspn.engine.memo_kernels import forget, recall, remember
from fspn.engine.program import (
    BLOCK,
    BLOCK_NODE,
    BOX,
    FACTORIZE,
    FACTORIZE_NODE,
    JOINT_NODE,
    LEAF,
    MEMO,
    MEMO_NODE,
    NODE,
    PRODUCT,
    PRODUCT_NODE,
    SIDE,
    SIDE_SIZE,
    SUM,
    SUM_NODE,
    TABLES,
    UNI_LEAF,
    VARIABLE,
)


@kernel()
def scope_constrained(length, scope, ints, event, sizes):
    """Whether the event constrains any of the variables listed in ``ints`` from ``scope`` on."""
    lo, hi, w = event.lower, event.upper, event.places
    for s in range(scope, scope + length):
        v = ints[s]
        if lo[v] > 0 or hi[v] < sizes[v] - 1 or w[v] >= 0:
            return True
    return False


@kernel()
def _constrained(node, ints, event, sizes):
    """Whether the event constrains the node's scope."""
    length, scope = ints[node + NODE.scope_length], ints[node + NODE.scope]
    return scope_constrained(length, scope, ints, event, sizes)


@kernel()
def range_mass(pmf, cumulative, low, high, w, weights, numbers):
    """The probability of a range of codes, weighted where the event has weights."""
    if low > high:
        return 0.0
    if w >= 0:
        total = 0.0
        for x in range(low, high + 1):
            total += numbers[pmf + x] * weights[w + x]
        return total
    if low == high:
        return numbers[pmf + low]
    return numbers[cumulative + high + 1] - numbers[cumulative + low]


@kernel()
def _fewest_rows(node, ints, tables, lo, hi):
    """The rows of a sparse joint table inside the most selective variable's range.

    Returns the offset of the row order by that variable (-1: as stored), from, to.
    """
    n, variables = ints[node + JOINT_NODE.n_variables], ints[node + JOINT_NODE.variables]
    index = ints[node + JOINT_NODE.row_index]
    order, start, end = -1, 0, ints[node + JOINT_NODE.n_rows]
    for j in range(n if index >= 0 else 0):
        v, starts = ints[variables + j], ints[index + 2 * j]
        if lo[v] > hi[v]:
            return -1, 0, 0
        low, high = tables[starts + lo[v]], tables[starts + hi[v] + 1]
        if high - low < end - start:
            order, start, end = ints[index + 2 * j + 1], low, high
    return order, start, end


@kernel()
def joint_mass(node, pools, event):
    """The probability of a sparse joint table with its product term."""
    ints, tables, numbers = pools.ints, pools.tables, pools.numbers
    lo, hi, w, weights = event.lower, event.upper, event.places, event.weights
    n, variables = ints[node + JOINT_NODE.n_variables], ints[node + JOINT_NODE.variables]
    rows, shares = ints[node + JOINT_NODE.rows], ints[node + JOINT_NODE.shares]
    epsilon = numbers[ints[node + JOINT_NODE.epsilon]]
    marginals = ints[node + JOINT_NODE.marginals]
    order, start, end = _fewest_rows(node, ints, tables, lo, hi)
    mass = 0.0
    for i in range(start, end):
        r = i if order < 0 else tables[order + i]
        share = numbers[shares + r]
        for j in range(n):
            v, x = ints[variables + j], tables[rows + r * n + j]
            if x < lo[v] or x > hi[v]:
                share = 0.0
                break
            if w[v] >= 0:
                share *= weights[w[v] + x]
        mass += share
    spread = 1.0
    for j in range(n):
        v, m = ints[variables + j], marginals + 2 * j
        spread *= range_mass(ints[m], ints[m + 1], lo[v], hi[v], w[v], weights, numbers)
    return (1.0 - epsilon) * mass + epsilon * spread


# A frame of the evaluation stack: the node, how far it has come, the top of the saved sides and of
# the buffer below it; a block's frame also holds its message. AT_NODE must come first.
AT_NODE, STEP, SAVED, TOP, START, CELLS, N_KEPT, AT_BOX = range(8)
FRAME_WORDS = 8


@kernel()
def _narrow(box, ints, lo, hi, saved, sp):
    """Cut the event to a box; the sides as they were go to ``saved``. False if nothing is left."""
    alive = True
    for c in range(ints[box + BOX.n_sides]):
        side = box + BOX.first_side + SIDE_SIZE * c
        v = ints[side + SIDE.variable]
        saved[sp + 2 * c], saved[sp + 2 * c + 1] = lo[v], hi[v]
        lo[v] = max(lo[v], ints[side + SIDE.lower])
        hi[v] = min(hi[v], ints[side + SIDE.upper])
        alive = alive and lo[v] <= hi[v]
    return alive


@kernel()
def _widen(box, ints, lo, hi, saved, sp):
    """Undo :func:`_narrow`."""
    for c in range(ints[box + BOX.n_sides] - 1, -1, -1):
        v = ints[box + BOX.first_side + SIDE_SIZE * c + SIDE.variable]
        lo[v], hi[v] = saved[sp + 2 * c], saved[sp + 2 * c + 1]


@kernel()
def _fix_cell(frame, cell, lo, hi, saved):
    """Set a block's external variables to one cell of its message."""
    sp = frame[SAVED] - 3 * frame[N_KEPT]
    for d in range(frame[N_KEPT] - 1, -1, -1):
        v = saved[sp + 3 * d]
        extent = saved[sp + 3 * d + 2] - saved[sp + 3 * d + 1] + 1
        lo[v] = hi[v] = saved[sp + 3 * d + 1] + cell % extent
        cell //= extent


@kernel()
def _free_cells(frame, lo, hi, saved):
    """Undo :func:`_fix_cell`."""
    sp = frame[SAVED] - 3 * frame[N_KEPT]
    for d in range(frame[N_KEPT]):
        v = saved[sp + 3 * d]
        lo[v], hi[v] = saved[sp + 3 * d + 1], saved[sp + 3 * d + 2]


@kernel()
def _push(frames, depth, node, saved_top, top):
    frames[depth, AT_NODE], frames[depth, STEP] = node, 0
    frames[depth, SAVED], frames[depth, TOP] = saved_top, top
    return depth + 1


@kernel()
def _enter_block(frame, pools, event, keep, buffer, saved, sparse):
    """Eliminate a block's own variables.

    Returns (log-value, buffer needed); the value is final where nothing lies below the block, else
    the scale of the message that the frame then holds.
    """
    ints = pools.ints
    lo, hi = event.lower, event.upper
    block, factors = ints[frame[AT_NODE] + BLOCK_NODE.tables], sparse.factors
    scale, start, cells, top, n_kept = eliminate(
        pools, block, event, keep, sparse, buffer, frame[TOP]
    )
    if top < 0:
        return 0.0, -top
    if scale == -np.inf:
        return -np.inf, 0
    if ints[frame[AT_NODE] + BLOCK_NODE.base] < 0:
        return scale + log(buffer[start]), 0
    sp = frame[SAVED]
    for d in range(n_kept):
        place = factors[len(factors) - KEPT, FIRST + d]
        v = ints[ints[block + TABLES.first_variable + place] + VARIABLE.variable]
        saved[sp + 3 * d], saved[sp + 3 * d + 1], saved[sp + 3 * d + 2] = v, lo[v], hi[v]
    frame[SAVED], frame[TOP] = sp + 3 * n_kept, top
    frame[START], frame[CELLS], frame[N_KEPT] = start, cells, n_kept
    return scale, 0


@kernel()
def _leaf(node, pools, event):
    ints, numbers = pools.ints, pools.numbers
    lo, hi, w, weights = event.lower, event.upper, event.places, event.weights
    if ints[node] != UNI_LEAF:
        p = joint_mass(node, pools, event)
    else:
        v, pmf = ints[node + LEAF.variable], ints[node + LEAF.pmf]
        cumulative = ints[node + LEAF.cumulative]
        p = range_mass(pmf, cumulative, lo[v], hi[v], w[v], weights, numbers)
    return log(p) if p > 0 else -np.inf


@kernel(forceinline=True)
def _leaves(node, step, ints, numbers, event, sizes):
    """The leaves among a product's children from ``step`` on: (the next other child, log)."""
    lo, hi, w, weights = event.lower, event.upper, event.places, event.weights
    scale, product = 0.0, 1.0
    while step < ints[node + PRODUCT_NODE.n_children]:
        leaf = ints[np.uintp(node + PRODUCT_NODE.first_child + step)]
        if ints[np.uintp(leaf)] != UNI_LEAF:
            break
        v = np.uintp(ints[np.uintp(leaf + LEAF.variable)])
        pmf = ints[np.uintp(leaf + LEAF.pmf)]
        low, high = lo[v], hi[v]
        if (w[v] >= 0) | ((low != high) & ((low > 0) | (high < sizes[v] - 1))):
            p = range_mass(pmf, ints[leaf + LEAF.cumulative], low, high, w[v], weights, numbers)
        else:
            # Which leaves are free changes from event to event: no branch between them and points.
            p = numbers[np.uintp(pmf + low if low == high else ONE)]
        product *= p
        if product < TINY:
            if product <= 0.0:
                return step + 1, -np.inf
            scale += log(product)
            product = 1.0
        step += 1
    return step, scale + log(product)


@kernel(forceinline=True)
def evaluate(root, pools, event, sizes, buffer, first, work):
    """The log-probability of the event on a node; a second value > 0 asks for a larger buffer.

    FSPN-Infer with its own stack: numba cannot cache a recursive function, and trees are deep.
    ``first`` is the start of the free part of the buffer.
    """
    ints, numbers = pools.ints, pools.numbers
    lo, hi = event.lower, event.upper
    frames, partial, saved = work.frames, work.partial, work.saved
    heads, arena, known = work.memory
    forget(heads, arena)
    depth = _push(frames, 0, root, 0, first)
    answer = 0.0
    while depth > 0:
        frame, own = frames[depth - 1], partial[depth - 1]
        node, step = frame[AT_NODE], frame[STEP]
        kind = ints[node]
        # A dense block and the children of a product at the root look for themselves.
        is_dense = kind == BLOCK and ints[node + BLOCK_NODE.dense] >= 0
        looks = is_dense or (kind == PRODUCT and depth == 1)
        if step == 0 and not looks and not _constrained(node, ints, event, sizes):
            answer = 0.0
            depth -= 1
        elif kind == PRODUCT:
            own[0] = 0.0 if step == 0 else own[0] + answer
            step, log_leaves = _leaves(node, step, ints, numbers, event, sizes)
            own[0] += log_leaves
            if step == ints[node + PRODUCT_NODE.n_children] or own[0] == -np.inf:
                answer = own[0]
                depth -= 1
            else:
                frame[STEP] = step + 1
                child = ints[node + PRODUCT_NODE.first_child + step]
                depth = _push(frames, depth, child, frame[SAVED], frame[TOP])
        elif kind == MEMO:
            if step == 0:
                number = recall(node, ints, lo, hi, heads, arena)
                if number < 0:
                    frame[STEP] = 1
                    child = ints[node + MEMO_NODE.child]
                    depth = _push(frames, depth, child, frame[SAVED], frame[TOP])
                    continue
                answer = known[number]
            else:
                remember(node, answer, ints, lo, hi, heads, arena, known)
            depth -= 1
        elif kind == SUM:
            weight = numbers[ints[node + SUM_NODE.weights] + step - 1] if step > 0 else 0.0
            own[0] = -np.inf if step == 0 else _log_add(own[0], answer + weight)
            if step == ints[node + SUM_NODE.n_children]:
                answer = own[0]
                depth -= 1
            else:
                frame[STEP] += 1
                child = ints[node + SUM_NODE.first_child + step]
                depth = _push(frames, depth, child, frame[SAVED], frame[TOP])
        elif kind == FACTORIZE:
            left, boxes = ints[node + FACTORIZE_NODE.left], node + FACTORIZE_NODE.first_box
            n_boxes = ints[node + FACTORIZE_NODE.n_boxes]
            if step == 0:
                right = ints[node + FACTORIZE_NODE.right_scope]
                length = ints[node + FACTORIZE_NODE.right_length]
                if not scope_constrained(length, right, ints, event, sizes):
                    frame[AT_NODE] = left
                    continue
                own[0], frame[AT_BOX], frame[STEP] = -np.inf, 0, 1
            elif step == 2:
                own[1] = answer
                if answer > -np.inf:
                    frame[STEP] = 3
                    depth = _push(frames, depth, left, frames[depth - 1, START], frame[TOP])
                    continue
            if step >= 2:
                if step == 3:
                    own[0] = _log_add(own[0], own[1] + answer)
                _widen(ints[boxes + frame[AT_BOX]], ints, lo, hi, saved, frame[SAVED])
                frame[AT_BOX] += 1
                frame[STEP] = 1
            while frame[AT_BOX] < n_boxes:
                box = ints[boxes + frame[AT_BOX]]
                if _narrow(box, ints, lo, hi, saved, frame[SAVED]):
                    break
                _widen(box, ints, lo, hi, saved, frame[SAVED])
                frame[AT_BOX] += 1
            if frame[AT_BOX] == n_boxes:
                answer = own[0]
                depth -= 1
            else:
                box = ints[boxes + frame[AT_BOX]]
                frame[START] = frame[SAVED] + 2 * ints[box + BOX.n_sides]
                frame[STEP] = 2
                depth = _push(frames, depth, ints[box + BOX.leaf], frame[START], frame[TOP])
        elif is_dense:
            dense = ints[node + BLOCK_NODE.dense]
            answer, need = sum_block(pools, dense, event, work.dense, buffer, frame[TOP])
            if need > 0:
                return 0.0, need
            depth -= 1
        elif kind == BLOCK:
            if step == 0:
                value, need = _enter_block(
                    frame, pools, event, work.keep, buffer, saved, work.sparse
                )
                if need > 0:
                    return 0.0, need
                if value == -np.inf or ints[node + BLOCK_NODE.base] < 0:
                    answer = value
                    depth -= 1
                    continue
                own[0], own[1] = -np.inf, value
            else:
                own[0] = _log_add(own[0], answer + log(buffer[frame[START] + step - 1]))
            while step < frame[CELLS] and buffer[frame[START] + step] <= 0.0:
                step += 1
            if step == frame[CELLS]:
                _free_cells(frame, lo, hi, saved)
                answer = own[0] + own[1]
                depth -= 1
            else:
                _fix_cell(frame, step, lo, hi, saved)
                frame[STEP] = step + 1
                base = ints[node + BLOCK_NODE.base]
                depth = _push(frames, depth, base, frame[SAVED], frame[TOP])
        else:
            answer = _leaf(node, pools, event)
            depth -= 1
    return answer, 0


@kernel()
def _log_add(a, b):
    if a == -np.inf:
        return b
    if b == -np.inf:
        return a
    if a < b:
        a, b = b, a
    return a + log(1.0 + exp(b - a))

r"""Tables over a base of other nodes: the base is evaluated once for all cells of the message.

Eliminating the variables of a block leaves a message M over the variables of the base below it that
its tables are conditioned on,

.. math:: \Pr(E) = \sum_x M[x] \, \Pr\nolimits_{base}(E, x) .

Instead of one question to the base per cell x, every node below answers with a tensor over those
of these variables that it has (:mod:`fspn.engine.tensor_kernels`): a leaf with its probabilities, a
product node with an outer product, a sum node with a weighted sum, a block with what elimination
leaves of them. So each node is visited once per event, whatever the number of cells.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import log

import numpy as np

from fspn.engine.answer_kernels import FACTOR, SCALE, scale_by
from fspn.engine.compile_messages import (
    ADD_CHILD,
    IF_ASKED,
    JOIN,
    LEAF_FACTOR,
    MESSAGE,
    MESSAGE_STEP,
    NOTHING,
    ONES,
    TIMES,
)
from fspn.engine.elimination import eliminate
from fspn.engine.kernels import FIRST, KEPT, kernel
from fspn.engine.program import BLOCK_NODE, LEAF, NODE, TABLES, VARIABLE
from fspn.engine.tensor_kernels import (
    CELLS,
    FIRST_DIM,
    LEAST_SCALE,
    MOST_CELLS,
    N_DIMS,
    OPENED,
    START,
    TOO_LARGE,
    add_top,
    end_of,
    join,
    outer,
    push_one,
    scale_down,
)
from fspn.engine.tree_kernels import range_mass


@kernel()
def _asked(node, ints, event, kept, sizes):
    """Whether the event constrains a node's scope, or must answer with a tensor."""
    scope = ints[node + NODE.scope]
    for place in range(scope, scope + ints[node + NODE.scope_length]):
        v = ints[place]
        if kept[v] or event.lower[v] > 0 or event.upper[v] < sizes[v] - 1 or event.places[v] >= 0:
            return True
    return False


@kernel()
def _leaf_factor(leaf, s, pools, event, kept, sizes, buffer, stack):
    """Multiply the top answer by a leaf's; returns as :func:`outer`."""
    ints, numbers = pools.ints, pools.numbers
    v, pmf = ints[leaf + LEAF.variable], ints[leaf + LEAF.pmf]
    low, high, w = event.lower[v], event.upper[v], event.places[v]
    entries, logs = stack.entries, stack.logs
    if not kept[v]:
        if low > 0 or high < sizes[v] - 1 or w >= 0:
            cumulative = ints[leaf + LEAF.cumulative]
            mass = range_mass(pmf, cumulative, low, high, w, event.weights, numbers)
            scale_by(logs, s, mass)
        return 0
    start, width = end_of(s, entries, 0), high - low + 1
    if start + width > len(buffer):
        return start + width
    push_one(s, 0.0, 1.0, start, entries, logs, buffer)
    for x in range(width):
        weight = event.weights[w + low + x] if w >= 0 else 1.0
        buffer[start + x] = numbers[pmf + low + x] * weight
    entries[s + 1, CELLS], entries[s + 1, N_DIMS] = width, 1
    entries[s + 1, FIRST_DIM] = v
    scale_down(s + 1, entries, logs, buffer)
    return outer(s + 1, entries, logs, buffer)


@kernel()
def _message(node, s, pools, event, kept, buffer, first, work):
    """Push the message that elimination leaves of a block, and open its variables.

    Returns as :func:`outer`.
    """
    ints, stack = pools.ints, work.tensors
    entries, logs, factors = stack.entries, stack.logs, work.sparse.factors
    block, base = ints[node + BLOCK_NODE.tables], ints[node + BLOCK_NODE.base]
    bottom = end_of(s, entries, first)
    scale, start, cells, top, n = eliminate(
        pools, block, event, kept, work.sparse, buffer, bottom + 1
    )
    if top < 0:
        return TOO_LARGE if -top - first > MOST_CELLS else -top
    s = push_one(s, scale, 1.0, bottom, entries, logs, buffer)
    if scale == -np.inf:
        logs[s, SCALE], logs[s, FACTOR] = 0.0, 0.0
        return 0
    for c in range(cells):
        buffer[bottom + c] = buffer[start + c]
    entries[s, CELLS], entries[s, N_DIMS] = cells, n
    for d in range(n):
        place = factors[len(factors) - KEPT, FIRST + d]
        v = ints[ints[block + TABLES.first_variable + place] + VARIABLE.variable]
        entries[s, FIRST_DIM + d] = v
        if base >= 0 and not kept[v]:
            entries[s, OPENED] |= 1 << d
            kept[v] = True
    scale_down(s, entries, logs, buffer)
    return 0


@kernel()
def _join(s, event, kept, buffer, stack):
    """Replace a message and the base's answer by their sum-product; returns as :func:`outer`."""
    entries, logs = stack.entries, stack.logs
    for d in range(entries[s - 1, N_DIMS]):
        if (entries[s - 1, OPENED] >> d) & 1:
            kept[entries[s - 1, FIRST_DIM + d]] = False
    if logs[s - 1, FACTOR] <= 0.0 or logs[s, FACTOR] <= 0.0:
        logs[s - 1, FACTOR] = 0.0
        entries[s - 1, CELLS], entries[s - 1, N_DIMS] = 1, 0
        return 0
    need = join(s, entries, logs, buffer, event.lower, event.upper, stack.steps)
    if need == 0 and scale_down(s - 1, entries, logs, buffer) < LEAST_SCALE:
        # Numbers below 1e-308 may be missing in it.
        return TOO_LARGE
    return need


@kernel()
def run_messages(begin, pools, event, sizes, buffer, first, work):
    """The log-probability of an event; a second value > 0 asks for a larger buffer.

    NaN where the tensors would be too large, or the numbers too small.
    """
    ints, stack, kept = pools.ints, work.tensors, work.tensors.kept
    entries, logs = stack.entries, stack.logs
    for v in range(len(sizes)):
        kept[v] = False
        if event.lower[v] > event.upper[v]:
            return -np.inf, 0
    s, code, need = -1, begin, 0
    while need == 0:
        op, node = ints[code + MESSAGE_STEP.op], ints[code + MESSAGE_STEP.node]
        start = end_of(s, entries, first)
        if start + 2 > len(buffer):
            return 0.0, start + 2
        if op == LEAF_FACTOR:
            need = _leaf_factor(node, s, pools, event, kept, sizes, buffer, stack)
        elif op == IF_ASKED:
            if not _asked(node, ints, event, kept, sizes):
                code = begin + ints[code + MESSAGE_STEP.target]
                continue
        elif op == ONES:
            s = push_one(s, 0.0, 1.0, start, entries, logs, buffer)
        elif op == NOTHING:
            s = push_one(s, -np.inf, 0.0, start, entries, logs, buffer)
        elif op == ADD_CHILD:
            weight = pools.numbers[node]
            add_top(s, weight, entries, logs, buffer, event.lower, event.upper, stack.steps)
            s -= 1
        elif op == TIMES:
            if logs[s, SCALE] == -np.inf:
                logs[s, SCALE] = 0.0
            need = outer(s, entries, logs, buffer)
            s -= 1
        elif op == MESSAGE:
            need = _message(node, s, pools, event, kept, buffer, first, work)
            s += 1
        elif op == JOIN:
            need = _join(s, event, kept, buffer, stack)
            s -= 1
        else:
            value = logs[0, FACTOR] * buffer[entries[0, START]]
            return logs[0, SCALE] + log(value) if value > 0.0 else -np.inf, 0
        code += len(MESSAGE_STEP)
    return np.nan, max(need, 0)

r"""Contexts: the distinct sub-events of one event that reach a node.

A sub-event is a few words, the packed ranges of the variables that regions cut
(:mod:`fspn.engine.region_program`). Ranges outside a node's scope are cleared, so that equal
questions are equal words; a temporary hash table at the end of the arena finds the distinct ones.
A context of very many sub-events is *implicit*: it keeps the pairs of a sub-event of the context
before and a region that make each of its own (:mod:`fspn.engine.meet_kernels`), and they are
written out only for the variables that a node sees (:mod:`fspn.engine.projection_kernels`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from fspn.engine.kernels import kernel
from fspn.engine.memo_kernels import MIX
from fspn.engine.region_program import (
    CONTEXT,
    PACKED_SIDE,
    PACKED_SIDE_SIZE,
    PLAN,
    SPAN,
    SPAN_SIZE,
)


@kernel()
def differs_of(context, n_words):
    """The offset of the bits in which any sub-event of a context is constrained."""
    return context + CONTEXT.varies + n_words


@kernel()
def rows_of(context, n_words):
    """The offset of the sub-events of a context."""
    return context + CONTEXT.varies + 2 * n_words


@kernel()
def low_of(word, shift, bits):
    """The lower code of a packed range."""
    return (word >> shift) & ((1 << bits) - 1)


@kernel()
def high_of(word, shift, bits):
    """The upper code of a packed range."""
    return (word >> (shift + bits)) & ((1 << bits) - 1)


@kernel()
def meets(words, mask, n_words, arena, ints):
    """Whether some bits of a context are among those of a mask."""
    found = False
    for i in range(n_words):
        found |= (arena[words + i] & ints[mask + i]) != 0
    return found


@kernel()
def whole_event(plan, ints, lo, hi, arena, free):
    """Write the context of the event itself at the start of the arena; returns the arena's top.

    ``free`` is the packed event that constrains nothing.
    """
    n_words = ints[plan + PLAN.n_words]
    begin(0, n_words, arena)
    arena[CONTEXT.size] = arena[CONTEXT.disjoint] = 1
    row = rows_of(0, n_words)
    for i in range(n_words):
        arena[row + i] = 0
    for s in range(ints[plan + PLAN.n_spans]):
        span = ints[plan + PLAN.spans] + SPAN_SIZE * s
        v, bits = ints[span + SPAN.variable], ints[span + SPAN.bits]
        word, shift = ints[span + SPAN.word], ints[span + SPAN.shift]
        arena[row + word] |= (lo[v] | (hi[v] << bits)) << shift
    compare(0, n_words, arena, free)
    return row + n_words


@kernel()
def begin(context, n_words, arena):
    """Initialise an empty context."""
    arena[context + CONTEXT.size] = arena[context + CONTEXT.disjoint] = 0
    arena[context + CONTEXT.projections] = arena[context + CONTEXT.next] = -1
    arena[context + CONTEXT.parent] = -1
    arena[context + CONTEXT.is_implicit] = 0
    for i in range(2 * n_words):
        arena[context + CONTEXT.varies + i] = 0


@kernel()
def find_row(arena, row, first, n_words, count, low, high, table, mask):
    """The number of an equal row among ``count`` rows from ``first`` on; ``count`` if it is new.

    Only the words from ``low`` to ``high`` can differ.
    """
    mixed = high
    for i in range(low, high):
        mixed = (mixed ^ arena[row + i]) * MIX
        mixed ^= mixed >> 31
    # The low bits of a product do not depend on the high bits of its factors, where variables are
    # packed too: taken alone they would send most rows to a few slots.
    slot = ((mixed * MIX) >> 32) & mask
    while arena[table + slot] >= 0:
        other = first + n_words * arena[table + slot]
        same = True
        for i in range(low, high):
            same &= arena[other + i] == arena[row + i]
        if same:
            return arena[table + slot]
        slot = (slot + 1) & mask
    arena[table + slot] = count
    return count


@kernel()
def new_table(arena, top, end, most):
    """A hash table for ``most`` rows in the arena up to ``end``: (offset, mask), or (-1, 0)."""
    size = 16
    while size < 2 * most:
        size *= 2
    table = end - size
    if table < top:
        return -1, 0
    for i in range(size):
        arena[table + i] = -1
    return table, size - 1


@kernel()
def cut_box(side, n_sides, mask, ints, row, arena):
    """Intersect a sub-event with a box, in the variables of a mask."""
    for _ in range(n_sides):
        word, shift = ints[side + PACKED_SIDE.word], ints[side + PACKED_SIDE.shift]
        if (ints[mask + word] >> shift) & 1:
            bits, word = ints[side + PACKED_SIDE.bits], row + word
            low, high = low_of(arena[word], shift, bits), high_of(arena[word], shift, bits)
            missing = max(ints[side + PACKED_SIDE.lower] - low, 0)
            beyond = max(high - ints[side + PACKED_SIDE.upper], 0)
            arena[word] += (missing << shift) - (beyond << (shift + bits))
        side += PACKED_SIDE_SIZE


@kernel()
def compare(context, n_words, arena, free):
    """Record in which bits sub-events differ from each other and from the free event."""
    varies, differs = context + CONTEXT.varies, differs_of(context, n_words)
    first = rows_of(context, n_words)
    for e in range(arena[context + CONTEXT.size]):
        row = first + n_words * e
        for i in range(n_words):
            arena[varies + i] |= arena[row + i] ^ arena[first + i]
            arena[differs + i] |= arena[row + i] ^ free[i]

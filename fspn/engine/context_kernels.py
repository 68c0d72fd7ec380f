r"""Contexts: the distinct sub-events of one event that reach a node.

A sub-event is a few words, the packed ranges of the variables that regions cut
(:mod:`fspn.engine.region_program`). Ranges outside a node's scope are cleared, so that equal
questions are equal words; a temporary hash table at the end of the arena finds the distinct ones.
The projection of a context to a smaller scope is computed once and kept with it, because the nodes
below a sum node ask for the same projections repeatedly.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from fspn.engine.kernels import kernel
from fspn.engine.memo_kernels import MIX
from fspn.engine.region_program import (
    CONTEXT,
    PACKED_BOX,
    PACKED_SIDE,
    PACKED_SIDE_SIZE,
    PLAN,
    REGIONS_STEP,
    SPAN,
    SPAN_SIZE,
)

FEW_ROWS = 1024


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
    _begin(0, n_words, arena)
    arena[CONTEXT.size] = arena[CONTEXT.disjoint] = 1
    row = rows_of(0, n_words)
    for i in range(n_words):
        arena[row + i] = 0
    for s in range(ints[plan + PLAN.n_spans]):
        span = ints[plan + PLAN.spans] + SPAN_SIZE * s
        v, bits = ints[span + SPAN.variable], ints[span + SPAN.bits]
        word, shift = ints[span + SPAN.word], ints[span + SPAN.shift]
        arena[row + word] |= (lo[v] | (hi[v] << bits)) << shift
    _compare(0, n_words, arena, free)
    return row + n_words


@kernel()
def _begin(context, n_words, arena):
    """Initialise an empty context."""
    arena[context + CONTEXT.size] = arena[context + CONTEXT.disjoint] = 0
    arena[context + CONTEXT.projections] = arena[context + CONTEXT.next] = -1
    for i in range(2 * n_words):
        arena[context + CONTEXT.varies + i] = 0


@kernel()
def _find(arena, row, first, n_words, count, low, high, table, mask):
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
def _table(arena, top, most):
    """A hash table for ``most`` rows at the end of the arena: (offset, mask), or (-1, 0)."""
    size = 16
    while size < 2 * most:
        size *= 2
    table = len(arena) - size
    if table < top:
        return -1, 0
    for i in range(size):
        arena[table + i] = -1
    return table, size - 1


@kernel()
def _near(word):
    """The position of the lowest bit of a word, and the mask from there to its highest bit."""
    shift, rest = 0, word
    while rest != 0 and rest & 1 == 0:
        rest >>= 1
        shift += 1
    mask = 1
    while mask <= rest:
        mask <<= 1
    return shift, mask - 1


@kernel()
def project(mask, ints, n_words, context, top, arena, links, n_links):
    """The projection of a context to the variables of a mask.

    Returns (that context, top of the arena, top of the links); the context itself where all that
    varies is in the mask, -1 where a buffer is full. Its links map every sub-event of the context
    to its projection.
    """
    if top + CONTEXT.varies + 2 * n_words > len(arena):
        return -1, top, n_links
    varies, seen = context + CONTEXT.varies, top + CONTEXT.varies
    everything = True
    for i in range(n_words):
        arena[seen + i] = arena[varies + i] & ints[mask + i]
        everything &= arena[seen + i] == arena[varies + i]
    if everything:
        return context, top, n_links
    known = arena[context + CONTEXT.projections]
    while known >= 0:
        same = True
        for i in range(n_words):
            same &= arena[known + CONTEXT.varies + i] == arena[seen + i]
        if same:
            return known, top, n_links
        known = arena[known + CONTEXT.next]
    n, first = arena[context + CONTEXT.size], rows_of(top, n_words)
    # Few sub-events of a large context differ in most scopes: a table that fits a cache, and grows.
    table, slots = _table(arena, first + n_words * (n + 1), min(n, FEW_ROWS))
    if table < 0 or n_links + n > len(links):
        return -1, top, n_links
    for i in range(n_words):
        arena[differs_of(top, n_words) + i] = arena[differs_of(context, n_words) + i]
    arena[top + CONTEXT.projections] = -1
    arena[top + CONTEXT.next] = arena[context + CONTEXT.projections]
    arena[context + CONTEXT.projections] = top
    arena[top + CONTEXT.links], arena[top + CONTEXT.disjoint] = n_links, 0
    low, high = 0, n_words
    while low < high and arena[seen + low] == 0:
        low += 1
    while low < high and arena[seen + high - 1] == 0:
        high -= 1
    # What differs in few bits next to each other, as in one variable, is looked up without a hash.
    shift, near = _near(arena[seen + low]) if low + 1 == high else (0, 0)
    by_index = low + 1 == high and near <= slots
    count, row = 0, rows_of(context, n_words)
    for e in range(n):
        new = first + n_words * count
        if by_index:
            slot = table + (((arena[row + low] & arena[seen + low]) >> shift) & near)
            found = arena[slot]
            if found < 0:
                found = arena[slot] = count
        else:
            for i in range(low, high):
                arena[new + i] = arena[row + i] & (arena[seen + i] | ~arena[varies + i])
            found = _find(arena, new, first, n_words, count, low, high, table, slots)
        links[n_links + e] = found
        if found == count:
            count += 1
            for i in range(n_words):
                arena[new + i] = arena[row + i] & (arena[seen + i] | ~arena[varies + i])
            if not by_index and 2 * count > slots + 1:
                table, slots = _table(arena, first + n_words * (n + 1), 2 * count)
                if table < 0:
                    return -1, top, n_links
                for k in range(count):
                    own = first + n_words * k
                    _find(arena, own, first, n_words, k, low, high, table, slots)
        row += n_words
    arena[top + CONTEXT.size] = count
    return top, first + n_words * count, n_links + n


@kernel()
def meet(code, n_boxes, n_words, ints, buffers, context, seen, top, n_links):
    """The context of a factorize node's left child, and per region its pairs of sub-events.

    A pair is a sub-event of the context and the one it becomes inside the region. The links hold
    the start of every region's pairs, then the pairs. ``seen`` is the context as the
    regions see it. Returns the new tops of arena and links, the first -1 where one of them is full.
    """
    arena, links, free = buffers.arena, buffers.links, buffers.free
    n, n_seen = arena[context + CONTEXT.size], arena[seen + CONTEXT.size]
    starts, flags = n_links, n_links + n_boxes + 1
    begin = flags + n_seen
    first = rows_of(top, n_words)
    if first > len(arena) or begin > len(links):
        return -1, n_links
    _begin(top, n_words, arena)
    left_mask, box = ints[code + REGIONS_STEP.left_mask], ints[code + REGIONS_STEP.boxes]
    arena[top + CONTEXT.disjoint] = _stay_disjoint(context, left_mask, n_words, arena, ints)
    end, count = begin, 0
    for b in range(n_boxes):
        links[starts + b] = end
        n_sides = ints[box + PACKED_BOX.n_sides]
        side = box + PACKED_BOX.first_side
        alive = False
        for e in range(n_seen):
            fits = _fits(side, n_sides, ints, rows_of(seen, n_words) + n_words * e, arena)
            links[flags + e] = fits
            alive |= fits
        row, number = first + n_words * count, count
        for e in range(n if alive else 0):
            shown = e if seen == context else links[arena[seen + CONTEXT.links] + e]
            if links[flags + shown] == 0:
                continue
            if row + n_words > len(arena) or end + 2 > len(links):
                return -1, n_links
            old = rows_of(context, n_words) + n_words * e
            for i in range(n_words):
                arena[row + i] = arena[old + i] & ints[left_mask + i]
            _cut(side, n_sides, ints, row, arena)
            links[end], links[end + 1] = e, number
            row += n_words
            end += 2
            number += 1
        # The boxes are disjoint: equal sub-events can only be in the same one.
        if arena[top + CONTEXT.disjoint] == 0 and number > count + 1:
            number = _merge(first, n_words, count, number, arena, links, end)
            if number < 0:
                return -1, n_links
        count = number
        box = side + PACKED_SIDE_SIZE * n_sides
    links[starts + n_boxes] = end
    arena[top + CONTEXT.size] = count
    _compare(top, n_words, arena, free)
    return first + n_words * count, end


@kernel()
def _stay_disjoint(context, left_mask, n_words, arena, ints):
    """Whether the sub-events of a context are disjoint in the variables of the left child too."""
    if arena[context + CONTEXT.size] == 1:
        return 1
    disjoint = arena[context + CONTEXT.disjoint]
    for i in range(n_words):
        if arena[context + CONTEXT.varies + i] & ~ints[left_mask + i] != 0:
            disjoint = 0
    return disjoint


@kernel()
def _merge(rows, n_words, count, number, arena, links, end):
    """Keep each distinct row of a box once: its rows are those from ``count`` to ``number``.

    Their pairs, which end at ``end``, are renumbered. Returns the new number of rows, or -1 where
    the arena is full.
    """
    table, slots = _table(arena, rows + n_words * number, number - count)
    if table < 0:
        return -1
    first, kept, pair = rows + n_words * count, 0, end - 2 * (number - count)
    for k in range(number - count):
        row, new = first + n_words * k, first + n_words * kept
        found = _find(arena, row, first, n_words, kept, 0, n_words, table, slots)
        links[pair + 2 * k + 1] = count + found
        if found == kept:
            kept += 1
            for i in range(n_words):
                arena[new + i] = arena[row + i]
    return count + kept


@kernel()
def _fits(side, n_sides, ints, row, arena):
    """Whether a sub-event intersects a box."""
    for _ in range(n_sides):
        word, shift = arena[row + ints[side + PACKED_SIDE.word]], ints[side + PACKED_SIDE.shift]
        bits = ints[side + PACKED_SIDE.bits]
        if low_of(word, shift, bits) > ints[side + PACKED_SIDE.upper]:
            return False
        if high_of(word, shift, bits) < ints[side + PACKED_SIDE.lower]:
            return False
        side += PACKED_SIDE_SIZE
    return True


@kernel()
def _cut(side, n_sides, ints, row, arena):
    """Intersect a sub-event with a box."""
    for _ in range(n_sides):
        word, shift = row + ints[side + PACKED_SIDE.word], ints[side + PACKED_SIDE.shift]
        bits = ints[side + PACKED_SIDE.bits]
        low, high = low_of(arena[word], shift, bits), high_of(arena[word], shift, bits)
        missing = max(ints[side + PACKED_SIDE.lower] - low, 0)
        beyond = max(high - ints[side + PACKED_SIDE.upper], 0)
        arena[word] += (missing << shift) - (beyond << (shift + bits))
        side += PACKED_SIDE_SIZE


@kernel()
def _compare(context, n_words, arena, free):
    """Record in which bits sub-events differ from each other and from the free event."""
    varies, differs = context + CONTEXT.varies, differs_of(context, n_words)
    first = rows_of(context, n_words)
    for e in range(arena[context + CONTEXT.size]):
        row = first + n_words * e
        for i in range(n_words):
            arena[varies + i] |= arena[row + i] ^ arena[first + i]
            arena[differs + i] |= arena[row + i] ^ free[i]

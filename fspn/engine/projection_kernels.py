r"""Projections of a context to the variables of a node: what distinct sub-events it is asked for.

A projection is computed once and kept with its context, because the nodes below a sum node ask for
the same projections repeatedly. Its links map every sub-event of the context to its own.

Where regions made a context of many sub-events from a smaller one, its projection is *composed*.
With :math:`\pi` for the projection, sub-event e and region R,

.. math:: \pi(e \cap R) = \pi(e) \cap \pi(R) ,

and both sides have few distinct values: what a pair becomes is looked up in a table over them, and
the sub-events themselves are never written out.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from fspn.engine.context_kernels import cut_box, differs_of, find_row, new_table, rows_of
from fspn.engine.kernels import kernel
from fspn.engine.program import FACTORIZE_NODE
from fspn.engine.region_program import (
    CONTEXT,
    PACKED_BOX,
    PACKED_SIDE,
    PACKED_SIDE_SIZE,
    REGIONS_STEP,
)

FEW_ROWS = 1024
# A context that is so much larger than the one it was made from is projected by way of that.
GROWTH = 4


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
    varies is in the mask, -1 where a buffer is full.
    """
    if top + CONTEXT.varies + 2 * n_words > len(arena):
        return -1, top, n_links
    found, steps, origin = _known(mask, ints, n_words, context, arena), 0, context
    while found < 0 and _is_composed(origin, arena, ints):
        origin = arena[origin + CONTEXT.parent]
        steps += 1
        found = _known(mask, ints, n_words, origin, arena)
    if found < 0:
        found, top, n_links = _direct(mask, ints, n_words, origin, top, arena, links, n_links)
    for step in range(steps - 1, -1, -1):
        if found < 0 or top + CONTEXT.varies + 2 * n_words > len(arena):
            return -1, top, n_links
        own = context
        for _ in range(step):
            own = arena[own + CONTEXT.parent]
        found, top, n_links = _composed(mask, ints, n_words, own, found, top, arena, links, n_links)
    return found, top, n_links


@kernel()
def forget_projections(context, top, arena):
    """Drop the projections from ``top`` on, of a context and of those it was made from."""
    while context >= 0:
        known = arena[context + CONTEXT.projections]
        while known >= top:
            known = arena[known + CONTEXT.next]
        arena[context + CONTEXT.projections] = known
        context = arena[context + CONTEXT.parent]


@kernel()
def _is_composed(context, arena, ints):
    """Whether a context is projected by way of the one that it was made from."""
    if arena[context + CONTEXT.is_implicit]:
        return True
    parent, n = arena[context + CONTEXT.parent], arena[context + CONTEXT.size]
    if parent < 0 or n <= ints[arena[context + CONTEXT.code] + REGIONS_STEP.many]:
        return False
    return n > GROWTH * arena[parent + CONTEXT.size]


@kernel()
def _known(mask, ints, n_words, context, arena):
    """The projection that is there already, or the context itself if it is one; else -1."""
    varies = context + CONTEXT.varies
    everything = arena[context + CONTEXT.is_implicit] == 0
    for i in range(n_words):
        everything &= arena[varies + i] & ~ints[mask + i] == 0
    if everything:
        return context
    known = arena[context + CONTEXT.projections]
    while known >= 0:
        same = True
        for i in range(n_words):
            same &= arena[known + CONTEXT.varies + i] == arena[varies + i] & ints[mask + i]
        if same:
            return known
        known = arena[known + CONTEXT.next]
    return -1


@kernel()
def _new_projection(mask, ints, n_words, context, top, arena, n_links):
    """Write the head of a projection at the top of the arena, first among those of its context."""
    seen, varies = top + CONTEXT.varies, context + CONTEXT.varies
    for i in range(n_words):
        arena[seen + i] = arena[varies + i] & ints[mask + i]
        arena[differs_of(top, n_words) + i] = arena[differs_of(context, n_words) + i]
    arena[top + CONTEXT.projections] = arena[top + CONTEXT.parent] = -1
    arena[top + CONTEXT.is_implicit] = 0
    arena[top + CONTEXT.next] = arena[context + CONTEXT.projections]
    arena[context + CONTEXT.projections] = top
    arena[top + CONTEXT.links], arena[top + CONTEXT.disjoint] = n_links, 0


@kernel()
def _words_of(mask, n_words, words):
    """The first word with a bit of a mask, and the one behind the last."""
    low, high = 0, n_words
    while low < high and words[mask + low] == 0:
        low += 1
    while low < high and words[mask + high - 1] == 0:
        high -= 1
    return low, high


@kernel()
def _direct(mask, ints, n_words, context, top, arena, links, n_links):
    """A new projection, from the sub-events as they are written; returns as :func:`project`."""
    n, first = arena[context + CONTEXT.size], rows_of(top, n_words)
    # Few sub-events of a large context differ in most scopes: a table that fits a cache, and grows.
    table, slots = new_table(arena, first + n_words * (n + 1), len(arena), min(n, FEW_ROWS))
    if table < 0 or n_links + n > len(links):
        return -1, top, n_links
    _new_projection(mask, ints, n_words, context, top, arena, n_links)
    seen, varies = top + CONTEXT.varies, context + CONTEXT.varies
    low, high = _words_of(seen, n_words, arena)
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
            found = find_row(arena, new, first, n_words, count, low, high, table, slots)
        links[n_links + e] = found
        if found == count:
            count += 1
            for i in range(n_words):
                arena[new + i] = arena[row + i] & (arena[seen + i] | ~arena[varies + i])
            if not by_index and 2 * count > slots + 1:
                end = first + n_words * (n + 1)
                table, slots = _larger_table(
                    arena, first, n_words, count, low, high, end, len(arena)
                )
                if table < 0:
                    return -1, top, n_links
        row += n_words
    arena[top + CONTEXT.size] = count
    return top, first + n_words * count, n_links + n


@kernel()
def _larger_table(arena, first, n_words, count, low, high, top, end):
    """A filled hash table up to ``end`` with room for twice the rows; (-1, 0): no room."""
    table, slots = new_table(arena, top, end, 2 * count)
    for k in range(count if table >= 0 else 0):
        own = first + n_words * k
        find_row(arena, own, first, n_words, k, low, high, table, slots)
    return table, slots


@kernel()
def _kinds_of_boxes(mask, ints, n_words, context, top, arena, links):
    """Number the distinct boxes as a projection sees them: (offset of the numbers, how many).

    They stand at the end of the arena; the offset is -1 where that is full. A box without pairs has
    no number.
    """
    code, starts = arena[context + CONTEXT.code], arena[context + CONTEXT.pairs]
    n_boxes = ints[ints[code + REGIONS_STEP.node] + FACTORIZE_NODE.n_boxes]
    kinds = len(arena) - n_boxes
    first = kinds - n_words * (n_boxes + 1)
    table, slots = new_table(arena, top, first, n_boxes)
    if first < top or table < 0:
        return -1, 0
    box, count = ints[code + REGIONS_STEP.boxes], 0
    for b in range(n_boxes):
        n_sides, side = ints[box + PACKED_BOX.n_sides], box + PACKED_BOX.first_side
        box = side + PACKED_SIDE_SIZE * n_sides
        if links[starts + b] == links[starts + b + 1]:
            continue
        row = first + n_words * count
        for i in range(n_words):
            arena[row + i] = 0
        for _ in range(n_sides):
            word, shift = ints[side + PACKED_SIDE.word], ints[side + PACKED_SIDE.shift]
            bits = ints[side + PACKED_SIDE.bits]
            if (ints[mask + word] >> shift) & 1:
                ends = ints[side + PACKED_SIDE.lower] | (ints[side + PACKED_SIDE.upper] << bits)
                # No side from the last code to the first: zero is a variable that is left alone.
                arena[row + word] |= (ends ^ ((1 << bits) - 1)) << shift
            side += PACKED_SIDE_SIZE
        arena[kinds + b] = find_row(arena, row, first, n_words, count, 0, n_words, table, slots)
        count += arena[kinds + b] == count
    return kinds, count


@kernel()
def _composed(mask, ints, n_words, context, above, top, arena, links, n_links):
    """A new projection, from that of the context before (``above``); returns as :func:`project`."""
    n, n_above = arena[context + CONTEXT.size], arena[above + CONTEXT.size]
    code, starts = arena[context + CONTEXT.code], arena[context + CONTEXT.pairs]
    n_boxes = ints[ints[code + REGIONS_STEP.node] + FACTORIZE_NODE.n_boxes]
    first, own_links = rows_of(top, n_words), n_links
    behind = first + n_words * (n + 1)
    if own_links + n > len(links) or behind > len(arena):
        return -1, top, n_links
    _new_projection(mask, ints, n_words, context, top, arena, n_links)
    kinds, n_kinds = _kinds_of_boxes(mask, ints, n_words, context, behind, arena, links)
    if kinds < 0:
        return -1, top, n_links
    is_looked_up = n_kinds * n_above <= 2 * n
    known = kinds - (n_kinds * n_above if is_looked_up else 0)
    if known < behind:
        return -1, top, n_links
    for i in range(known, kinds):
        arena[i] = -1
    table, slots = new_table(arena, behind, known, min(n, FEW_ROWS))
    if table < 0:
        return -1, top, n_links
    seen, varies, same = top + CONTEXT.varies, context + CONTEXT.varies, rows_of(context, n_words)
    low, high = _words_of(seen, n_words, arena)
    is_itself = above == arena[context + CONTEXT.parent]
    box, count = ints[code + REGIONS_STEP.boxes], 0
    for b in range(n_boxes):
        n_sides, side = ints[box + PACKED_BOX.n_sides], box + PACKED_BOX.first_side
        box = side + PACKED_SIDE_SIZE * n_sides
        memo = known + arena[kinds + b] * n_above
        for i in range(links[starts + b], links[starts + b + 1], 2):
            e = links[i] if is_itself else links[arena[above + CONTEXT.links] + links[i]]
            found = arena[memo + e] if is_looked_up else -1
            if found < 0:
                new, old = first + n_words * count, rows_of(above, n_words) + n_words * e
                for j in range(n_words):
                    arena[new + j] = arena[old + j] & ints[mask + j]
                cut_box(side, n_sides, mask, ints, new, arena)
                # The bits in which nothing differs as in any other sub-event: a node that sees
                # more of these may be given the same projection.
                for j in range(n_words):
                    arena[new + j] &= arena[seen + j]
                    arena[new + j] |= arena[same + j] & ~arena[varies + j]
                found = find_row(arena, new, first, n_words, count, low, high, table, slots)
                if found == count:
                    count += 1
                    if 2 * count > slots + 1:
                        table, slots = _larger_table(
                            arena, first, n_words, count, low, high, behind, known
                        )
                        if table < 0:
                            return -1, top, n_links
                if is_looked_up:
                    arena[memo + e] = found
            links[own_links + links[i + 1]] = found
    arena[top + CONTEXT.size] = count
    return top, first + n_words * count, n_links + n

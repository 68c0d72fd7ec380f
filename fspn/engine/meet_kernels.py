"""The context of a factorize node's left child: the pairs of a sub-event and a region that meet."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from fspn.engine.context_kernels import (
    begin,
    compare,
    cut_box,
    differs_of,
    find_row,
    high_of,
    low_of,
    new_table,
    rows_of,
)
from fspn.engine.kernels import kernel
from fspn.engine.projection_kernels import project
from fspn.engine.region_program import (
    CONTEXT,
    PACKED_BOX,
    PACKED_SIDE,
    PACKED_SIDE_SIZE,
    REGIONS_STEP,
)


@kernel()
def meet(code, n_boxes, n_words, ints, buffers, context, seen, top, n_links):
    """The context of a factorize node's left child, and per region its pairs of sub-events.

    A pair is a sub-event of the context and the one it becomes inside the region. The links hold
    the start of every region's pairs, then the pairs. ``seen`` is the context as the regions see
    it. Returns the new context, or -1 where a buffer is full, and the tops of arena and links.

    Equal sub-events are merged. Where there can be none, or where the left child is a product whose
    parts merge what is equal to them, very many sub-events stay implicit.
    """
    arena, links, free = buffers.arena, buffers.links, buffers.free
    starts, left_mask = n_links, ints[code + REGIONS_STEP.left_mask]
    end = _pairs(code, n_boxes, n_words, ints, arena, links, context, seen, n_links)
    if end < 0:
        return -1, top, n_links
    n_pairs = (end - links[starts]) >> 1
    disjoint = _stay_disjoint(context, left_mask, n_words, arena, ints)
    merges = disjoint == 0 and ints[code + REGIONS_STEP.left_projects] == 0
    is_implicit = n_pairs > ints[code + REGIONS_STEP.many] and not merges
    source, n_links = context, end
    if arena[context + CONTEXT.is_implicit] and not is_implicit:
        source, top, n_links = project(
            left_mask, ints, n_words, context, top, arena, links, n_links
        )
    first = rows_of(top, n_words)
    if source < 0 or first + n_words > len(arena):
        return -1, top, n_links
    begin(top, n_words, arena)
    arena[top + CONTEXT.disjoint], arena[top + CONTEXT.is_implicit] = disjoint, is_implicit
    arena[top + CONTEXT.parent], arena[top + CONTEXT.code] = context, code
    arena[top + CONTEXT.pairs] = starts
    if is_implicit:
        arena[top + CONTEXT.size] = n_pairs
        _describe(top, code, n_words, ints, arena, context)
        return top, first + n_words, n_links
    count = _write(code, n_boxes, n_words, ints, arena, links, context, source, top, disjoint == 0)
    if count < 0:
        return -1, top, n_links
    arena[top + CONTEXT.size] = count
    compare(top, n_words, arena, free)
    return top, first + n_words * count, n_links


@kernel()
def _pairs(code, n_boxes, n_words, ints, arena, links, context, seen, n_links):
    """Write the pairs that meet, region by region; returns their end, or -1: no room."""
    n, n_seen = arena[context + CONTEXT.size], arena[seen + CONTEXT.size]
    starts, flags = n_links, n_links + n_boxes + 1
    end, number = flags + n_seen, 0
    if end > len(links):
        return -1
    box = ints[code + REGIONS_STEP.boxes]
    rows, shows = rows_of(seen, n_words), arena[seen + CONTEXT.links]
    for b in range(n_boxes):
        links[starts + b] = end
        n_sides, side = ints[box + PACKED_BOX.n_sides], box + PACKED_BOX.first_side
        box = side + PACKED_SIDE_SIZE * n_sides
        alive = False
        for e in range(n_seen):
            fits = _fits(side, n_sides, ints, rows + n_words * e, arena)
            links[flags + e] = fits
            alive |= fits
        if not alive:
            continue
        if end + 2 * n > len(links):
            return -1
        for e in range(n):
            # Written in any case and kept if it meets: which do is not foreseen by the processor.
            links[end], links[end + 1] = e, number
            meets = links[flags + (e if seen == context else links[shows + e])]
            end += 2 * meets
            number += meets
    links[starts + n_boxes] = end
    return end


@kernel()
def _describe(own, code, n_words, ints, arena, context):
    """Write the first sub-event of an implicit context, and in which bits others may differ.

    Only what cannot differ is read from that one.
    """
    left_mask, cut_mask = ints[code + REGIONS_STEP.left_mask], ints[code + REGIONS_STEP.cut_mask]
    row, old = rows_of(own, n_words), rows_of(context, n_words)
    for i in range(n_words):
        left, cut = ints[left_mask + i], ints[cut_mask + i]
        arena[row + i] = arena[old + i] & left
        arena[own + CONTEXT.varies + i] = (arena[context + CONTEXT.varies + i] | cut) & left
        differs = arena[differs_of(context, n_words) + i] | cut
        arena[differs_of(own, n_words) + i] = differs & left


@kernel()
def _write(code, n_boxes, n_words, ints, arena, links, context, source, own, merges):
    """Write the sub-events of a new context, each distinct one once; returns how many, -1: full.

    ``source`` is the context before, or its projection to the variables of the left child.
    """
    starts, left_mask = arena[own + CONTEXT.pairs], ints[code + REGIONS_STEP.left_mask]
    shows, olds = arena[source + CONTEXT.links], rows_of(source, n_words)
    first, box, count = rows_of(own, n_words), ints[code + REGIONS_STEP.boxes], 0
    for b in range(n_boxes):
        n_sides, side = ints[box + PACKED_BOX.n_sides], box + PACKED_BOX.first_side
        box = side + PACKED_SIDE_SIZE * n_sides
        number = count
        for i in range(links[starts + b], links[starts + b + 1], 2):
            e, row = links[i], first + n_words * number
            if row + n_words > len(arena):
                return -1
            old = olds + n_words * (e if source == context else links[shows + e])
            for j in range(n_words):
                arena[row + j] = arena[old + j] & ints[left_mask + j]
            cut_box(side, n_sides, left_mask, ints, row, arena)
            links[i + 1] = number
            number += 1
        # The boxes are disjoint: equal sub-events can only be in the same one.
        if merges and number > count + 1:
            number = _merge(first, n_words, count, number, arena, links, links[starts + b + 1])
            if number < 0:
                return -1
        count = number
    return count


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
    table, slots = new_table(arena, rows + n_words * number, len(arena), number - count)
    if table < 0:
        return -1
    first, kept, pair = rows + n_words * count, 0, end - 2 * (number - count)
    for k in range(number - count):
        row, new = first + n_words * k, first + n_words * kept
        found = find_row(arena, row, first, n_words, kept, 0, n_words, table, slots)
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

r"""Contexts: the distinct sub-events of one event that reach a node.

A context is (number of sub-events, number of variables, the variables, then per sub-event the range
of each). ``column`` says where the ranges of a variable stand, in the context in force (row 0) and
in one in the making (row 1); -1 where no region has cut it, so that the event's own range holds.
Rows are told apart by a hash table at the end of the arena that lasts for one function.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from fspn.engine.kernels import kernel
from fspn.engine.memo_kernels import MIX
from fspn.engine.program import MEMO_NODE

# The head of a context.
SIZE, WIDTH, VARIABLES = range(3)


@kernel()
def enter(context, arena, column):
    """Put a context in force: where the range of each of its variables stands."""
    for j in range(arena[context + WIDTH]):
        column[0, arena[context + VARIABLES + j]] = j


@kernel()
def leave(context, arena, column):
    """Undo :func:`enter`."""
    for j in range(arena[context + WIDTH]):
        column[0, arena[context + VARIABLES + j]] = -1


@kernel()
def row_of(context, arena, e):
    """Where the ranges of a sub-event stand."""
    return context + VARIABLES + arena[context + WIDTH] * (1 + 2 * e)


@kernel()
def _find(arena, first, width, count, table, mask):
    """The number of the row that lies behind ``count`` others from ``first`` on, if it is new."""
    row = first + 2 * width * count
    mixed = width
    for i in range(2 * width):
        mixed = (mixed ^ arena[row + i]) * MIX
        mixed ^= mixed >> 31
    slot = mixed & mask
    while arena[table + slot] >= 0:
        other = first + 2 * width * arena[table + slot]
        same = True
        for i in range(2 * width):
            same = same and arena[other + i] == arena[row + i]
        if same:
            return arena[table + slot]
        slot = (slot + 1) & mask
    arena[table + slot] = count
    return count


@kernel()
def _table(arena, top, most):
    """A hash table for so many rows at the end of the arena: (place, mask), or (-1, 0)."""
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
def project(memo, ints, context, top, arena, links, n_links, column):
    """The context cut to a memo's variables, and which of its sub-events each one became.

    Returns (new top of the arena, new top of the links), the first -1 where there is no room.
    """
    n = arena[context + SIZE]
    width = 0
    for c in range(ints[memo + MEMO_NODE.n_cut]):
        v = ints[memo + MEMO_NODE.first_cut + c]
        if column[0, v] >= 0:
            arena[top + VARIABLES + width] = v
            width += 1
    arena[top + WIDTH] = width
    first = top + VARIABLES + width
    table, mask = _table(arena, first + 2 * width * (n + 1), n)
    if table < 0 or n_links + n > len(links):
        return -1, 0
    count = 0
    for e in range(n):
        row = row_of(context, arena, e)
        for j in range(width):
            side = row + 2 * column[0, arena[top + VARIABLES + j]]
            arena[first + 2 * (width * count + j)] = arena[side]
            arena[first + 2 * (width * count + j) + 1] = arena[side + 1]
        found = _find(arena, first, width, count, table, mask)
        links[n_links + e] = found
        count += found == count
    arena[top + SIZE] = count
    return first + 2 * width * count, n_links + n


@kernel()
def meet(node, code, ints, lo, hi, context, top, arena, links, n_links, column):
    """The context of a factorize node's left child, and its pairs (sub-event, left one) by region.

    The links hold per region where its pairs begin, then the pairs. Returns as :func:`project`.
    """
    n, n_boxes = arena[context + SIZE], ints[node + 6]
    width = 0
    for c in range(arena[context + WIDTH]):
        v = arena[context + VARIABLES + c]
        if not _is_right(node, ints, v):
            column[1, v], arena[top + VARIABLES + width] = width, v
            width += 1
    for c in range(ints[code + 2]):
        v = ints[code + 3 + c]
        if column[1, v] < 0 and lo[v] < hi[v]:
            column[1, v], arena[top + VARIABLES + width] = width, v
            width += 1
    arena[top + WIDTH] = width
    first = top + VARIABLES + width
    most = n * n_boxes
    table, mask = _table(arena, first + 2 * width * 2, most if n > 1 else 1)
    pairs = n_links + n_boxes + 1
    count, n_pairs = 0, 0
    fits = table >= 0 and pairs <= len(links)
    for b in range(n_boxes if fits else 0):
        links[n_links + b] = pairs + 2 * n_pairs
        box = ints[node + 7 + b]
        for e in range(n):
            row = first + 2 * width * count
            if row + 2 * width > table or pairs + 2 * n_pairs + 2 > len(links):
                fits = False
                break
            _copy_ranges(context, e, top, row, width, lo, hi, arena, column)
            if _cut(box, ints, lo, hi, row, arena, column):
                found = _find(arena, first, width, count, table, mask) if n > 1 else count
                links[pairs + 2 * n_pairs], links[pairs + 2 * n_pairs + 1] = e, found
                count += found == count
                n_pairs += 1
        if not fits:
            break
    for j in range(width):
        column[1, arena[top + VARIABLES + j]] = -1
    if not fits:
        return -1, 0
    links[n_links + n_boxes] = pairs + 2 * n_pairs
    arena[top + SIZE] = count
    return first + 2 * width * count, pairs + 2 * n_pairs


@kernel()
def _is_right(node, ints, v):
    """Whether a variable belongs to the right child of a factorize node."""
    found = False
    for s in range(ints[node + 4]):
        found |= ints[ints[node + 5] + s] == v
    return found


@kernel()
def _copy_ranges(context, e, top, row, width, lo, hi, arena, column):
    old = row_of(context, arena, e)
    for j in range(width):
        v = arena[top + VARIABLES + j]
        if column[0, v] >= 0:
            arena[row + 2 * j] = arena[old + 2 * column[0, v]]
            arena[row + 2 * j + 1] = arena[old + 2 * column[0, v] + 1]
        else:
            arena[row + 2 * j], arena[row + 2 * j + 1] = lo[v], hi[v]


@kernel()
def _cut(box, ints, lo, hi, row, arena, column):
    """Cut the ranges of a row to a box; whether anything is left."""
    for c in range(ints[box + 1]):
        v, low, high = ints[box + 2 + 3 * c], ints[box + 3 + 3 * c], ints[box + 4 + 3 * c]
        j = column[1, v]
        if j < 0:
            if lo[v] > high or hi[v] < low:
                return False
        else:
            side = row + 2 * j
            arena[side], arena[side + 1] = max(arena[side], low), min(arena[side + 1], high)
            if arena[side] > arena[side + 1]:
                return False
    return True


@kernel()
def is_cut(scope, n, ints, column):
    """Whether the context has ranges of any variable of a scope."""
    found = False
    for s in range(scope, scope + n):
        found |= column[0, ints[s]] >= 0
    return found

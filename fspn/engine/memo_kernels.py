r"""Memoisation: what nested factorize nodes ask repeatedly is computed once per event.

FSPN-Infer asks the left child of a factorize node once per region, so f nested ones ask the
innermost :math:`l^f` times. Most of these questions are equal: enclosing regions matter to a node
only as far as they cut its own variables. A *memo* in front of a node looks its answer up by the
ranges of those variables: record (MEMO, scope, node, number of cut variables, the variables).

The answers of one event are kept in a chained hash table: ``heads`` points to the first entry of a
chain (0: none), an entry in ``arena`` is the next one's place, the memo, its number and the key,
``values`` holds the answers by number. The first two words of the arena count words and entries.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.engine.kernels import compiled, kernel
from fspn.engine.program import MEMO_NODE
from fspn.engine.workspace import Memory

USED, COUNT, FIRST_ENTRY = 0, 1, 2
NEXT, OWNER, NUMBER, KEY = range(4)
MIX = -7046029254386353131
MAX_WORDS = 1 << 20
MIN_HEADS, MAX_HEADS = 1 << 8, 1 << 14


@compiled()
def new_memory(n_heads):
    """An empty table of ``n_heads`` chains."""
    arena = np.empty(MAX_WORDS, dtype=np.int64)
    return empty_memory(np.zeros(n_heads, dtype=np.int64), arena, np.empty(MAX_WORDS >> 2))


@compiled()
def empty_memory(heads, arena, values):
    """An empty table in given arrays; a model without memos needs none of its own."""
    arena[USED], arena[COUNT] = FIRST_ENTRY, 0
    return Memory(heads, arena, values)


@kernel()
def forget(heads, arena):
    """Begin a new event."""
    if arena[COUNT] > 0:
        for i in range(len(heads)):
            heads[i] = 0
    arena[USED], arena[COUNT] = FIRST_ENTRY, 0


@kernel()
def _slot(node, ints, lo, hi, heads):
    """The chain of a memo's current key."""
    mixed = node * MIX
    for c in range(ints[node + MEMO_NODE.n_cut]):
        v = ints[node + MEMO_NODE.first_cut + c]
        mixed = (mixed ^ (lo[v] << 24) ^ hi[v]) * MIX
        mixed ^= mixed >> 31
    return mixed & (len(heads) - 1)


@kernel()
def recall(node, ints, lo, hi, heads, arena):
    """The number of the answer to a memo's current question, or -1."""
    n = ints[node + MEMO_NODE.n_cut]
    entry = heads[_slot(node, ints, lo, hi, heads)]
    while entry > 0:
        same = arena[entry + OWNER] == node
        for c in range(n):
            v = ints[node + MEMO_NODE.first_cut + c]
            key = entry + KEY + 2 * c
            same = same and arena[key] == lo[v] and arena[key + 1] == hi[v]
        if same:
            return arena[entry + NUMBER]
        entry = arena[entry + NEXT]
    return -1


@kernel()
def remember(node, answer, ints, lo, hi, heads, arena, values):
    """Store the answer to a memo's current question, unless the table is full."""
    n, entry, number = ints[node + MEMO_NODE.n_cut], arena[USED], arena[COUNT]
    if entry + KEY + 2 * n > len(arena) or number == len(values):
        return
    slot = _slot(node, ints, lo, hi, heads)
    arena[entry + NEXT], heads[slot] = heads[slot], entry
    arena[entry + OWNER], arena[entry + NUMBER] = node, number
    for c in range(n):
        v = ints[node + MEMO_NODE.first_cut + c]
        arena[entry + KEY + 2 * c], arena[entry + KEY + 2 * c + 1] = lo[v], hi[v]
    values[number] = answer
    arena[USED], arena[COUNT] = entry + KEY + 2 * n, number + 1

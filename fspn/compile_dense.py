"""Writing a block's tables out cell by cell, where they are small."""

from __future__ import annotations

import numpy as np

from fspn.compile_block import Block
from fspn.dense_kernels import MAX_VARIABLES
from fspn.leaves.full import FullTable
from fspn.leaves.ladder import Ladder
from fspn.nodes import TableSplit, UniLeaf
from fspn.pools import PoolWriter

MAX_TABLE = 1 << 17
MAX_DENSE = 1 << 21


def fits_dense(pool: PoolWriter, block: Block) -> bool:
    """Whether a block is nothing but tables that are small enough to be written out."""
    if block.base is not None or len(block.variables) > MAX_VARIABLES:
        return False
    cells = [_cells(part) for part in block.parts]
    return max(cells) <= MAX_TABLE and pool.n_dense + sum(cells) <= MAX_DENSE


def write_dense_block(pool: PoolWriter, block: Block) -> int:
    """The record that :mod:`fspn.dense_kernels` reads."""
    order = block.order(pool.sizes)
    ranks = {place: rank for rank, place in enumerate(order)}
    ancestors = _ancestors(block, ranks)
    entries: list[int] = []
    for place in order:
        v = block.variables[place]
        table = _table(pool, block, place, ranks)
        entries += [v, int(pool.sizes[v]), ancestors[place], table]
    return pool.record(len(order), *entries)


def _cells(part: UniLeaf | TableSplit) -> int:
    if isinstance(part, UniLeaf):
        return len(_row(part))
    return int(np.prod([float(size) for size in (*part.ladder.sizes, len(part.ladder.base))]))


def _ancestors(block: Block, ranks: dict[int, int]) -> list[int]:
    """Per variable, itself and all it depends on: bits by rank."""
    masks: list[int] = []
    for place, parents in enumerate(block.parents):
        mask = 1 << ranks[place]
        for parent in parents:
            mask |= masks[parent]
        masks.append(mask)
    return masks


def _table(pool: PoolWriter, block: Block, place: int, ranks: dict[int, int]) -> int:
    """One table with its dimensions by rank, the last one fastest."""
    part = block.parts[place]
    given = block.parents[place]
    cells = _row(part) if isinstance(part, UniLeaf) else written_out(part.ladder)
    axes = sorted(range(len(given) + 1), key=lambda axis: ranks[(*given, place)[axis]])
    shape = [cells.shape[axis] for axis in axes]
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    dims = [ranks[(*given, place)[axis]] for axis in axes]
    pairs = [int(entry) for pair in zip(dims, strides, strict=True) for entry in pair]
    return pool.record(pool.dense_at(np.transpose(cells, axes)), len(dims), *pairs)


def _row(leaf: UniLeaf) -> np.ndarray:
    return np.asarray(leaf.dist.p)  # type: ignore[attr-defined]


def written_out(ladder: Ladder | FullTable) -> np.ndarray:
    """All of a conditional table, one axis per parent and the child's last."""
    rows = int(np.prod(ladder.sizes))
    table = np.tile(ladder.base, (rows, 1))
    for rung in ladder.rungs:
        repeats = rows // int(np.prod(rung.sizes))
        place = np.full(rows // repeats, -1)
        place[rung.rows.keys] = np.arange(len(rung.rows.keys))
        place = np.repeat(place, repeats)
        seen = np.flatnonzero(place >= 0)
        table[seen] *= rung.rows.tail[place[seen]][:, None]
        first, last = rung.rows.start[place[seen]], rung.rows.start[place[seen] + 1]
        n = last - first
        entries = np.repeat(first - np.concatenate([[0], np.cumsum(n)[:-1]]), n) + np.arange(
            n.sum()
        )
        table[np.repeat(seen, n), rung.rows.codes[entries]] += rung.rows.share[entries]
    return table.reshape(*ladder.sizes, len(ladder.base))

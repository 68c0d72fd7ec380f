"""Writing a block's tables out cell by cell, where they are small."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fspn.engine.compile_block import Block, last_level
from fspn.engine.factor_kernels import MAX_VARIABLES
from fspn.engine.orders import sparse_order
from fspn.engine.pools import PoolWriter
from fspn.engine.presum import PresummedTable, Presummer
from fspn.engine.program import (
    PRESUM_SIZE,
    PRESUMS,
    DenseRecord,
    DenseTableRecord,
    DenseVariableRecord,
    DimensionRecord,
    PresumRecord,
    open_ended,
)
from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.dense import dense_table
from fspn.model.nodes import TableSplit, UniLeaf

# A table of three columns of 100 values has 2^20 cells; all of a model's take 128 MB at most.
MAX_TABLE = 1 << 21
MAX_DENSE = 1 << 24

# Where the last level's entries are fewer than one in SPARSER of so many cells, they are summed.
MIN_SPARSE = 1 << 17
SPARSER = 8
NO_LEVELS = (-1, -1, -1)

# All presummed tables may take this many cells, or a quarter of those that they are made of.
MAX_PRESUMMED = 1 << 19


def fits_dense(pool: PoolWriter, block: Block) -> bool:
    """Whether a block consists of tables that are all small enough to be written out."""
    if block.base is not None or len(block.variables) > MAX_VARIABLES:
        return False
    cells = [_cells(part) for part in block.parts]
    return max(cells) <= MAX_TABLE and pool.n_dense - pool.n_presummed + sum(cells) <= MAX_DENSE


def write_dense_block(pool: PoolWriter, block: Block, record: int) -> int:
    """Write a block for :mod:`fspn.engine.dense_kernels`; ``record`` has its sparse tables."""
    return _DenseWriter(pool, block, record).write()


class _DenseWriter:
    """Numbers the variables twice: by rank, the elimination order, and by visit.

    Visits go from children to parents, so that a parent's table is visited after all tables that
    may have it presummed. Variables without children have the first ranks, and so the largest
    strides: an event usually fixes them, and the cells that are left are contiguous.
    """

    def __init__(self, pool: PoolWriter, block: Block, record: int) -> None:
        self._pool, self._block, self._record = pool, block, record
        tables = [
            ((*parents, place), _written(part))
            for place, (parents, part) in enumerate(zip(block.parents, block.parts, strict=True))
        ]
        own = sum(cells.size for _, cells in tables)
        self._presummer = Presummer(tables, max(MAX_PRESUMMED - pool.n_presummed, own // 4))
        order = sorted(self._order(), key=lambda v: len(self._presummer.children[v]) > 0)
        self._rank = {place: rank for rank, place in enumerate(order)}

    def _order(self) -> list[int]:
        """The elimination order; the child of a sparse table is summed out before its parents."""
        sizes = [int(self._pool.sizes[v]) for v in self._block.variables]
        sparse = {i for i, part in enumerate(self._block.parts) if is_sparse(part)}
        if not sparse:
            return self._block.order(self._pool.sizes)
        return sparse_order(self._block.parents, sizes, sparse)

    def write(self) -> int:
        entries: list[int] = []
        for place in reversed(range(len(self._rank))):
            v = self._block.variables[place]
            above = self._visit_bits(self._presummer.ancestors[place])
            last = int(self._pool.sizes[v]) - 1
            entries += DenseVariableRecord(v, last, self._rank[place], above, self._tables(place))
        return self._pool.record(*open_ended(DenseRecord, len(self._rank), rest=entries))

    def _visit_bits(self, places: Iterable[int]) -> int:
        """Tables as bits, numbered by visit."""
        return sum(1 << (len(self._rank) - 1 - place) for place in places)

    def _tables(self, place: int) -> int:
        """Write a variable's tables, each after those it leads on to; returns its own."""
        written: dict[frozenset[int], int] = {}
        for table in reversed(self._presummer.tables_of(place)):
            presums = [
                entry
                for parent, presummed in table.presums
                for entry in PresumRecord(
                    1 << self._rank[parent],
                    self._visit_bits(self._presummer.children[parent]),
                    written[presummed.merged],
                )
            ]
            presums += [0] * (PRESUM_SIZE * PRESUMS - len(presums))
            levels = self._levels(place) if not table.merged else NO_LEVELS
            written[table.merged] = self._table(table, presums, levels)
            self._pool.n_presummed += table.size if table.merged and table.cells is not None else 0
        return written[frozenset()]

    def _levels(self, place: int) -> tuple[int, int, int]:
        """The last level of a variable's table and the table below it, where that is sparse."""
        part = self._block.parts[place]
        if isinstance(part, UniLeaf) or not is_sparse(part):
            return NO_LEVELS
        cells = np.asarray(part.cpt.base)
        if isinstance(part.cpt, BackoffTable) and len(part.cpt.levels) > 1:
            cells = dense_table(BackoffTable(part.cpt.base, part.cpt.levels[:-1]))
        dims = (*self._block.parents[place][: cells.ndim - 1], place)
        below = PresummedTable(dims, cells.size, cells=cells)
        level = last_level(self._pool, self._record, place)
        table = self._table(below, [0] * (PRESUM_SIZE * PRESUMS), NO_LEVELS)
        return level, table, self._rank[place]

    def _table(
        self, table: PresummedTable, presums: list[int], levels: tuple[int, int, int]
    ) -> int:
        """One table with its dimensions by rank, the last one fastest, where it has cells."""
        if table.cells is None:
            head = (-1, 0, 0, self._visit_bits(table.merged), *NO_LEVELS)
            return self._pool.record(*open_ended(DenseTableRecord, *head, rest=presums))
        sizes = table.cells.shape[:-1]
        keys = [*(int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))), 0]
        ranks = [self._rank[place] for place in table.dims]
        axes = np.argsort(ranks)
        cells = np.transpose(table.cells, axes)
        strides = np.cumprod([1, *cells.shape[:0:-1]])[::-1]
        dims = [
            entry
            for axis, stride in zip(axes, strides, strict=True)
            for entry in DimensionRecord(
                ranks[axis], stride, self._block.variables[table.dims[axis]], keys[axis]
            )
        ]
        start, bits = self._pool.dense_at(cells), sum(1 << rank for rank in ranks)
        head = (start, len(ranks), bits, self._visit_bits(table.merged), *levels)
        return self._pool.record(*open_ended(DenseTableRecord, *head, rest=(*presums, *dims)))


def _cells(part: UniLeaf | TableSplit) -> int:
    if isinstance(part, UniLeaf):
        return len(_written(part))
    return int(np.prod([float(size) for size in (*part.cpt.sizes, len(part.cpt.base))]))


def _written(part: UniLeaf | TableSplit) -> np.ndarray:
    return np.asarray(part.dist.pmf()) if isinstance(part, UniLeaf) else dense_table(part.cpt)


def is_sparse(part: UniLeaf | TableSplit) -> bool:
    """Whether the last level has far fewer entries than the table has cells."""
    cells = _cells(part)
    if isinstance(part, UniLeaf) or cells <= MIN_SPARSE:
        return False
    return SPARSER * len(part.cpt.levels[-1].rows.codes) < cells

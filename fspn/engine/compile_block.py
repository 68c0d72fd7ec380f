"""Flattening a block: a group of nested factorize nodes with tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fspn.engine.pools import PoolWriter
from fspn.engine.program import (
    LEVEL_SIZE,
    PARENT_SIZE,
    TABLES,
    VARIABLE,
    LevelRecord,
    ParentRecord,
    TablesRecord,
    VariableRecord,
    open_ended,
)
from fspn.model.cpt.backoff import BackoffLevel
from fspn.model.cpt.full import FullTable
from fspn.model.cpt.rows import Rows
from fspn.model.dispatch import ByKind
from fspn.model.graph import elimination_order, topological_order
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    table_of,
    walk,
)

MAX_INDEX = 4_000_000


class NotCompilable(TypeError):
    """The model holds a node or leaf that the kernels do not know."""


def is_tabular(node: Node) -> bool:
    """Whether a subtree consists of tables only and so is a block."""
    return all(is_table_part(part) for part in walk(node))


def is_table_part(node: Node) -> bool:
    """Whether a node may be part of a block."""
    return PARTS(node)


PARTS: ByKind[bool] = ByKind(
    "blocks of tables",
    {
        UniLeaf: lambda node: node.dist.pmf() is not None,
        Factorize: lambda node: table_of(node) is not None,
        **dict.fromkeys((Product, TableSplit), lambda _: True),
        **dict.fromkeys((MultiLeaf, Sum, Split), lambda _: False),
    },
)


@dataclass(frozen=True)
class Block:
    """The tables of a block; variables are numbered by their position in ``variables``.

    Arguments:
        variables: External ones first, then parents before children.
        external: The variables of the base that some table is conditioned on.
        parents: The parents of every variable, as positions in ``variables``.
        parts: Per variable that is not external its leaf or table.
        base: The node below the tables that is no table itself, if there is one.
    """

    variables: tuple[int, ...]
    external: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    parts: tuple[UniLeaf | TableSplit, ...]
    base: Node | None

    def order(self, sizes: np.ndarray) -> list[int]:
        """The elimination order, as positions in ``variables``."""
        return elimination_order(self.parents, [int(sizes[v]) for v in self.variables])[0]


def gather_block(node: Factorize | Product) -> Block:
    """The longest chain of tables from a node down, or all tables of a product."""
    tables: list[TableSplit] = []
    leaves: list[UniLeaf] = []
    base = _collect(node, tables, leaves)
    base_scope = frozenset() if base is None else base.scope
    external = sorted({v for table in tables for v in table.given if v in base_scope})
    local, parents = _local_order(tables, leaves, external)
    by_variable: dict[int, TableSplit | UniLeaf] = {}
    by_variable.update({leaf.variable: leaf for leaf in leaves})
    by_variable.update({table.variable: table for table in tables})
    parts = tuple(by_variable[v] for v in local[len(external) :])
    return Block(tuple(local), tuple(external), tuple(parents), parts, base)


def _collect(node: Node, tables: list[TableSplit], leaves: list[UniLeaf]) -> Node | None:
    """Collect the tables of a chain; returns the nodes below it that are not tabular."""
    while (table := table_of(node)) is not None:
        tables.append(table)
        node = node.children[0]
    if not is_tabular(node):
        return node
    for part in walk(node):
        if isinstance(part, TableSplit):
            tables.append(part)
        elif isinstance(part, UniLeaf):
            leaves.append(part)
    return None


def _local_order(
    tables: list[TableSplit], leaves: list[UniLeaf], external: list[int]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """External variables first, then parents before children; and the parents in that order."""
    given: dict[int, tuple[int, ...]] = {leaf.variable: () for leaf in leaves}
    given.update(dict.fromkeys(external, ()))
    given.update({table.variable: table.given for table in tables})
    variables = [*external, *(v for v in given if v not in set(external))]
    places = {v: i for i, v in enumerate(variables)}
    order = topological_order([tuple(places[p] for p in given[v]) for v in variables])
    inner = [variables[i] for i in order if i >= len(external)]
    local = [*external, *inner]
    places = {v: i for i, v in enumerate(local)}
    return local, [tuple(places[p] for p in given[v]) for v in local]


def write_block(pool: PoolWriter, block: Block) -> int:
    """Write the record that :mod:`fspn.engine.elimination` reads; returns its offset."""
    places = {v: i for i, v in enumerate(block.variables)}
    records = [_record(pool, v, pool.sizes[v], 0) for v in block.external]
    records += [_variable(pool, part, places) for part in block.parts]
    order = block.order(pool.sizes)
    ranks = pool.record(*np.argsort(order), *order)
    head = (len(block.variables), len(block.external), ranks)
    return pool.record(*open_ended(TablesRecord, *head, rest=records))


def _variable(pool: PoolWriter, part: TableSplit | UniLeaf, places: dict[int, int]) -> int:
    if isinstance(part, UniLeaf):
        p = np.asarray(part.dist.pmf())
        return _record(pool, part.variable, len(p), pool.numbers_at(p))
    cpt = part.cpt
    base = pool.numbers_at(cpt.base)
    levels = [entry for level in cpt.levels for entry in _level(pool, level, len(cpt.base))]
    pairs = zip(part.given, cpt.sizes, strict=True)
    parents = [entry for v, size in pairs for entry in ParentRecord(places[v], size)]
    head = (part.variable, len(cpt.base), base, len(part.given), len(cpt.levels))
    return pool.record(*open_ended(VariableRecord, *head, rest=(*parents, *levels)))


def _record(pool: PoolWriter, variable: int, n_codes: int, base: int) -> int:
    """The record of a variable without parents."""
    return pool.record(*open_ended(VariableRecord, variable, n_codes, base, 0, 0, rest=()))


def last_level(pool: PoolWriter, tables: int, place: int) -> int:
    """The record of the last level of a variable, by its position in a block that was written."""
    var = pool.entry(tables + TABLES.first_variable + place)
    n_parents, n_levels = (
        pool.entry(var + field) for field in (VARIABLE.n_parents, VARIABLE.n_levels)
    )
    return var + VARIABLE.first_parent + PARENT_SIZE * n_parents + LEVEL_SIZE * (n_levels - 1)


def _level(pool: PoolWriter, level: BackoffLevel | FullTable, size: int) -> LevelRecord:
    rows = level.rows
    cells = int(np.prod([float(size) for size in level.sizes]))
    if cells <= MAX_INDEX:
        dense = np.full(cells, -1, dtype=np.int32)
        dense[rows.keys] = np.arange(len(rows.keys))
        index, keys = pool.table_at(dense), -1
    elif cells < 2**31:
        index, keys = -1, pool.table_at(rows.keys)
    else:
        raise NotCompilable("a table with more than 2^31 rows")
    start, codes = pool.table_at(rows.start), pool.table_at(rows.codes)
    share, tail = pool.numbers_at(rows.share), pool.numbers_at(rows.tail)
    head = (level.width, index, keys, len(rows.keys), start, codes, share, tail)
    return LevelRecord(*head, *_listed(pool, rows, size))


def _listed(pool: PoolWriter, rows: Rows, size: int) -> tuple[int, int, int]:
    """A level's entries by code of the child: where each code's list begins, keys, shares."""
    keys = np.repeat(rows.keys, np.diff(rows.start))
    order = np.argsort(rows.codes, kind="stable")
    start = np.searchsorted(rows.codes[order], np.arange(size + 1))
    by_code, code_keys = pool.table_at(start), pool.table_at(keys[order])
    return by_code, code_keys, pool.numbers_at(rows.share[order])

"""Flattening an FSPN to the pools of numbers that the kernels read.

Only models whose variables are all coded are compiled (a continuous variable is coded once it has
bins); the others are answered by :mod:`fspn.infer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fspn.event import Codes, Interval, Region
from fspn.kernels import BLOCK, FACTORIZE, JOINT, PRODUCT, SUM, UNI_LEAF, Pools
from fspn.leaves.base import log_of
from fspn.leaves.categorical import Categorical
from fspn.leaves.full import FullTable
from fspn.leaves.joint import SparseJoint
from fspn.leaves.ladder import Rows, Rung
from fspn.leaves.nested import Independent, Nested
from fspn.network import elimination_order, topological_order
from fspn.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Sum,
    TableSplit,
    UniLeaf,
    leaves_of,
    walk,
)

MAX_INDEX = 4_000_000


class NotCompilable(TypeError):
    """The model holds a node or leaf that the kernels do not know."""


@dataclass(frozen=True)
class Program:
    """A compiled model.

    Arguments:
        root: The root's place in ``ints``.
        pools: Structure, codes and row indices, probabilities.
        sizes: The number of codes of every variable.
        depth: How many frames, saved sides and variables of a block an evaluation may need.
    """

    root: int
    pools: Pools
    sizes: np.ndarray
    depth: np.ndarray


def compile_fspn(root: Node, sizes: Sequence[int]) -> Program:
    """The program of a model; :class:`NotCompilable` where a part of it has no kernel."""
    if not all(size > 0 for size in sizes):
        raise NotCompilable("continuous variables without bins")
    writer = _Writer(np.asarray(sizes, dtype=np.int64))
    place = writer.node(root)
    frames = writer.deepest
    sides = frames * 3 * (writer.widest + 1)
    depth = np.array([frames, sides, writer.longest], dtype=np.int64)
    return Program(place, writer.pools(), writer.sizes, depth)


def is_tabular(node: Node) -> bool:
    """Whether a subtree is nothing but tables: a block."""
    return all(_is_table_part(part) for part in walk(node))


def _is_table_part(node: Node) -> bool:
    if isinstance(node, Factorize):
        return isinstance(node.right, TableSplit)
    if isinstance(node, UniLeaf):
        return isinstance(node.dist, Categorical)
    return isinstance(node, Product | TableSplit)


class _Writer:
    def __init__(self, sizes: np.ndarray):
        self.sizes = sizes
        self._ints: list[int] = []
        self._tables: list[np.ndarray] = []
        self._numbers: list[np.ndarray] = []
        self._n_tables = 0
        self._n_numbers = 0
        self._level = 0
        self.deepest = 1
        self.widest = 1
        self.longest = 1

    def pools(self) -> Pools:
        empty = [np.zeros(1)]
        tables = np.concatenate(self._tables or empty).astype(np.int32)
        ints = np.array(self._ints, dtype=np.int64)
        return Pools(ints, tables, np.concatenate(self._numbers or empty))

    def _record(self, *entries: int) -> int:
        place = len(self._ints)
        self._ints.extend(int(entry) for entry in entries)
        return place

    def _numbers_at(self, values: np.ndarray) -> int:
        place = self._n_numbers
        self._numbers.append(np.asarray(values, dtype=np.float64).ravel())
        self._n_numbers += len(self._numbers[-1])
        return place

    def _table_at(self, values: np.ndarray) -> int:
        place = self._n_tables
        self._tables.append(np.asarray(values).ravel())
        self._n_tables += len(self._tables[-1])
        return place

    def _scope(self, node_scope: frozenset[int]) -> tuple[int, int]:
        return len(node_scope), self._record(*sorted(node_scope))

    def node(self, node: Node) -> int:
        """Write a node and all below it; returns its place."""
        self._level += 1
        self.deepest = max(self.deepest, self._level + 1)
        place = self._dispatch(node)
        self._level -= 1
        return place

    def _dispatch(self, node: Node) -> int:
        if isinstance(node, MultiLeaf):
            return self._multi_leaf(node)
        if isinstance(node, UniLeaf):
            return self._uni_leaf(node.variable, node.dist)
        if isinstance(node, Product):
            return self._product(node)
        if isinstance(node, Sum):
            children = [self.node(child) for child in node.children]
            weights = self._numbers_at(log_of(node.weights))
            scope = self._scope(node.scope)
            return self._record(SUM, *scope, len(children), weights, *children)
        if isinstance(node, Factorize):
            return self._factorize(node)
        raise NotCompilable(f"a {type(node).__name__} node outside a factorize node")

    def _uni_leaf(self, variable: int, dist: object) -> int:
        if not isinstance(dist, Categorical):
            raise NotCompilable(f"a leaf of the family {getattr(dist, 'family', dist)!r}")
        scope = self._scope(frozenset([variable]))
        pmf, cumulative = self._numbers_at(dist.p), self._numbers_at(dist.cumulative)
        return self._record(UNI_LEAF, *scope, variable, len(dist.p), pmf, cumulative)

    def _product(self, node: Product) -> int:
        """Tabular children that are more than leaves become blocks of their own."""
        return self._product_of([self.node(child) for child in node.children], node.scope)

    def _product_of(self, children: list[int], node_scope: frozenset[int]) -> int:
        return self._record(PRODUCT, *self._scope(node_scope), len(children), *children)

    def _multi_leaf(self, node: MultiLeaf) -> int:
        if isinstance(node.dist, Nested):
            return self.node(node.dist.root)
        if isinstance(node.dist, Independent):
            parts = zip(node.variables, node.dist.parts, strict=True)
            return self._product_of([self._uni_leaf(v, part) for v, part in parts], node.scope)
        if isinstance(node.dist, SparseJoint):
            return self._joint(node, node.dist)
        raise NotCompilable(f"a multi-leaf of the family {node.dist.family!r}")

    def _joint(self, node: MultiLeaf, dist: SparseJoint) -> int:
        scope = self._scope(node.scope)
        variables = self._record(*node.variables)
        pmfs = [
            place
            for marginal in dist.marginals
            for place in (self._numbers_at(marginal.p), self._numbers_at(marginal.cumulative))
        ]
        marginals = self._record(*pmfs)
        rows, shares = self._table_at(dist.rows), self._numbers_at(dist.weights)
        epsilon = self._numbers_at(np.array([dist.epsilon]))
        own = (len(node.variables), variables, len(dist.weights), rows, shares, epsilon, marginals)
        return self._record(JOINT, *scope, *own)

    def _factorize(self, node: Factorize) -> int:
        """Nested factorize nodes from the innermost out: there may be a thousand of them."""
        if isinstance(node.right, TableSplit):
            return self._block(node)
        spine = [node]
        while isinstance(left := spine[-1].left, Factorize) and not _is_table_part(left):
            spine.append(left)
        level = self._level
        self._level += len(spine) - 1
        place = self.node(spine[-1].left)
        for part in reversed(spine):
            place = self._regions(part, place)
            self._level -= 1
        self._level = level
        return place

    def _regions(self, node: Factorize, left: int) -> int:
        """A factorize node whose left child is already written."""
        boxes = [
            self._record(place, len(box), *(entry for cell in box for entry in cell))
            for region, leaf in leaves_of(node.right)
            for place in [self.node(leaf)]
            for box in self._boxes(region)
        ]
        right = self._scope(node.right.scope)
        return self._record(FACTORIZE, *self._scope(node.scope), left, *right, len(boxes), *boxes)

    def _boxes(self, region: Region) -> list[tuple[tuple[int, int, int], ...]]:
        """A region as boxes of ranges; a set of codes is cut into its runs."""
        sides = []
        for variable, cell in region.items():
            if isinstance(cell, Interval):
                raise NotCompilable("a region of reals")
            runs = _runs(cell.codes) if isinstance(cell, Codes) else [(cell.lower, cell.upper)]
            sides.append([(variable, low, high) for low, high in runs if low <= high])
        self.widest = max(self.widest, len(sides))
        return list(product(*sides))

    def _block(self, node: Factorize) -> int:
        """The longest chain of tables from here down, over a base that is not tables."""
        tables: list[TableSplit] = []
        leaves: list[UniLeaf] = []
        base = self._collect(node, tables, leaves)
        base_scope = frozenset() if base is None else base.scope
        external = sorted({v for table in tables for v in table.given if v in base_scope})
        local, parents = self._local_order(tables, leaves, external)
        places = {v: i for i, v in enumerate(local)}
        records = [self._external(v) for v in external]
        by_variable: dict[int, TableSplit | UniLeaf] = {}
        by_variable.update({leaf.variable: leaf for leaf in leaves})
        by_variable.update({table.variable: table for table in tables})
        records += [self._variable(by_variable[v], places) for v in local[len(external) :]]
        order, _ = elimination_order(parents, [int(self.sizes[v]) for v in local])
        ranks = self._record(*np.argsort(order), *order)
        self.widest = max(self.widest, len(external))
        self.longest = max(self.longest, len(local))
        block = self._record(0, len(local), len(external), ranks, *records)
        below = -1 if base is None else self.node(base)
        return self._record(BLOCK, *self._scope(node.scope), block, below)

    def _collect(self, node: Node, tables: list[TableSplit], leaves: list[UniLeaf]) -> Node | None:
        """Gather a chain's tables; returns what is below it and not tabular."""
        while isinstance(node, Factorize) and isinstance(node.right, TableSplit):
            tables.append(node.right)
            node = node.left
        if not is_tabular(node):
            return node
        for part in walk(node):
            if isinstance(part, TableSplit):
                tables.append(part)
            elif isinstance(part, UniLeaf):
                leaves.append(part)
        return None

    def _local_order(
        self, tables: list[TableSplit], leaves: list[UniLeaf], external: list[int]
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

    def _external(self, variable: int) -> int:
        return self._record(variable, self.sizes[variable], 0, 0, 0)

    def _variable(self, part: TableSplit | UniLeaf, places: dict[int, int]) -> int:
        if isinstance(part, UniLeaf):
            assert isinstance(part.dist, Categorical)
            base = self._numbers_at(part.dist.p)
            return self._record(part.variable, len(part.dist.p), base, 0, 0)
        ladder = part.ladder
        base = self._numbers_at(ladder.base)
        rungs = [entry for rung in ladder.rungs for entry in self._rung(rung, len(ladder.base))]
        parents = [
            entry
            for v, size in zip(part.given, ladder.sizes, strict=True)
            for entry in (places[v], size)
        ]
        head = (part.variable, len(ladder.base), base, len(part.given), len(ladder.rungs))
        return self._record(*head, *parents, *rungs)

    def _rung(self, rung: Rung | FullTable, size: int) -> tuple[int, ...]:
        rows = rung.rows
        cells = int(np.prod([float(size) for size in rung.sizes]))
        if cells <= MAX_INDEX:
            dense = np.full(cells, -1, dtype=np.int32)
            dense[rows.keys] = np.arange(len(rows.keys))
            index, keys = self._table_at(dense), -1
        elif cells < 2**31:
            index, keys = -1, self._table_at(rows.keys)
        else:
            raise NotCompilable("a table with more than 2^31 rows")
        start, codes = self._table_at(rows.start), self._table_at(rows.codes)
        share, tail = self._numbers_at(rows.share), self._numbers_at(rows.tail)
        head = (rung.width, index, keys, len(rows.keys), start, codes, share, tail)
        return (*head, *self._listed(rows, size))

    def _listed(self, rows: Rows, size: int) -> tuple[int, int, int]:
        """The same entries by code of the child: where each code's list begins, keys, shares."""
        keys = np.repeat(rows.keys, np.diff(rows.start))
        order = np.argsort(rows.codes, kind="stable")
        start = np.searchsorted(rows.codes[order], np.arange(size + 1))
        by_symbol, symbol_keys = self._table_at(start), self._table_at(keys[order])
        return by_symbol, symbol_keys, self._numbers_at(rows.share[order])


def _runs(codes: frozenset[int]) -> list[tuple[int, int]]:
    """The runs of consecutive codes in a set."""
    ordered = np.array(sorted(codes), dtype=np.int64)
    breaks = np.flatnonzero(np.diff(ordered) != 1) + 1
    return [(int(run[0]), int(run[-1])) for run in np.split(ordered, breaks) if len(run)]

"""What questions on one model share: dense tables, gathered chains, layouts of eliminations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fspn.model.cpt.dense import dense_table
from fspn.model.eliminate.buckets import check_cells
from fspn.model.eliminate.chain import Chain, gather_chain
from fspn.model.leaves.base import log_of
from fspn.model.nodes import Factorize, MultiLeaf, Node, TableSplit, UniLeaf, leaves_of, walk
from fspn.schema.events import Region

if TYPE_CHECKING:
    from fspn.model.eliminate.network import Layout

MAX_KEPT_TABLE = 1 << 22


class Tables:
    """What questions on one model share: dense tables, gathered chains, plans.

    Arguments:
        sizes: The number of codes of every variable; 0 = reals.
    """

    def __init__(self, sizes: Sequence[int]):
        self.sizes = tuple(int(size) for size in sizes)
        self.layouts: dict[tuple[object, ...], Layout] = {}
        self.branch_orders: dict[tuple[object, ...], tuple[object, list[int]]] = {}
        self.exact: dict[tuple[int, frozenset[int]], bool] = {}
        self._logs: dict[int, tuple[TableSplit, np.ndarray]] = {}
        self._chains: dict[int, tuple[Node, Chain]] = {}
        self._inside: dict[int, tuple[Node, Node | None]] = {}
        self._regions: dict[int, tuple[Node, list[tuple[Region, MultiLeaf]]]] = {}

    def inside(self, leaf: MultiLeaf) -> Node | None:
        """The nodes that a multi-leaf stands for, where it does."""
        found = self._inside.get(id(leaf))
        if found is None:
            found = self._inside[id(leaf)] = (leaf, leaf.dist.as_node(leaf.variables))
        return found[1]

    def chain(self, node: Node) -> Chain:
        """A product, a factorize node with a table or a leaf of independent variables."""
        found = self._chains.get(id(node))
        if found is None:
            found = self._chains[id(node)] = (node, _chain_of(node))
        return found[1]

    def regions(self, node: Factorize) -> list[tuple[Region, MultiLeaf]]:
        """The multi-leaves of a factorize node with their regions."""
        found = self._regions.get(id(node))
        if found is None:
            found = self._regions[id(node)] = (node, list(leaves_of(node.right)))
        return found[1]

    def logs(self, table: TableSplit) -> np.ndarray:
        """The logarithm of a table, all cells."""
        found = self._logs.get(id(table))
        if found is None:
            scope = (*table.given, table.variable)
            check_cells(scope, {v: self.sizes[v] for v in scope})
            found = (table, log_of(dense_table(table.cpt)))
            if found[1].size <= MAX_KEPT_TABLE:
                self._logs[id(table)] = found
        return found[1]


def _chain_of(node: Node) -> Chain:
    if isinstance(node, MultiLeaf) and (parts := node.dist.as_independent()) is not None:
        return Chain((), tuple(map(UniLeaf, node.variables, parts)))
    return gather_chain(node)


def walk_all(part: Node | Chain, tables: Tables) -> Iterator[Node]:
    """All nodes of a piece, those inside of multi-leaves too."""
    roots = [part] if not isinstance(part, Chain) else list(part.parts)
    for root in roots:
        for node in walk(root):
            yield node
            if isinstance(node, MultiLeaf) and (inside := tables.inside(node)) is not None:
                yield from walk_all(inside, tables)

"""Chains of factorize nodes with tables: Bayesian networks over what lies below them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fspn.model.nodes import Node, Product, TableSplit, table_of


@dataclass(frozen=True, eq=False)
class Chain:
    r""":math:`\prod_j \Pr(X_j \mid C_j) \cdot \prod_i \Pr(S_i)`: tables over independent parts.

    Arguments:
        tables: Parents before children.
        parts: Nodes of any other kind: leaves, sums, factorize nodes with regions.
    """

    tables: tuple[TableSplit, ...]
    parts: tuple[Node, ...]

    @cached_property
    def scope(self) -> frozenset[int]:
        own = frozenset(table.variable for table in self.tables)
        return own.union(*(part.scope for part in self.parts))

    @cached_property
    def family(self) -> frozenset[int]:
        """The variables that occur in tables."""
        return frozenset(v for table in self.tables for v in (*table.given, table.variable))

    @cached_property
    def pieces(self) -> tuple[Chain, ...]:
        """The chains that are independent of each other."""
        group = {v: i for i, part in enumerate(self.parts) for v in part.scope}
        links: list[tuple[int, int]] = []
        for i, table in enumerate(self.tables, len(self.parts)):
            group[table.variable] = i
            links += [(i, group[v]) for v in table.given]
        n = len(self.parts) + len(self.tables)
        ends = np.array(links, dtype=np.int64).reshape(-1, 2).T
        graph = coo_array((np.ones(len(links)), tuple(ends)), shape=(n, n))
        pieces: dict[int, tuple[list[TableSplit], list[Node]]] = {}
        labels = connected_components(graph, directed=False)[1].tolist()
        for label, part in zip(labels, (*self.parts, *self.tables), strict=True):
            tables, parts = pieces.setdefault(label, ([], []))
            tables.append(part) if isinstance(part, TableSplit) else parts.append(part)
        return tuple(Chain(tuple(tables), tuple(parts)) for tables, parts in pieces.values())

    def needed(self, wanted: Iterable[int]) -> tuple[tuple[TableSplit, ...], frozenset[int]]:
        """The tables of the wanted variables and of their ancestors, and all these variables.

        All other tables sum to one.
        """
        reached = set(wanted)
        tables = []
        for table in reversed(self.tables):
            if table.variable in reached:
                tables.append(table)
                reached.update(table.given)
        return tuple(reversed(tables)), frozenset(reached)


def is_chain(node: object) -> TypeGuard[Node]:
    """Whether a node is tables over parts: a product, or a factorize node over a table."""
    return isinstance(node, Product) or table_of(node) is not None


def gather_chain(node: Node) -> Chain:
    """A node as tables over parts; products are taken apart."""
    tables: list[TableSplit] = []
    parts: list[Node] = []
    pending = [node]
    while pending:
        node = pending.pop()
        if (table := table_of(node)) is not None:
            tables.append(table)
            pending.append(node.children[0])
        elif isinstance(node, Product):
            pending.extend(reversed(node.children))
        else:
            parts.append(node)
    return Chain(tuple(reversed(tables)), tuple(parts))

r"""What a query on a model costs at most, in cells.

Children of sum and product nodes are evaluated one by one, so their costs add up. A network of
tables costs the cells of all products when every variable is summed out in the greedy order,

.. math:: \sum_v |v| \prod_{u \in N(v)} |u|
"""

from __future__ import annotations

from collections.abc import Sequence

from fspn.model.dispatch import ByKind
from fspn.model.graph import elimination_cells
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    count_parameters,
)


def query_cost(root: Node, sizes: Sequence[int]) -> float:
    """The cells that one query touches at most; nodes without cells count their parameters.

    Arguments:
        root: The model.
        sizes: The number of codes of every variable.
    """
    tables: list[TableSplit] = []
    node = root
    while isinstance(node, Factorize) and isinstance(node.right, TableSplit):
        tables.append(node.right)
        node = node.left
    parts = node.children if isinstance(node, Product) and tables else (node,)
    leaves = [part.variable for part in parts if isinstance(part, UniLeaf)]
    rest = sum(COST(part, sizes) for part in parts if not isinstance(part, UniLeaf))
    return rest + _network(tables, leaves, sizes)


def _network(tables: Sequence[TableSplit], leaves: Sequence[int], sizes: Sequence[int]) -> float:
    """The cost of tables over leaves; what the tables condition on may lie below them."""
    own = {table.variable: table.given for table in tables} | dict.fromkeys(leaves, ())
    scope = sorted({v for child, given in own.items() for v in (child, *given)})
    place = {v: i for i, v in enumerate(scope)}
    parents = [tuple(place[p] for p in own.get(v, ())) for v in scope]
    return elimination_cells(parents, [max(1, sizes[v]) for v in scope])


def _children(node: Sum | Product, sizes: Sequence[int]) -> float:
    return sum(query_cost(child, sizes) for child in node.children)


def _factorize(node: Factorize, sizes: Sequence[int]) -> float:
    return query_cost(node.left, sizes) + count_parameters(node.right)


def _parameters(node: Node, _: Sequence[int]) -> float:
    return float(count_parameters(node))


COST: ByKind[float] = ByKind(
    "query cost",
    {
        Sum: _children,
        Product: _children,
        Factorize: _factorize,
        **dict.fromkeys((UniLeaf, MultiLeaf, TableSplit, Split), _parameters),
    },
)
"""The cost of a node that is no network of tables."""

r"""The marginals of all variables at once, and tables tilted so that the marginals change.

On a network of tables the marginals follow from two passes over a bucket tree: forward, the tables
that name a variable are multiplied and the variable is summed out; backward, every bucket's product
is completed by the belief of its parent bucket. A sum node averages the marginals of its children,
a product node concatenates them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.compact import settled
from fspn.model.cpt.dense import dense_table
from fspn.model.dispatch import ByKind
from fspn.model.graph import elimination_order
from fspn.model.leaves.categorical import Categorical
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
)

MAX_CELLS = 1 << 22


class NoMarginals(ValueError):
    """A model that is not made of sums and products of narrow networks."""


@dataclass(frozen=True)
class Bucket:
    """The product of all tables that name a variable when it is summed out.

    Arguments:
        variables: The axes, the variable itself first.
        cells: The product.
        message: Its sum over the variable.
    """

    variables: tuple[int, ...]
    cells: np.ndarray
    message: np.ndarray


def marginals(root: Node) -> dict[int, np.ndarray]:
    """The marginal of every variable of a model of codes; :class:`NoMarginals` where it is none."""
    return MARGINALS(root)


def _mixed(root: Sum) -> dict[int, np.ndarray]:
    parts = [marginals(child) for child in root.children]
    return {
        v: sum(w * part[v] for w, part in zip(root.weights, parts, strict=True)) for v in parts[0]
    }


def _side_by_side(root: Product) -> dict[int, np.ndarray]:
    return {v: row for child in root.children for v, row in marginals(child).items()}


def _network(root: Node) -> dict[int, np.ndarray]:
    return _network_marginals(_parts(root))


MARGINALS: ByKind[dict[int, np.ndarray]] = ByKind(
    "marginals",
    {
        Sum: _mixed,
        Product: _side_by_side,
        **dict.fromkeys((UniLeaf, MultiLeaf, Factorize, Split, TableSplit), _network),
    },
)


def _parts(root: Node) -> list[UniLeaf | TableSplit]:
    """The leaves and tables of a network."""
    found: list[UniLeaf | TableSplit] = []
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, UniLeaf) and node.dist.pmf() is not None:
            found.append(node)
        elif (table := table_of(node)) is not None:
            found.append(table)
            pending.append(node.children[0])
        elif isinstance(node, Product):
            pending.extend(node.children)
        else:
            raise NoMarginals(f"a {type(node).__name__} inside a network")
    return found


def _network_marginals(parts: Sequence[UniLeaf | TableSplit]) -> dict[int, np.ndarray]:
    place = {part.variable: i for i, part in enumerate(parts)}
    parents: list[tuple[int, ...]] = []
    factors: list[tuple[tuple[int, ...], np.ndarray]] = []
    for i, part in enumerate(parts):
        if any(v not in place for v in part.given):
            raise NoMarginals("a table given a variable of another part")
        parents.append(tuple(place[v] for v in part.given))
        factors.append(((*parents[i], i), _cells(part)))
    sizes = [cells.shape[-1] for _, cells in factors]
    order, width = elimination_order(parents, sizes, MAX_CELLS)
    if width > MAX_CELLS:
        raise NoMarginals("a network that is too wide")
    buckets = _forward(factors, order)
    return {parts[i].variable: row for i, row in _backward(buckets, order).items()}


def _cells(part: UniLeaf | TableSplit) -> np.ndarray:
    if isinstance(part, UniLeaf):
        return np.asarray(part.dist.pmf())
    if np.prod([float(size) for size in part.cpt.sizes]) * len(part.cpt.base) > MAX_CELLS:
        raise NoMarginals("a table that is too large")
    return dense_table(part.cpt)


def _forward(
    factors: list[tuple[tuple[int, ...], np.ndarray]], order: Sequence[int]
) -> dict[int, Bucket]:
    buckets: dict[int, Bucket] = {}
    for v in order:
        mine = [factor for factor in factors if v in factor[0]]
        factors = [factor for factor in factors if v not in factor[0]]
        others = tuple(dict.fromkeys(u for names, _ in mine for u in names if u != v))
        cells = _times(mine, (v, *others))
        buckets[v] = Bucket((v, *others), cells, cells.sum(axis=0))
        factors.append((others, buckets[v].message))
    return buckets


def _backward(buckets: Mapping[int, Bucket], order: Sequence[int]) -> dict[int, np.ndarray]:
    """The beliefs of all buckets, from the last variable to the first; their sums per variable."""
    rank = {v: i for i, v in enumerate(order)}
    beliefs: dict[int, np.ndarray] = {}
    found: dict[int, np.ndarray] = {}
    for v in reversed(order):
        bucket = buckets[v]
        cells, others = bucket.cells, bucket.variables[1:]
        if others:
            above = min(others, key=lambda u: rank[u])
            outer = _times([(buckets[above].variables, beliefs[above])], others)
            share = np.divide(
                outer, bucket.message, out=np.zeros_like(outer), where=bucket.message > 0
            )
            cells = cells * share
        beliefs[v] = cells
        row = cells.reshape(len(cells), -1).sum(axis=1)
        found[v] = row / row.sum()
    return found


def _times(
    factors: Sequence[tuple[tuple[int, ...], np.ndarray]], kept: tuple[int, ...]
) -> np.ndarray:
    """The product of tables, summed over all variables but the kept ones."""
    names = {v: i for i, v in enumerate(dict.fromkeys(v for own, _ in factors for v in own))}
    operands = [part for own, cells in factors for part in (cells, [names[v] for v in own])]
    axes = [names[v] for v in kept]
    return np.asarray(np.einsum(*operands, axes, optimize=len(factors) > 2))


def tilted(root: Node, factors: Mapping[int, np.ndarray]) -> Node:
    """The model with the rows of some variables multiplied by a factor per code, and normalised."""
    return _rewritten(root, lambda node: _tilted_part(node, factors))


def settled_tables(root: Node) -> Node:
    """The model with the tables of its networks in few numbers (:mod:`fspn.model.cpt.compact`)."""
    return _rewritten(root, _settled_part)


def _rewritten(root: Node, change: Callable[[Node], Node]) -> Node:
    """The model with its leaves and tables changed; other models inside leaves stay."""
    spine: list[Factorize] = []
    while isinstance(root, Factorize):
        spine.append(root)
        root = root.left
    node = REWRITTEN(root, change)
    for part in reversed(spine):
        node = Factorize(node, REWRITTEN(part.right, change))
    return node


def _rewritten_children(node: Sum | Product, change: Callable[[Node], Node]) -> Node:
    return replace(node, children=tuple(_rewritten(child, change) for child in node.children))


def _tilted_part(node: Node, factors: Mapping[int, np.ndarray]) -> Node:
    if isinstance(node, UniLeaf) and node.variable in factors:
        p = np.asarray(node.dist.pmf()) * factors[node.variable]
        return UniLeaf(node.variable, Categorical(p / p.sum()))
    if not isinstance(node, TableSplit) or not isinstance(node.cpt, BackoffTable):
        return node
    if node.variable not in factors:
        return node
    return replace(node, cpt=node.cpt.tilted(factors[node.variable]))


def _settled_part(node: Node) -> Node:
    if isinstance(node, TableSplit) and isinstance(node.cpt, BackoffTable):
        return replace(node, cpt=settled(node.cpt))
    return node


REWRITTEN: ByKind[Node] = ByKind(
    "changing tables",
    {
        **dict.fromkeys((UniLeaf, TableSplit), lambda node, change: change(node)),
        **dict.fromkeys((Sum, Product), _rewritten_children),
        Factorize: _rewritten,
        **dict.fromkeys((MultiLeaf, Split), lambda node, _: node),
    },
)

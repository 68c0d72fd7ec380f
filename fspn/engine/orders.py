"""Elimination orders for networks in which some tables are large but sparse."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from fspn.model.graph import elimination_order, moral_graph


def sparse_order(
    parents: Sequence[tuple[int, ...]], sizes: Sequence[int], sparse: set[int]
) -> list[int]:
    """The cheaper of two greedy orders: any variable next, or children of sparse tables first.

    A sparse table costs only its entries if its child is summed out before all of its parents;
    otherwise it costs all of its cells.
    """
    orders = [elimination_order(parents, sizes)[0], _children_first(parents, sizes, sparse)]
    return min(orders, key=lambda order: cost(order, parents, sizes, sparse))


def cost(
    order: Sequence[int], parents: Sequence[tuple[int, ...]], sizes: Sequence[int], sparse: set[int]
) -> int:
    """The number of products of an elimination without evidence."""
    near, gone, total = moral_graph(parents), set[int](), 0
    for v in order:
        cells = prod(sizes[u] for u in near[v])
        whole = v in sparse and not gone & set(parents[v])
        total += cells if whole else cells * sizes[v]
        _eliminate(near, v)
        gone.add(v)
    return total


def _children_first(
    parents: Sequence[tuple[int, ...]], sizes: Sequence[int], sparse: set[int]
) -> list[int]:
    """Greedy by cells, with the children of sparse tables before their parents."""
    near, left = moral_graph(parents), set(range(len(parents)))
    order: list[int] = []
    while left:
        held = {u for v in left & sparse for u in parents[v]}
        v = min(left - held, key=lambda v: (sizes[v] * prod(sizes[u] for u in near[v]), v))
        order.append(v)
        _eliminate(near, v)
        left.remove(v)
    return order


def _eliminate(near: list[set[int]], v: int) -> None:
    """Connect the neighbours of a variable and remove it (fill-in)."""
    for u in near[v]:
        near[u] = (near[u] | near[v]) - {u, v}

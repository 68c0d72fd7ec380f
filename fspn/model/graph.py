"""Graphs of networks: moral graph, topological and elimination orders, width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from heapq import heapify, heappop, heappush

import numpy as np


@dataclass(frozen=True)
class Network:
    """Parents per variable, and an order in which every variable follows its parents."""

    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]


def elimination_order(
    parents: Sequence[tuple[int, ...]], sizes: Sequence[int], limit: float = np.inf
) -> tuple[list[int], float]:
    """The order in which to sum variables out, and the cells of the largest product on the way.

    Greedy: always the variable whose neighbours (variables that occur with it in some table or
    intermediate result) have the fewest joint values.

    Arguments:
        parents: The parents of every variable.
        sizes: Their numbers of values.
        limit: Stop at the first product of more cells; the order is then incomplete, and infinity
            stands for the cells.
    """
    return greedy_order(moral_graph(parents), sizes, limit)


def greedy_order(
    near: list[set[int]],
    sizes: Sequence[int],
    limit: float = np.inf,
    stages: Sequence[int] | None = None,
) -> tuple[list[int], float]:
    """The greedy order of any graph, and the cells of the largest product on the way.

    Arguments:
        near: The neighbours of every variable; used up.
        sizes: Their numbers of values.
        limit: As in :func:`elimination_order`.
        stages: Variables of a lower stage go first, whatever they cost; those of a negative stage
            stay.
    """
    logs = np.log(np.asarray(sizes, dtype=np.float64)).tolist()
    stage = [0] * len(near) if stages is None else list(stages)
    cost = [logs[v] + sum(logs[u] for u in near[v]) for v in range(len(near))]
    queue = [(stage[v], cost[v], v) for v in range(len(near)) if stage[v] >= 0]
    heapify(queue)
    order: list[int] = []
    gone, worst, bound = [False] * len(near), 0.0, np.log(limit)
    while queue and worst <= bound:
        _, c, v = heappop(queue)
        if gone[v] or c != cost[v]:
            continue
        gone[v], worst = True, max(worst, c)
        order.append(v)
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}
            cost[u] = logs[u] + sum(logs[t] for t in near[u])
            if stage[u] >= 0:
                heappush(queue, (stage[u], cost[u], u))
    return order, np.inf if worst > bound else float(np.exp(min(worst, 700.0)))


def elimination_cells(parents: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> float:
    r"""The cells of all products when every variable is summed out in the greedy order.

    .. math:: \sum_v |v| \prod_{u \in N(v)} |u|

    with N(v) the neighbours of v when it is eliminated. A query that keeps or fixes variables
    touches no more cells of the tables than this.
    """
    order, _ = elimination_order(parents, sizes)
    near, total = moral_graph(parents), 0.0
    for v in order:
        total += float(np.prod([float(sizes[u]) for u in (v, *near[v])]))
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}
    return total


def moral_graph(parents: Sequence[tuple[int, ...]]) -> list[set[int]]:
    """The moral graph: which variables occur together in a table."""
    return scope_graph([(v, *own) for v, own in enumerate(parents)], len(parents))


def scope_graph(scopes: Iterable[Sequence[int]], n_variables: int) -> list[set[int]]:
    """The graph of which variables occur together in a scope."""
    near: list[set[int]] = [set() for _ in range(n_variables)]
    for scope in scopes:
        family = set(scope)
        for u in family:
            near[u] |= family - {u}
    return near


def topological_order(parents: Sequence[tuple[int, ...]]) -> list[int]:
    """An order in which every variable follows its parents."""
    sorter = TopologicalSorter(dict.fromkeys(range(len(parents)), ()))
    for v, own in enumerate(parents):
        sorter.add(v, *own)
    return list(sorter.static_order())

"""Graphs of networks: moral graph, topological and elimination orders, width."""

from __future__ import annotations

from collections.abc import Sequence
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
    logs = np.log(np.asarray(sizes, dtype=np.float64)).tolist()
    near = moral_graph(parents)
    cost = [logs[v] + sum(logs[u] for u in near[v]) for v in range(len(parents))]
    queue = [(cost[v], v) for v in range(len(parents))]
    heapify(queue)
    order: list[int] = []
    gone, worst, bound = [False] * len(parents), 0.0, np.log(limit)
    while queue and worst <= bound:
        c, v = heappop(queue)
        if gone[v] or c != cost[v]:
            continue
        gone[v], worst = True, max(worst, c)
        order.append(v)
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}
            cost[u] = logs[u] + sum(logs[t] for t in near[u])
            heappush(queue, (cost[u], u))
    return order, np.inf if worst > bound else float(np.exp(min(worst, 700.0)))


def moral_graph(parents: Sequence[tuple[int, ...]]) -> list[set[int]]:
    """Who occurs in a table with whom."""
    near: list[set[int]] = [set() for _ in parents]
    for v, own in enumerate(parents):
        family = {v, *own}
        for u in family:
            near[u] |= family - {u}
    return near


def topological_order(parents: Sequence[tuple[int, ...]]) -> list[int]:
    """An order in which every variable follows its parents."""
    sorter = TopologicalSorter(dict.fromkeys(range(len(parents)), ()))
    for v, own in enumerate(parents):
        sorter.add(v, *own)
    return list(sorter.static_order())

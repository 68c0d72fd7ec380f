"""How wide exact inference on a network is, and networks that are kept narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from fspn.scores import LocalScores


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
    near = _moral_graph(parents)
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


def _moral_graph(parents: Sequence[tuple[int, ...]]) -> list[set[int]]:
    """Who occurs in a table with whom."""
    near: list[set[int]] = [set() for _ in parents]
    for v, own in enumerate(parents):
        family = {v, *own}
        for u in family:
            near[u] |= family - {u}
    return near


def topological_order(parents: Sequence[tuple[int, ...]]) -> list[int]:
    """An order in which every variable follows its parents."""
    waiting = [len(own) for own in parents]
    children: list[list[int]] = [[] for _ in parents]
    for v, own in enumerate(parents):
        for parent in own:
            children[parent].append(v)
    order = [v for v, count in enumerate(waiting) if count == 0]
    for v in order:
        for child in children[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return order


def bound_width(
    parents: Sequence[tuple[int, ...]], sizes: Sequence[int], max_cells: int, scores: LocalScores
) -> Network:
    """Drop the cheapest edges until no intermediate result exceeds ``max_cells``.

    A single parent stays: its table is read sparsely, and trees are never wide. How many edges
    have to go is found by bisection, as the order in which they go does not depend on it.
    """
    drops = _drops(parents, scores)
    low, high = 0, len(drops)
    middle = 0
    while low < high:
        narrower = _without(parents, drops[:middle])
        if elimination_order(narrower, sizes, max_cells)[1] <= max_cells:
            high = middle
        else:
            low = middle + 1
        middle = (low + high) // 2
    kept = _without(parents, drops[:high])
    return Network(tuple(kept), tuple(topological_order(kept)))


Edge = tuple[int, int]


def _drops(parents: Sequence[tuple[int, ...]], scores: LocalScores) -> list[Edge]:
    """All edges (child, parent) but one per child, in the order in which they are given up."""
    current = list(parents)
    queue = [_cheapest(v, own, scores) for v, own in enumerate(current) if len(own) > 1]
    heapify(queue)
    drops = []
    while queue:
        _, child, weakest = heappop(queue)
        drops.append((child, weakest))
        current[child] = tuple(p for p in current[child] if p != weakest)
        if len(current[child]) > 1:
            heappush(queue, _cheapest(child, current[child], scores))
    return drops


def _cheapest(child: int, own: tuple[int, ...], scores: LocalScores) -> tuple[float, int, int]:
    """The parent that costs least to lose, behind what it costs."""
    rest = {parent: tuple(p for p in own if p != parent) for parent in own}
    losses = [(scores.score(child, own) - scores.score(child, rest[p]), child, p) for p in own]
    return min(losses)


def _without(parents: Sequence[tuple[int, ...]], drops: Sequence[Edge]) -> list[tuple[int, ...]]:
    gone = set(drops)
    return [tuple(p for p in own if (child, p) not in gone) for child, own in enumerate(parents)]

"""Networks that are kept narrow, so that exact inference on them stays cheap."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from fspn.learn.network.score import LocalScores
from fspn.model.graph import Network, elimination_order, topological_order


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

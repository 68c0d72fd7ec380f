r"""Networks that are kept narrow, so that exact inference on them stays cheap.

The bound is on the cells of the largest product when all variables are summed out in the greedy
order of :func:`fspn.model.graph.elimination_order`. It holds at every step of the search: a move
gives a variable another scored set of parents, and counts only where the network stays acyclic and
within the bound. Edges are dropped only to make a start: dropping the cheapest ones until a wide
network fits, and no more, ends below what the bound allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from fspn.learn.network.score import LocalScores
from fspn.model.graph import elimination_order

MAX_CHECKS = 4_000
"""Elimination orders that one climb may try."""
SINGLE_PARENT = 64

Parents = list[tuple[int, ...]]
ScoredSets = list[dict[tuple[int, ...], float]]


def narrow_network(
    starts: Sequence[Parents],
    sets: ScoredSets,
    scores: LocalScores,
    max_cells: int,
    rng: np.random.Generator,
    rounds: int,
) -> Parents:
    """The best-scoring network within the bound that is reached from some starts.

    Every start is pruned to the bound and climbs. The best of them then loses the parents of a
    random variable and of those next to it and climbs again, several times.

    Arguments:
        starts: Parents per variable, within the bound or not.
        sets: The scored parent sets of every variable.
        scores: Scores of further sets.
        max_cells: The bound.
        rng: For the variables that lose their parents.
        rounds: How often that is done.
    """
    climber = _Climber(sets, scores, max_cells)
    found = [climber.climb(climber.pruned(start)) for start in starts]
    best = max(found, key=climber.total)
    score = climber.total(best)
    for _ in range(rounds):
        again = climber.climb(_shaken(best, rng))
        if climber.total(again) > score + 1e-9:
            best, score = again, climber.total(again)
    return best


def _shaken(parents: Parents, rng: np.random.Generator) -> Parents:
    """Without the edges into two random variables and into all that are next to them."""
    chosen = set(rng.choice(len(parents), min(2, len(parents)), replace=False).tolist())
    near = {p for v in chosen for p in parents[v]}
    near |= {v for v, own in enumerate(parents) if chosen & set(own)}
    return [() if v in chosen | near else own for v, own in enumerate(parents)]


def is_narrow(parents: Sequence[tuple[int, ...]], sizes: Sequence[int], max_cells: int) -> bool:
    """Whether no product on the way of the elimination order has more cells than the bound.

    The table of a single parent is read sparsely: it may have ``SINGLE_PARENT`` times as many, and
    then so may the products.
    """
    singles = [sizes[v] * sizes[own[0]] for v, own in enumerate(parents) if len(own) == 1]
    widest = max(singles, default=0)
    bound = max(max_cells, widest) * (1 + 1e-9)
    if widest > SINGLE_PARENT * max_cells:
        return False
    return elimination_order(parents, sizes, bound)[1] <= bound


class _Climber:
    def __init__(self, sets: ScoredSets, scores: LocalScores, max_cells: int):
        self.sets, self.scores, self.max_cells = sets, scores, max_cells
        self.sizes = scores.table.sizes

    def score(self, child: int, own: tuple[int, ...]) -> float:
        if own not in self.sets[child]:
            self.sets[child][own] = self.scores.score(child, own)
        return self.sets[child][own]

    def total(self, parents: Parents) -> float:
        return sum(self.score(child, own) for child, own in enumerate(parents))

    def climb(self, parents: Parents) -> Parents:
        """Take the set of the largest gain that fits, until none does."""
        parents = list(parents)
        checks, improved = 0, True
        while improved and checks < MAX_CHECKS:
            improved = False
            for child, own in self._moves(parents):
                if self.score(child, own) <= self.score(child, parents[child]) + 1e-9:
                    continue
                if _makes_cycle(parents, child, own):
                    continue
                before, parents[child] = parents[child], own
                checks += 1
                if is_narrow(parents, self.sizes, self.max_cells):
                    improved = True
                else:
                    parents[child] = before
                if checks >= MAX_CHECKS:
                    break
        return parents

    def _moves(self, parents: Parents) -> list[tuple[int, tuple[int, ...]]]:
        """The sets that are better than the present ones, by what they gain."""
        found = []
        for child, scored in enumerate(self.sets):
            now = self.score(child, parents[child])
            for own, score in scored.items():
                if score > now + 1e-9 and self._fits(child, own):
                    found.append((now - score, child, own))
        return [(child, own) for _, child, own in sorted(found)]

    def _fits(self, child: int, own: tuple[int, ...]) -> bool:
        """Whether the variable's own table is within the bound."""
        cells = float(self.sizes[child])
        for parent in own:
            cells *= self.sizes[parent]
        return cells <= self.max_cells * (SINGLE_PARENT if len(own) == 1 else 1)

    def pruned(self, parents: Parents) -> Parents:
        """Drop the cheapest edges until the network is narrow; how many is found by bisection."""
        drops = self._drops(parents)
        low, high, middle = 0, len(drops), 0
        while low < high:
            if is_narrow(_without(parents, drops[:middle]), self.sizes, self.max_cells):
                high = middle
            else:
                low = middle + 1
            middle = (low + high) // 2
        return _without(parents, drops[:high])

    def _drops(self, parents: Parents) -> list[Edge]:
        """All edges (child, parent) in the order in which they are given up."""
        current = list(parents)
        queue = [self._cheapest(v, own) for v, own in enumerate(current) if own]
        heapify(queue)
        drops = []
        while queue:
            _, child, weakest = heappop(queue)
            drops.append((child, weakest))
            current[child] = tuple(p for p in current[child] if p != weakest)
            if current[child]:
                heappush(queue, self._cheapest(child, current[child]))
        return drops

    def _cheapest(self, child: int, own: tuple[int, ...]) -> tuple[float, int, int]:
        """The parent that costs least to lose, behind what it costs."""
        now = self.score(child, own)
        rest = {parent: tuple(p for p in own if p != parent) for parent in own}
        return min((now - self.score(child, rest[p]), child, p) for p in own)


Edge = tuple[int, int]


def _without(parents: Parents, drops: Sequence[Edge]) -> Parents:
    gone = set(drops)
    return [tuple(p for p in own if (child, p) not in gone) for child, own in enumerate(parents)]


def _makes_cycle(parents: Parents, child: int, own: tuple[int, ...]) -> bool:
    """Whether one of the new parents is below the child."""
    pending, seen = list(own), set(own)
    while pending:
        v = pending.pop()
        if v == child:
            return True
        for p in parents[v]:
            if p not in seen:
                seen.add(p)
                pending.append(p)
    return False

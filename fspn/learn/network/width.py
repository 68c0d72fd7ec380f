r"""Networks that are kept narrow, so that exact inference on them stays cheap.

The bound is on the cells of the largest product when all variables are summed out in the greedy
order of :func:`fspn.model.graph.elimination_order`, and, where a query has a budget, on the cells
of all products together. It holds at every step of the search: a move gives a variable another
scored set of parents, and counts only where the network stays acyclic and within the bound. Edges
are dropped only to obtain a start; a search that ended there would stay below what the bound
allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from fspn.learn.network.score import LocalScores
from fspn.learn.network.width_kernels import take_moves
from fspn.model.graph import elimination_cells, elimination_order

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
    max_cost: float = np.inf,
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
        max_cost: The bound on the cells of all products together.
    """
    climber = _Climber(sets, scores, max_cells, max_cost)
    found = [climber.climb(climber.pruned(start)) for start in starts]
    best = max(found, key=climber.total)
    score = climber.total(best)
    for _ in range(rounds):
        again = climber.climb(_shaken(best, rng))
        if climber.total(again) > score + 1e-9:
            best, score = again, climber.total(again)
    return best


def _shaken(parents: Parents, rng: np.random.Generator) -> Parents:
    """The network without the edges into two random variables and into their neighbours."""
    chosen = set(rng.choice(len(parents), min(2, len(parents)), replace=False).tolist())
    near = {p for v in chosen for p in parents[v]}
    near |= {v for v, own in enumerate(parents) if chosen & set(own)}
    return [() if v in chosen | near else own for v, own in enumerate(parents)]


def is_narrow(
    parents: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    max_cells: int,
    max_cost: float = np.inf,
) -> bool:
    """Whether no product on the way of the elimination order has more cells than the bound.

    Nor may all of them together have more than ``max_cost``.

    The table of a single parent is read sparsely: it may have ``SINGLE_PARENT`` times as many, and
    then so may the products.
    """
    singles = [sizes[v] * sizes[own[0]] for v, own in enumerate(parents) if len(own) == 1]
    widest = max(singles, default=0)
    bound = max(max_cells, widest) * (1 + 1e-9)
    if widest > SINGLE_PARENT * max_cells:
        return False
    if elimination_order(parents, sizes, bound)[1] > bound:
        return False
    return max_cost == np.inf or elimination_cells(parents, sizes) <= max_cost * (1 + 1e-9)


@dataclass(frozen=True)
class _Listed:
    """Scored sets as the compiled climb takes them.

    Arguments:
        flat: One row per set, -1 behind its last parent.
        child_of: The variable that a set is for.
        values: The scores.
        place: Per variable, the row of every set.
    """

    flat: np.ndarray
    child_of: np.ndarray
    values: np.ndarray
    place: list[dict[tuple[int, ...], int]]

    @classmethod
    def of(cls, sets: ScoredSets) -> _Listed:
        width = max(1, max(len(key) for scored in sets for key in scored))
        rows: list[tuple[int, ...]] = []
        values: list[float] = []
        place: list[dict[tuple[int, ...], int]] = []
        for scored in sets:
            keys = sorted(scored)
            place.append({key: len(rows) + i for i, key in enumerate(keys)})
            rows += [key + (-1,) * (width - len(key)) for key in keys]
            values += [scored[key] for key in keys]
        flat = np.array(rows, dtype=np.int64).reshape(len(rows), width)
        child_of = np.repeat(np.arange(len(sets)), [len(scored) for scored in sets])
        return cls(flat, child_of, np.array(values), place)

    @property
    def n_parents(self) -> np.ndarray:
        return np.asarray((self.flat >= 0).sum(axis=1))

    def cells(self, logs: np.ndarray) -> np.ndarray:
        """The logarithm of the cells of every set's own table."""
        return np.asarray(
            logs[self.child_of] + np.where(self.flat >= 0, logs[self.flat], 0.0).sum(1)
        )


class _Climber:
    def __init__(self, sets: ScoredSets, scores: LocalScores, max_cells: int, max_cost: float):
        self.sets, self.scores = sets, scores
        self.max_cells, self.max_cost = max_cells, max_cost
        self.sizes = scores.table.sizes
        self.logs = np.log(np.asarray(self.sizes, dtype=np.float64))
        self._arrays: _Listed | None = None

    def score(self, child: int, own: tuple[int, ...]) -> float:
        if own not in self.sets[child]:
            self.sets[child][own] = self.scores.score(child, own)
        return self.sets[child][own]

    def total(self, parents: Parents) -> float:
        return sum(self.score(child, own) for child, own in enumerate(parents))

    def climb(self, parents: Parents) -> Parents:
        """Take the set of the largest gain that fits, until none does."""
        for child, own in enumerate(parents):
            self.score(child, own)
        sets = self._listed()
        chosen = np.array([sets.place[child][own] for child, own in enumerate(parents)])
        bound, single = np.log([self.max_cells, SINGLE_PARENT]).tolist()
        fits = sets.cells(self.logs) <= bound + np.where(sets.n_parents == 1, single, 0.0) + 1e-9
        left, taken = MAX_CHECKS, 1
        while taken and left:
            gains = np.where(fits, sets.values - sets.values[chosen][sets.child_of], 0.0)
            moves = np.flatnonzero(gains > 1e-9)
            moves = moves[np.argsort(-gains[moves], kind="stable")]
            taken, checks = take_moves(
                moves,
                sets.flat,
                sets.child_of,
                sets.values,
                self.logs,
                chosen,
                bound,
                single,
                self.max_cost,
                left,
            )
            left -= checks
        found = [tuple(int(p) for p in sets.flat[index] if p >= 0) for index in chosen]
        # Costs that are equal but for rounding may be taken in another order there.
        return found if self._fits(found) else self.pruned(found)

    def _fits(self, parents: Parents) -> bool:
        return is_narrow(parents, self.sizes, self.max_cells, self.max_cost)

    def _listed(self) -> _Listed:
        """The sets of all variables as arrays, made anew when there are more of them."""
        n = sum(len(scored) for scored in self.sets)
        if self._arrays is None or len(self._arrays.flat) != n:
            self._arrays = _Listed.of(self.sets)
        return self._arrays

    def pruned(self, parents: Parents) -> Parents:
        """Drop the cheapest edges until the network is narrow; how many is found by bisection."""
        drops = self._drops(parents)
        low, high, middle = 0, len(drops), 0
        while low < high:
            if self._fits(_without(parents, drops[:middle])):
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
        """What it costs to lose the cheapest parent, and that parent."""
        now = self.score(child, own)
        rest = {parent: tuple(p for p in own if p != parent) for parent in own}
        return min((now - self.score(child, rest[p]), child, p) for p in own)


Edge = tuple[int, int]


def _without(parents: Parents, drops: Sequence[Edge]) -> Parents:
    gone = set(drops)
    return [tuple(p for p in own if (child, p) not in gone) for child, own in enumerate(parents)]

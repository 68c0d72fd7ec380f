r"""The directed structure of a group of dependent variables, by search over orderings.

Given an ordering, the best parents of every variable among its predecessors are found one by one,
so the search is over orderings (Teyssier and Koller, 2005): move one variable to the place where
the total score is highest, until no move helps, from several starts. Greedy search over single
edges stops at worse optima on the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numba import njit

from fspn.scores import CodedTable, LocalScores

SCREEN_ROWS = 20_000
BEST_PAIRS = 8
PAIR_CANDIDATES = 24


@dataclass(frozen=True)
class Network:
    """Parents per variable, and an order in which every variable follows its parents."""

    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]


def learn_network(
    table: CodedTable,
    allowed: np.ndarray,
    max_parents: int,
    max_cells: int,
    rng: np.random.Generator,
    restarts: int = 20,
    report: Callable[[str], None] = lambda _: None,
) -> Network:
    """The best-scoring structure found, with bounded inference cost.

    Arguments:
        table: The coded rows.
        allowed: Which pairs of variables may be joined by an edge.
        max_parents: At most so many parents per variable.
        max_cells: At most so many cells in any intermediate result of an exact query.
        rng: For the starts of the search.
        restarts: How many starts.
        report: Called with a word on what is being done.
    """
    scores = LocalScores(table, price=1.0 + np.log(len(table)))
    report("scoring parent sets")
    sets = _single_parents(scores, allowed)
    parents = _search(sets, restarts, rng)[0]
    if max_parents >= 2:
        _add_pairs(sets, scores, restarts, rng)
        parents = _search(sets, restarts, rng)[0]
    for width in range(2, max_parents + 1):
        report(f"adding parents up to {width}")
        _extend(sets, parents, scores, allowed, width)
        parents = _search(sets, restarts, rng)[0]
    return bound_width(parents, table.sizes, max_cells, scores)


ScoredSets = list[dict[tuple[int, ...], float]]


def _single_parents(scores: LocalScores, allowed: np.ndarray) -> ScoredSets:
    """Per child, the empty set and all sets of one variable."""
    m = len(scores.table)
    sets: ScoredSets = [{(): scores.score(child, ())} for child in range(m)]
    for child in range(m):
        for parent in np.flatnonzero(allowed[child]).tolist():
            if parent != child:
                sets[child][(parent,)] = scores.score(child, (parent,))
    return sets


def _add_pairs(
    sets: ScoredSets, scores: LocalScores, restarts: int, rng: np.random.Generator
) -> None:
    """Add the pairs of parents that deserve a score on all rows.

    All pairs are scored on a sample of the rows. On strongly dependent data a variable's
    descendants explain it better than its parents do, so the best pairs are not enough: a search
    on the sample tells which pairs take part in good structures.
    """
    screen = _screening_scores(scores, rng)
    sampled = _single_parents(
        screen, np.array([[(p,) in own for p in range(len(sets))] for own in sets])
    )
    for child, own in enumerate(sampled):
        singles = sorted((key for key in own if key), key=lambda key: -own[key])
        names = sorted(key[0] for key in singles[:PAIR_CANDIDATES])
        for pair in combinations(names, 2):
            own[pair] = screen.score(child, pair)
    promising = _search(sampled, restarts, rng)
    for child, own in enumerate(sampled):
        pairs = sorted((key for key in own if len(key) == 2), key=lambda key: -own[key])
        taking_part = {parents[child] for parents in promising if len(parents[child]) == 2}
        for chosen in sorted(taking_part | set(pairs[:BEST_PAIRS])):
            sets[child][chosen] = scores.score(child, chosen)


def _screening_scores(scores: LocalScores, rng: np.random.Generator) -> LocalScores:
    if scores.table.n_rows <= 2 * SCREEN_ROWS:
        return scores
    rows = np.sort(rng.choice(scores.table.n_rows, SCREEN_ROWS, replace=False))
    return LocalScores(scores.table.take(rows), price=scores.price)


def _extend(
    sets: ScoredSets,
    parents: list[tuple[int, ...]],
    scores: LocalScores,
    allowed: np.ndarray,
    width: int,
) -> None:
    """Add to the chosen sets every further parent that the scores like."""
    for child, chosen in enumerate(parents):
        if len(chosen) != width - 1:
            continue
        for extra in np.flatnonzero(allowed[child]):
            if extra != child and extra not in chosen:
                wider = tuple(sorted((*chosen, int(extra))))
                sets[child][wider] = scores.score(child, wider)


def _search(
    sets: ScoredSets, restarts: int, rng: np.random.Generator
) -> list[list[tuple[int, ...]]]:
    """The parents under the best orderings found, the best one first."""
    m = len(sets)
    flat, start, values = _flatten(sets)
    found: dict[tuple[int, ...], float] = {}
    for _ in range(max(1, min(restarts, 40_000 // (m * m) + 1))):
        order, score = _climb(rng.permutation(m), start, flat, values)
        position = np.empty(m, dtype=np.int64)
        position[order] = np.arange(m)
        choice = tuple(int(_best_set(v, position, start, flat)) for v in range(m))
        found[choice] = float(score)
    ranked = sorted(found, key=lambda choice: (-found[choice], choice))
    return [[tuple(int(p) for p in flat[i] if p >= 0) for i in choice] for choice in ranked]


def _flatten(sets: ScoredSets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per child its sets, best first, as arrays; a set that a subset beats is of no use."""
    rows: list[tuple[int, ...]] = []
    values: list[float] = []
    start = [0]
    width = max(len(key) for scored in sets for key in scored)
    for scored in sets:
        kept: list[tuple[int, ...]] = []
        for key in sorted(scored, key=lambda k: (-scored[k], k)):
            if not any(set(better) <= set(key) for better in kept):
                kept.append(key)
        rows += [key + (-1,) * (width - len(key)) for key in kept]
        values += [scored[key] for key in kept]
        start.append(len(rows))
    flat = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return flat, np.array(start), np.array(values)


@njit(cache=True)
def _best_set(v: int, position: np.ndarray, start: np.ndarray, flat: np.ndarray) -> int:
    """The first, so the best, set of predecessors only."""
    for index in range(start[v], start[v + 1]):
        fits = True
        for p in flat[index]:
            if p >= 0 and position[p] > position[v]:
                fits = False
                break
        if fits:
            return index
    return start[v + 1] - 1


@njit(cache=True)
def _climb(
    order: np.ndarray, start: np.ndarray, flat: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, float]:
    """Insert one variable at its best place, until no insertion helps."""
    m = len(order)
    position = np.empty(m, dtype=np.int64)
    for place in range(m):
        position[order[place]] = place
    own = np.empty(m)
    for v in range(m):
        own[v] = values[_best_set(v, position, start, flat)]
    improved = True
    while improved:
        improved = False
        for v in range(m):
            place = position[v]
            best_gain, best_place = 1e-9, place
            for step in (-1, 1):
                gain, here = 0.0, place
                while 0 <= here + step < m:
                    gain += _swap(
                        here, min(here, here + step), order, position, own, start, flat, values
                    )
                    here += step
                    if gain > best_gain:
                        best_gain, best_place = gain, here
                while here != place:
                    _swap(here, min(here, here - step), order, position, own, start, flat, values)
                    here -= step
            here = place
            while here != best_place:
                step = 1 if best_place > here else -1
                _swap(here, min(here, here + step), order, position, own, start, flat, values)
                here += step
                improved = True
    return order, own.sum()


@njit(cache=True)
def _swap(
    _: int,
    place: int,
    order: np.ndarray,
    position: np.ndarray,
    own: np.ndarray,
    start: np.ndarray,
    flat: np.ndarray,
    values: np.ndarray,
) -> float:
    """Exchange two neighbours; only their own scores change. Returns the gain."""
    a, b = order[place], order[place + 1]
    order[place], order[place + 1] = b, a
    position[a], position[b] = place + 1, place
    before = own[a] + own[b]
    own[a] = values[_best_set(a, position, start, flat)]
    own[b] = values[_best_set(b, position, start, flat)]
    return own[a] + own[b] - before


def elimination_order(
    parents: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> tuple[list[int], float]:
    """The order in which to sum variables out, and the cells of the largest product on the way.

    Greedy: always the variable whose neighbours (variables that occur with it in some table or
    intermediate result) have the fewest joint values.
    """
    logs = np.log(np.asarray(sizes, dtype=np.float64))
    near = _moral_graph(parents)
    cost = {v: logs[v] + sum(logs[u] for u in near[v]) for v in range(len(parents))}
    order: list[int] = []
    worst = 0.0
    while cost:
        v = min(cost, key=lambda u: (cost[u], u))
        worst = max(worst, cost.pop(v))
        order.append(v)
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}
            cost[u] = logs[u] + sum(logs[t] for t in near[u])
    return order, float(np.exp(min(worst, 700.0)))


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
    parents: list[tuple[int, ...]], sizes: Sequence[int], max_cells: int, scores: LocalScores
) -> Network:
    """Drop the cheapest edges until no intermediate result exceeds ``max_cells``.

    A single parent stays: its table is read sparsely, and trees are never wide.
    """
    while elimination_order(parents, sizes)[1] > max_cells:
        edges = [(v, p) for v, own in enumerate(parents) for p in own if len(own) > 1]
        if not edges:
            break
        child, weakest = min(edges, key=lambda edge: _loss(edge, parents, scores))
        parents[child] = tuple(p for p in parents[child] if p != weakest)
    return Network(tuple(parents), tuple(topological_order(parents)))


def _loss(edge: tuple[int, int], parents: list[tuple[int, ...]], scores: LocalScores) -> float:
    child, parent = edge
    rest = tuple(p for p in parents[child] if p != parent)
    return scores.score(child, parents[child]) - scores.score(child, rest)

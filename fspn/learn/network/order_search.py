r"""The directed structure of a group of dependent variables, by search over orderings.

Given an ordering, the best parents of every variable among its predecessors are found one by one,
so the search is over orderings (Teyssier and Koller, 2005): move one variable to the place where
the total score is highest, until no move helps, from several starts. Greedy search over single
edges stops at worse optima on the same scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numba import njit

from fspn.learn.network.graded_sets import Correlations
from fspn.learn.network.score import LocalScores
from fspn.learn.network.width import ScoredSets, is_narrow, narrow_network
from fspn.model.graph import Network, elimination_order, topological_order

__all__ = ["Network", "elimination_order", "learn_network", "topological_order"]

SCREEN_ROWS = 20_000
MAX_CANDIDATES = 64
BEST_PAIRS = 8
PAIR_CANDIDATES = 24
GROWTHS = 3
GRADED_EXTRAS = 3
BEST_SETS = 4
LOOK_AHEAD = 6


@dataclass(frozen=True)
class Effort:
    """How long to search.

    Arguments:
        restarts: How many starts a search over orders has.
        pair_candidates: Among how many candidates of a variable all pairs are scored.
        rounds: How often a local optimum is shaken.
        everyone: Whether variables that a pair alone does not show are tried as further parents.
    """

    restarts: int = 20
    pair_candidates: int = PAIR_CANDIDATES
    rounds: int = 10
    everyone: bool = True


FULL, QUICK = Effort(), Effort(restarts=5, pair_candidates=5, rounds=3, everyone=False)


def learn_network(
    scores: LocalScores,
    strength: np.ndarray,
    max_parents: int,
    max_cells: int,
    rng: np.random.Generator,
    effort: Effort = FULL,
) -> Network:
    """The best-scoring structure found, with bounded inference cost.

    Arguments:
        scores: The scores of parent sets.
        strength: How strongly variables depend on each other; 0 = no edge between them.
        max_parents: At most so many parents per variable.
        max_cells: At most so many cells in any intermediate result of an exact query.
        rng: For the starts of the search.
        effort: How long to search.
    """
    candidates = _candidates(strength)
    search = _Search(scores, max_cells, effort, rng, _single_parents(scores, candidates))
    search.run()
    if max_parents >= 2:
        _add_pairs(search.sets, scores, effort, rng)
        search.run()
    for width in range(2, max_parents + 1):
        _extend(search.sets, search.wide, scores, candidates, width)
        search.run()
        if effort.everyone:
            _grow(search, strength, width)
    if scores.graded_pays(search.best):
        _add_graded(search, candidates, max_parents)
    return Network(tuple(search.best), tuple(topological_order(search.best)))


class _Search:
    """Searches on growing families of parent sets; the best network within the bound is kept.

    So a larger number of parents never ends below a smaller one.

    Arguments:
        scores: The scores of parent sets.
        max_cells: The bound on the width.
        effort: How long to search.
        rng: For the starts.
        sets: The parent sets so far.
    """

    def __init__(
        self,
        scores: LocalScores,
        max_cells: int,
        effort: Effort,
        rng: np.random.Generator,
        sets: ScoredSets,
    ) -> None:
        self.scores, self.max_cells, self.effort, self.rng = scores, max_cells, effort, rng
        self.sets = sets
        self.wide: list[tuple[int, ...]] = [()] * len(sets)
        self.best: list[tuple[int, ...]] = self.wide

    def run(self) -> None:
        """Search over orders without the bound, and within it where that is too wide."""
        self.wide = _search(self.sets, self.effort.restarts, self.rng)[0]
        found = self.wide
        if not is_narrow(found, self.scores.table.sizes, self.max_cells):
            found = self.climb([found, self.best])
        if self._total(found) >= self._total(self.best):
            self.best = found

    def climb(self, starts: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
        """The best network within the bound that is reached from some starts by single moves."""
        (rng,) = self.rng.spawn(1)  # The stream of the order searches stays the same.
        return narrow_network(
            starts, self.sets, self.scores, self.max_cells, rng, self.effort.rounds
        )

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of a set, which joins the sets that are searched."""
        key = tuple(sorted(parents))
        self.sets[child][key] = self.scores.score(child, key)
        return self.sets[child][key]

    @property
    def total(self) -> float:
        """The score of the best network so far."""
        return self._total(self.best)

    def _total(self, parents: list[tuple[int, ...]]) -> float:
        return sum(self.scores.score(child, own) for child, own in enumerate(parents))


def _candidates(strength: np.ndarray) -> list[list[int]]:
    """Per variable the variables that it depends on, at most the strongest so many."""
    found = []
    for child, row in enumerate(strength):
        others = np.flatnonzero(row > 0)
        others = others[others != child]
        strongest = others[np.argsort(-row[others], kind="stable")[:MAX_CANDIDATES]]
        found.append(sorted(strongest.tolist()))
    return found


def _single_parents(scores: LocalScores, candidates: list[list[int]]) -> ScoredSets:
    """Per child, the empty set and all sets of one candidate."""
    return [
        {(): scores.score(child, ()), **{(p,): scores.score(child, (p,)) for p in own}}
        for child, own in enumerate(candidates)
    ]


def _add_pairs(
    sets: ScoredSets, scores: LocalScores, effort: Effort, rng: np.random.Generator
) -> None:
    """Add the pairs of parents that deserve a score on all rows.

    All pairs are scored on a sample of the rows. On strongly dependent data a variable's
    descendants explain it better than its parents do, so the best pairs are not enough: a search
    on the sample tells which pairs take part in good structures.
    """
    screen = _screening_scores(scores, rng)
    sampled = _single_parents(screen, [[key[0] for key in own if key] for own in sets])
    for child, own in enumerate(sampled):
        singles = sorted((key for key in own if key), key=lambda key: -own[key])
        names = sorted(key[0] for key in singles[: effort.pair_candidates])
        for pair in combinations(names, 2):
            own[pair] = screen.score(child, pair)
    promising = _search(sampled, effort.restarts, rng)
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
    candidates: list[list[int]],
    width: int,
) -> None:
    """Add to the chosen sets every further parent that the scores like."""
    for child, chosen in enumerate(parents):
        if len(chosen) != width - 1:
            continue
        for extra in candidates[child]:
            if extra not in chosen:
                wider = tuple(sorted((*chosen, extra)))
                sets[child][wider] = scores.score(child, wider)


def _grow(search: _Search, strength: np.ndarray, max_parents: int) -> None:
    """Try every variable as a further parent of the chosen sets, until that helps no more.

    A parent may matter only together with others: alone it may look independent of the child. So
    all variables are tried, and the most promising ones in pairs.
    """
    m = len(search.sets)
    for _ in range(GROWTHS if m <= MAX_CANDIDATES else 0):
        before = search.total
        for child in range(m):
            own = search.best[child]
            if own and (strength[child] > 0).any():
                _widen(search, child, own, max_parents)
        search.best = search.climb([search.best])
        if search.total <= before + 1e-9:
            break


def _widen(search: _Search, child: int, own: tuple[int, ...], max_parents: int) -> None:
    """Score the sets of one and two more parents."""
    others = [v for v in range(len(search.sets)) if v != child and v not in own]
    if len(own) < max_parents:
        for extra in others:
            search.score(child, (*own, extra))
    if len(own) + 2 <= max_parents:
        best = sorted(others, key=lambda v: -search.score(child, (*own, v)))[:LOOK_AHEAD]
        for pair in combinations(best, 2):
            search.score(child, (*own, *pair))


def _add_graded(search: _Search, candidates: list[list[int]], max_parents: int) -> None:
    """Go on with graded laws among the scores.

    They are fitted to the parents chosen so far, to the sets that linear-Gaussian networks
    propose, and to the single parents among them; larger sets grow from the chosen ones.
    """
    scores, codes = search.scores, Correlations(search.scores.table)
    scores.with_graded = True
    proposed = _proposed(codes, candidates, min(max_parents, 2), search)
    for child, found in enumerate(proposed):
        sets = {search.best[child], *found}
        for key in sorted(sets | {(p,) for own in sets for p in own}):
            search.score(child, key)
    search.run()
    for width in range(3, max_parents + 1):
        for child, chosen in enumerate(search.best):
            if len(chosen) == width - 1:
                for extra in codes.best_extras(child, chosen, candidates[child])[:GRADED_EXTRAS]:
                    search.score(child, (*chosen, extra))
        search.run()


def _proposed(
    codes: Correlations, candidates: list[list[int]], max_parents: int, search: _Search
) -> list[set[tuple[int, ...]]]:
    """Per child the sets of good linear-Gaussian networks, and its best sets by themselves."""
    limit = search.effort.pair_candidates
    near = [_closest(codes, child, own, limit) for child, own in enumerate(candidates)]
    sets = codes.sets(near, max_parents)
    (rng,) = search.rng.spawn(1)
    good = _search(sets, search.effort.restarts, rng)
    return [
        {parents[child] for parents in good} | set(sorted(own, key=lambda k: -own[k])[:BEST_SETS])
        for child, own in enumerate(sets)
    ]


def _closest(codes: Correlations, child: int, own: list[int], limit: int) -> list[int]:
    return sorted(sorted(own, key=lambda p: -abs(codes.matrix[child, p]))[:limit])


def _search(
    sets: ScoredSets, restarts: int, rng: np.random.Generator
) -> list[list[tuple[int, ...]]]:
    """The parents under the best orderings found, the best one first."""
    m = len(sets)
    flat, start, values = _flatten(sets)
    near = _near(flat, start)
    found: dict[tuple[int, ...], float] = {}
    for _ in range(max(1, min(restarts, 40_000 // (m * m) + 1))):
        choice, score = _climb(rng.permutation(m), start, flat, values, near)
        found[tuple(choice.tolist())] = float(score)
    ranked = sorted(found, key=lambda choice: (-found[choice], choice))
    return [[tuple(int(p) for p in flat[i] if p >= 0) for i in choice] for choice in ranked]


def _flatten(sets: ScoredSets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per child its sets, best first, as arrays; a set that a subset beats is of no use."""
    rows: list[tuple[int, ...]] = []
    values: list[float] = []
    start = [0]
    width = max(len(key) for scored in sets for key in scored)
    for scored in sets:
        kept: dict[tuple[int, ...], None] = {}
        for key in sorted(scored, key=lambda k: (-scored[k], k)):
            if not any(part in kept for part in _subsets(key)):
                kept[key] = None
        rows += [key + (-1,) * (width - len(key)) for key in kept]
        values += [scored[key] for key in kept]
        start.append(len(rows))
    flat = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return flat, np.array(start), np.array(values)


def _subsets(key: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for width in range(len(key)):
        yield from combinations(key, width)


@njit(cache=True)
def _near(flat: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Whether a variable is in any of another's sets."""
    m = len(start) - 1
    near = np.zeros((m, m), dtype=np.bool_)
    for v in range(m):
        for index in range(start[v], start[v + 1]):
            for p in flat[index]:
                if p >= 0:
                    near[v, p] = True
    return near


@njit(cache=True)
def _best_set(first: int, last: int, place: int, position: np.ndarray, flat: np.ndarray) -> int:
    """The first, so the best, set of predecessors only; ``last`` where there is none before it."""
    for index in range(first, last):
        fits = True
        for p in flat[index]:
            if p >= 0 and position[p] > place:
                fits = False
                break
        if fits:
            return index
    return last


@njit(cache=True)
def _climb(
    order: np.ndarray, start: np.ndarray, flat: np.ndarray, values: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, float]:
    """Insert one variable at its best place, until no insertion helps.

    Returns the index of every variable's best set under the last order, and the total score.
    """
    m = len(order)
    position = np.empty(m, dtype=np.int64)
    for place in range(m):
        position[order[place]] = place
    chosen = np.empty(m, dtype=np.int64)
    for v in range(m):
        chosen[v] = _best_set(start[v], start[v + 1] - 1, position[v], position, flat)
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
                        min(here, here + step), order, position, chosen, start, flat, values, near
                    )
                    here += step
                    if gain > best_gain:
                        best_gain, best_place = gain, here
                while here != place:
                    here -= step
                    _swap(
                        min(here, here + step), order, position, chosen, start, flat, values, near
                    )
            here = place
            while here != best_place:
                step = 1 if best_place > here else -1
                _swap(min(here, here + step), order, position, chosen, start, flat, values, near)
                here += step
                improved = True
    return chosen, values[chosen].sum()


@njit(cache=True)
def _swap(
    place: int,
    order: np.ndarray,
    position: np.ndarray,
    chosen: np.ndarray,
    start: np.ndarray,
    flat: np.ndarray,
    values: np.ndarray,
    near: np.ndarray,
) -> float:
    """Exchange two neighbours; only their own scores can change. Returns the gain.

    The one that moves back gains a predecessor, so its set is the chosen one or a better one; the
    one that moves forward loses a predecessor, so it keeps its set, or takes a worse one.
    """
    a, b = order[place], order[place + 1]
    order[place], order[place + 1] = b, a
    position[a], position[b] = place + 1, place
    gain = 0.0
    if near[a, b]:
        better = _best_set(start[a], chosen[a], place + 1, position, flat)
        if better != chosen[a]:
            gain += values[better] - values[chosen[a]]
            chosen[a] = better
    if near[b, a]:
        for p in flat[chosen[b]]:
            if p == a:
                worse = _best_set(chosen[b] + 1, start[b + 1] - 1, place, position, flat)
                gain += values[worse] - values[chosen[b]]
                chosen[b] = worse
                break
    return gain

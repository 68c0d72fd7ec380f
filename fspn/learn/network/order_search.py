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

from fspn.learn.network.graded_sets import Correlations
from fspn.learn.network.order_climb import climb_from, search_orders
from fspn.learn.network.reinsertion import RankedSets, reinsertions
from fspn.learn.network.score import LocalScores
from fspn.learn.network.width import ScoredSets, is_narrow, narrow_network
from fspn.model.graph import Network, elimination_order, topological_order

__all__ = ["Network", "elimination_order", "learn_network", "topological_order"]

SCREEN_ROWS = 20_000
MAX_CANDIDATES = 64
GROWN_COLUMNS = 80
"""The largest group in which every variable is tried beside the parents that are chosen."""
GROWN_CANDIDATES = 16
"""Above MAX_CANDIDATES variables, so many of them that a sample likes are tried on all rows."""
SURE_PARENTS = 4
"""So many parents are always tried; more of them only while some variable has one fewer."""
BEST_PAIRS = 8
PAIR_CANDIDATES = 24
GROWTHS = 8
GRADED_EXTRAS = 3
BEST_SETS = 4
LOOK_AHEAD = 6
REINSERTIONS = 24
"""Moves behind descendants, and tries of each within the width bound, at most."""
DETOURS = 12
"""Moves to equivalent structures from which others are tried, at most."""
EQUAL = 0.01
"""Nats by which the scores of equivalent structures may differ."""
BOUND_GROWTH = 2.0
"""By how much the bound on the cost of a query grows from one search to the next."""


@dataclass(frozen=True)
class Effort:
    """How long to search.

    Arguments:
        restarts: How many starts a search over orders has.
        pair_candidates: Among how many candidates of a variable all pairs are scored.
        rounds: How often a local optimum is shaken.
        everyone: Whether variables without pairwise dependence are tried as further parents.
        seeds: How many of the best networks over orders propose sets of more parents.
        graduated: Whether a bound on the query cost is approached by searches at smaller bounds.
    """

    restarts: int = 20
    pair_candidates: int = PAIR_CANDIDATES
    rounds: int = 10
    everyone: bool = True
    seeds: int = 5
    graduated: bool = True


FULL = Effort()
QUICK = Effort(restarts=5, pair_candidates=5, rounds=3, everyone=False, seeds=1, graduated=False)


def learn_network(
    scores: LocalScores,
    strength: np.ndarray,
    max_parents: int,
    max_cells: int,
    rng: np.random.Generator,
    effort: Effort = FULL,
    max_cost: float = np.inf,
) -> Network:
    """The best-scoring structure found, with bounded inference cost.

    With a bound on the query cost the search runs at a series of bounds up to it, always from the
    same start, and the best network is kept. The series of a smaller bound is part of that of a
    larger one, so a larger bound never ends in a worse score.

    Arguments:
        scores: The scores of parent sets.
        strength: How strongly variables depend on each other; 0 = no edge between them.
        max_parents: At most so many parents per variable.
        max_cells: At most so many cells in any intermediate result of an exact query.
        rng: For the starts of the search.
        effort: How long to search.
        max_cost: At most so many cells in all intermediate results of a query together.
    """
    if max_cost == np.inf or not effort.graduated:
        search = _searched(scores, strength, max_parents, max_cells, rng, effort, max_cost)
        return Network(tuple(search.best), tuple(topological_order(search.best)))
    seed = int(rng.integers(2**32))
    found: list[list[tuple[int, ...]]] = [[()] * len(strength)]
    graded = False
    for bound in cost_bounds(scores.table.sizes, max_cost):
        scores.with_graded = False
        again = np.random.default_rng(seed)
        found.append(_searched(scores, strength, max_parents, max_cells, again, effort, bound).best)
        graded |= scores.with_graded
    scores.with_graded = graded
    best = max(found, key=lambda own: sum(scores.score(v, p) for v, p in enumerate(own)))
    return Network(tuple(best), tuple(topological_order(best)))


def cost_bounds(sizes: Sequence[int], max_cost: float) -> list[float]:
    """What independent columns cost, doubled again and again, as far as the bound allows."""
    bounds = [BOUND_GROWTH * float(sum(sizes))]
    while bounds[-1] <= max_cost:
        bounds.append(BOUND_GROWTH * bounds[-1])
    return bounds[:-1]


def _searched(
    scores: LocalScores,
    strength: np.ndarray,
    max_parents: int,
    max_cells: int,
    rng: np.random.Generator,
    effort: Effort,
    max_cost: float,
) -> _Search:
    """One search; its best network counts."""
    candidates = _candidates(strength)
    sets = _single_parents(scores, candidates)
    thorough = effort.everyone and len(sets) <= GROWN_COLUMNS
    search = _Search(scores, max_cells, effort, rng, sets, max_cost)
    search.run()
    if max_parents >= 2:
        search.screen = _screening_scores(scores, rng)
        _add_pairs(search.sets, scores, search.screen, effort, rng)
        search.run()
    for width in range(2, max_parents + 1):
        if width > SURE_PARENTS and max(map(len, search.best)) < width - 1:
            break
        for parents in search.wide:
            _extend(search.sets, parents, scores, candidates, width)
        search.run()
        if effort.everyone:
            _grow(search, strength, width)
        if thorough:
            search.finish()  # Here, so that more parents go on from where fewer of them end.
    if scores.graded_pays(search.best):
        _add_graded(search, candidates, max_parents)
        if thorough:
            search.finish()
    return search


class _Search:
    """Searches on growing families of parent sets; the best network within the bound is kept.

    So a larger number of parents never ends below a smaller one.

    Arguments:
        scores: The scores of parent sets.
        max_cells: The bound on the width.
        effort: How long to search.
        rng: For the starts.
        sets: The parent sets so far.
        max_cost: The bound on the cost of a query.
    """

    def __init__(
        self,
        scores: LocalScores,
        max_cells: int,
        effort: Effort,
        rng: np.random.Generator,
        sets: ScoredSets,
        max_cost: float = np.inf,
    ) -> None:
        self.scores, self.max_cells, self.effort, self.rng = scores, max_cells, effort, rng
        self.sets, self.max_cost = sets, max_cost
        self.best: list[tuple[int, ...]] = [()] * len(sets)
        self.wide = [self.best]
        self.screen = scores

    def run(self) -> None:
        """Search over orders without the bound, and within it where that is too wide."""
        self.wide = search_orders(self.sets, self.effort.restarts, self.rng)[: self.effort.seeds]
        found = self.wide[0]
        if not self._fits(found):
            found = self.climb([found, self.best])
        if self._total(found) >= self._total(self.best):
            self.best = found

    def reorder(self) -> None:
        """Move variables of the best network through its order: several edges turn at once."""
        for child, own in enumerate(self.best):
            self.score(child, own)
        found = climb_from(self.sets, topological_order(self.best))
        if self._total(found) > self.total + 1e-9:
            if not self._fits(found):
                found = self.climb([found, self.best])
            if self._total(found) > self.total:
                self.best = found
        for _ in range(REINSERTIONS):
            if not self._reinsert():
                break

    def _reinsert(self) -> bool:
        """Take the best move behind descendants that keeps to the bound, if there is one."""
        return self._take(reinsertions(self.best, RankedSets(self.sets), EQUAL))

    def detour(self, widen: Callable[[int, tuple[int, ...]], None] | None = None) -> bool:
        """Take two such moves of which the first costs nothing and only the second gains.

        Arguments:
            widen: Scores the sets around one that a first move brought; None = as they are.
        """
        firsts = [
            move
            for move in reinsertions(self.best, RankedSets(self.sets), -EQUAL)
            if move[0] <= EQUAL
        ][:DETOURS]
        for _, first in firsts:
            for child, own in enumerate(first):
                if own != self.best[child] and widen is not None:
                    widen(child, own)
        ranked = RankedSets(self.sets)
        return self._take(
            [
                (gain + more, moved)
                for gain, first in firsts
                for more, moved in reinsertions(first, ranked, 2 * EQUAL)
            ]
        )

    def finish(self) -> None:
        """Moves among the sets that are scored already, until none helps."""
        for _ in range(GROWTHS):
            self.reorder()
            if not self.detour():
                break

    def _take(self, moves: list[tuple[float, list[tuple[int, ...]]]]) -> bool:
        """Go to the best network that keeps to the bound, and climb on; False if none does."""
        for _, moved in sorted(moves, key=lambda move: -move[0])[:REINSERTIONS]:
            if self._fits(moved):
                self.best = self.climb([moved])
                return True
        return False

    def _fits(self, parents: list[tuple[int, ...]]) -> bool:
        return is_narrow(parents, self.scores.table.sizes, self.max_cells, self.max_cost)

    def climb(self, starts: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
        """The best network within the bound that is reached from some starts by single moves."""
        (rng,) = self.rng.spawn(1)  # The stream of the order searches stays the same.
        return narrow_network(
            starts,
            self.sets,
            self.scores,
            self.max_cells,
            rng,
            self.effort.rounds,
            self.max_cost,
        )

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of a set, which joins the sets that are searched."""
        key = tuple(sorted(parents))
        self.sets[child][key] = self.scores.score(child, key)
        return self.sets[child][key]

    def promising(self, child: int, own: tuple[int, ...]) -> list[int]:
        """The variables to try beside some parents; where there are many, those a sample likes."""
        others = [v for v in range(len(self.sets)) if v != child and v not in own]
        if len(self.sets) <= MAX_CANDIDATES:
            return others
        return sorted(others, key=lambda v: -self.screen.score(child, (*own, v)))[:GROWN_CANDIDATES]

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
    sets: ScoredSets,
    scores: LocalScores,
    screen: LocalScores,
    effort: Effort,
    rng: np.random.Generator,
) -> None:
    """Add the pairs of parents that deserve a score on all rows.

    All pairs are scored on the screen, a sample of the rows. On strongly dependent data a
    variable's descendants explain it better than its parents do, so the best pairs are not enough:
    a search on the sample tells which pairs take part in good structures.
    """
    sampled = _single_parents(screen, [[key[0] for key in own if key] for own in sets])
    for child, own in enumerate(sampled):
        singles = sorted((key for key in own if key), key=lambda key: -own[key])
        names = sorted(key[0] for key in singles[: effort.pair_candidates])
        for pair in combinations(names, 2):
            own[pair] = screen.score(child, pair)
    promising = search_orders(sampled, effort.restarts, rng)
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
            wider = tuple(sorted((*chosen, extra)))
            if extra not in chosen and wider not in sets[child]:
                sets[child][wider] = scores.score(child, wider)


def _grow(search: _Search, strength: np.ndarray, max_parents: int) -> None:
    """Try every variable as a further parent of the chosen sets, until that helps no more.

    A parent may matter only together with others: alone it may look independent of the child. So
    all variables are tried, and the most promising ones in pairs.
    """
    m = len(search.sets)
    for _ in range(GROWTHS if m <= GROWN_COLUMNS else 0):
        before = search.total
        for child in range(m):
            own = search.best[child]
            if own and (strength[child] > 0).any():
                _widen(search, child, own, max_parents)
        search.best = search.climb([search.best])
        search.reorder()
        if search.total > before + 1e-9:
            continue
        if not search.detour(lambda child, own: _widen(search, child, own, max_parents)):
            break


def _widen(search: _Search, child: int, own: tuple[int, ...], max_parents: int) -> None:
    """Score the sets of one and two more parents, of one fewer, and with one exchanged."""
    if not own:
        return
    fewer = [tuple(p for p in own if p != gone) for gone in own]
    weakest = max(fewer, key=lambda rest: search.score(child, rest))
    wider = own if len(own) < max_parents else weakest
    others = [v for v in search.promising(child, wider) if v not in own]
    best = sorted(others, key=lambda v: -search.score(child, (*wider, v)))[:LOOK_AHEAD]
    if len(own) + 2 <= max_parents:
        for pair in combinations(best, 2):
            search.score(child, (*own, *pair))
    for rest in fewer:
        for extra in best:
            search.score(child, (*rest, extra))


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
    good = search_orders(sets, search.effort.restarts, rng)
    return [
        {parents[child] for parents in good} | set(sorted(own, key=lambda k: -own[k])[:BEST_SETS])
        for child, own in enumerate(sets)
    ]


def _closest(codes: Correlations, child: int, own: list[int], limit: int) -> list[int]:
    return sorted(sorted(own, key=lambda p: -abs(codes.matrix[child, p]))[:limit])

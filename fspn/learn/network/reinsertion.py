"""Moves that turn several edges at once: a variable goes behind some of its descendants.

A variable takes a better set of parents although members of it are its descendants; whatever lies
between takes its best set without the variable, or goes behind them together with it, whichever
costs less (after Moore and Wong's optimal reinsertion, 2003).
Single moves do not find this: the set of one variable must become worse before that of another can
become better.
"""

from __future__ import annotations

from collections.abc import Sequence

from fspn.learn.network.order_climb import undominated
from fspn.learn.network.width import Parents, ScoredSets
from fspn.model.graph import topological_order

SETS_TRIED = 32
"""Better sets of a variable that are tried, the best ones first."""


class RankedSets:
    """The parent sets of all variables in the order in which they are tried, the best first.

    Arguments:
        sets: The scored sets; one that a subset beats is never tried.
    """

    def __init__(self, sets: ScoredSets):
        self.scores = sets
        self.tried = [[(own[key], _bits(key), key) for key in undominated(own)] for own in sets]

    def best(self, child: int, allowed: int) -> tuple[float, tuple[int, ...]]:
        """The best set with all members among some variables, given as bits, and its score."""
        return next((s, key) for s, bits, key in self.tried[child] if not bits & ~allowed)


def reinsertions(
    parents: Parents, ranked: RankedSets, least: float = 1e-9
) -> list[tuple[float, Parents]]:
    """Acyclic networks one such move away, with gains above the least, the best first."""
    order = topological_order(parents)
    place = {v: i for i, v in enumerate(order)}
    below = _descendants(parents, order)
    found = []
    for v, own in enumerate(parents):
        now = ranked.scores[v][own]
        for score, members, key in ranked.tried[v][:SETS_TRIED]:
            if score < now - 1e-9 or key == own:
                break
            if members & below[v]:
                gain, moved = _behind(v, key, parents, order, place, below, ranked)
                gain += score - now
                if gain > least:
                    found.append((gain, moved))
    return sorted(found, key=lambda move: -move[0])


def _behind(
    v: int,
    key: tuple[int, ...],
    parents: Parents,
    order: Sequence[int],
    place: dict[int, int],
    below: Sequence[int],
    ranked: RankedSets,
) -> tuple[float, Parents]:
    """The network in which a variable follows the members of a set, and what the others gain."""
    members = [u for u in key if below[v] >> u & 1]
    between = [
        u for u in order[place[v] + 1 :]
        if below[v] >> u & 1 and any(u == w or below[u] >> w & 1 for w in members)
    ]  # fmt: skip
    free = (1 << len(parents)) - 1 & ~below[v]
    moving, allowed = 1 << v, free & ~(1 << v)
    moved, gain = list(parents), 0.0
    moved[v] = key
    for u in between:
        if _bits(parents[u]) & moving:
            score, best = ranked.best(u, allowed)
            loss = ranked.scores[u][parents[u]] - score
            everyone = (free | _bits(between)) & ~moving & ~(1 << u)
            others = sum(
                ranked.scores[w][parents[w]] - ranked.best(w, everyone & ~(1 << w))[0]
                for w in between
                if u in parents[w]
            )
            if u not in key and others < loss:
                moving |= 1 << u
                continue
            moved[u] = best
            gain -= loss
        allowed |= 1 << u
    return gain, moved


def _descendants(parents: Parents, order: Sequence[int]) -> list[int]:
    """Per variable all below it, as bits."""
    below = [0] * len(parents)
    for u in reversed(order):
        for p in parents[u]:
            below[p] |= below[u] | 1 << u
    return below


def _bits(key: Sequence[int]) -> int:
    return sum(1 << p for p in key)

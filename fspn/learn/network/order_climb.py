"""The climb over orderings on scored parent sets, compiled; see the order search for its use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress

import numpy as np
from numba import njit

from fspn.learn.network.width import ScoredSets


def search_orders(
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


def climb_from(sets: ScoredSets, order: Sequence[int]) -> list[tuple[int, ...]]:
    """The parents under the ordering that is reached from a given one."""
    flat, start, values = _flatten(sets)
    choice, _ = _climb(np.array(order), start, flat, values, _near(flat, start))
    return [tuple(int(p) for p in flat[i] if p >= 0) for i in choice]


def _flatten(sets: ScoredSets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per child its sets, best first, as arrays; a set that a subset beats is of no use."""
    rows: list[tuple[int, ...]] = []
    values: list[float] = []
    start = [0]
    width = max(len(key) for scored in sets for key in scored)
    for scored in sets:
        kept = undominated(scored)
        rows += [key + (-1,) * (width - len(key)) for key in kept]
        values += [scored[key] for key in kept]
        start.append(len(rows))
    flat = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return flat, np.array(start), np.array(values)


def undominated(scored: dict[tuple[int, ...], float]) -> list[tuple[int, ...]]:
    """The sets of a variable, best first, without those that a subset beats."""
    ranked = sorted(scored, key=lambda key: (-scored[key], key))
    ends = np.cumsum([0, *map(len, ranked)])
    members = np.fromiter(chain.from_iterable(ranked), dtype=np.int64, count=ends[-1])
    return list(compress(ranked, _without_better_subset(members, ends).tolist()))


@njit(cache=True)
def _without_better_subset(members: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Per set whether no kept set before it is part of it.

    Arguments:
        members: The members of all sets, of each in growing order.
        ends: Where every set begins and ends.
    """
    n = len(ends) - 1
    kept, n_kept = np.empty(n, dtype=np.int64), 0
    found = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        beaten = False
        for i in range(n_kept):
            if _is_part(members, ends[kept[i]], ends[kept[i] + 1], ends[k], ends[k + 1]):
                beaten = True
                break
        if not beaten:
            found[k] = True
            kept[n_kept] = k
            n_kept += 1
    return found


@njit(cache=True)
def _is_part(members: np.ndarray, first: int, last: int, at: int, end: int) -> bool:
    """Whether all of members[first:last] are among members[at:end]."""
    if last - first > end - at:
        return False
    for i in range(first, last):
        while at < end and members[at] < members[i]:
            at += 1
        if at == end or members[at] != members[i]:
            return False
        at += 1
    return True


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

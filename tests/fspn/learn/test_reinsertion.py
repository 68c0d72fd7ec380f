"""Moves behind descendants: what they claim to gain is what they gain, and cycles never appear."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fspn.learn.network.reinsertion import RankedSets, reinsertions
from fspn.learn.network.width import Parents, ScoredSets
from fspn.model.graph import topological_order


def random_sets(m: int, seed: int) -> ScoredSets:
    rng = np.random.default_rng(seed)
    return [
        {
            own: float(rng.normal(scale=3.0)) + len(own)
            for k in range(3)
            for own in combinations([u for u in range(m) if u != v], k)
            if not own or rng.random() < 0.6
        }
        for v in range(m)
    ]


def under(order: np.ndarray, sets: ScoredSets) -> Parents:
    """The best sets under an order."""
    place = {int(v): i for i, v in enumerate(order)}
    return [
        max(
            (own for own in scored if all(place[p] < place[v] for p in own)), key=scored.__getitem__
        )
        for v, scored in enumerate(sets)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_moves_are_acyclic_and_gain_what_they_say(seed: int) -> None:
    sets = random_sets(7, seed)
    parents = under(np.random.default_rng(seed).permutation(7), sets)

    def total(network: Parents) -> float:
        return sum(sets[v][own] for v, own in enumerate(network))

    moves = reinsertions(parents, RankedSets(sets), -5.0)
    assert [gain for gain, _ in moves] == sorted((gain for gain, _ in moves), reverse=True)
    for gain, moved in moves:
        assert len(topological_order(moved)) == 7  # Raises where there is a cycle.
        assert total(moved) - total(parents) == pytest.approx(gain)
        assert gain > -5.0


def test_a_copy_goes_along() -> None:
    """0 and its copy 1 stand above 2 and 3; behind 3 the variable 0 scores more."""
    sets: ScoredSets = [
        {(): -10.0, (3,): -5.0, (1,): 0.0},
        {(): -10.0, (0,): 0.0},
        {(): -3.0, (1,): -2.0},
        {(): -9.0, (2,): -1.0},
    ]
    parents: Parents = [(), (0,), (1,), (2,)]
    gain, moved = reinsertions(parents, RankedSets(sets))[0]
    assert gain == pytest.approx(4.0)
    assert moved == [(3,), (0,), (), (2,)]

"""Orders of elimination, and networks kept narrow, against plain repetitions of the rule."""

from __future__ import annotations

import numpy as np
import pytest

from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.score import LocalScores
from fspn.learn.network.width import bound_width
from fspn.model.graph import elimination_order, topological_order


def random_parents(m: int, seed: int, most: int = 2) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    place = rng.permutation(m)
    parents: list[tuple[int, ...]] = [()] * m
    for k, v in enumerate(place.tolist()):
        width = min(k, int(rng.integers(0, most + 1)))
        parents[v] = tuple(sorted(rng.choice(place[:k], width, replace=False).tolist()))
    return parents


def widest(parents: list[tuple[int, ...]], order: list[int], sizes: list[int]) -> float:
    """The cells of the largest product when factors are summed out in this order."""
    factors = [frozenset({v, *own}) for v, own in enumerate(parents)]
    worst = 0.0
    for v in order:
        touched = [f for f in factors if v in f]
        product = frozenset().union(*touched)
        worst = max(worst, float(np.prod([sizes[u] for u in product])))
        factors = [f for f in factors if v not in f] + [product - {v}]
    return worst


@pytest.mark.parametrize("seed", range(8))
def test_the_cells_are_those_of_the_order(seed: int) -> None:
    parents, sizes = random_parents(12, seed), [2 + (7 * v) % 5 for v in range(12)]
    order, cells = elimination_order(parents, sizes)
    assert sorted(order) == list(range(12))
    assert cells == pytest.approx(widest(parents, order, sizes))
    assert elimination_order(parents, sizes, cells * 1.01) == (order, cells)
    assert elimination_order(parents, sizes, cells * 0.99)[1] == np.inf


@pytest.mark.parametrize("seed", range(8))
def test_edges_go_by_what_they_bring_until_it_is_narrow(seed: int) -> None:
    m, rng = 12, np.random.default_rng(seed)
    codes = [rng.integers(0, 3, 200).astype(np.uint8) for _ in range(m)]
    scores = LocalScores(CodedTable(codes, [3] * m, [None] * m))
    parents = random_parents(m, seed, most=3)
    limit = 3**3
    found = bound_width(parents, [3] * m, limit, scores)
    current = list(parents)
    while elimination_order(current, [3] * m)[1] > limit:
        edges = [
            (scores.score(v, own) - scores.score(v, tuple(u for u in own if u != p)), v, p)
            for v, own in enumerate(current)
            for p in own
            if len(own) > 1
        ]
        _, v, p = min(edges)
        current[v] = tuple(u for u in current[v] if u != p)
    assert elimination_order(found.parents, [3] * m)[1] <= limit
    kept, dropped = sum(map(len, found.parents)), sum(map(len, current))
    # Greedy elimination is not monotone in the edges: bisection may find another border.
    assert abs(kept - dropped) <= 1
    assert all(set(own) <= set(before) for own, before in zip(found.parents, parents, strict=True))
    order = list(found.order)
    assert all(order.index(p) < order.index(v) for v in range(m) for p in found.parents[v])


def test_a_tree_keeps_its_edges() -> None:
    parents: list[tuple[int, ...]] = [(), (0,), (1,), (1,)]
    codes = [np.zeros(5, dtype=np.uint8)] * 4
    scores = LocalScores(CodedTable(codes, [9] * 4, [None] * 4))
    assert bound_width(parents, [9] * 4, 2, scores).parents == tuple(parents)


def test_every_variable_follows_its_parents() -> None:
    parents = random_parents(30, 5)
    order = topological_order(parents)
    assert all(order.index(p) < order.index(v) for v in range(30) for p in parents[v])

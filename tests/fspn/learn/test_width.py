"""Orders of elimination, and networks kept narrow, against plain repetitions of the rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.order_search import learn_network
from fspn.learn.network.score import LocalScores
from fspn.learn.network.width import is_narrow, narrow_network
from fspn.learn.network.width_kernels import is_narrow_sets
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


def correlated(m: int, n: int, seed: int, size: int = 3) -> CodedTable:
    """Every column follows a noisy sum of two earlier ones."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, size, n) for _ in range(2)]
    for v in range(2, m):
        one, other = rng.choice(v, 2, replace=False)
        noise = (rng.random(n) < 0.2) * rng.integers(1, size, n)
        codes.append((codes[one] + codes[other] + noise) % size)
    return CodedTable([c.astype(np.uint8) for c in codes], [size] * m, [None] * m)


def learned(table: CodedTable, max_parents: int, max_cells: int) -> tuple[list, float]:
    scores = LocalScores(table)
    rng = np.random.default_rng(0)
    m = len(table)
    found = learn_network(scores, np.ones((m, m)), max_parents, max_cells, rng).parents
    return list(found), sum(scores.score(v, own) for v, own in enumerate(found))


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_and_more_room_never_scores_less(seed: int) -> None:
    table = correlated(9, 1500, seed)
    totals = {}
    for max_parents in (1, 2, 3):
        for max_cells in (2, 9, 27, 81, 3**6):
            parents, totals[max_parents, max_cells] = learned(table, max_parents, max_cells)
            assert elimination_order(parents, table.sizes)[1] <= max(max_cells, 9) * 1.0001
            assert len(topological_order(parents)) == len(table)
            assert max(map(len, parents)) <= max_parents
    for (max_parents, max_cells), total in totals.items():
        smaller = [t for (p, c), t in totals.items() if p <= max_parents and c <= max_cells]
        assert total >= max(smaller) - 1e-6


def uneven(m: int, n: int, seed: int) -> CodedTable:
    """Columns of two to nine values, each following one to three earlier ones."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 10, m).tolist()
    codes = [rng.integers(0, size, n) for size in sizes[:3]]
    for v in range(3, m):
        own = rng.choice(v, int(rng.integers(1, 4)), replace=False)
        noise = (rng.random(n) < 0.15) * rng.integers(0, sizes[v], n)
        codes.append((sum(codes[p] * (i + 1) for i, p in enumerate(own)) + noise) % sizes[v])
    return CodedTable([c.astype(np.uint8) for c in codes], sizes, [None] * m)


@pytest.mark.parametrize("seed", range(2))
def test_more_parents_or_cells_never_score_less_on_uneven_columns(seed: int) -> None:
    table = uneven(12, 2_000, seed)
    bounds = [(p, c) for p in (1, 2, 3, 5) for c in (50, 100, 200, 1_000, 50_000)]
    totals = {bound: learned(table, *bound)[1] for bound in bounds}
    for (max_parents, max_cells), total in totals.items():
        smaller = [t for (p, c), t in totals.items() if p <= max_parents and c <= max_cells]
        assert total >= max(smaller) - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_no_single_move_within_the_bound_is_left(seed: int) -> None:
    table, limit = correlated(8, 800, seed), 27
    scores = LocalScores(table)
    m = len(table)
    others = {v: [u for u in range(m) if u != v] for v in range(m)}
    sets = [
        {own: scores.score(v, own) for k in range(3) for own in combinations(others[v], k)}
        for v in range(m)
    ]
    start = random_parents(m, seed, most=3)
    found = narrow_network([start], sets, scores, limit, np.random.default_rng(0), 3)
    assert elimination_order(found, table.sizes)[1] <= limit * 1.0001
    for v in range(m):
        for own, score in sets[v].items():
            if score > sets[v][found[v]] + 1e-6:
                moved = [*found[:v], own, *found[v + 1 :]]
                acyclic = len(topological_order(moved)) == m if not _cyclic(moved) else False
                assert not acyclic or elimination_order(moved, table.sizes)[1] > limit


def _cyclic(parents: list[tuple[int, ...]]) -> bool:
    above = np.zeros((len(parents), len(parents)), dtype=bool)
    for v, own in enumerate(parents):
        above[v, list(own)] = True
    reach = above.copy()
    for _ in parents:
        reach |= (reach.astype(int) @ above.astype(int)) > 0
    return bool(np.diag(reach).any())


def test_single_parents_count_too() -> None:
    codes = [np.arange(400) % 20, np.arange(400) % 20]
    table = CodedTable([c.astype(np.uint8) for c in codes], [20, 20], [None, None])
    assert sum(map(len, learned(table, 2, 7)[0])) == 1
    assert sum(map(len, learned(table, 2, 6)[0])) == 0


def test_every_variable_follows_its_parents() -> None:
    parents = random_parents(30, 5)
    order = topological_order(parents)
    assert all(order.index(p) < order.index(v) for v in range(30) for p in parents[v])


@pytest.mark.parametrize("seed", range(12))
def test_the_compiled_check_of_the_width_agrees_with_the_elimination_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 14))
    parents, sizes = random_parents(m, seed, 3), rng.integers(2, 9, m).tolist()
    flat = np.array([own + (-1,) * (3 - len(own)) for own in parents])
    logs, room = np.log(np.array(sizes, dtype=np.float64)), np.empty((m, m), dtype=np.int32)
    for max_cells in (4, 30, 200, 2_000, 30_000):
        found = is_narrow_sets(
            flat,
            np.arange(m),
            logs,
            np.log(max_cells),
            np.log(64.0),
            np.inf,
            room,
            np.empty(m, np.int64),
        )
        assert found == is_narrow(parents, sizes, max_cells)


def test_a_parent_that_no_pair_shows_is_found_among_more_than_64_columns() -> None:
    """Beside column 0 the third depends on column 1, of which it is independent alone."""
    rng = np.random.default_rng(0)
    codes = list(rng.integers(0, 2, (70, 3_000)).astype(np.uint8))
    odds = 0.4 + 0.2 * codes[0] + 0.3 * (1 - 2.0 * (codes[0] ^ codes[1]))
    codes[2] = (rng.random(3_000) < odds).astype(np.uint8)
    strength = np.zeros((70, 70))
    strength[0, 2] = strength[2, 0] = 1.0
    scores = LocalScores(CodedTable(codes, [2] * 70, [None] * 70))
    network = learn_network(scores, strength, 4, 300_000, rng)
    assert {0, 1, 2} in [{v, *own} for v, own in enumerate(network.parents)]

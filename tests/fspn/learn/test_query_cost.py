"""max_query_cost: the bound holds, a larger one never scores less, and too small ones are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.order_search import cost_bounds, learn_network
from fspn.learn.network.score import LocalScores
from fspn.learn.network.width import is_narrow
from fspn.model.graph import elimination_cells, elimination_order

COLUMNS = [f"c{i}" for i in range(8)]


def noisy_sums(n: int, seed: int, size: int = 3, m: int = 8) -> np.ndarray:
    """Every column follows two earlier ones."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, size, n) for _ in range(2)]
    for v in range(2, m):
        one, other = rng.choice(v, 2, replace=False)
        noise = (rng.random(n) < 0.2) * rng.integers(1, size, n)
        codes.append((codes[one] + codes[other] + noise) % size)
    return np.column_stack(codes)


def products(parents: list[tuple[int, ...]], sizes: list[int]) -> float:
    """The cells of all products, by joining the scopes of tables in the elimination order."""
    factors = [frozenset({v, *own}) for v, own in enumerate(parents)]
    total = 0.0
    for v in elimination_order(parents, sizes)[0]:
        product = frozenset[int]().union(*(f for f in factors if v in f))
        total += float(np.prod([sizes[u] for u in product]))
        factors = [f for f in factors if v not in f] + [product - {v}]
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_budget_never_scores_less_and_each_one_holds(seed: int) -> None:
    codes = noisy_sums(1500, seed)
    m = codes.shape[1]
    table = CodedTable([c.astype(np.uint8) for c in codes.T], [3] * m, [None] * m)
    before = -np.inf
    for budget in (24, 40, 60, 75, 100, 170, 300, 700, 5_000):
        scores, rng = LocalScores(table), np.random.default_rng(0)
        found = learn_network(scores, np.ones((m, m)), 3, budget, rng, max_cost=budget).parents
        total = sum(scores.score(v, own) for v, own in enumerate(found))
        assert elimination_cells(found, table.sizes) == products(list(found), table.sizes)
        assert elimination_cells(found, table.sizes) <= budget
        assert total >= before
        before = total


def test_the_series_of_a_smaller_bound_is_part_of_that_of_a_larger_one() -> None:
    small, large = cost_bounds([3, 4], 60), cost_bounds([3, 4], 1_000)
    assert small == [14, 28, 56]
    assert large[: len(small)] == small


def test_both_bounds_count() -> None:
    chain = [(), (0,), (1,)]
    assert is_narrow(chain, [4, 4, 4], 16, 36)
    assert not is_narrow(chain, [4, 4, 4], 16, 35)
    assert not is_narrow([(), (), (0, 1)], [4, 4, 4], 16, 1_000)


@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_the_bound_holds_for_whole_models(n_components: int | None) -> None:
    parts = [noisy_sums(1500, 1), (2 * noisy_sums(1500, 2) + 1) % 3]
    table = pd.DataFrame(np.concatenate(parts), columns=COLUMNS)
    costs = []
    for budget in (80, 200, 2_000):
        model = FSPN(max_query_cost=budget, n_components=n_components).fit(table)
        assert model.query_cost_ <= budget
        costs.append(model.query_cost_)
    assert costs[0] < costs[-1]


def test_two_valued_columns_have_the_bound_too() -> None:
    table = pd.DataFrame(noisy_sums(2_000, 0, 2), columns=COLUMNS)
    for budget in (16, 40, 100, 1_000):
        assert FSPN(max_query_cost=budget).fit(table).query_cost_ <= budget


def test_independent_groups_share_the_bound() -> None:
    both = np.hstack([noisy_sums(3_000, 3, m=5), noisy_sums(3_000, 4, m=6)])
    model = FSPN(max_query_cost=120).fit(pd.DataFrame(both).add_prefix("c"))
    assert 33 < model.query_cost_ <= 120


def test_too_little_is_refused_with_what_is_needed() -> None:
    table = pd.DataFrame(noisy_sums(200, 0), columns=COLUMNS)
    with pytest.raises(ValueError, match=r"max_query_cost=23 is too little.*24\s+cells"):
        FSPN(max_query_cost=23).fit(table)
    with pytest.raises(ValueError, match="max_query_cost=0 must be a whole number"):
        FSPN(max_query_cost=0).fit(table)
    with pytest.raises(ValueError, match="max_query_cost=99 does nothing here"):
        FSPN(preset="paper", max_query_cost=99).fit(table)

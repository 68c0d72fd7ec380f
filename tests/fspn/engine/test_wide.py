"""Many columns: what is computed once, what grows how, and that wide tables train at all."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.learn.dependence.base import Column
from fspn.learn.dependence.rdc import RDC, Corrected
from fspn.learn.network.order_climb import _climb, _flatten, _near
from fspn.learn.network.order_search import MAX_CANDIDATES, _candidates
from fspn.model.nodes import TableSplit, walk


class Watched:
    """An oracle that keeps the shapes of what it was asked."""

    def __init__(self, oracle: Corrected | RDC):
        self.oracle = oracle
        self.asked: list[tuple[int, int, int]] = []

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        self.asked.append((len(first[0].values), len(first), len(second)))
        return self.oracle.matrix(first, second)


def groups_of_three(n_groups: int, n: int = 1500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {}
    for g in range(n_groups):
        x = rng.integers(0, 4, n)
        for k in range(3):
            columns[f"{g}{'abc'[k]}"] = np.where(rng.random(n) < 0.8, x, rng.integers(0, 4, n))
    return pd.DataFrame(columns)


def binary_chain(n: int, m: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.empty((n, m), dtype=np.uint8)
    x[:, 0] = rng.integers(0, 2, n)
    for j in range(1, m):
        x[:, j] = x[:, j - 1] ^ (rng.random(n) < 0.15)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(m)])


def test_dependence_is_computed_once_for_all_groups() -> None:
    oracle = Watched(Corrected())
    model = FSPN(oracle=oracle).fit(groups_of_three(12))
    assert oracle.asked == [(1500, 36, 36)]
    groups = [{node.variable // 3, *(p // 3 for p in node.given)} for node in walk(model.root_)
              if isinstance(node, TableSplit)]  # fmt: skip
    assert len(groups) == 24
    assert all(len(group) == 1 for group in groups)


def test_the_paper_computes_it_once_for_all_rows() -> None:
    """Further questions are about fewer rows, or are those of a split of the conditions."""
    oracle = Watched(RDC())
    FSPN(preset="paper", oracle=oracle).fit(groups_of_three(6))
    assert [asked for asked in oracle.asked if asked[0] == 1500] == [(1500, 18, 18)]


def test_four_times_the_columns_cost_at_most_sixteen_times() -> None:
    FSPN().fit(groups_of_three(4, 300))
    seconds = []
    for n_groups in (12, 48):
        table = groups_of_three(n_groups, 600)
        times = []
        for _ in range(3):
            start = time.process_time()
            FSPN().fit(table)
            times.append(time.process_time() - start)
        seconds.append(min(times))
    assert seconds[1] < 1.5 * 16 * seconds[0]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_hundreds_of_binary_columns(preset: str) -> None:
    """A chain of flips: the model is close to the truth's entropy, far from independence."""
    m = 300 if preset == "default" else 120
    model = FSPN(preset=preset).fit(binary_chain(1000, m))
    flip = -(0.15 * np.log(0.15) + 0.85 * np.log(0.85))
    independent = -m * np.log(2)
    fresh = binary_chain(500, m, seed=1)
    bound = -(np.log(2) + (m - 1) * flip)
    share = (model.score(fresh) - independent) / (bound - independent)
    assert share > (0.95 if preset == "default" else 0.2)


def test_candidates_are_the_strongest() -> None:
    rng = np.random.default_rng(0)
    strength = np.triu(rng.random((100, 100)), 1)
    strength += strength.T
    strength[:, 7] = strength[7] = 0.0
    found = _candidates(strength)
    assert found[7] == []
    for child, own in enumerate(found):
        if child != 7:
            assert set(own) == set(np.argsort(-strength[child])[:MAX_CANDIDATES].tolist())
            assert child not in own


@pytest.mark.parametrize("seed", range(6))
def test_the_climb_ends_where_no_insertion_helps(seed: int) -> None:
    """Against every insertion into the order, scored from nothing."""
    rng = np.random.default_rng(seed)
    m = 7
    sets = []
    for v in range(m):
        others = [p for p in range(m) if p != v]
        keys = [(), *((p,) for p in others)]
        keys += [tuple(sorted(rng.choice(others, 2, replace=False).tolist())) for _ in range(6)]
        sets.append({key: float(rng.normal() + len(key)) for key in keys})

    def total(order: list[int]) -> float:
        before = {v: set(order[: order.index(v)]) for v in order}
        return sum(max(s for k, s in sets[v].items() if set(k) <= before[v]) for v in order)

    flat, start, values = _flatten(sets)
    order = rng.permutation(m)
    chosen, score = _climb(order, start, flat, values, _near(flat, start))
    found = order.tolist()
    assert score == pytest.approx(total(found))
    assert values[chosen].sum() == pytest.approx(total(found))
    for v in range(m):
        rest = [u for u in found if u != v]
        for place in range(m):
            assert total([*rest[:place], v, *rest[place:]]) <= score + 1e-8

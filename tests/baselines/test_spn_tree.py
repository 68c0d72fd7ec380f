"""The tree SPN: its test of independence against scipy's, and what it is made of."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from baselines.independent import Independent
from baselines.ours.fspn_model import FSPNModel
from baselines.ours.spn_tree import GTest, SPNTree
from fspn import FSPN
from fspn.learn.dependence.rdc import Column
from fspn.model.nodes import Product, Sum, UniLeaf
from tests.benchmarks import benchmark, made_up


def columns() -> list[Column]:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, 200)
    b = np.where(rng.random(200) < 0.25, a, rng.integers(0, 3, 200))
    c = (rng.random(200) < 0.3 + 0.1 * (a == 2)).astype(int)
    d = rng.integers(0, 2, 200)
    return [Column(values, size) for values, size in ((a, 3), (b, 3), (c, 2), (d, 2))]


@pytest.mark.parametrize("level", [0.2, 0.05, 0.001, 1e-6])
def test_the_test_is_the_g_test(level: float) -> None:
    data = columns()
    found = GTest(level).matrix(data, data)
    for i, j in itertools.combinations(range(len(data)), 2):
        table = np.zeros((data[i].size, data[j].size))
        np.add.at(table, (data[i].values, data[j].values), 1)
        p = chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue
        assert found[i, j] == found[j, i] == (p < level)
    np.testing.assert_array_equal(GTest(level).matrix(data[:1], data[1:]), found[:1, 1:])


def test_a_column_of_one_value_is_independent() -> None:
    data = [*columns(), Column(np.zeros(200, dtype=int), 2), Column(np.zeros(200, dtype=int), 1)]
    assert not GTest(0.5).matrix(data, data)[-2:, :4].any()


def test_it_never_factorizes_and_can_be_kept(tmp_path: Path) -> None:
    table = made_up(2_000, 8)
    domains = {c: np.array([0, 1]) for c in table.columns}
    model = SPNTree(min_rows=50).fit(table, domains)
    todo, kinds = [model.model.root_], set()
    while todo:
        node = todo.pop()
        kinds.add(type(node))
        todo.extend(getattr(node, "children", ()))
    assert kinds == {Sum, Product, UniLeaf}
    fresh = made_up(2_000, 8, seed=1)
    worst = Independent().fit(table, domains).score_samples(fresh).mean()
    assert model.score_samples(fresh).mean() > worst + 0.5
    model.save(tmp_path / "tree.fspn")
    again = FSPN.load(tmp_path / "tree.fspn")
    np.testing.assert_allclose(again.score_samples(fresh), model.score_samples(fresh))


def test_a_wrong_level_is_named() -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        SPNTree(level=0.0)


def test_it_is_as_good_as_the_published_learnspn() -> None:
    data = benchmark("nltcs")
    model = SPNTree(1e-4, 20, 0.1).fit(data.train, data.domains)
    assert model.score_samples(data.test).mean() >= -6.11


@pytest.mark.parametrize("params", [{"group": "split", "tau_high": 0.7}, {"tau_high": 1.1}])
def test_the_bound_on_parents_holds_where_there_are_no_tables(params: dict[str, Any]) -> None:
    table = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 1, 1, 0] * 25})
    domains = {name: np.array([0, 1]) for name in table}
    assert FSPNModel(max_parents=2, **params).fit(table, domains).model.max_parents is None
    assert FSPNModel(max_parents=2).fit(table, domains).model.max_parents == 2

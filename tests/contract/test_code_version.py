"""A code version covers every module of this project that runs while a model learns and answers."""

from __future__ import annotations

import sys
from collections import defaultdict
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from baselines.estimators.on_cells import BNDagOnCells, Histograms, MSPNOnCells
from baselines.ours.spn_tree import SPNTree
from experiments.records import fingerprint as fp
from fspn import FSPN
from tests.contract.cases import DOMAINS, Case, fitted

PACKAGES = tuple(f"{package}." for package in fp.PACKAGES)
# Asked by every fit, the recipe's too, which goes on the same way whatever the answer is.
ONLY_ASKED = {
    "fspn.learn.mixture.fit": {"__init__"},  # settings, made for every table
}
RECIPES: list[dict[str, Any]] = [
    {},
    {"multi_leaf": "tree"},
    {"multi_leaf": "mixture"},
    {"split": "kmeans_grid"},
    {"oracle": "corrected"},
    {"tau_low": 0.05, "tau_high": 0.5},
    {"tau_low": 0.6, "tau_high": 1.1},
]


class Calls:
    """The functions of this project that were called, by module."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = defaultdict(set)

    def __enter__(self) -> Calls:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith(PACKAGES) and frame.f_code.co_name != "<module>":
            self.seen[name].add(frame.f_code.co_name)

    def outside(self, target: str, family: str = "", multi_leaf: str = "") -> dict[str, set[str]]:
        """What ran and is not covered by the code version of a model."""
        roots = frozenset({target.rpartition(".")[0], *fp.MEASURES})
        unused = fp.unused_imports(target, family, multi_leaf)
        covered = fp._closure(roots, unused) | fp.BYSTANDERS
        own = {"baselines.registry"}
        if unused >= fp.NOT_POOLED:
            for module, names in fp.OF_POOLS.items():
                assert not self.seen[module] & names - {"resolve_pools"}, "asked, answers None"
        return {
            module: names - ONLY_ASKED.get(module, set())
            for module, names in self.seen.items()
            if module not in covered | own and names - ONLY_ASKED.get(module, set())
        }


def test_what_runs_is_covered(case: Case) -> None:
    with Calls() as calls:
        model = fitted(case)
        states = pd.DataFrame({name: values[:2] for name, values in DOMAINS.items()}, index=[0, 1])
        model.score_samples(states)
        if model.engine != "pomegranate":
            model.conditional([{"a": 0}], [{"b": 0}])
    assert not calls.outside(case.settings["_target_"], "sparse")


@pytest.mark.parametrize("model", [Histograms, BNDagOnCells, MSPNOnCells])
def test_what_models_on_cells_run_is_covered(model: Any) -> None:
    with Calls() as calls:
        fit = model().fit(noisy_copies(4), {}, 0)
        fit.selectivity([{"a": (0, 2)}])
        fit.score_samples(noisy_copies(4))
    assert not calls.outside(f"baselines.estimators.on_cells.{model.__name__}", "table")


def noisy_copies(values: int) -> pd.DataFrame:
    """800 rows of five noisy copies of a column."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, values, 800)
    noise = rng.integers(0, values, (800, 5)) * (rng.random((800, 5)) < 0.4)
    return pd.DataFrame((kind[:, None] + noise) % values, columns=list("abcde"))


@pytest.mark.parametrize("settings", RECIPES, ids=str)
@pytest.mark.parametrize("values", [2, 4])
def test_what_the_recipe_runs_is_covered(settings: dict[str, Any], values: int) -> None:
    with Calls() as calls:
        FSPN(preset="paper", min_rows=50, **settings).fit(noisy_copies(values))
    leaf = settings.get("multi_leaf", "")
    assert not calls.outside("baselines.ours.fspn_model.FSPNPaper", multi_leaf=leaf)


def test_networks_count_where_they_are_the_recipes_multi_leaves() -> None:
    target = "baselines.ours.fspn_model.FSPNPaper"
    with Calls() as calls:
        FSPN(preset="paper", min_rows=50, multi_leaf="tree").fit(noisy_copies(4))
    assert "fspn.learn.network.order_search" in calls.outside(target)
    assert fp.code_version(target) != fp.code_version(target, multi_leaf="tree")


def test_what_a_tree_spn_runs_on_two_values_is_covered() -> None:
    table = noisy_copies(2)
    with Calls() as calls:
        SPNTree(min_rows=50).fit(table, {name: np.arange(2) for name in table}, seed=0)
    assert not calls.outside("baselines.ours.spn_tree.SPNTree")


def test_sum_nodes_over_more_values_do_not_count_where_there_are_two() -> None:
    target = "baselines.ours.fspn_model.FSPNModel"
    assert fp.code_version(target, "debd") != fp.code_version(target, "sparse")
    with Calls() as calls:
        FSPN().fit(noisy_copies(2))
    assert not calls.outside(target, "debd")
    with Calls() as calls:
        FSPN().fit(noisy_copies(4))
    assert "fspn.learn.mixture.fit" in calls.outside(target, "debd")
    assert not calls.outside(target, "dense")


def test_the_learner_does_not_count_for_models_that_it_does_not_learn() -> None:
    roots = frozenset({"baselines.bayes_net.bn_dag", *fp.MEASURES})
    covered = fp._closure(roots, fp.unused_imports("baselines.bayes_net.bn_dag.BNDag"))
    assert "fspn.engine.engine" in covered
    assert not any(module.startswith("fspn.learn.mixture") for module in covered)
    assert "fspn.learn.mixture.fit" in fp._closure(
        frozenset({"baselines.ours.fspn_model", *fp.MEASURES})
    )

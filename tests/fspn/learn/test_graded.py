"""Learning the graded law: the maximum of the likelihood, the truth, and when it is left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from fspn import FSPN
from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.graded import fit_graded
from fspn.learn.network.score import LocalScores
from fspn.learn.network.tables import fit_cpt
from fspn.model.cpt.backoff import CountLevel
from fspn.model.cpt.graded import GradedLaw, graded_rows
from fspn.model.nodes import Node, TableSplit


def log_likelihood(counts: np.ndarray, location: np.ndarray, cuts: np.ndarray) -> float:
    return float((counts * np.log(graded_rows(location, cuts))).sum())


def test_finds_the_maximum_of_the_likelihood() -> None:
    counts = np.random.default_rng(0).integers(1, 30, size=(4, 3))

    def loss(free: np.ndarray) -> float:
        location = np.concatenate([[0.0], free[:3]])
        return -log_likelihood(counts, location, np.array([free[3], free[3] + np.exp(free[4])]))

    best = -minimize(loss, np.zeros(5), tol=1e-10).fun
    fit = fit_graded(counts, (4,))
    assert fit is not None
    assert fit.likelihood == pytest.approx(best, abs=0.02)
    assert fit.likelihood <= best + 1e-6


def smooth_rows(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Two independent columns, and a third that follows both with logistic noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 12, n), rng.integers(0, 9, n)
    line = 20 * ((a / 11 + b / 8) / 2) ** 1.3 + rng.logistic(scale=1.0, size=n)
    return {"a": a, "b": b, "c": np.clip(np.rint(line), 0, 20).astype(np.int64)}


def coded(rows: dict[str, np.ndarray], ordered: bool = True) -> CodedTable:
    codes, sizes = list(rows.values()), [12, 9, 21]
    return CodedTable(codes, sizes, [None] * 3, [ordered] * 3)


def truth() -> np.ndarray:
    a, b = np.indices((12, 9)).reshape(2, -1)
    edges = np.concatenate([[-np.inf], np.arange(20) + 0.5, [np.inf]])
    centre = 20 * ((a / 11 + b / 8) / 2) ** 1.3
    table: np.ndarray = np.diff(1 / (1 + np.exp(-(edges - centre[:, None]))), axis=1)
    return table


def divergence(ordered: bool) -> float:
    table = coded(smooth_rows(20_000), ordered)
    cpt, parents = fit_cpt(table, LocalScores(table), 2, (0, 1), None)
    configurations = np.indices((12, 9)).reshape(2, -1).T
    found = cpt.table(configurations if parents == (0, 1) else configurations[:, ::-1])
    p = truth()
    return float((p * np.log(np.maximum(p, 1e-300) / found)).sum(axis=1).mean())


def test_is_several_times_closer_to_a_graded_truth_than_counts() -> None:
    assert divergence(ordered=True) < 0.2 * divergence(ordered=False)


def cpts(node: Node) -> list[TableSplit]:
    own = [node] if isinstance(node, TableSplit) else []
    return own + [table for child in node.children for table in cpts(child)]


@pytest.mark.parametrize("graded", [True, False])
def test_the_estimator_takes_it_where_it_pays_and_where_it_may(graded: bool) -> None:
    model = FSPN(graded=graded).fit(pd.DataFrame(smooth_rows(5_000)))
    kinds = {type(level) for table in cpts(model.root_) for level in table.cpt.levels}
    assert kinds == {GradedLaw if graded else CountLevel}


def test_few_rows_are_enough_for_both_parents_and_the_law_says_more_about_fresh_rows() -> None:
    rows, fresh = pd.DataFrame(smooth_rows(1_000)), pd.DataFrame(smooth_rows(2_000, seed=1))
    domains = {"a": range(12), "b": range(9), "c": range(21)}
    law, counts = (FSPN(graded=graded).fit(rows, domains=domains) for graded in (True, False))
    given = {frozenset(table.given) for table in cpts(law.root_) if table.variable == 2}
    assert given == {frozenset({0, 1})}
    assert law.score_samples(fresh).mean() > counts.score_samples(fresh).mean() + 0.02


def test_labels_have_no_order() -> None:
    rows = pd.DataFrame(smooth_rows(5_000))
    model = FSPN().fit(rows.astype(str))
    levels = [level for table in cpts(model.root_) for level in table.cpt.levels]
    assert all(isinstance(level, CountLevel) for level in levels)


def test_a_shuffled_order_is_left_to_counts() -> None:
    rows = smooth_rows(20_000)
    rows["c"] = np.random.default_rng(3).permutation(21)[rows["c"]]
    table = coded(rows)
    cpt, _ = fit_cpt(table, LocalScores(table), 2, (0,), None)
    assert isinstance(cpt.levels[-1], CountLevel)


def test_new_rows_are_counted_on_top_of_the_law() -> None:
    rows = pd.DataFrame(smooth_rows(5_000))
    model = FSPN(graded=True).fit(rows)
    before = model.conditional({"c": 0}, {"a": 11, "b": 8})
    odd = pd.DataFrame({"a": [11] * 500, "b": [8] * 500, "c": [0] * 500})
    model.update(odd)
    assert before < 0.01
    assert model.conditional({"c": 0}, {"a": 11, "b": 8}) > 0.5


def test_describe_names_the_kinds_of_tables() -> None:
    described = FSPN().fit(pd.DataFrame(smooth_rows(5_000))).describe()
    assert described.tables == {"graded law": 1}
    assert "(tables: 1 graded law)" in str(described)

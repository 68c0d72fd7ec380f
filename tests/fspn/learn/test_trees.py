"""Decision trees inside conditionals: the true contexts are found, and pay on fresh rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.score import LocalScores
from fspn.learn.network.tables import fit_cpt
from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.tree import TreeLevel

SIZES = [6, 5, 5, 4]
LEAVES = np.random.default_rng(5).dirichlet(np.full(4, 0.3), size=4)


def context(parents: np.ndarray) -> np.ndarray:
    """Only where the first parent is small does the second matter, elsewhere the third."""
    a, b, c = parents.T
    return np.where(a <= 2, np.where(b == 3, 0, 1), np.where(c <= 1, 2, 3))


def rows(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parents = np.column_stack([rng.integers(0, size, n) for size in SIZES[:3]])
    child = (rng.random((n, 1)) > LEAVES[context(parents)].cumsum(axis=1)[:, :-1]).sum(axis=1)
    return np.column_stack([parents, child])


def fitted(trees: bool) -> tuple[BackoffTable, tuple[int, ...]]:
    codes = list(rows(1_500, 0).T)
    table = CodedTable(codes, SIZES, [None] * 4, [True] * 4, trees)
    return fit_cpt(table, LocalScores(table), 3, (0, 1, 2), None)


def test_the_contexts_are_found() -> None:
    cpt, _ = fitted(trees=True)
    (level,) = cpt.levels
    assert isinstance(level, TreeLevel)
    assert 4 <= level.n_leaves <= 6


def mean_log(trees: bool) -> float:
    cpt, parents = fitted(trees)
    fresh = rows(20_000, 1)
    table = cpt.table(fresh[:, list(parents)])
    return float(np.log(table[np.arange(len(fresh)), fresh[:, 3]]).mean())


def test_fresh_rows_are_more_likely_than_under_a_table_of_counts() -> None:
    assert mean_log(trees=True) > mean_log(trees=False) + 0.005


@pytest.mark.parametrize("trees", [True, False])
def test_the_estimator_keeps_stores_and_updates_them(trees: bool, tmp_path: Path) -> None:
    table = pd.DataFrame(rows(1_500, 0), columns=list("abcd"))
    model = FSPN(trees=trees, graded=False, offsets=False, n_components=1).fit(table)
    model.save(tmp_path / "model.fspn")
    again = FSPN.load(tmp_path / "model.fspn")
    event = {"d": 0, "a": 1}
    assert again.probability(event) == pytest.approx(model.probability(event), abs=1e-15)
    before = model.conditional({"d": 0}, {"a": 0, "b": 0, "c": 0})
    model.update(pd.DataFrame([[0, 0, 0, 0]] * 2_000, columns=list("abcd")))
    assert model.conditional({"d": 0}, {"a": 0, "b": 0, "c": 0}) > max(before, 0.8)

"""Dependence that no pair of columns shows, against entropies by scipy and known truths."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import entropy

from fspn import FSPN
from fspn.learn.dependence.triples import _statistics, _unseen, with_triples
from fspn.model.nodes import TableSplit, walk

NOISE = 0.1


def sums(n: int, size: int, seed: int, m: int = 10) -> np.ndarray:
    """Independent columns but for two: each is a noisy sum, modulo the size, of two others."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, size, (n, m))
    cells[:, 7] = (cells[:, 2] + cells[:, 5] + (rng.random(n) < NOISE)) % size
    cells[:, 9] = (cells[:, 0] + cells[:, 7] + (rng.random(n) < NOISE)) % size
    return cells


@pytest.mark.parametrize("size", [2, 3, 5])
def test_parents_that_no_pair_shows_are_found(size: int) -> None:
    cells = sums(12_000, size, 0)
    table = pd.DataFrame(cells, columns=[f"c{i}" for i in range(10)])
    model = FSPN().fit(table[:10_000])
    families = {
        frozenset({part.variable, *part.given})
        for part in walk(model.root_)
        if isinstance(part, TableSplit)
    }
    assert families == {frozenset({2, 5, 7}), frozenset({0, 7, 9})}
    truth = -8 * np.log(size) - 2 * entropy([NOISE, 1 - NOISE])
    assert model.score(table[10_000:]) == pytest.approx(truth, abs=0.03)


def test_the_statistic_is_that_of_the_entropies() -> None:
    cells = sums(3_000, 3, 1)
    picked = cells[:, [2, 5, 7]].astype(np.uint8)

    def joint(columns: tuple[int, ...]) -> float:
        return float(entropy(np.unique(picked[:, columns], axis=0, return_counts=True)[1]))

    expected = sum(joint(pair) for pair in combinations(range(3), 2)) - joint((0, 1, 2))
    expected -= sum(joint((v,)) for v in range(3))
    found = _statistics(picked.T.copy(), np.array([3, 3, 3]), np.array([[0, 1, 2]]))
    assert found[0] == pytest.approx(2 * 3_000 * expected, rel=1e-9)


def test_independent_columns_stay_independent() -> None:
    false = 0
    for seed in range(30):
        cells = np.random.default_rng(seed).integers(0, 3, (2_000, 10))
        raised = with_triples(np.zeros((10, 10)), list(cells.T), [3] * 10)
        false += bool(raised.any())
    assert false <= 1


def test_pairs_keep_their_dependence_and_many_values_are_left_out() -> None:
    cells = sums(5_000, 2, 2)
    dependence = np.zeros((10, 10))
    dependence[2, 5] = dependence[5, 2] = 0.4
    raised = with_triples(dependence, list(cells.T), [2] * 10)
    assert raised[2, 5] == 0.4
    assert 0 < raised[5, 7] < 0.01
    assert (with_triples(dependence, list(cells.T), [200] * 10) == dependence).all()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_triples_of_at_most_one_dependent_pair_are_listed(share: float) -> None:
    dependence = np.triu(np.random.default_rng(0).random((12, 12)) < share, 1) * 0.5
    dependence += dependence.T
    expected = [
        triple
        for triple in combinations(range(12), 3)
        if sum(dependence[pair] > 0 for pair in combinations(triple, 2)) <= 1
    ]
    assert _unseen(dependence) == expected


@pytest.mark.parametrize("dependent", [0.0, 0.5])
def test_very_many_columns_take_no_time_and_no_memory(dependent: float) -> None:
    m = 1_500  # More than 500 million triples.
    cells = np.random.default_rng(0).integers(0, 2, (2_000, m))
    dependence = np.full((m, m), dependent)
    if dependent:
        dependence[:3, :3] = 0.0
    raised = with_triples(dependence, list(cells.T), [2] * m)
    assert (raised == dependence).all()

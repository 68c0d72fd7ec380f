"""Chow-Liu against networkx, scikit-learn and an exhaustive search over trees."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from baselines.bayes_net.chow_liu import chow_liu
from baselines.contingency import pairwise_mutual_information
from tests.baselines.data import additive_codes


@pytest.mark.parametrize("binary", [False, True])
def test_mutual_information_equals_scikit_learn(binary: bool) -> None:
    codes, cards = additive_codes(700, 4)
    if binary:
        codes, cards = codes % 2, np.full(codes.shape[1], 2)
    ours = pairwise_mutual_information(codes, cards)
    for i, j in itertools.permutations(range(codes.shape[1]), 2):
        assert ours[i, j] == pytest.approx(mutual_info_score(codes[:, i], codes[:, j]), abs=1e-10)


def test_constant_binary_columns_carry_no_information() -> None:
    codes = np.stack([np.zeros(50, int), np.arange(50) % 2, np.arange(50) % 2], axis=1)
    information = pairwise_mutual_information(codes, np.array([2, 2, 2]))
    np.testing.assert_allclose(information[0], 0.0, atol=1e-12)
    assert information[1, 2] == pytest.approx(np.log(2))


@pytest.mark.parametrize("seed", range(4))
def test_no_tree_is_better(seed: int) -> None:
    codes, cards = additive_codes(600, seed, columns=5)
    information = pairwise_mutual_information(codes, cards)
    parents = chow_liu(codes, cards)
    found = sum(information[c, p] for c, above in enumerate(parents) for p in above)
    edges = list(itertools.combinations(range(5), 2))
    trees = [
        t
        for t in itertools.combinations(edges, 4)
        if nx.is_connected(nx.Graph(t)) and nx.Graph(t).number_of_nodes() == 5
    ]
    assert len(trees) == 125
    assert found == pytest.approx(max(sum(information[e] for e in t) for t in trees))
    assert sum(len(above) for above in parents) == 4


def test_parents_make_a_rooted_forest() -> None:
    codes, cards = additive_codes(600, 0)
    parents = chow_liu(codes, cards)
    graph = nx.DiGraph([(p, c) for c, above in enumerate(parents) for p in above])
    assert nx.is_arborescence(graph)


def test_penalty_leaves_out_independent_columns() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    codes = np.stack([a, rng.integers(0, 4, 3000), (a + (rng.random(3000) < 0.1)) % 3], axis=1)
    cards = np.array([3, 4, 3])
    assert chow_liu(codes, cards, penalty=1.0) == ((), (), (0,))
    assert sum(len(above) for above in chow_liu(codes, cards)) == 2


def test_wide_binary_table_is_fast() -> None:
    rng = np.random.default_rng(0)
    codes = (rng.random((2000, 1000)) < 0.1).astype(np.int32)
    parents = chow_liu(codes, np.full(1000, 2))
    assert sum(len(above) for above in parents) == 999

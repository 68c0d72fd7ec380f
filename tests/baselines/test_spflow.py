"""The plug-ins change SPFlow's speed, not its answers."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from baselines.base import FitTimeout
from baselines.spflow.evaluate import SpflowEvaluator
from baselines.spflow.learn import context, learn, split_columns, structure_learning
from baselines.spflow.mspn import MSPN
from baselines.spflow.rdc import rdc_matrix
from baselines.spflow.stock import MSPNStock
from tests.baselines.data import additive_codes

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def _spflow() -> None:
    structure_learning()


def outline(node: Any) -> Any:
    """A network as nested tuples: types, scopes, weights and densities."""
    from spn.structure.Base import Leaf, Sum

    if isinstance(node, Leaf):
        return tuple(node.scope), tuple(np.round(node.densities, 12))
    weights = tuple(np.round(node.weights, 12)) if isinstance(node, Sum) else ()
    return type(node).__name__, weights, tuple(outline(c) for c in node.children)


@pytest.mark.parametrize(("rows", "seed"), [(150, 0), (1000, 1), (1000, 2)])
def test_rdc_equals_spflow(rows: int, seed: int) -> None:
    from spn.algorithms.splitting.RDC import rdc_test

    codes, cards = additive_codes(rows, seed)
    described = context(cards)
    stock = rdc_test(
        codes.astype(float),
        described.meta_types,
        described.domains,
        k=10,
        n_jobs=1,
        rand_gen=np.random.RandomState(seed),
    )
    ours = rdc_matrix(codes.astype(float), cards, np.random.RandomState(seed))
    np.testing.assert_allclose(ours, stock, atol=1e-10)
    assert 0.01 < stock[np.triu_indices(len(cards), 1)].min() < 0.9


@pytest.mark.parametrize(("seed", "threshold"), [(0, 0.3), (1, 0.3), (2, 0.6)])
def test_structure_equals_learn_mspn(seed: int, threshold: float) -> None:
    from spn.algorithms.LearningWrappers import learn_mspn
    from spn.structure.Base import get_number_of_nodes

    codes, cards = additive_codes(900, seed)
    stock = learn_mspn(
        codes.astype(float),
        context(cards),
        threshold=threshold,
        min_instances_slice=100,
        alpha=1.0,
        rand_gen=np.random.RandomState(seed),
        cpus=1,
    )
    ours = learn(codes, cards, threshold, 100, 1.0, cluster_first=True, seed=seed)
    assert get_number_of_nodes(stock) > 20
    assert outline(ours) == outline(stock)


def test_columns_first_equals_stock_functions() -> None:
    """`cluster_first=False` is not offered by `learn_mspn`; compare with its parts."""
    from functools import partial

    from spn.algorithms.splitting.Clustering import get_split_rows_KMeans
    from spn.algorithms.splitting.RDC import get_split_cols_RDC_py
    from spn.structure.leaves.histogram.Histograms import create_histogram_leaf

    codes, cards = additive_codes(900, 3)
    learner = structure_learning()
    stock = learner.learn_structure(
        codes.astype(float),
        context(cards),
        get_split_rows_KMeans(n_clusters=2),
        get_split_cols_RDC_py(0.3, rand_gen=np.random.RandomState(4), n_jobs=1),
        create_histogram_leaf,
        partial(learner.get_next_operation(100), cluster_first=False),
    )
    ours = learn(codes, cards, 0.3, 100, 1.0, cluster_first=False, seed=4)
    assert outline(ours) == outline(stock)


def test_evaluation_equals_spflow_log_likelihood() -> None:
    from spn.algorithms.Inference import log_likelihood

    codes, cards = additive_codes(900, 5)
    root = learn(codes, cards, 0.3, 100, 0.5, cluster_first=False, seed=0)
    evaluator = SpflowEvaluator(root)
    expected = log_likelihood(root, codes.astype(float)).ravel()
    np.testing.assert_allclose(evaluator.log_points(codes), expected, atol=1e-10)
    partial_rows = np.where(np.arange(codes.shape[1]) % 2, codes, -2)
    marginal = np.where(partial_rows == -2, np.nan, codes.astype(float))
    expected = log_likelihood(root, marginal).ravel()
    np.testing.assert_allclose(np.log(evaluator.points(partial_rows)), expected, atol=1e-10)


def test_alpha_reaches_the_leaves_of_a_naive_factorisation() -> None:
    codes, cards = additive_codes(300, 0)
    unseen = np.tile(cards - 1, (1, 1))
    scores = [
        SpflowEvaluator(learn(codes, cards, 0.3, 300, a, False, 0)).log_points(unseen)[0]
        for a in (0.01, 1.0)
    ]
    counts = [np.append(np.bincount(codes[:, i]), 0) for i in range(len(cards))]
    expected = [sum(np.log(a / (300 + a * len(c))) for c in counts) for a in (0.01, 1.0)]
    np.testing.assert_allclose(scores, expected)


def test_independent_columns_give_one_product() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 6, (5000, 5)), columns=list("abcde"))
    model = MSPN(threshold=0.3).fit(table, {c: np.arange(6) for c in table})
    assert model.n_nodes == 6


def test_columns_with_one_value_are_carried_along() -> None:
    codes, _ = additive_codes(500, 1, columns=3)
    table = pd.DataFrame(codes, columns=list("abc")).assign(fixed=7)
    domains = {c: np.unique(table[c]) for c in table}
    model = MSPN(min_rows=50).fit(table, domains)
    states = pd.DataFrame(list(itertools.product(*domains.values())), columns=list(domains))
    assert np.exp(model.score_samples(states)).sum() == pytest.approx(1.0, abs=1e-9)
    answer = model.conditional_table(["fixed", "a"], {"b": 1})
    assert answer.shape == (1, len(domains["a"]))
    np.testing.assert_allclose(answer[0], model.conditional_table(["a"], {"b": 1}))


def test_split_groups_are_spflows() -> None:
    codes, cards = additive_codes(800, 2)
    split = split_columns(0.3, np.random.RandomState(0))
    scopes = [s for _, s, _ in split(codes.astype(float), context(cards), list(range(6)))]
    assert sorted(itertools.chain(*scopes)) == list(range(6))


def test_stock_fit_is_ended_at_its_limit() -> None:
    codes, cards = additive_codes(3000, 0)
    table = pd.DataFrame(codes, columns=[f"x{i}" for i in range(6)])
    domains = {c: np.arange(cards[i]) for i, c in enumerate(table)}
    start = time.perf_counter()
    with pytest.raises(FitTimeout, match=r"within 0\.5 s"):
        MSPNStock(time_limit=0.5).fit(table, domains)
    assert time.perf_counter() - start < 5

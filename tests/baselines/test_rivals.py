"""SPN-BTB, ECNet and the network of decision trees, each against enumeration of its own pieces."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from baselines import bag_programs
from baselines.bagging import bagged, mixture_scores
from baselines.base import DensityModel, ModelTooLarge
from baselines.cutset.ecnet import ECNet
from baselines.cutset.network import Cut, Scored
from baselines.decision_trees.tree_network import TreeNetwork
from baselines.distinct import Distinct
from baselines.spn.learn import Learner
from baselines.spn.nodes import SPN, Product, Sum, TreeLeaf, children_first
from baselines.spn.row_split import split_rows
from baselines.spn.spn_btb import SPNBT, SPNBTB
from baselines.trees.information import RARE, pair_information, pairs_of_ones
from fspn.model.cpt.backoff import BackoffTable
from fspn.model.infer import log_probability
from fspn.schema.events import CodeRange, Events
from tests.baselines.data import additive_codes

MODELS = [
    SPNBT(min_rows=60),
    SPNBTB(min_rows=60, n_bags=3),
    ECNet(n_bags=3, min_rows=50, max_depth=2),
    ECNet(n_bags=2, min_rows=50, max_depth=2, n_components=3),
    TreeNetwork(),
]


def table_of(codes: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(codes, columns=[f"c{i}" for i in range(codes.shape[1])])


def fitted(model: DensityModel, rows: int = 600) -> DensityModel:
    codes, cards = additive_codes(rows, 4, columns=5)
    domains = {f"c{i}": np.arange(d) for i, d in enumerate(cards)}
    return model.fit(table_of(codes), domains, seed=1)


def all_states(model: DensityModel) -> np.ndarray:
    return np.array(list(itertools.product(*(range(d) for d in model.encoder.cards))))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_boxes_of_the_compiled_model_are_sums_over_states(model: DensityModel) -> None:
    fitted(model)
    states = all_states(model)
    joint = np.exp(model.score_samples(table_of(states)))
    assert joint.sum() == pytest.approx(1.0, abs=1e-10)
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, model.encoder.cards, size=(2, 40, 5)), axis=0)
    found = model.probability(*ends.astype(float))
    inside = (states >= ends[0][:, None]) & (states <= ends[1][:, None])
    np.testing.assert_allclose(found, inside.all(axis=2) @ joint, rtol=1e-9)


def value(node: SPN, row: np.ndarray, alpha: float) -> float:
    """The probability of one row by the definition, node by node."""
    if isinstance(node, Sum):
        parts = [value(child, row, alpha) for child in node.children]
        return float(node.weights @ parts)
    if isinstance(node, Product):
        return float(np.prod([value(child, row, alpha) for child in node.children]))
    chances = [t[row[p] if p >= 0 else 0, row[v]] for v, p, t in node.tables(alpha)]
    return float(np.prod(chances))


def test_arrays_score_as_the_nodes_do() -> None:
    model = SPNBT(min_rows=60, alpha=0.5)
    fitted(model)
    rows = all_states(model)[::97]
    expected = [value(model.members[0].root, row, 0.5) for row in rows]
    np.testing.assert_allclose(np.exp(model.score_samples(table_of(rows))), expected, rtol=1e-10)


def test_a_leaf_of_few_rows_keeps_its_filled_cells_and_means_the_same() -> None:
    rng = np.random.default_rng(4)
    codes, cards = rng.integers(0, 20, (40, 4)), np.full(4, 20)
    leaf = TreeLeaf.of(codes, np.ones(40), np.arange(4), cards)
    assert leaf.filled is not None
    assert len(leaf.counts) <= 4 * 40
    kept = {column: table for column, _, table in leaf.conditionals(0.5)}
    assert sum(isinstance(table, BackoffTable) for table in kept.values()) == 3
    for column, parent, expected in leaf.tables(0.5):
        table = kept[column]
        found = table.table(np.arange(20)[:, None]) if isinstance(table, BackoffTable) else table
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        by_hand = np.bincount(codes[:, parent] * 20 + codes[:, column], minlength=400) + 2.0 / 400
        if parent >= 0:
            by_hand = by_hand.reshape(20, 20)
            by_hand /= by_hand.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(
                expected, by_hand / by_hand.sum(1, keepdims=True), rtol=1e-12
            )
    wide = TreeLeaf.of(codes % 2, np.ones(40), np.arange(4), np.full(4, 2))
    assert wide.filled is None
    assert leaf.footprint().size_bytes < 8 * leaf.n_cells


def test_bags_in_several_programs_answer_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SPNBTB(min_rows=200, n_bags=4, alpha=0.5)
    fitted(model)
    monkeypatch.setattr(bag_programs, "PROGRAM_NODES", model.n_nodes // 3 + 1)
    assert 1 < len(model._programs) <= len(model.members)
    columns, cards = model.encoder.columns, model.encoder.cards
    rng = np.random.default_rng(6)
    ends = np.sort(rng.integers(0, cards, (2, 50, len(cards))), axis=0)
    expected = np.exp(model.model.log_probability_of_codes(*ends))
    np.testing.assert_allclose(model.probability(*ends), expected, rtol=1e-12)
    evidence = {columns[0]: model.encoder.domains[0][1]}
    table = model.conditional_table([columns[2], columns[1]], evidence)
    whole = model.model.conditional_table([columns[2], columns[1]], evidence)
    np.testing.assert_allclose(table, whole, rtol=1e-12)
    np.testing.assert_allclose(table.sum(), 1.0)


def test_learnspn_splits_rows_first_and_separates_independent_columns() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    codes = np.stack([a, a, b, b, rng.integers(0, 4, 3000)], axis=1)
    rows = Distinct.of(codes)
    root = Learner(rows.codes, rows.weights, np.array([2, 2, 3, 3, 4]), 5.0, 100).learn(rng)
    assert isinstance(root, Sum)
    assert any(isinstance(node, Product) for node in children_first(root))
    for node in children_first(root):
        if isinstance(node, TreeLeaf):
            # No tree joins the two independent groups.
            assert set(node.variables.tolist()) <= {0, 1} or set(node.variables) & {2, 3, 4}


def test_two_clusters_are_found_by_both_ways_of_counting() -> None:
    rng = np.random.default_rng(3)
    label = rng.random(4000) < 0.4
    codes = (rng.random((4000, 12)) < np.where(label, 0.85, 0.15)[:, None]).astype(np.uint8)
    for part in (slice(None), slice(0, 1000)):
        found = split_rows(codes[part], np.ones(len(codes[part])), np.full(12, 2), rng)
        agree = (found == label[part]).mean()
        assert max(agree, 1 - agree) > 0.99


def test_information_is_the_same_by_products_and_by_pairs() -> None:
    rng = np.random.default_rng(1)
    codes = (rng.random((300, 50)) < 0.3).astype(np.uint8)
    weights = rng.integers(1, 4, 300).astype(float)
    wide = pair_information(codes, weights, np.full(50, 2), 1.0)
    narrow = pair_information(codes[:, :20], weights, np.full(20, 2), 1.0)
    np.testing.assert_allclose(wide[:20, :20], narrow, atol=1e-9)


@pytest.mark.parametrize("ones", [0.02, 0.5])
def test_pairs_of_ones_are_counted_alike_where_they_are_rare(ones: float) -> None:
    rng = np.random.default_rng(2)
    codes = (rng.random((200, 60)) < ones).astype(np.uint8)
    weights = rng.integers(0, 4, 200).astype(float)
    assert (np.count_nonzero(codes) <= RARE * codes.size) == (ones < RARE)
    expected = (codes * weights[:, None]).T @ codes.astype(float)
    np.testing.assert_array_equal(pairs_of_ones(codes, weights), expected)


def test_mixtures_of_cutset_networks_are_converted_as_they_score() -> None:
    model = ECNet(n_bags=2, min_rows=50, max_depth=2, n_components=3)
    fitted(model)
    rows = all_states(model)[::197]
    ranges = {i: CodeRange(column, column) for i, column in enumerate(rows.T)}
    found = log_probability(model._nodes(), Events(len(rows), ranges))
    np.testing.assert_allclose(found, model.score_samples(table_of(rows)), rtol=1e-10)


def test_a_mixture_of_cutset_networks_gains_from_em() -> None:
    rng = np.random.default_rng(5)
    label = rng.random(3000) < 0.5
    codes = (rng.random((3000, 10)) < np.where(label, 0.8, 0.2)[:, None]).astype(np.uint8)
    domains = {f"c{i}": np.arange(2) for i in range(10)}
    means = []
    for n_components in (1, 2):
        model = ECNet(n_bags=1, max_depth=0, n_components=n_components)
        model.fit(table_of(codes), domains, seed=0)
        means.append(model.score_samples(table_of(codes)).mean())
    # Two independent clusters: a tree cannot be both, a mixture of two is.
    assert means[1] > means[0] + 0.1


def test_a_row_of_a_cutset_network_takes_one_path() -> None:
    model = ECNet(n_bags=1, min_rows=50, alpha=0.5)
    fitted(model)
    root = model.members[0].root
    assert isinstance(root, Cut)
    row = all_states(model)[777]
    node, expected = root, 1.0
    while isinstance(node, Cut):
        expected *= node.weights(0.5)[row[node.variable]]
        node = node.children[row[node.variable]]
    expected *= value(node, row, 0.5)
    assert np.exp(Scored(root, 0.5).log_scores(row[None, :])) == pytest.approx(expected)


def test_decision_trees_find_a_context() -> None:
    """y follows a where s is 0 and b where s is 1: one tree, and no table of a and b needed."""
    rng = np.random.default_rng(0)
    s, a, b = rng.integers(0, 2, (3, 4000))
    y = np.where(rng.random(4000) < 0.05, rng.integers(0, 2, 4000), np.where(s == 0, a, b))
    table = table_of(np.stack([s, a, b, y], axis=1))
    model = TreeNetwork().fit(table, {c: np.arange(2) for c in table.columns})
    rows = np.array([[0, 1, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0], [1, 1, 0, 1]])
    joint = np.exp(model.score_samples(table_of(rows))).reshape(2, 2)
    found = joint[:, 1] / joint.sum(axis=1)
    np.testing.assert_allclose(found, [0.975, 0.025], atol=0.02)
    parents = model.forest.parents()
    order: list[int] = []
    while len(order) < 4:
        ready = [v for v in range(4) if v not in order and set(parents[v]) <= set(order)]
        assert ready, "the parents form a cycle"
        order += ready


def test_a_tree_over_many_columns_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baselines.bayes_net.cpt.MAX_CELLS", 10)
    model = fitted(TreeNetwork())
    with pytest.raises(ModelTooLarge, match="cells"):
        model.conditional([{"c0": 0}], [{"c1": 0}])


def test_bags_keep_the_best_number_on_validation() -> None:
    rows = Distinct.of(np.array([[0], [1], [1]]))
    scores = iter([-2.0, -1.0, -5.0, -5.0])

    def learn(weights: np.ndarray) -> float:
        assert weights.sum() == 3
        return next(scores)

    kept = bagged(
        learn, lambda s, codes: np.full(len(codes), s), rows, rows,
        np.random.default_rng(0), 4, None, "test",
    )  # fmt: skip
    assert kept == [-2.0, -1.0]
    assert mixture_scores(np.log([[0.2], [0.4]]))[0] == pytest.approx(np.log(0.3))


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (SPNBT, {"min_rows": 0}, "min_rows"),
        (SPNBT, {"alpha": -1.0}, "alpha"),
        (SPNBTB, {"n_bags": 0}, "n_bags"),
        (ECNet, {"feature_share": 0.0}, "feature_share"),
        (ECNet, {"em_steps": 0}, "em_steps"),
        (TreeNetwork, {"kappa": 2.0}, "kappa"),
    ],
)
def test_wrong_settings_are_named(model: type, settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(**settings)

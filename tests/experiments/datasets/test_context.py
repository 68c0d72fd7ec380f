"""Tables that are decision trees: constant on leaves, few rows, the same rows every time."""

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import load
from experiments.datasets.context import ContextConfig, draw_leaves
from experiments.datasets.dense import draw_network

CONFIG = {
    "name": "tiny",
    "family": "context",
    "treewidth": 3,
    "leaves": 4,
    "concentration": 0.5,
    "columns": 7,
    "max_size": 3,
    "train_rows": 40_000,
    "valid_rows": 50,
    "test_rows": 50,
}
QUERIES = {"queries": 8, "query_size": [1, 3], "evidence_size": [1, 3]}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return load(CONFIG, 1, tmp_path_factory.mktemp("cache"), QUERIES)


@pytest.fixture(params=range(5))
def network(request):
    config = ContextConfig.from_mapping({**CONFIG, "columns": 20, "max_size": 5})
    return draw_network(config, np.random.default_rng(request.param))


def is_tree(leaf, cells):
    """Whether tests "parent p has value v" tell the leaves within `cells` apart."""
    if len(np.unique(leaf[cells])) == 1:
        return True
    values = np.indices(leaf.shape)
    for parent, size in enumerate(leaf.shape):
        for value in range(size):
            passes = values[parent] == value
            yes, no = cells & passes, cells & ~passes
            if yes.any() and no.any() and not set(leaf[yes]) & set(leaf[no]):
                return is_tree(leaf, yes) and is_tree(leaf, no)
    return False


@pytest.mark.parametrize("seed", range(20))
def test_leaves_are_those_of_a_tree(seed):
    leaf = draw_leaves((3, 2, 4), 6, np.random.default_rng(seed))
    assert leaf.shape == (3, 2, 4)
    assert 1 < leaf.max() + 1 <= 6
    assert set(leaf.ravel()) == set(range(leaf.max() + 1))
    assert is_tree(leaf, np.ones(leaf.shape, dtype=bool))


def test_what_no_tree_makes_is_none():
    parity = np.indices((2, 2)).sum(axis=0) % 2
    assert not is_tree(parity, np.ones((2, 2), dtype=bool))


def test_a_column_without_parents_has_one_leaf():
    assert draw_leaves((), 6, np.random.default_rng(0)) == 0


def test_a_table_is_constant_on_each_leaf():
    config, shape = ContextConfig.from_mapping(CONFIG), (3, 2, 4, 5)
    table = config.draw_table(shape, np.random.default_rng(3))
    leaf = draw_leaves(shape[:-1], config.leaves, np.random.default_rng(3))
    rows = [np.unique(table[leaf == one], axis=0) for one in range(leaf.max() + 1)]
    assert [len(own) for own in rows] == [1] * len(rows)
    assert len(np.unique(np.concatenate(rows), axis=0)) == len(rows) > 1


def test_tables_have_few_rows_no_zero_and_sum_to_one(network):
    counts = []
    for cpt in network.cpts:
        assert cpt.min() > 0
        np.testing.assert_allclose(cpt.sum(axis=-1), 1)
        counts.append(len(np.unique(cpt.reshape(-1, cpt.shape[-1]), axis=0)))
    assert max(counts) == CONFIG["leaves"]


def test_sampled_frequencies_agree_with_the_tables(dataset):
    network, codes = dataset.truth.network, dataset.train.to_numpy()
    for j, (above, cpt) in enumerate(zip(network.parents, network.cpts, strict=True)):
        counts = np.zeros(cpt.shape)
        np.add.at(counts, tuple(codes[:, [*above, j]].T), 1)
        states = counts.sum(axis=-1, keepdims=True)
        error = np.sqrt(cpt * (1 - cpt) / np.maximum(states, 1))
        often = np.broadcast_to(states >= 200, cpt.shape)
        assert often.any()
        assert (np.abs(counts / np.maximum(states, 1) - cpt) <= 5 * error + 1e-3)[often].all()


def test_the_same_seed_is_the_same_data_and_another_is_not(dataset, tmp_path):
    assert dataset.family == "context"
    again = load(CONFIG, 1, tmp_path, QUERIES)
    pd.testing.assert_frame_equal(dataset.train, again.train)
    assert (again.workload, again.digest) == (dataset.workload, dataset.digest)
    assert not load(CONFIG, 2, tmp_path, QUERIES).train.equals(dataset.train)
    assert load({**CONFIG, "leaves": 5}, 1, tmp_path, QUERIES).digest != dataset.digest


@pytest.mark.parametrize(("key", "value"), [("leaves", 0), ("leaves", 2.5), ("treewidth", 0)])
def test_bad_settings_are_named(key, value):
    with pytest.raises(ValueError, match=key):
        ContextConfig.from_mapping({**CONFIG, key: value})


def test_the_number_of_leaves_must_be_given():
    with pytest.raises(ValueError, match=r"dataset\.leaves is missing"):
        ContextConfig.from_mapping({k: v for k, v in CONFIG.items() if k != "leaves"})

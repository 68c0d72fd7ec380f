"""Random dense tables: the truth against enumeration, the treewidth, the same rows every time."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import yaml

from experiments.datasets import load
from experiments.datasets.dense import DenseConfig, draw_network, draw_parents
from experiments.records.fingerprint import data_digest
from experiments.study.plan import conf_dir

CONFIG = {
    "name": "tiny",
    "family": "dense",
    "treewidth": 3,
    "concentration": 0.5,
    "columns": 7,
    "max_size": 3,
    "train_rows": 300,
    "valid_rows": 50,
    "test_rows": 50,
}
QUERIES = {"queries": 8, "query_size": [1, 3], "evidence_size": [1, 3]}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    first, again = load(CONFIG, 1, cache, QUERIES), load(CONFIG, 1, cache, QUERIES)
    pd.testing.assert_frame_equal(first.train, again.train)
    assert first.workload == again.workload
    return first


def test_the_truth_sums_to_one_and_answers_as_enumeration(dataset):
    cells = pd.DataFrame(list(product(*dataset.domains.values())), columns=list(dataset.domains))
    network = dataset.truth.network
    p = np.ones(len(cells))
    for j, (above, cpt) in enumerate(zip(network.parents, network.cpts, strict=True)):
        p *= cpt[tuple(cells.to_numpy()[:, [*above, j]].T)]
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.exp(dataset.truth.log_probability(cells)), p, rtol=1e-12)
    for query in dataset.workload.queries:
        given = np.logical_and.reduce([cells[c] == v for c, v in query.evidence.items()])
        expected = pd.Series(p[given]).groupby([cells[c][given].to_numpy() for c in query.query])
        found = dataset.truth.conditional_table(query.query, query.evidence)
        np.testing.assert_allclose(found.ravel(), expected.sum() / p[given].sum(), rtol=1e-9)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_the_moral_graph_has_the_treewidth_that_was_asked_for(width):
    for seed in range(5):
        graph = nx.Graph()
        for j, above in draw_parents(20, width, np.random.default_rng(seed)):
            assert len(above) <= width
            graph.add_edges_from(combinations((*above, j), 2))
        found, _ = nx.algorithms.approximation.treewidth_min_fill_in(graph)
        cliques = max(map(len, nx.find_cliques(graph)))
        assert found == width == cliques - 1  # an upper and a lower bound meet


def test_tables_have_no_zero_and_rows_that_sum_to_one():
    network = draw_network(DenseConfig.from_mapping(CONFIG), np.random.default_rng(0))
    for cpt in network.cpts:
        assert cpt.min() > 0
        np.testing.assert_allclose(cpt.sum(axis=-1), 1)


def test_another_seed_and_another_width_are_other_data(dataset, tmp_path):
    assert not load(CONFIG, 2, tmp_path, QUERIES).train.equals(dataset.train)
    assert load({**CONFIG, "treewidth": 2}, 1, tmp_path, QUERIES).digest != dataset.digest


@pytest.mark.parametrize(
    ("name", "parameters", "data"),
    [
        ("dense_2", "450c3ff6c68d1161", "f2edd9d47bf738ad"),
        ("dense_5", "97885c86ec346c45", "d589896136e61b4c"),
    ],
)
def test_the_datasets_of_the_committed_rows_stay_as_they_are(name, parameters, data, tmp_path):
    settings = yaml.safe_load((conf_dir() / "dataset" / f"{name}.yaml").read_text())
    found = load(settings, 0, tmp_path)
    assert (found.digest, data_digest(found)) == (parameters, data)


@pytest.mark.parametrize(
    ("key", "value"), [("treewidth", 0), ("concentration", 0.0), ("columns", 3), ("train_rows", 0)]
)
def test_bad_settings_are_named(key, value):
    with pytest.raises(ValueError, match=key):
        DenseConfig.from_mapping({**CONFIG, key: value})

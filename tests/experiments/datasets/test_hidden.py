"""Datasets with hidden classes: the truth against enumeration, and the same rows every time."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import load
from experiments.datasets.hidden import HiddenConfig, draw_truth, sample_rows
from experiments.hidden import measure

CONFIG = {
    "name": "tiny",
    "family": "hidden",
    "classes": 3,
    "concentration": 0.5,
    "columns": 5,
    "min_size": 2,
    "max_size": 4,
    "train_rows": 300,
    "valid_rows": 50,
    "test_rows": 50,
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    queries = {"queries": 5, "query_size": [1, 2], "evidence_size": [1, 2]}
    first, again = load(CONFIG, 1, cache, queries), load(CONFIG, 1, cache, queries)
    pd.testing.assert_frame_equal(first.train, again.train)
    return first


def everything(truth) -> tuple[pd.DataFrame, np.ndarray]:
    cells = pd.DataFrame(list(product(*truth.domains.values())), columns=list(truth.domains))
    return cells, np.exp(truth.log_probability(cells))


def test_the_truth_sums_to_one_and_answers_as_enumeration(dataset) -> None:
    cells, p = everything(dataset.truth)
    assert p.sum() == pytest.approx(1)
    for query in dataset.workload.queries:
        given = np.logical_and.reduce([cells[c] == v for c, v in query.evidence.items()])
        expected = pd.Series(p[given]).groupby([cells[c][given].to_numpy() for c in query.query])
        found = dataset.truth.conditional_table(query.query, query.evidence)
        np.testing.assert_allclose(found.ravel(), expected.sum() / p[given].sum(), rtol=1e-9)
        points = dataset.truth.support(query.query, query.evidence, 1000)
        assert points.probability.sum() == pytest.approx(1)
        assert dataset.truth.support(query.query, query.evidence, 1) is None


def test_draws_follow_the_table(dataset) -> None:
    query = dataset.workload.queries[0]
    drawn = dataset.truth.draw(query.query, query.evidence, 20_000, 0)
    table = dataset.truth.conditional_table(query.query, query.evidence)
    counts = np.zeros_like(table)
    np.add.at(counts, tuple(drawn.points.T), 1 / len(drawn.points))
    np.testing.assert_allclose(counts, table, atol=0.02)
    np.testing.assert_allclose(drawn.probability, table[tuple(drawn.points.T)])


def test_rows_come_from_the_mixture() -> None:
    truth = draw_truth(
        HiddenConfig("tiny", 2, 0.5, columns=3, max_size=3), np.random.default_rng(0)
    )
    rows, classes = sample_rows(truth, 40_000, np.random.default_rng(1))
    cells, p = everything(truth)
    counts = rows.groupby(list(rows.columns)).size().reindex(pd.MultiIndex.from_frame(cells))
    np.testing.assert_allclose(counts.fillna(0) / len(rows), p, atol=0.01)
    np.testing.assert_allclose(np.bincount(classes) / len(rows), truth.weights, atol=0.01)


def test_a_mixture_has_no_dag(dataset) -> None:
    with pytest.raises(ValueError, match="no generating DAG"):
        _ = dataset.truth.structure


@pytest.mark.parametrize(
    ("key", "value"), [("classes", 0), ("concentration", 0.0), ("columns", 1), ("train_rows", 0)]
)
def test_bad_settings_are_named(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=key):
        HiddenConfig.from_mapping({**CONFIG, key: value})


def test_the_table_measures_one_class_as_one_network() -> None:
    config = HiddenConfig("tiny", 1, 0.5, columns=4, max_size=3, train_rows=500, test_rows=100)
    line = measure(config, 0)
    assert line.components == "1"
    assert line.default == line.one == line.oracle
    assert np.isnan(line.closed)

"""Rows of an older code version, and the models that the present one learns at their settings."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from experiments import query_cost, same_models
from experiments.datasets import load
from experiments.measures.divergence import log_likelihood
from experiments.records.rows import COLUMNS, ResultRow
from experiments.same_models import SIZES, Refit, confirmed, other_code, refit

LABEL = "hidden_2/fspn/0/dataset.train_rows=500"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def row(cache: Path) -> dict[str, object]:
    """A row as an older code version might have recorded it."""
    blank = ResultRow(
        fingerprint="f", experiment="nodes", label=LABEL, dataset="hidden_2", family="hidden",
        seed=0, model="fspn", params='{"offsets": false}', code_version="old",
    )  # fmt: skip
    found = {name: getattr(blank, name) for name in COLUMNS}
    dataset = load(same_models._dataset_settings(found), 0, cache)
    assert dataset.train.shape == (500, 20)
    model = same_models.get_class("baselines.ours.fspn_model.FSPNModel")(offsets=False)
    model.fit(dataset.train, dataset.domains, 0)
    found |= {name: float(getattr(model, name)) for name in SIZES}
    return found | {
        "test_ll": float(f"{log_likelihood(model, dataset.test).mean:.7g}"),
        "dataset_digest": dataset.digest,
    }


def test_the_same_model_is_confirmed_and_another_is_not(
    row: dict[str, object], cache: Path
) -> None:
    assert not refit(row, cache).differs
    assert "size_bytes" in refit(row | {"size_bytes": 1.0}, cache).differs
    assert "test_ll" in refit(row | {"test_ll": -1.0}, cache).differs
    assert "data" in refit(row | {"dataset_digest": "x"}, cache).differs


def test_a_confirmed_row_names_the_code_that_measured_it(row: dict[str, object]) -> None:
    table = pd.DataFrame([row, row | {"label": "other"}])
    assert len(other_code(table, "nodes", ["fspn"])) == 2
    kept = confirmed(
        table, [Refit(("nodes", LABEL), "new", ""), Refit(("nodes", "other"), "new", "size")]
    )
    assert kept["code_version"].tolist() == ["new", "old"]
    assert kept["measured_code"].tolist() == ["old", ""]
    again = confirmed(kept, [Refit(("nodes", LABEL), "newer", "")])
    assert again["measured_code"].tolist() == ["old", ""]


def test_a_cell_of_the_study_of_query_times_is_confirmed_by_its_nodes(cache: Path) -> None:
    cell = query_cost.Cell("rdc_21", 0.1, 0.7, 20, 1_000)
    census = query_cost.learned(cell, query_cost.read(cell, cache)).census_
    cost = query_cost.Cost(cell, census.n_nodes, census.n_factorize, 1.0, 2.0)
    row = dataclasses.asdict(query_cost._row(cost))
    assert query_cost.cell_of(row) == cell
    assert not refit(row, cache).differs
    assert "n_nodes" in refit(row | {"n_nodes": census.n_nodes + 1.0}, cache).differs

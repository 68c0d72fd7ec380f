"""The cost of queries over the nodes of the recipe's models."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from experiments.datasets import load
from experiments.query_cost import Cell, Cost, cells, learned, summary
from experiments.study.plan import conf_dir

CELL = Cell("rdc_21", 0.3, 0.7, 100)


def cost(nodes: int, milliseconds: float, factorize: int = 1) -> Cost:
    return Cost(CELL, nodes, factorize, milliseconds, 2 * milliseconds)


def test_the_grid_has_no_contradicting_thresholds() -> None:
    grid = list(cells(["rdc_07"], [100]))
    assert len(grid) == 20
    assert all(cell.tau_low <= cell.tau_high for cell in grid)


def test_the_exponent_is_fitted_to_models_with_factorize_nodes_only() -> None:
    used = [cost(n, 0.001 * n**0.5) for n in (10, 100, 1000, 10_000)]
    left_out = [cost(1, 7.0), cost(500, 9.0, factorize=0), cost(20_000, 1.0)]
    exponent, slow, slowest = summary([*used, *left_out])
    assert exponent.startswith("4 models of 10 to 10,000 nodes")
    assert "exponent 0.50 [0.50, 0.50]" in exponent
    assert slow == "2 of 7 cells have a query above 5 ms"
    assert slowest.endswith("slowest 18.00")


def test_too_few_models_give_no_exponent() -> None:
    first, *_ = summary([cost(20, 0.1)])
    assert "too few" in first


def test_a_model_is_learned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = yaml.safe_load((conf_dir() / "dataset" / "rdc_07.yaml").read_text("utf-8"))
    data = load({**settings, "train_rows": 400}, 0, tmp_path)
    model = learned(CELL, data, tmp_path)
    monkeypatch.setattr("experiments.query_cost.FSPN.fit", None)
    assert learned(CELL, data, tmp_path).n_nodes_ == model.n_nodes_

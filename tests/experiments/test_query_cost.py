"""The cost of queries over the nodes of the recipe's models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.measures.timing import TimingConfig
from experiments.query_cost import EXPERIMENT, Cell, Cost, cells, costs, summary
from experiments.records.rows import Store, collect

CELL = Cell("rdc_21", 0.3, 0.7, 100, 400)


def cost(nodes: int, milliseconds: float, factorize: int = 1) -> Cost:
    return Cost(CELL, nodes, factorize, milliseconds, 2 * milliseconds)


def test_the_grid_has_no_contradicting_thresholds() -> None:
    grid = list(cells(["rdc_07"], [100], [400]))
    assert len(grid) == 14
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


def test_a_cell_is_measured_once_and_its_row_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, timing = Store.of(tmp_path, EXPERIMENT), TimingConfig(repeats=2, budget_seconds=0.1)
    wanted = [Cell("rdc_07", 0.3, 0.7, 100, 400)]
    first = list(costs(wanted, tmp_path, timing, store))
    monkeypatch.setattr("experiments.query_cost.FSPN.fit", None)
    assert list(costs(wanted, tmp_path, timing, store)) == first
    row = collect(tmp_path).iloc[0]
    assert (row["model"], row["n_nodes"]) == ("fspn_paper", first[0].n_nodes)
    assert json.loads(row["params"])["slowest_ms"] == first[0].max_ms


def test_a_cell_that_takes_too_long_is_named_and_has_no_row(tmp_path: Path) -> None:
    store, timing = Store.of(tmp_path, EXPERIMENT), TimingConfig(repeats=2, budget_seconds=0.1)
    wanted = [Cell("rdc_07", 0.3, 0.7, 100, 400), Cell("rdc_07", 0.1, 0.7, 100, 400)]
    limits = iter([1e-4, 0.0])
    assert list(costs(wanted, tmp_path, timing, store, lambda: next(limits))) == wanted[:1]
    assert collect(tmp_path).empty
    left_out, none = summary([], wanted[:1])
    assert left_out.startswith("1 cells took too long")
    assert "rdc_07 0.3/0.7" in left_out
    assert "no cell was measured" in none

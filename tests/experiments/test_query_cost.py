"""The cost of queries over the nodes of the recipe's models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.measures.timing import TimingConfig
from experiments.query_cost import (
    EXPERIMENT,
    Cell,
    Cost,
    Limits,
    cells,
    costs,
    ended_late,
    known_costs,
    main,
    recorded,
    summary,
    to_measure,
)
from experiments.records.rows import Store, collect

TIMING = TimingConfig(repeats=2, budget_seconds=0.1)
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
    exponent, _, slow, slowest = summary([*used, *left_out])
    assert exponent.startswith("4 models of 10 to 10,000 nodes")
    assert "exponent 0.50 [0.50, 0.50]" in exponent
    assert slow == "2 of 7 cells have a query above 5 ms"
    assert slowest.endswith("slowest 18.00")


def test_large_models_have_an_exponent_of_their_own() -> None:
    flat = [cost(n, 0.01) for n in (10, 30, 100, 300)]
    steep = [cost(n, 0.01 * (n / 1000) ** 2) for n in (1_000, 2_000, 4_000, 8_000)]
    every, large, *_ = summary([*flat, *steep])
    assert every.startswith("8 models of 10 to 10,000 nodes")
    assert "exponent 2.00" not in every
    assert large.startswith("4 models of 1,000 to 10,000 nodes")
    assert "exponent 2.00 [2.00, 2.00]" in large


def test_too_few_models_give_no_exponent() -> None:
    first, *_ = summary([cost(20, 0.1)])
    assert "too few" in first


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path / "locks"))
    return Store.of(tmp_path, EXPERIMENT)


def cell(tau_low: float, slices: int = 100) -> Cell:
    return Cell("rdc_07", tau_low, 0.7, slices, 400)


def test_a_row_says_what_was_found_and_is_what_a_second_start_goes_by(
    tmp_path: Path, store: Store
) -> None:
    wanted = [cell(0.3)]
    first = list(costs(wanted, tmp_path, TIMING, store, Limits()))
    rows = recorded(wanted, store)
    assert known_costs(rows) == first
    assert to_measure(wanted, rows) == []
    row = collect(tmp_path).iloc[0]
    assert (row["model"], row["n_nodes"]) == ("fspn_paper", first[0].n_nodes)
    assert json.loads(row["params"])["slowest_ms"] == first[0].max_ms


def test_a_cell_that_takes_too_long_is_named_and_its_row_says_so(
    tmp_path: Path, store: Store
) -> None:
    wanted = [cell(0.3)]
    assert list(costs(wanted, tmp_path, TIMING, store, Limits(seconds=1e-4))) == wanted
    row = collect(tmp_path).iloc[0]
    assert (row["status"], row["job_seconds"]) == ("timeout", 1e-4)
    rows = recorded(wanted, store)
    assert known_costs(rows) == []
    left_out, none = summary([], ended_late(rows))
    assert left_out.startswith("1 cells took too long")
    assert "rdc_07 0.3/0.7" in left_out
    assert "no cell was measured" in none


class Ending(Limits):
    """A run that is over just after its first cell has begun."""

    @property
    def left(self) -> float:
        return 1e-4


def test_a_cell_that_the_end_of_the_run_cuts_short_has_no_row(tmp_path: Path, store: Store) -> None:
    assert not list(costs([cell(0.3)], tmp_path, TIMING, store, Ending(seconds=60.0)))
    assert collect(tmp_path).empty


def test_a_second_start_tries_what_ended_at_its_limit_last(tmp_path: Path, store: Store) -> None:
    slow, slower, done, new = cell(0.05), cell(0.1), cell(0.2), cell(0.3)
    list(costs([slower], tmp_path, TIMING, store, Limits(seconds=2e-4)))
    list(costs([slow], tmp_path, TIMING, store, Limits(seconds=1e-4)))
    list(costs([done], tmp_path, TIMING, store, Limits()))
    wanted = [slower, slow, done, new]
    assert to_measure(wanted, recorded(wanted, store)) == [new, slow, slower]
    (retried,) = costs([slower], tmp_path, TIMING, store, Limits())
    rows = recorded(wanted, store)
    assert retried in known_costs(rows)
    assert to_measure(wanted, rows) == [new, slow]


def test_a_second_start_reads_no_dataset_where_all_is_recorded(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("experiments.query_cost.TAU_LOW", (0.3,))
    monkeypatch.setattr("experiments.query_cost.TAU_HIGH", (0.7,))
    here = ["--results", str(tmp_path), "--cache", str(tmp_path)]
    small = ["--datasets", "rdc_07", "--slices", "100", "--rows", "400", "--repeats", "2"]
    monkeypatch.setattr("sys.argv", ["query_cost", *here, *small])
    main()
    first = capsys.readouterr().out.splitlines()
    monkeypatch.setattr("experiments.query_cost.load", None)
    main()
    second = capsys.readouterr().out.splitlines()
    assert first[0] == "1 cells: 0 are recorded, 0 ended at their limit and are tried last"
    assert second[0] == "1 cells: 1 are recorded, 0 ended at their limit and are tried last"
    assert first[1].startswith("1/1")
    assert second[1:] == first[2:]


@pytest.mark.parametrize("option", ["--slices", "--rows", "--repeats"])
def test_numbers_that_make_no_sense_are_refused(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.argv", ["query_cost", option, "0"])
    with pytest.raises(SystemExit):
        main()
    assert "not above 0" in capsys.readouterr().err

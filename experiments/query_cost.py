"""The cost of a query over the nodes of the recipe's models: `python -m experiments.query_cost`.

Proposition 2 says near linear. The recipe is learned where it has factorize nodes, over the
threshold grid, at three sizes of slices and from two numbers of rows; the time of every query of
the workload is measured, and the exponent b of t = a n^b is fitted over the models that have
factorize nodes, and once more over the large ones alone, as small ones cost mostly what any query
costs. Each cell is a row of its own for the report. A second start takes what is recorded from its
rows at once, then measures what was never tried, and tries last what ended at its limit. Cells come
in a drawn order, so that a run that ends early has small and large models of all datasets. The
run's time limit also ends the cell that it falls into; a cell that takes longer than its own limit
has a row that says so. Waiting for a machine that others use is no part of a cell's time.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import yaml

from baselines.base import DensityModel, FitTimeout
from experiments.datasets import load
from experiments.measures.timing import TimingConfig, measure
from experiments.records.fingerprint import code_version, commit
from experiments.records.locks import Machine
from experiments.records.rows import ResultRow, Store
from experiments.report.figures.scaling import LARGE, fit_power
from experiments.study.job import machine_name
from experiments.study.plan import conf_dir
from experiments.study.trial import time_limit
from experiments.types import Dataset
from fspn import FSPN

EXPERIMENT = "query_cost"
DATASETS = ("rdc_07", "rdc_21", "rdc_37", "rdc_65", "rdc_83", "rdc_95")
# At 0.07 nothing is correlated and at 0.95 all of it: the recipe has no factorize node there.
FACTORIZED = ("rdc_21", "rdc_37", "rdc_65", "rdc_83")
TAU_LOW = (0.05, 0.1, 0.2, 0.3, 0.5)
TAU_HIGH = (0.5, 0.7, 0.9)
# The recipe's default, one in a hundred, and smaller ones: more nodes.
SLICES = (100, 300, 600)
# Few enough that a hundred models are learned in ten minutes.
ROWS = (10_000, 20_000)
FEWEST_ROWS = 16
TARGET = "baselines.ours.fspn_model.FSPNPaper"
MODEL = "fspn_paper"
FEWEST_NODES, MOST_NODES = 10, 10_000
TARGET_MS, TARGET_EXPONENT = 5.0, 1.1
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Cell:
    """A setting of the recipe, learned from some rows.

    Slices of fewer rows than one in ``slices`` are not partitioned.
    """

    dataset: str
    tau_low: float
    tau_high: float
    slices: int
    rows: int

    def __str__(self) -> str:
        thresholds = f"{self.tau_low:g}/{self.tau_high:g}"
        return f"{self.dataset} {thresholds} 1 in {self.slices} of {self.rows}"


@dataclass(frozen=True)
class Cost:
    """What the queries of a cell cost: nodes, factorize nodes, mean and largest milliseconds."""

    cell: Cell
    n_nodes: int
    n_factorize: int
    mean_ms: float
    max_ms: float

    def __str__(self) -> str:
        return (
            f"{self.cell}: {self.n_nodes:,} nodes, {self.n_factorize} factorize, "
            f"{self.mean_ms:.3f} ms a query, slowest {self.max_ms:.2f}"
        )

    @property
    def counts(self) -> bool:
        """Whether the exponent is fitted to it."""
        return self.n_factorize > 0 and FEWEST_NODES <= self.n_nodes <= MOST_NODES


def cells(datasets: Sequence[str], slices: Sequence[int], rows: Sequence[int]) -> list[Cell]:
    """The grid in a drawn order; slices need thresholds that leave room for sum nodes."""
    grid = (Cell(*axes) for axes in product(datasets, TAU_LOW, TAU_HIGH, slices, rows))
    found = [cell for cell in grid if cell.tau_low < cell.tau_high]
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def learned(cell: Cell, data: Dataset) -> FSPN:
    """The model of a cell."""
    domains: dict[Hashable, np.ndarray] = dict(data.domains.items())
    return FSPN(
        preset="paper",
        tau_low=cell.tau_low,
        tau_high=cell.tau_high,
        min_rows=max(len(data.train) // cell.slices, FEWEST_ROWS),
        random_state=0,
    ).fit(data.train, domains=domains)


def measured(cell: Cell, data: Dataset, timing: TimingConfig, limit: float = np.inf) -> Cost:
    """Learn a cell's model and ask the workload of its dataset, within `limit` seconds."""
    machine = Machine.local(f"query_cost {cell}")
    with machine.working(), _within(limit):
        started = time.monotonic()
        model = learned(cell, data)
        spent = time.monotonic() - started
    assert data.workload is not None
    with machine.alone(), _within(limit - spent):
        found = measure(cast(DensityModel, model), data.workload, timing)
    # Queries behind a budget that was used up have no time.
    census, slowest = model.census_, float(np.nanmax(found.queries_ms))
    return Cost(cell, census.n_nodes, census.n_factorize, found.single_ms, slowest)


def _within(seconds: float) -> AbstractContextManager[None]:
    """A block that may take so many seconds; however few, its timer is set."""
    return time_limit(max(seconds, 1e-6) if np.isfinite(seconds) else None)


@dataclass(frozen=True)
class Limits:
    """Seconds that a cell may take, and when the run ends by `time.monotonic`."""

    seconds: float = np.inf
    end: float = np.inf

    @property
    def left(self) -> float:
        """Seconds that the next cell has; nothing is left where it is not above 0."""
        return min(self.seconds, self.end - time.monotonic())


def recorded(wanted: Sequence[Cell], store: Store) -> dict[Cell, ResultRow]:
    """The rows of cells that were measured, or ended at their limit, by the present code."""
    found = {cell: store.finished(_fingerprint(cell)) for cell in wanted}
    return {cell: row for cell, row in found.items() if row is not None}


def known_costs(rows: Mapping[Cell, ResultRow]) -> list[Cost]:
    """What the recorded cells cost, those that ended at their limit left out."""
    return [_cost(cell, row) for cell, row in rows.items() if row.status == "ok"]


def ended_late(rows: Mapping[Cell, ResultRow]) -> list[Cell]:
    """The recorded cells that ended at their limit, the lowest limit first."""
    late = [cell for cell, row in rows.items() if row.status != "ok"]
    return sorted(late, key=lambda cell: rows[cell].job_seconds)


def to_measure(wanted: Sequence[Cell], rows: Mapping[Cell, ResultRow]) -> list[Cell]:
    """Cells without a row, then those that ended at their limit."""
    return [*(cell for cell in wanted if cell not in rows), *ended_late(rows)]


def costs(
    wanted: Sequence[Cell],
    cache: Path,
    timing: TimingConfig,
    store: Store,
    limits: Limits,
) -> Iterator[Cost | Cell]:
    """Measure and record cell by cell; gives the cell itself where it took too long."""
    data: dict[tuple[str, int], Dataset] = {}
    for cell in wanted:
        key = cell.dataset, cell.rows
        if key not in data:
            data[key] = read(cell, cache)
        limit = limits.left
        if limit <= 0:
            return
        try:
            cost = measured(cell, data[key], timing, limit)
        except FitTimeout as error:
            if limit < limits.seconds:  # The run is over: the cell was not given its time.
                return
            store.write(_late(cell, limit, error))
            yield cell
            continue
        store.write(_row(cost))
        yield cost


def cell_of(row: Mapping[str, Any]) -> Cell:
    """The cell that a recorded row is of."""
    params = json.loads(row["params"])
    return Cell(row["dataset"], row["tau_low"], row["tau_high"], params["slices"], params["rows"])


def read(cell: Cell, cache: Path) -> Dataset:
    """The rows and queries of a cell."""
    file = conf_dir() / "dataset" / f"{cell.dataset}.yaml"
    settings = {**yaml.safe_load(file.read_text("utf-8")), "train_rows": cell.rows}
    return load(settings, 0, cache)


def _fingerprint(cell: Cell) -> str:
    return f"{EXPERIMENT}-{code_version(TARGET)}-{_slug(cell)}"


def _slug(cell: Cell) -> str:
    return str(cell).replace(" ", "-").replace("/", "-")


def _row(cost: Cost) -> ResultRow:
    cell = cost.cell
    return replace(
        _blank(cell),
        n_nodes=float(cost.n_nodes),
        n_factorize=float(cost.n_factorize),
        latency_single_ms=cost.mean_ms,
        params=json.dumps({"slices": cell.slices, "rows": cell.rows, "slowest_ms": cost.max_ms}),
    )


def _late(cell: Cell, limit: float, error: FitTimeout) -> ResultRow:
    """The row of a cell that ended at its limit."""
    return replace(_blank(cell), status="timeout", error=str(error), job_seconds=limit)


def _blank(cell: Cell) -> ResultRow:
    """What a row says of its cell before anything is measured."""
    return ResultRow(
        fingerprint=_fingerprint(cell),
        experiment=EXPERIMENT,
        label=_slug(cell),
        dataset=cell.dataset,
        family="costs",
        seed=0,
        model=MODEL,
        tau_low=cell.tau_low,
        tau_high=cell.tau_high,
        params=json.dumps({"slices": cell.slices, "rows": cell.rows}),
        code_version=code_version(TARGET),
        commit=commit(),
        machine=machine_name(),
        python=platform.python_version(),
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        command="python -m experiments.query_cost",
    )


def _cost(cell: Cell, row: ResultRow) -> Cost:
    slowest = float(json.loads(row.params)["slowest_ms"])
    return Cost(cell, int(row.n_nodes), int(row.n_factorize), row.latency_single_ms, slowest)


def summary(found: Sequence[Cost], too_long: Sequence[Cell] = ()) -> Iterator[str]:
    """Both exponents with their intervals, and the slowest cell, beside what is demanded."""
    if too_long:
        named = ", ".join(str(cell) for cell in too_long)
        yield f"{len(too_long)} cells took too long and are left out: {named}"
    if not found:
        yield "no cell was measured: give it more time (--minutes, --seconds)"
        return
    yield _exponent(found, FEWEST_NODES)
    yield _exponent(found, LARGE)
    slow = [cost for cost in found if cost.max_ms > TARGET_MS]
    slowest = max(found, key=lambda cost: cost.max_ms)
    yield f"{len(slow)} of {len(found)} cells have a query above {TARGET_MS:g} ms"
    yield f"slowest: {slowest}"


def _exponent(found: Sequence[Cost], fewest: int) -> str:
    """The exponent over the models of at least so many nodes, in words."""
    used = [cost for cost in found if cost.counts and cost.n_nodes >= fewest]
    fit = fit_power(
        np.array([cost.n_nodes for cost in used]), np.array([cost.mean_ms for cost in used]), ""
    )
    who = f"{len(used)} models of {fewest:,} to {MOST_NODES:,} nodes, with factorize nodes"
    if fit is None:
        return f"{who}: too few, or too alike, for an exponent"
    spread = NORMAL_95 * fit.error
    low, high = fit.exponent - spread, fit.exponent + spread
    return (
        f"{who}: exponent {fit.exponent:.2f} [{low:.2f}, {high:.2f}], "
        f"at most {TARGET_EXPONENT} demanded"
    )


def main() -> None:
    """Print a line per cell that is measured, then the summary of all that are recorded."""
    options = _options()
    timing = TimingConfig(repeats=options.repeats, budget_seconds=0.5)
    store = Store.of(options.results, EXPERIMENT)
    wanted = cells(options.datasets, options.slices, options.rows)
    rows = recorded(wanted, store)
    todo = to_measure(wanted, rows)
    print(f"{len(wanted)} cells: {describe(rows)}", flush=True)
    limits = Limits(options.seconds, time.monotonic() + 60 * options.minutes)
    started = time.monotonic()
    for n_done, cost in enumerate(costs(todo, options.cache, timing, store, limits), start=1):
        each = (time.monotonic() - started) / n_done
        left = max(min(each * (len(todo) - n_done), limits.end - time.monotonic()), 0.0) / 60
        what = cost if isinstance(cost, Cost) else f"{cost}: ended at its time limit"
        print(f"{n_done}/{len(todo)}, {left:.1f} min left: {what}", flush=True)
    rows = recorded(wanted, store)
    for line in summary(known_costs(rows), ended_late(rows)):
        print(line)


def describe(rows: Mapping[Cell, ResultRow]) -> str:
    """What was recorded before this start, in words."""
    late = len(ended_late(rows))
    return f"{len(rows) - late} are recorded, {late} ended at their limit and are tried last"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.query_cost")
    add = parser.add_argument
    add("--datasets", nargs="+", choices=DATASETS, default=list(FACTORIZED))
    add("--slices", nargs="+", type=_count, default=list(SLICES), help="rows over a slice's fewest")
    add("--rows", nargs="+", type=_count, default=list(ROWS), help="training rows")
    add("--repeats", type=_count, default=5, help="passes over the queries")
    add("--minutes", type=float, default=np.inf, help="of the whole run, at most")
    add("--seconds", type=float, default=60.0, help="of one cell, at most")
    add("--results", type=Path, default=Path("results"))
    add("--cache", type=Path, default=Path("data/cache"))
    return parser.parse_args()


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


if __name__ == "__main__":
    main()

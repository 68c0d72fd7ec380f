"""The cost of a query over the nodes of the recipe's models: `python -m experiments.query_cost`.

Proposition 2 says near linear. The recipe is learned where it has factorize nodes, over the
threshold grid, at three sizes of slices and from two numbers of rows; the time of every query of
the workload is measured, and the exponent b of t = a n^b is fitted over the models that have
factorize nodes. Each cell is a row of its own for the report; a second start goes on behind the
rows that are there. Cells come in a drawn order, so that a run that ends early has small and large
models of all datasets. The run's time limit also ends the cell that it falls into; a cell that
alone takes longer than its own limit is left out and named, without a row.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np
import yaml

from baselines.base import DensityModel, FitTimeout
from experiments.datasets import load
from experiments.measures.timing import TimingConfig, measure
from experiments.records.fingerprint import code_version, commit
from experiments.records.rows import ResultRow, Store
from experiments.report.figures.scaling import fit_power
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


def measured(cell: Cell, data: Dataset, timing: TimingConfig) -> Cost:
    """Learn a cell's model and ask the workload of its dataset."""
    model = learned(cell, data)
    assert data.workload is not None
    found = measure(cast(DensityModel, model), data.workload, timing)
    # Queries behind a budget that was used up have no time.
    census, slowest = model.census_, float(np.nanmax(found.queries_ms))
    return Cost(cell, census.n_nodes, census.n_factorize, found.single_ms, slowest)


Seconds = Callable[[], float]
"""How long the next cell may take; nothing is left where it is not above 0."""


def costs(
    wanted: Sequence[Cell],
    cache: Path,
    timing: TimingConfig,
    store: Store,
    seconds: Seconds = lambda: np.inf,
) -> Iterator[Cost | Cell]:
    """Cell by cell, from its row where there is one; the cell itself where it took too long."""
    data: dict[tuple[str, int], Dataset] = {}
    for cell in wanted:
        fingerprint = f"{EXPERIMENT}-{code_version(TARGET)}-{_slug(cell)}"
        done = store.finished(fingerprint)
        if done is not None:
            yield _cost(cell, done)
            continue
        key = cell.dataset, cell.rows
        if key not in data:
            file = conf_dir() / "dataset" / f"{cell.dataset}.yaml"
            settings = {**yaml.safe_load(file.read_text("utf-8")), "train_rows": cell.rows}
            data[key] = load(settings, 0, cache)
        limit = seconds()
        if limit <= 0:
            return
        try:
            with time_limit(limit if np.isfinite(limit) else None):
                cost = measured(cell, data[key], timing)
        except FitTimeout:
            yield cell
            continue
        store.write(_row(fingerprint, cost))
        yield cost


def _slug(cell: Cell) -> str:
    return str(cell).replace(" ", "-").replace("/", "-")


def _row(fingerprint: str, cost: Cost) -> ResultRow:
    cell = cost.cell
    return ResultRow(
        fingerprint=fingerprint,
        experiment=EXPERIMENT,
        label=_slug(cell),
        dataset=cell.dataset,
        family="costs",
        seed=0,
        model=MODEL,
        n_nodes=float(cost.n_nodes),
        n_factorize=float(cost.n_factorize),
        latency_single_ms=cost.mean_ms,
        tau_low=cell.tau_low,
        tau_high=cell.tau_high,
        params=json.dumps({"slices": cell.slices, "rows": cell.rows, "slowest_ms": cost.max_ms}),
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
    """The exponent with its interval, and the slowest cell, beside what is demanded."""
    if too_long:
        named = ", ".join(str(cell) for cell in too_long)
        yield f"{len(too_long)} cells took too long and are left out: {named}"
    if not found:
        yield "no cell was measured: give it more time (--minutes, --seconds)"
        return
    used = [cost for cost in found if cost.counts]
    fit = fit_power(
        np.array([cost.n_nodes for cost in used]), np.array([cost.mean_ms for cost in used]), ""
    )
    sizes = f"{FEWEST_NODES} to {MOST_NODES:,} nodes, with factorize nodes"
    if fit is None:
        yield f"{len(used)} models of {sizes}: too few, or too alike, for an exponent"
    else:
        spread = NORMAL_95 * fit.error
        low, high = fit.exponent - spread, fit.exponent + spread
        yield (
            f"{len(used)} models of {sizes}: exponent {fit.exponent:.2f} "
            f"[{low:.2f}, {high:.2f}], at most {TARGET_EXPONENT} demanded"
        )
    slow = [cost for cost in found if cost.max_ms > TARGET_MS]
    slowest = max(found, key=lambda cost: cost.max_ms)
    yield f"{len(slow)} of {len(found)} cells have a query above {TARGET_MS:g} ms"
    yield f"slowest: {slowest}"


def main() -> None:
    """Print a line per cell, then the summary."""
    options = _options()
    timing = TimingConfig(repeats=options.repeats, budget_seconds=0.5)
    store = Store.of(options.results, EXPERIMENT)
    found: list[Cost] = []
    too_long: list[Cell] = []
    wanted = cells(options.datasets, options.slices, options.rows)
    started = time.monotonic()
    end = started + 60 * options.minutes

    def seconds() -> float:
        return float(min(options.seconds, end - time.monotonic()))

    for cost in costs(wanted, options.cache, timing, store, seconds):
        if isinstance(cost, Cost):
            found.append(cost)
        elif time.monotonic() < end:
            too_long.append(cost)
        n_done = len(found) + len(too_long)
        minutes = (time.monotonic() - started) / 60
        left = min(minutes / max(n_done, 1) * (len(wanted) - n_done), options.minutes - minutes)
        what = cost if isinstance(cost, Cost) else f"{cost}: ended at its time limit"
        print(f"{n_done}/{len(wanted)}, {max(left, 0.0):.1f} min left: {what}", flush=True)
    for line in summary(found, too_long):
        print(line)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.query_cost")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(FACTORIZED))
    parser.add_argument("--slices", nargs="+", type=int, default=list(SLICES))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS), help="training rows")
    parser.add_argument("--repeats", type=int, default=5, help="passes over the queries")
    parser.add_argument("--minutes", type=float, default=np.inf, help="of the whole run, at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="of one cell, at most")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    return parser.parse_args()


if __name__ == "__main__":
    main()

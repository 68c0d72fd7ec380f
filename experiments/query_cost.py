"""The cost of a query over the nodes of the recipe's models: `python -m experiments.query_cost`.

Proposition 2 says near linear. The recipe is learned on the six datasets over the threshold grid,
at two sizes of slices; the time of every query of the workload is measured, and the exponent b of
t = a n^b is fitted over the models that have factorize nodes. Models are kept under `--cache`, so
that a second start measures at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np
import yaml

from baselines.base import DensityModel
from experiments.datasets import load
from experiments.measures.timing import TimingConfig, measure
from experiments.records.fingerprint import code_version
from experiments.report.figures.scaling import fit_power
from experiments.study.plan import conf_dir
from experiments.types import Dataset
from fspn import FSPN

DATASETS = ("rdc_07", "rdc_21", "rdc_37", "rdc_65", "rdc_83", "rdc_95")
TAU_LOW = (0.05, 0.1, 0.2, 0.3, 0.5)
TAU_HIGH = (0.5, 0.7, 0.9, 1.1)
# The recipe's default, one in a hundred, and a smaller one: more nodes.
SLICES = (100, 300)
LEARNER = "fspn.learn.paper.Learner"
FEWEST_NODES, MOST_NODES = 10, 10_000
TARGET_MS, TARGET_EXPONENT = 5.0, 1.1
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Cell:
    """A setting of the recipe; slices of fewer rows than one in ``slices`` are not partitioned."""

    dataset: str
    tau_low: float
    tau_high: float
    slices: int

    def __str__(self) -> str:
        return f"{self.dataset} {self.tau_low:g}/{self.tau_high:g} 1 in {self.slices}"


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


def cells(datasets: Sequence[str], slices: Sequence[int]) -> Iterator[Cell]:
    """The grid; pairs of thresholds that contradict each other do not exist."""
    for name, low, high, part in product(datasets, TAU_LOW, TAU_HIGH, slices):
        if low <= high:
            yield Cell(name, low, high, part)


def learned(cell: Cell, data: Dataset, folder: Path) -> FSPN:
    """The model of a cell, from its file where there is one."""
    rows = len(data.train)
    version = code_version(LEARNER)
    path = folder / version / f"{str(cell).replace(' ', '-').replace('/', '-')}-{rows}.fspn"
    if path.exists():
        return FSPN.load(path)
    domains: dict[Hashable, np.ndarray] = dict(data.domains.items())
    model = FSPN(
        preset="paper",
        tau_low=cell.tau_low,
        tau_high=cell.tau_high,
        min_rows=max(rows // cell.slices, 50),
        random_state=0,
    ).fit(data.train, domains=domains)
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(path)
    return model


def costs(wanted: Sequence[Cell], n_rows: int, cache: Path, timing: TimingConfig) -> Iterator[Cost]:
    """Learn and measure cell by cell."""
    data: dict[str, Dataset] = {}
    for cell in wanted:
        if cell.dataset not in data:
            file = conf_dir() / "dataset" / f"{cell.dataset}.yaml"
            settings = {**yaml.safe_load(file.read_text("utf-8")), "train_rows": n_rows}
            data = {cell.dataset: load(settings, 0, cache)}
        model = learned(cell, data[cell.dataset], cache / "query_cost")
        workload = data[cell.dataset].workload
        assert workload is not None
        found = measure(cast(DensityModel, model), workload, timing)
        census = model.census_
        yield Cost(
            cell,
            census.n_nodes,
            census.n_factorize,
            found.single_ms,
            float(found.queries_ms.max()),
        )


def summary(found: Sequence[Cost]) -> Iterator[str]:
    """The exponent with its interval, and the slowest cell, beside what is demanded."""
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
    parser = argparse.ArgumentParser(prog="python -m experiments.query_cost")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--slices", nargs="+", type=int, default=list(SLICES))
    parser.add_argument("--rows", type=int, default=100_000, help="training rows per dataset")
    parser.add_argument("--repeats", type=int, default=5, help="passes over the queries")
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    options = parser.parse_args()
    timing = TimingConfig(repeats=options.repeats, budget_seconds=10.0)
    found = []
    wanted = list(cells(options.datasets, options.slices))
    for cost in costs(wanted, options.rows, options.cache, timing):
        print(cost, flush=True)
        found.append(cost)
    for line in summary(found):
        print(line)


if __name__ == "__main__":
    main()

"""Measures what the paper says of costs: `python -m experiments.costs` writes rows for the report.

Time of one query over the number of values a column has, for a leaf, a Chow-Liu tree and an SPGM;
and tree SPNs beside the FSPNs that they are converted to.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from baselines.base import DensityModel
from baselines.bayes_net.bn_tree import BNTree
from baselines.same_engine import in_our_engine
from baselines.spflow.mspn import MSPN
from baselines.spgm.spgm import SPGM
from experiments.measures.timing import TimingConfig, measure
from experiments.records.fingerprint import code_version, commit
from experiments.records.rows import ResultRow, Store
from experiments.study.job import machine_name
from experiments.types import EvidenceQuery, Workload
from fspn import FSPN
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import UniLeaf
from fspn.schema.domain import Domain, Variable

EXPERIMENT = "costs"
SIZES = (5, 40, 160, 240, 320, 480, 640)
"""Values of each column of the networks: from 160 on a query is more than a call."""
LEAF_SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
COLUMNS = 6
TIMING = TimingConfig(repeats=3, budget_seconds=5)
TARGETS = {
    "bn_tree": "baselines.bayes_net.bn_tree.BNTree",
    "spgm": "baselines.spgm.spgm.SPGM",
}
"""Models whose code is not that of FSPN."""
TARGET = "baselines.ours.fspn_model.FSPNModel"


def chain(values: int, n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Columns of `values` values, each the one before plus noise."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, values, n_rows)]
    for _ in range(COLUMNS - 1):
        codes.append((codes[-1] + rng.integers(0, 3, n_rows)) % values)
    names = [f"x{i}" for i in range(COLUMNS)]
    return pd.DataFrame(dict(zip(names, codes, strict=True))), dict.fromkeys(
        names, np.arange(values)
    )


def workload(values: int, n_queries: int = 40) -> Workload:
    """Pr(x0 | last column): every column between has to be summed out."""
    last = f"x{COLUMNS - 1}"
    return Workload(
        tuple(
            EvidenceQuery(("x0",), {last: k % values}, {"x0": (3 * k) % values})
            for k in range(n_queries)
        )
    )


def domain_rows(values: int, n_rows: int) -> Iterator[ResultRow]:
    """Query times of a Chow-Liu tree and of an SPGM on columns of this many values."""
    table, domains = chain(values, n_rows)
    models: dict[str, DensityModel] = {
        "bn_tree": BNTree(),
        "spgm": SPGM(n_components=1, n_insert=3, structure_steps=3, parameter_steps=3),
    }
    for name, model in models.items():
        model.fit(table, domains)
        found = measure(model, workload(values), TIMING)
        yield _row(f"values_{values}", name, latency_single_ms=found.single_ms)


def leaf_row(values: int) -> ResultRow:
    """Query time of a range on a single leaf."""
    variable = Variable("x", "ordered", np.arange(values))
    model = FSPN.from_root(
        Domain((variable,)), UniLeaf(0, Categorical(np.full(values, 1 / values)))
    )
    low, high = np.array([[1.0]]), np.array([[values - 2.0]])
    model.probability(low, high)
    times = []
    for _ in range(200):
        started = time.perf_counter_ns()
        model.probability(low, high)
        times.append((time.perf_counter_ns() - started) / 1e6)
    return _row(f"values_{values}", "leaf", latency_single_ms=float(np.median(times)))


def subsumption_rows(seed: int, n_rows: int) -> Iterator[ResultRow]:
    """A learned tree SPN and its FSPN: parameters, bytes, largest difference of an answer."""
    table, domains = chain(6, n_rows, seed)
    source = MSPN(0.3, n_rows // 10, 0.1).fit(table, domains, seed)
    ours = in_our_engine(source)
    if ours is None:
        raise RuntimeError("the SPN could not be converted to an FSPN")
    rows = table.head(200)
    error = np.max(np.abs(np.exp(source.score_samples(rows)) - np.exp(ours.score_samples(rows))))
    for name, model, kl in (("spn", source, np.nan), ("spn_as_fspn", ours, float(error))):
        yield _row(
            f"chain_{seed}",
            name,
            n_parameters=float(model.n_parameters),
            size_bytes=float(model.size_bytes),
            kl_max=kl,
        )


def _row(dataset: str, model: str, **measures: float) -> ResultRow:
    return ResultRow(
        fingerprint=f"{EXPERIMENT}-{dataset}-{model}",
        experiment=EXPERIMENT,
        label=f"{dataset}/{model}",
        dataset=dataset,
        family="costs",
        seed=0,
        model=model,
        **measures,  # type: ignore[arg-type]
    )


def measured(n_rows: int) -> Iterator[ResultRow]:
    """All rows of this experiment."""
    for values in LEAF_SIZES:
        yield leaf_row(values)
    for values in SIZES:
        yield from domain_rows(values, n_rows)
    for seed in range(5):
        yield from subsumption_rows(seed, n_rows)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m experiments.costs")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--rows", type=int, default=5_000, help="training rows per table")
    options = parser.parse_args()
    store = Store.of(options.results, EXPERIMENT)
    for row in measured(options.rows):
        store.write(
            replace(
                row,
                code_version=code_version(TARGETS.get(row.model, TARGET), row.family),
                commit=commit(),
                machine=machine_name(),
                python=platform.python_version(),
                started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
                command="python -m experiments.costs",
            )
        )
        values = f"{row.latency_single_ms:.4g} ms, {row.size_bytes:g} bytes"
        print(f"{row.label}: {values}, difference {row.kl_max:.1e}")


if __name__ == "__main__":
    main()

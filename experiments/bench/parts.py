"""Finished parts of a run, kept one by one so that a run that was ended goes on where it was."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from experiments.bench.completions import measure_completions
from experiments.bench.limit import measure_limit
from experiments.bench.options import Options
from experiments.bench.queries import measure_queries
from experiments.bench.real import measure_real
from experiments.bench.scaling import (
    NODE_SERIES,
    columns_curve,
    domains_curve,
    nodes_curve,
    rows_point,
)
from experiments.bench.start import measure_start
from experiments.bench.threads import measure_threads
from experiments.bench.time_limits import Limits
from experiments.bench.training import measure_stock, measure_training
from experiments.bench.wide import measure_wide
from experiments.records.fingerprint import code_version
from experiments.records.locks import Machine
from experiments.study.job import machine_name

# Whatever these import, directly or not, is the code that a part depends on: the models, and what
# measures its section.
MODELS = (
    "baselines.ours.fspn_model.FSPNModel",
    "baselines.bayes_net.bn_dag.BNDag",
    "baselines.bayes_net.bn_tree.BNTree",
    "baselines.spflow.stock.MSPNStock",
)
MEASURES = {
    "start": "experiments.bench.start.measure_start",
    "queries": "experiments.bench.queries.measure_queries",
    "training": "experiments.bench.training.measure_training",
    "stock": "experiments.bench.training.measure_stock",
    "limit": "experiments.bench.limit.measure_limit",
    "tables": "experiments.bench.real.measure_real",
    "completions": "experiments.bench.completions.measure_completions",
    "wide": "experiments.bench.wide.measure_wide",
    "threads": "experiments.bench.threads.measure_threads",
    "rows": "experiments.bench.memory.measure",
    "columns": "experiments.bench.scaling.columns_curve",
    "domains": "experiments.bench.scaling.domains_curve",
    "nodes": "experiments.bench.scaling.nodes_curve",
}
# Options that the names of the parts tell, and where files are kept.
NAMED = {
    "datasets",
    "tables",
    "networks",
    "wide_columns",
    "row_counts",
    "column_counts",
    "stock_limit",
    "cache_dir",
}

UNLIMITED = Limits(math.inf, 0.0)


@dataclass(frozen=True)
class Part:
    """One thing to measure.

    Arguments:
        section: One of `options.SECTIONS`.
        name: What of it, e.g. a dataset.
        run: Measures; returns a dataclass.
    """

    section: str
    name: str
    run: Callable[[], Any]


def plan(options: Options, sections: tuple[str, ...]) -> Iterator[Part]:
    """The parts of a run, in order."""
    per_dataset = {
        "queries": measure_queries,
        "training": measure_training,
        "limit": measure_limit,
    }
    widest, seconds = max(options.column_counts, default=0), options.stock_limit
    curves: Mapping[str, Mapping[Any, Callable[[], Any]]] = {
        "start": {"python": partial(measure_start, options)},
        "tables": {name: partial(measure_real, name, options) for name in options.tables},
        "completions": {
            name: partial(measure_completions, name, options) for name in options.networks
        },
        "wide": {m: partial(measure_wide, m, options) for m in options.wide_columns},
        "threads": {
            options.scaling_dataset: partial(measure_threads, options.scaling_dataset, options)
        },
        "rows": {n: partial(rows_point, n, options) for n in options.row_counts},
        "columns": {f"to-{widest}": partial(columns_curve, options)},
        "domains": {"all": partial(domains_curve, options)},
        "stock": {
            f"{name}-{seconds:g}s": partial(measure_stock, name, options)
            for name in options.datasets
        },
        "nodes": {name: partial(nodes_curve, name, options) for name in NODE_SERIES},
    }
    for section in sections:
        if section in per_dataset:
            for name in options.datasets:
                yield Part(section, name, partial(per_dataset[section], name, options))
        else:
            for name, run in curves[section].items():
                yield Part(section, str(name), run)


class Shelf:
    """Where finished parts are kept.

    Arguments:
        options: What is measured; other options, code or machine are other parts.
        fresh: Whether to measure again what is there.
    """

    def __init__(self, options: Options, fresh: bool) -> None:
        self.options, self.fresh = options, fresh
        self.same = {k: v for k, v in asdict(options).items() if k not in NAMED}
        self.models = [code_version(target) for target in MODELS]
        self.folder = options.cache_dir / "bench"

    def has(self, part: Part) -> bool:
        """Whether the part was finished before."""
        return not self.fresh and self._path(part).exists()

    def get(self, part: Part, limits: Limits = UNLIMITED) -> dict[str, Any]:
        """The part's record, measured now, within the limits, unless it was before."""
        if not self.has(part):
            self._write(self._path(part), self._measure(part, limits))
        record: dict[str, Any] = json.loads(self._path(part).read_text(encoding="utf-8"))
        return record

    def _measure(self, part: Part, limits: Limits) -> dict[str, Any]:
        load_before, shared = os.getloadavg()[0], self.options.share_machine
        machine = nullcontext() if shared else Machine.local("the benchmark").alone()
        with limits.of_a_part(machine):
            started = datetime.now(UTC)
            found = part.run()
        return {
            "section": part.section,
            "name": part.name,
            "started_at": started.isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - started).total_seconds(), 2),
            "load_before": load_before,
            "load_after": os.getloadavg()[0],
            "found": asdict(found),
        }

    def _path(self, part: Part) -> Path:
        code = [*self.models, code_version(MEASURES[part.section])]
        what = json.dumps([self.same, code, machine_name()], default=str)
        key = sha256(what.encode()).hexdigest()[:12]
        return self.folder / key / f"{part.section}-{part.name}.json"

    @staticmethod
    def _write(path: Path, record: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(record), encoding="utf-8")
        draft.replace(path)

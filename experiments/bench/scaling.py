"""The curves: training and query time over rows, columns, domain sizes and nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd

from experiments.bench.clock import Spread
from experiments.bench.curves import (
    Curve,
    Point,
    events_of,
    fit_all,
    points_of,
    query_times,
)
from experiments.bench.data import additive_table, study_dataset
from experiments.bench.options import Options
from experiments.measures.timing import one_thread

QUERIES = 200
NODE_SERIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nodes_spn": ("tree SPN (tau_high above 1)", {"tau_high": 1.1}),
    "nodes_paper": ('FSPN, preset="paper"', {"preset": "paper"}),
}


def rows_point(rows: int, options: Options) -> Curve:
    """One point of the curve over rows, in a process of its own so that its memory is known."""
    rounds = options.row_curve
    arguments = [
        options.scaling_dataset, str(rows), str(options.seed), str(options.cache_dir),
        str(rounds.repeats), str(rounds.budget_seconds),
    ]  # fmt: skip
    command = [sys.executable, "-m", "experiments.bench.memory", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"training on {rows} rows failed:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    train, query = (Spread(**found.pop(k)) for k in ("train_seconds", "query_us"))
    about = f"{options.scaling_dataset}, 20 columns, int64"
    return Curve("rows", about, (Point(rows, train, query, **found),))


def columns_curve(options: Options) -> Curve:
    """Groups of five dependent columns, more and more of them."""
    tables = {
        m: additive_table(options.column_rows, m, 10, options.seed) for m in options.column_counts
    }
    about = f"{options.column_rows:,} rows, groups of 5 columns, 10 values each"
    return _table_curve("columns", about, tables, options)


def domains_curve(options: Options) -> Curve:
    """Twenty columns whose domains grow."""
    tables = {
        d: additive_table(options.domain_rows, 20, d, options.seed) for d in options.domain_sizes
    }
    about = f"{options.domain_rows:,} rows, 20 columns in groups of 5"
    return _table_curve("domains", about, tables, options)


def nodes_curve(name: str, options: Options) -> Curve:
    """Models of one dataset whose `min_rows` sets how many nodes they have."""
    label, extra = NODE_SERIES[name]
    dataset = study_dataset("smooth_37", options.column_rows, options.seed, options.cache_dir)
    tables = dict.fromkeys(options.node_min_rows, dataset.train)
    settings = {k: {**extra, "min_rows": k} for k in tables}
    events = events_of(dataset.test, QUERIES // 2, options.seed)
    with one_thread():
        trained = fit_all(tables, settings, options.curves)
        models = {k: t.model for k, t in trained.items()}
        times = query_times(models, dict.fromkeys(models, events), options.curves)
    points = (
        Point(t.model.n_nodes_, Spread.of(t.seconds), times[k], t.model.n_nodes_)
        for k, t in trained.items()
    )
    about = f"{label} on smooth_37, {options.column_rows:,} rows, min_rows varied"
    return Curve(name, about, tuple(sorted(points, key=lambda p: p.x)))


def _table_curve(
    name: str, about: str, tables: Mapping[int, pd.DataFrame], options: Options
) -> Curve:
    events = {x: events_of(table, QUERIES, options.seed) for x, table in tables.items()}
    with one_thread():
        fit_all({-1: tables[min(tables)].head(300)}, {}, options.curves)
        trained = fit_all(tables, {}, options.curves)
        times = query_times({x: t.model for x, t in trained.items()}, events, options.curves)
    return Curve(name, about, points_of(trained, times))

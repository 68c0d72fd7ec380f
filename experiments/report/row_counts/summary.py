"""From recorded queries to one tidy table: q-error quantiles of every estimator and group."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.measures.count_workload import band, band_names
from experiments.measures.q_error import QUANTILES, quantiles
from experiments.records.rows import collect, collect_queries
from experiments.report.row_counts.names import STUDY

ROUNDS = 500
LEVEL = 0.05
ALL = "all queries"
WITH_INTERVAL = ("q_median", "q_p95", "q_p99")


def read_runs(results_dir: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The newest rows of the study, and the queries of those that came to a result."""
    rows = collect(results_dir, latest=True)
    rows = rows[rows["experiment"] == STUDY]
    return rows, collect_queries(results_dir, rows[rows["status"] == "ok"])


def summarise(rows: pd.DataFrame, queries: pd.DataFrame) -> pd.DataFrame:
    """One line per table, estimator and group of queries, and one per gap."""
    lines = []
    for row in rows.to_dict("records"):
        who = {key: row[key] for key in ("dataset", "model", "engine", "status", "error")}
        who |= {
            "latency_us": 1e3 * row["latency_single_ms"],
            "batch_us": 1e3 * row["latency_batch_ms"],
            "train_seconds": row["train_seconds"],
            "size_bytes": row["size_bytes"],
            "stored_bytes": row["stored_bytes"],
            "params": row["params"],
        }
        if queries.empty or row["status"] != "ok":
            lines.append(who | {"group": ALL})
            continue
        mine = queries[queries["fingerprint"] == row["fingerprint"]]
        who["exact_us"] = _median(mine, "exact_us")
        lines += [who | {"group": name} | _errors(part) for name, part in _groups(mine)]
    return pd.DataFrame(lines)


def pooled(queries: pd.DataFrame, tables: Set[str]) -> pd.DataFrame:
    """Errors over the queries of all tables together: a line per group and estimator.

    An estimator with a gap on one of FSPN's tables is left out: it would be asked other questions.

    Arguments:
        queries: the queries of all estimators.
        tables: those on which FSPN came to a result.
    """
    lines = []
    for model, mine in queries[queries["dataset"].isin(tables)].groupby("model"):
        if set(mine["dataset"]) != tables:
            continue
        lines += [{"model": model, "group": name} | _errors(part) for name, part in _groups(mine)]
    return pd.DataFrame(lines)


def _groups(queries: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield ALL, queries
    n_rows = queries["n_rows"].to_numpy()
    classes = band(queries["count"].to_numpy() / n_rows, n_rows)
    for number, name in enumerate(band_names()):
        if (classes == number).any():
            yield f"rows: {name}", queries[classes == number]
    for size, part in queries.groupby("n_predicates"):
        yield f"predicates: {size}", part


def _errors(queries: pd.DataFrame) -> dict[str, float]:
    errors = queries["q_error"].to_numpy()
    found: dict[str, float] = {"n": len(errors), **quantiles(errors)}
    for key in WITH_INTERVAL:
        low, high = interval(errors, QUANTILES[key])
        found |= {f"{key}_low": low, f"{key}_high": high}
    return found


def interval(errors: np.ndarray, quantile: float) -> tuple[float, float]:
    """The 95% bootstrap interval over queries of a quantile of their errors."""
    rng = np.random.default_rng(0)
    drawn = np.sort(errors)[np.sort(rng.integers(len(errors), size=(ROUNDS, len(errors))), axis=1)]
    place = min(max(int(np.ceil(quantile * len(errors))), 1), len(errors)) - 1
    low, high = np.quantile(drawn[:, place], [LEVEL / 2, 1 - LEVEL / 2], method="nearest")
    return float(low), float(high)


def _median(queries: pd.DataFrame, column: str) -> float:
    return float(queries[column].median()) if column in queries else float("nan")

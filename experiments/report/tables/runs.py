"""The table of all runs, and the environment they ran in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import pandas as pd

from experiments.report.names import in_order, label
from experiments.report.tables.writing import OTHER_CODE, OTHER_NODE, Cell, Table, number, text

PACKAGES = (
    "fspn",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "pandas",
    "matplotlib",
    "pyagrum",
    "pomegranate",
    "spflow",
    "mlflow",
    "hydra-core",
)
COLUMNS = {
    "kl_mean": ("KL", 1.0),
    "kl_median": ("KL median", 1.0),
    "kl_p95": ("KL p95", 1.0),
    "latency_single_ms": ("query ms", 1.0),
    "latency_batch_ms": ("batched ms", 1.0),
    "n_timed": ("queries timed", 1.0),
    "n_nodes": ("nodes", 1.0),
    "size_bytes": ("size KB", 1 / 1024),
    "train_seconds": ("training s", 1.0),
    "search_seconds": ("search s", 1.0),
    "valid_ll": ("valid LL", 1.0),
    "test_ll": ("test LL", 1.0),
    "tau_low": ("tau_low", 1.0),
    "tau_high": ("tau_high", 1.0),
}


@dataclass(frozen=True)
class Environment:
    """Where the numbers come from: pairs of what and which."""

    facts: tuple[tuple[str, str], ...]


def runs_table(rows: pd.DataFrame) -> Table:
    """One line per recorded job; a line from another code version carries a sign."""
    order = {name: k for k, name in enumerate(in_order(frozenset(rows["model"])))}
    keys = rows.assign(order=rows["model"].map(order))
    keys = keys.sort_values(["experiment", "dataset", "order", "seed"], kind="stable")
    lines = tuple(_line(row) for row in keys.to_dict("records"))
    header = ("experiment", "dataset", "model", "seed", "status")
    return Table(
        "runs",
        "All runs",
        "One line per job. Queries timed: fewer than all where a model is slower than the budget "
        "of its measurement. At edge: hyper-parameters that the search left at the smallest or "
        f"largest value it tried. {OTHER_CODE}: measured by another version of the code. "
        f"{OTHER_NODE}: on another node type than most of its study; its times do not compare.",
        (
            *header,
            *(name for name, _ in COLUMNS.values()),
            "engine",
            "settings",
            "at edge",
            "commit",
            "rows",
        ),
        lines,
    )


def _line(row: dict[Hashable, Any]) -> tuple[Cell, ...]:
    mark = OTHER_CODE * bool(row["other_code"]) + OTHER_NODE * bool(row["other_node"])
    status = row["status"] + (f": {row['error']}" if row["error"] else "")
    return (
        text(row["experiment"]),
        text(row["dataset"]),
        Cell(label(row["model"]), mark=mark),
        number(row["seed"], 6),
        text(status),
        *(number(row[key] * scale, 4) for key, (_, scale) in COLUMNS.items()),
        text(row["engine"]),
        text(row["params"]),
        text(row["at_edge"]),
        text(row["commit"] or row["code_version"]),
        text(row["source"]),
    )


def environment(rows: pd.DataFrame, study: str, command: str) -> Environment:
    """The facts that a reader needs to run it again."""
    mine = rows[rows["experiment"] == study]
    marked = int(rows["other_code"].sum())
    starts = [value for value in rows["started_at"] if value]
    facts = [
        ("study", f"{study or 'none'}: {len(mine)} of {len(rows)} rows"),
        ("seeds", ", ".join(str(seed) for seed in sorted(set(mine["seed"]))) or "–"),
        ("machine", _distinct(rows["machine"])),
        ("node types of the study", _distinct(mine["node_type"])),
        ("Python", _distinct(rows["python"])),
        ("code", _distinct(rows["commit"])),
        (
            "rows of other code",
            f"{marked} of {len(rows)}" + (f", marked {OTHER_CODE}" * (marked > 0)),
        ),
        ("recorded", f"{min(starts)[:10]} to {max(starts)[:10]}" if starts else "–"),
        ("engines", _distinct(mine["engine"])),
        ("commands of the runs", _distinct(mine["command"], most=3)),
        ("command of this report", command),
        ("packages here", ", ".join(_versions())),
    ]
    return Environment(tuple(facts))


def _distinct(column: pd.Series, most: int = 8) -> str:
    values = sorted({str(value) for value in column if str(value)})
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return "; ".join(values[:most]) + more or "–"


def _versions() -> list[str]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found

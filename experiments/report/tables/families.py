"""Families of datasets without levels of dependence: a line per dataset, a column per model."""

from __future__ import annotations

import math

import pandas as pd

from experiments.report.names import FLOOR, LEVELLESS, in_order, label
from experiments.report.tables.writing import OTHER_CODE, Cell, Table, readable, text

MEASURED = {
    "kl": ("kl_mean", "kl_se", "Mean KL", "nats; ± two standard errors over the queries"),
    "ll": ("test_ll", "test_ll_se", "Test log-likelihood", "nats per row; ± two standard errors"),
    "engine": (
        "engine_ms",
        "",
        "Time of one query, our engine",
        "milliseconds per query asked alone",
    ),
}


def family_tables(rows: pd.DataFrame, family: str) -> tuple[Table, ...]:
    """KL, log-likelihood and latency in one engine of one family; the best in bold."""
    known = [key for key, (column, *_) in MEASURED.items() if rows[column].notna().any()]
    return tuple(_table(rows, family, key) for key in known)


def _table(rows: pd.DataFrame, family: str, key: str) -> Table:
    column, error, title, unit = MEASURED[key]
    models = in_order(frozenset(rows.loc[rows[column].notna(), "model"]))
    lines = []
    for name, mine in rows.groupby("dataset", sort=True):
        means = mine.groupby("model")[column].mean()
        learned = means.drop(FLOOR, errors="ignore").dropna()
        best = learned.max() if key == "ll" else learned.min()
        cells = [_cell(mine[mine["model"] == m], column, error, best) for m in models]
        lines.append((text(name), *cells))
    return Table(
        f"{family}_{key}",
        f"{title}: {family}",
        f"Datasets of {LEVELLESS[family]}; {unit}. Bold: the best learned model.",
        ("dataset", *map(label, models)),
        tuple(lines),
    )


def _cell(rows: pd.DataFrame, column: str, error: str, best: float) -> Cell:
    """The mean over draws, with two standard errors (95%) where they were recorded."""
    value = float(rows[column].mean()) if len(rows) else math.nan
    if not math.isfinite(value):
        return text("")
    known = rows[error].dropna() if error else rows[column].iloc[:0]
    spread = 2 * math.sqrt(float((known**2).sum())) / len(known) if len(known) else math.nan
    words = readable(value, 4) + (f" ± {readable(spread, 2)}" if math.isfinite(spread) else "")
    stale = bool(rows["other_code"].any())
    return Cell(words, value, bold=value == best, mark=OTHER_CODE if stale else "")

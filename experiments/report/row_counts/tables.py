"""The tables of the study: q-errors and costs per table, wins, groups of queries, worst queries."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from experiments.report.row_counts.names import LABELS, SUBJECT, in_order, label
from experiments.report.row_counts.summary import ALL
from experiments.report.tables.writing import Cell, Table, number, text

MEASURES = ("q_median", "q_p90", "q_p95", "q_p99", "q_max")
HEADS = ("median", "90%", "95%", "99%", "max")


def errors_table(summary: pd.DataFrame) -> Table:
    """All estimators on all tables: quantiles, time per estimate, training, bytes."""
    rows = []
    whole = summary[summary["group"] == ALL]
    for dataset in _datasets(whole):
        part = whole[whole["dataset"] == dataset]
        best = {key: part[key].min() for key in MEASURES}
        found = {row["model"]: row for row in part.to_dict("records")}
        rows += [_line(dataset, model, found[model], best) for model in in_order(set(found))]
    return Table(
        "row_counts",
        "Row counts of real tables",
        "q-error max(e/t, t/e) over the queries of each table, with 95% bootstrap intervals over "
        "queries for the 95% quantile; bold: best of the table. Times are medians of one estimate "
        "asked alone (PostgreSQL: a round trip of EXPLAIN); training of PostgreSQL is ANALYZE. KB "
        "are those of the model's arrays in memory, of a sample its bit-packed rows; the file is "
        "what is stored, compressed alike for FSPN and samples.",
        (
            "table",
            "estimator",
            *HEADS,
            "95%: from",
            "to",
            "us per estimate",
            "training, s",
            "KB",
            "file, KB",
        ),
        tuple(rows),
        notes=tuple(_gaps(whole)),
    )


def _line(
    dataset: str, model: str, row: dict[Hashable, Any], best: dict[str, float]
) -> tuple[Cell, ...]:
    errors = [number(row[key], bold=bool(row[key] <= best[key])) for key in MEASURES]
    return (
        text(dataset),
        text(label(model)),
        *errors,
        number(row["q_p95_low"]),
        number(row["q_p95_high"]),
        number(row["latency_us"]),
        number(row["train_seconds"]),
        number(row["size_bytes"] / 1024),
        number(row["stored_bytes"] / 1024),
    )


def wins_table(summary: pd.DataFrame) -> Table:
    """Per estimator, on how many tables it has the lowest quantile (ties count for all)."""
    whole = summary[(summary["group"] == ALL) & (summary["status"] == "ok")]
    rivals = whole.groupby("dataset")["model"].nunique()
    datasets = [name for name in _datasets(whole) if rivals[name] > 1]
    whole = whole[whole["dataset"].isin(datasets)]
    lines = []
    for model in in_order(set(whole["model"])):
        counts = [_wins(whole, model, key, datasets) for key in MEASURES]
        ran = int((whole["model"] == model).sum())
        lines.append((text(label(model)), *(number(c) for c in counts), number(ran)))
    return Table(
        "row_counts_wins",
        "On how many tables an estimator is the best",
        f"Lowest q-error of all estimators, of {len(datasets)} tables; ties within 0.5% count for "
        "all that tie. The last column: tables on which it came to a result.",
        ("estimator", *HEADS, "tables"),
        tuple(lines),
    )


def _wins(whole: pd.DataFrame, model: str, key: str, datasets: list[str]) -> int:
    lowest = whole.groupby("dataset")[key].min()
    mine = whole[whole["model"] == model].set_index("dataset")[key]
    return sum(bool(mine.get(d, float("inf")) <= 1.005 * lowest[d]) for d in datasets)


def groups_table(pooled: pd.DataFrame) -> Table:
    """The 95% quantile by selectivity and by number of predicates, all tables together."""
    if pooled.empty:
        return Table("row_counts_groups", "By group of queries", "No queries.", ("group",), ())
    models = in_order(set(pooled["model"]))
    by = pooled.pivot(index="group", columns="model", values="q_p95")
    sizes = pooled[pooled["model"] == SUBJECT].set_index("group")["n"]
    lines = [
        (
            text(group),
            number(sizes.get(group, float("nan")), 5),
            *(
                number(by.loc[group, m], bold=by.loc[group, m] == by.loc[group].min())
                for m in models
            ),
        )
        for group in dict.fromkeys(pooled["group"])
    ]
    return Table(
        "row_counts_groups",
        "95% q-error by selectivity and number of predicates",
        "The queries of all tables together; an estimator with a gap on one of them is left out.",
        ("queries", "number", *(label(m) for m in models)),
        tuple(lines),
    )


def worst_table(worst: pd.DataFrame) -> Table:
    """FSPN's worst queries of each table."""
    lines = tuple(
        (
            text(row["table"]),
            text(row["query"]),
            number(row["rows"], 7),
            number(row["estimate"]),
            number(row["q_error"]),
            text(row["reason"]),
        )
        for row in worst.to_dict("records")
    )
    return Table(
        "row_counts_worst",
        "FSPN's worst queries of each table",
        "With what can be told about the reason from the query, the model's cells and the estimate "
        "under independence.",
        ("table", "query", "rows", "estimate", "q-error", "reason"),
        lines,
        folded=True,
    )


def _datasets(whole: pd.DataFrame) -> list[str]:
    return sorted(set(whole["dataset"]))


def _gaps(whole: pd.DataFrame) -> list[str]:
    lost = whole[whole["status"] != "ok"]
    found = [
        f"{row['dataset']}, {label(row['model'])}: {row['status']} ({row['error']})"
        for row in lost.to_dict("records")
    ]
    for dataset in _datasets(whole):
        there = set(whole.loc[whole["dataset"] == dataset, "model"])
        absent = [label(model) for model in LABELS if model not in there]
        if absent:
            found.append(f"{dataset}: not run yet: {', '.join(absent)}")
    return found

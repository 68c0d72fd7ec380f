"""Is it the draw? Models on several draws of each dataset, settings frozen on the first.

Each model is compared with FSPN on the draws that both have, query by query, by the hierarchical
paired bootstrap of `experiments.report.statistics`; p-values are Holm's over all comparisons of the
table. Per-query values stay with the runs; what the comparisons come to is kept beside the
reference rows (`reference/draws.csv`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.records.rows import collect_queries
from experiments.report.names import label
from experiments.report.statistics import LEVEL, compare, holm
from experiments.report.tables.writing import Cell, Table, number, text, whole

EXPERIMENT = "draws"
SUBJECT = "fspn"
FILE = Path("reference") / "draws.csv"
COLUMNS = (
    *("dataset", "model", "draws", "kl_subject", "kl_model", "least", "most"),
    *("ratio", "low", "high", "p", "verdict"),
)


def draw_comparisons(rows: pd.DataFrame, results_dir: Path) -> pd.DataFrame:
    """One line per dataset and model; what was kept of it where per-query values are not here.

    Arguments:
        rows: the rows of the study.
        results_dir: the folder that holds `runs/` and `reference/`.
    """
    done = rows[rows["status"] == "ok"]
    queries = collect_queries(results_dir, done)
    found = pd.DataFrame([] if queries.empty else list(_lines(done, queries)))
    if found.empty:
        path = results_dir / FILE
        return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=list(COLUMNS))
    found["p"] = holm(found["p"].tolist())
    found["verdict"] = [
        "tie" if p > LEVEL else ("win" if ratio > 1 else "loss")
        for p, ratio in zip(found["p"], found["ratio"], strict=True)
    ]
    return found[list(COLUMNS)]


def _lines(rows: pd.DataFrame, queries: pd.DataFrame) -> Iterator[dict[str, object]]:
    kls = {str(key): own["kl"].to_numpy() for key, own in queries.groupby("fingerprint")}
    for dataset, here in rows.groupby("dataset", sort=True):
        jobs = {
            str(model): {
                int(seed): kls[key]
                for seed, key in zip(own["seed"], own["fingerprint"], strict=True)
                if key in kls
            }
            for model, own in here.groupby("model", sort=False)
        }
        subject = jobs.pop(SUBJECT, {})
        for model, own in jobs.items():
            both = sorted(own.keys() & subject.keys())
            found = compare([(own[seed], subject[seed]) for seed in both]) if both else None
            if found is None:
                continue
            means = [float(own[seed].mean()) for seed in both]
            yield {
                "dataset": dataset,
                "model": model,
                "draws": found.draws,
                "kl_subject": float(np.mean([subject[seed].mean() for seed in both])),
                "kl_model": float(np.mean(means)),
                "least": min(means),
                "most": max(means),
                "ratio": found.ratio,
                "low": found.low,
                "high": found.high,
                "p": found.p,
            }


def draws_table(found: pd.DataFrame) -> Table:
    """The comparisons as a table."""
    return Table(
        "draws",
        "Is it the draw?",
        "Mean KL over the draws of a dataset that both models were learned on, settings frozen on "
        "the first draw. The ratio is the other model's mean over FSPN's: above 1, FSPN is better. "
        "Interval: 95%, paired, over draws and queries; verdict of FSPN after Holm's correction "
        "over this table.",
        ("dataset", "model", "draws", "FSPN", "model", "least of a draw", "most", "ratio", "95%",
         "verdict"),
        tuple(_cells(row) for row in found.to_dict("records")),
    )  # fmt: skip


def _cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    return (
        text(row["dataset"]),
        text(label(str(row["model"]))),
        whole(row["draws"]),
        *(number(row[key]) for key in ("kl_subject", "kl_model", "least", "most", "ratio")),
        text(f"{row['low']:.3g} to {row['high']:.3g}"),
        text(row["verdict"]),
    )

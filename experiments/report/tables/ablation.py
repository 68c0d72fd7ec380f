"""What each ingredient of the default learner brings, as a table for `docs/learning.md`.

    python -m experiments.report.tables.ablation results

prints it from the rows of `experiment=ablation`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.records.rows import collect

STEPS = (
    ("the paper's recipe", {"model": "fspn_paper", "tau_low": None}),
    ("tau_L = 0.1", {"model": "fspn_paper", "tau_low": 0.1}),
    ("corrected oracle, any significant dependence", {"model": "fspn", "group": "split"}),
    ("tables, one parent", {"model": "fspn", "max_parents": 1}),
    ("tables, two parents", {"model": "fspn", "max_parents": 2, "offsets": False, "group": None}),
    ("and laws: the default", {"model": "fspn", "max_parents": 2, "offsets": True, "group": None}),
)


def ablation_table(rows: pd.DataFrame) -> str:
    """One line per dataset and step: KL, size, latency and training time, in Markdown."""
    lines = ["| dataset | learner | mean KL | size (KB) | query (ms) | training (s) |"]
    lines += ["|---|---|---|---|---|---|"]
    for dataset in sorted(rows["dataset"].unique()):
        here = rows[rows["dataset"] == dataset]
        lines += [_line(dataset, name, here, wanted) for name, wanted in STEPS]
    return "\n".join(lines)


def _line(dataset: str, name: str, rows: pd.DataFrame, wanted: dict[str, Any]) -> str:
    found = list(_matching(rows, wanted))
    if not found:
        return f"| {dataset} | {name} | not run | | | |"
    row = found[0]
    size, query = row["size_bytes"] / 1024, row["latency_single_ms"]
    kl, seconds = row["kl_mean"], row["train_seconds"]
    return f"| {dataset} | {name} | {kl:.2g} | {size:.1f} | {query:.2g} | {seconds:.1f} |"


def _matching(rows: pd.DataFrame, wanted: dict[str, Any]) -> Iterator[pd.Series]:
    for _, row in rows[rows["status"] == "ok"].iterrows():
        settings = {**json.loads(row["params"]), "model": row["model"]}
        if all(settings.get(key) == value for key, value in wanted.items()):
            yield row


if __name__ == "__main__":
    everything = collect(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
    print(ablation_table(everything[everything["experiment"] == "ablation"]))

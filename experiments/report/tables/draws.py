"""Is it the draw? Models on several draws of each dataset, settings frozen on the first.

Each model is compared with FSPN on the draws that both have, query by query, by the hierarchical
paired bootstrap of `experiments.report.statistics`; p-values are Holm's over all comparisons of the
table, so there are enough rounds for sixty of them. Per-query values stay with the runs; what a
comparison comes to is kept beside the reference rows (`reference/draws.csv`) with the jobs that it
is of, and stands in where their queries are not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
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
FAMILY = "sparse"
FILE = Path("reference") / "draws.csv"
ROUNDS = 20_000
COLUMNS = (
    *("dataset", "model", "draws", "kl_subject", "kl_model", "least", "most"),
    *("ratio", "low", "high", "p", "p_holm", "verdict", "jobs"),
)


def draw_comparisons(rows: pd.DataFrame, results_dir: Path) -> pd.DataFrame:
    """One line per dataset and model.

    Arguments:
        rows: the rows of the study.
        results_dir: the folder that holds `runs/` and `reference/`.
    """
    done = rows[(rows["status"] == "ok") & (rows["family"] == FAMILY)]
    done = done[~done["label"].str.contains("fit_seed=")]
    found = pd.DataFrame(list(_lines(done, results_dir)), columns=list(COLUMNS))
    if found.empty:
        return found
    found["p_holm"] = holm(found["p"].tolist())
    found["verdict"] = [
        "tie" if p > LEVEL else ("win" if ratio > 1 else "loss")
        for p, ratio in zip(found["p_holm"], found["ratio"], strict=True)
    ]
    return found


def _lines(rows: pd.DataFrame, results_dir: Path) -> Iterator[dict[str, object]]:
    kept = _kept(results_dir / FILE)
    queries = collect_queries(results_dir, rows)
    by_job = queries.groupby("fingerprint") if len(queries) else ()
    kls = {str(key): own["kl"].to_numpy() for key, own in by_job}
    for dataset, here in rows.groupby("dataset", sort=True):
        jobs = {
            str(model): dict(zip(own["seed"], own["fingerprint"], strict=True))
            for model, own in here.groupby("model", sort=False)
        }
        subject = jobs.pop(SUBJECT, {})
        for model, own in jobs.items():
            both = sorted(own.keys() & subject.keys())
            pairs = [(str(own[seed]), str(subject[seed])) for seed in both]
            who: dict[str, object] = {"dataset": dataset, "model": model, "jobs": _joined(pairs)}
            if pairs and all(key in kls for pair in pairs for key in pair):
                yield from _compared(who, [(kls[a], kls[b]) for a, b in pairs])
            elif who["jobs"] in kept:
                yield kept[who["jobs"]]


def _compared(
    who: dict[str, object], draws: list[tuple[np.ndarray, np.ndarray]]
) -> Iterator[dict[str, object]]:
    """The comparison on some draws; nothing where the queries are not the same, or a mean is 0."""
    same = [(a, b) for a, b in draws if len(a) == len(b)]
    found = compare(same, rounds=ROUNDS) if same else None
    if found is None:
        return
    means = [float(a.mean()) for a, _ in same]
    yield who | {
        "draws": found.draws,
        "kl_subject": float(np.mean([b.mean() for _, b in same])),
        "kl_model": float(np.mean(means)),
        "least": min(means),
        "most": max(means),
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "p": found.p,
    }


def _joined(pairs: list[tuple[str, str]]) -> str:
    """A short name of the jobs that a comparison is of."""
    return sha256("+".join("/".join(pair) for pair in pairs).encode()).hexdigest()[:16]


def _kept(path: Path) -> dict[object, dict[str, object]]:
    if not path.is_file():
        return {}
    frame = pd.read_csv(path, dtype={"jobs": str})
    return {row["jobs"]: {str(k): v for k, v in row.items()} for row in frame.to_dict("records")}


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

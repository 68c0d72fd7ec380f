"""Is it the draw? Models on several draws of each dataset, settings frozen on the first.

Each model is compared with FSPN on the draws that both have, query by query, by the hierarchical
paired bootstrap of `experiments.report.statistics`; p-values are Holm's over all comparisons of the
table, so there are enough rounds for sixty of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.job_queries import Kls
from experiments.report.names import in_order, label
from experiments.report.numbers import Numbers, same_queries
from experiments.report.statistics import LEVEL, compare, holm
from experiments.report.tables.writing import Cell, Table, number, text, whole

SUBJECT = "fspn"
ROUNDS = 20_000
COLUMNS = (
    *("dataset", "model", "draws", "kl_subject", "kl_model", "least", "most"),
    *("ratio", "low", "high", "p", "p_holm", "verdict"),
)


Queries = Mapping[tuple[str, str], Mapping[int, np.ndarray]]
"""The KL of every query by dataset and model, and there by draw."""


def of_levels(numbers: Numbers) -> Queries:
    """The queries of the sparse family, whose datasets are levels of dependence."""
    return {
        (f"rdc_{round(100 * level):02d}", model): draws
        for (level, model, measure), draws in numbers.queries.items()
        if measure == "kl"
    }


def of_jobs(rows: pd.DataFrame, kls: Kls) -> Queries:
    """The queries of recorded rows, of those that have any."""
    found: dict[tuple[str, str], dict[int, np.ndarray]] = {}
    for row in rows.to_dict("records"):
        if row["fingerprint"] in kls:
            key = str(row["dataset"]), str(row["model"])
            found.setdefault(key, {})[int(row["seed"])] = kls[row["fingerprint"]]
    return found


def draw_comparisons(queries: Queries) -> pd.DataFrame:
    """One line per dataset and model that was run on several draws of it."""
    found = pd.DataFrame(list(_lines(queries)), columns=list(COLUMNS[:-2]))
    p_holm = holm(found["p"].tolist())
    verdicts = [
        "tie" if p > LEVEL else ("win" if ratio > 1 else "loss")
        for p, ratio in zip(p_holm, found["ratio"], strict=True)
    ]
    return found.assign(p_holm=p_holm, verdict=verdicts)


def _lines(queries: Queries) -> Iterator[dict[str, object]]:
    for dataset in sorted({dataset for dataset, _ in queries}):
        mine = queries.get((dataset, SUBJECT), {})
        models = frozenset(model for name, model in queries if name == dataset)
        for model in in_order(models - {SUBJECT}):
            own = queries[dataset, model]
            both = [seed for seed in sorted(own) if seed in mine]
            if len(both) > 1:
                who: dict[str, object] = {"dataset": dataset, "model": model}
                yield from _compared(who, [(own[seed], mine[seed]) for seed in both])


def _compared(
    who: dict[str, object], draws: list[tuple[np.ndarray, np.ndarray]]
) -> Iterator[dict[str, object]]:
    """The comparison on some draws; nothing where the queries are not the same, or a mean is 0."""
    same = same_queries(draws)
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


def draws_table(found: pd.DataFrame, name: str = "draws") -> Table:
    """The comparisons as a table."""
    return Table(
        name,
        "Is it the draw?" if name == "draws" else "Is it the draw? The other families",
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

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


def draw_comparisons(numbers: Numbers) -> pd.DataFrame:
    """One line per dataset and model that was run on several draws of it.

    Arguments:
        numbers: of the sparse family, with its queries.
    """
    found = pd.DataFrame(list(_lines(numbers)), columns=list(COLUMNS[:-2]))
    p_holm = holm(found["p"].tolist())
    verdicts = [
        "tie" if p > LEVEL else ("win" if ratio > 1 else "loss")
        for p, ratio in zip(p_holm, found["ratio"], strict=True)
    ]
    return found.assign(p_holm=p_holm, verdict=verdicts)


def _lines(numbers: Numbers) -> Iterator[dict[str, object]]:
    for level in numbers.levels:
        mine = numbers.queries.get((level, SUBJECT, "kl"), {})
        for model in in_order(numbers.models - {SUBJECT}):
            own = numbers.queries.get((level, model, "kl"), {})
            both = [seed for seed in sorted(own) if seed in mine]
            if len(both) > 1:
                who: dict[str, object] = {
                    "dataset": f"rdc_{round(100 * level):02d}",
                    "model": model,
                }
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

"""The worst estimates of every table, and what can be said about why."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.records.rows import Store
from experiments.report.row_counts.names import STUDY, SUBJECT
from fspn import FSPN
from fspn.schema.domain import Domain
from fspn.sql import read_condition

EACH = 3
FEW_ROWS = 5
NEAR = 1.25
"""Estimates within this factor of the one under independence count as equal to it."""


def worst_queries(queries: pd.DataFrame, results_dir: Path) -> pd.DataFrame:
    """The queries with FSPN's largest errors: truth, estimate and reasons."""
    mine = queries[queries["model"] == SUBJECT]
    lines = []
    for dataset, part in mine.groupby("dataset"):
        others = queries[(queries["dataset"] == dataset) & (queries["model"] == "histograms")]
        independent = dict(zip(others["query"], others["estimate"], strict=True))
        domain = _domain(results_dir, str(dataset))
        for query in part.nlargest(EACH, "q_error").to_dict("records"):
            alone = independent.get(query["query"], float("nan"))
            lines.append(
                {
                    "table": dataset,
                    "query": query["query"],
                    "rows": query["count"],
                    "estimate": query["estimate"],
                    "q_error": query["q_error"],
                    "under_independence": alone,
                    "reason": "; ".join(_reasons(query, alone, domain)),
                }
            )
    return pd.DataFrame(lines)


def _domain(results_dir: Path, dataset: str) -> Domain | None:
    path = Store.of(results_dir, STUDY).folder / "models" / f"{dataset}-{SUBJECT}.fspn"
    return FSPN.load(path).domain_ if path.is_file() else None


def _reasons(query: Mapping[Hashable, Any], alone: float, domain: Domain | None) -> Iterator[str]:
    count, estimate = float(query["count"]), float(query["estimate"])
    if count == 0:
        yield "no row matches, and the model leaves mass there"
    elif count <= FEW_ROWS:
        yield f"a combination of {count:.0f} row(s), which smoothing evens out"
    if domain is not None:
        coarse = _coarse(str(query["query"]), domain)
        if coarse:
            yield f"asks for a part of cells that hold many values: {', '.join(coarse)}"
    if 1 / NEAR < max(estimate, 1) / max(alone, 1) < NEAR:
        yield "equal to the estimate under independence: the dependence was not learned"
    elif count > FEW_ROWS:
        yield "a dependence of several columns that is learned in part"


def _coarse(text: str, domain: Domain) -> list[str]:
    """The columns of a query whose cells hold more than one value."""
    names = sorted(str(name) for name in read_condition(text).columns)
    return [name for name in names if domain[domain.index(name)].cells is not None]

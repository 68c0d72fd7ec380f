"""The worst estimates of every table, and what can be said about why.

A question's error is traced to its smallest part: the fewest of its columns whose predicates alone,
asked together, are already off by most of the error (on the logarithmic scale of q-errors).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets.table_sources import SOURCES, MissingPackage, read_source
from experiments.measures.q_error import q_error
from experiments.records.rows import Store
from experiments.report.row_counts.names import STUDY, SUBJECT
from fspn import FSPN
from fspn.schema.domain import Domain
from fspn.sql import Condition, Term, probabilities, read_condition

EACH = 3
FEW_ROWS = 5
NEAR = 1.25
"""Estimates within this factor of the one under independence count as equal to it."""
MOST = 0.7
"""Predicates that have so much of the logarithm of an error are said to cause it."""


@dataclass(frozen=True)
class Part:
    """Some columns of a question, and how many rows their predicates alone match."""

    columns: tuple[str, ...]
    rows: int
    estimate: float

    def __str__(self) -> str:
        return f"{', '.join(self.columns)} alone: {self.rows} rows, estimate {self.estimate:.3g}"


def smallest_part(text: str, error: float, table: pd.DataFrame, model: FSPN) -> Part | None:
    """The fewest predicates that are off by most of the error; None where all are needed.

    Arguments:
        text: A conjunction in SQL.
        error: The q-error of its estimate.
        table: The rows.
        model: The model that estimated.
    """
    terms = read_condition(text).terms
    if len(terms) != 1 or error <= 1:
        return None
    sets = terms[0].sets
    for size in range(1, len(sets)):
        parts = [_asked(dict(chosen), table, model) for chosen in combinations(sets.items(), size)]
        worst = max(parts, key=_log_error)
        if _log_error(worst) >= MOST * np.log(error):
            return worst
    return None


def _asked(sets: dict[Hashable, Any], table: pd.DataFrame, model: FSPN) -> Part:
    condition = Condition((Term(1, sets),))
    share = probabilities(model.domain_, [condition], model._log_probability)[0]
    names = tuple(sorted(str(name) for name in sets))
    return Part(names, condition.count(table), float(share) * len(table))


def _log_error(part: Part) -> float:
    return float(np.log(q_error(np.array([part.estimate]), np.array([part.rows]))[0]))


def worst_queries(queries: pd.DataFrame, results_dir: Path) -> pd.DataFrame:
    """The queries with FSPN's largest errors: truth, estimate and reasons."""
    mine = queries[queries["model"] == SUBJECT]
    lines = []
    for dataset, part in mine.groupby("dataset"):
        others = queries[(queries["dataset"] == dataset) & (queries["model"] == "histograms")]
        independent = dict(zip(others["query"], others["estimate"], strict=True))
        model, table = _model(results_dir, str(dataset)), _table(str(dataset), part)
        for query in part.nlargest(EACH, "q_error").to_dict("records"):
            alone = independent.get(query["query"], float("nan"))
            found = None
            if model is not None and table is not None:
                found = smallest_part(query["query"], query["q_error"], table, model)
            domain = None if model is None else model.domain_
            lines.append(
                {
                    "table": dataset,
                    "query": query["query"],
                    "rows": query["count"],
                    "estimate": query["estimate"],
                    "q_error": query["q_error"],
                    "under_independence": alone,
                    "off_already": "" if found is None else str(found),
                    "reason": "; ".join(_reasons(query, alone, domain, found)),
                }
            )
    return pd.DataFrame(lines)


def _model(results_dir: Path, dataset: str) -> FSPN | None:
    path = Store.of(results_dir, STUDY).folder / "models" / f"{dataset}-{SUBJECT}.fspn"
    return FSPN.load(path) if path.is_file() else None


def _table(dataset: str, queries: pd.DataFrame) -> pd.DataFrame | None:
    """The rows that were asked about; None where they are not of a package, or are a sample."""
    if dataset not in SOURCES:
        return None
    try:
        table = read_source(dataset)
    except MissingPackage:
        return None
    return table if len(table) == queries["n_rows"].iloc[0] else None


def _reasons(
    query: Mapping[Hashable, Any], alone: float, domain: Domain | None, part: Part | None
) -> Iterator[str]:
    count, estimate = float(query["count"]), float(query["estimate"])
    if part is not None:
        yield _reason_of(part)
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
    elif count > FEW_ROWS and part is None:
        yield "a dependence of several columns that is learned in part"


def _reason_of(part: Part) -> str:
    """What the fewest columns that are off say: one, two or more of them."""
    if len(part.columns) == 1:
        return f"the values inside one column's cells ({part})"
    many = "a pair of columns" if len(part.columns) == 2 else f"{len(part.columns)} columns"
    return f"the dependence of {many} ({part})"


def _coarse(text: str, domain: Domain) -> list[str]:
    """The columns of a query whose cells hold more than one value."""
    names = sorted(str(name) for name in read_condition(text).columns)
    return [name for name in names if domain[domain.index(name)].cells is not None]

"""Table 1: test log-likelihoods on the binary benchmarks, ours beside the ten published columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.records import Store
from experiments.report.names import in_order, label
from experiments.report.paper import TABLE1_NAMES, Paper
from experiments.report.tables import OTHER_CODE, Cell, Table, fixed, text

FAMILY = "debd"
WORSE, BETTER = "−*", "+*"
SIGNIFICANT = 0.01


@dataclass(frozen=True)
class LogLikelihoods:
    """The subject's mean test log-likelihood per dataset beside the published columns.

    Arguments:
        subject: by the paper's dataset name; empty if nothing was run.
        published: by method, then by dataset; without the paper's FSPN if that is not an opponent.
    """

    subject: Mapping[str, float]
    published: Mapping[str, Mapping[str, float]]

    def differences(self, method: str) -> dict[str, float]:
        """Subject minus `method` on the datasets that both have."""
        theirs = self.published.get(method, {})
        both = [name for name in self.subject if math.isfinite(theirs.get(name, math.nan))]
        return {name: self.subject[name] - theirs[name] for name in both}


def by_the_paper(paper: Paper) -> LogLikelihoods:
    """The paper's FSPN column against the other nine."""
    columns = _published(paper)
    return LogLikelihoods(columns.pop("FSPN", {}), columns)


def by_rows(rows: pd.DataFrame, model: str, paper: Paper) -> LogLikelihoods:
    """A model of ours against all ten published columns."""
    return LogLikelihoods(_ours(rows, model), _published(paper))


def table1(rows: pd.DataFrame, paper: Paper, results_dir: Path) -> Table:
    """The paper's Table 1 with our columns first; best in bold."""
    models = in_order(frozenset(rows["model"]))
    mine = {model: _ours(rows, model) for model in models}
    marks = {model: _marks(rows, model, results_dir) for model in models if model != "fspn"}
    theirs = _published(paper)
    lines = []
    for name in TABLE1_NAMES.values():
        values = {**{label(m): mine[m].get(name, math.nan) for m in models}}
        quoted = {method: theirs[method].get(name, math.nan) for method in theirs}
        best = _best([*values.values(), *quoted.values()])
        cells: list[Cell] = [text(name), _variables(paper, name)]
        for model in models:
            mark = marks.get(model, {}).get(name, "") + _stale(rows, model, name)
            cells.append(
                fixed(
                    mine[model].get(name, math.nan),
                    bold=_is(mine[model].get(name), best),
                    mark=mark,
                )
            )
        if "fspn" in mine:
            ours, their = mine["fspn"].get(name, math.nan), quoted.get("FSPN", math.nan)
            cells.append(fixed(ours - their))
        cells += [fixed(value, bold=_is(value, best)) for value in quoted.values()]
        lines.append(tuple(cells))
    difference = ("FSPN − quoted FSPN",) if "fspn" in mine else ()
    return Table(
        "table1",
        "Table 1: test log-likelihood",
        "Nats per row on the test split; ours first, then the paper's ten columns as quoted. "
        "Best in bold.",
        ("dataset", "vars", *map(label, models), *difference, *(f"{m} (quoted)" for m in theirs)),
        tuple(lines),
        _notes(rows, models, mine, marks),
    )


def _notes(
    rows: pd.DataFrame,
    models: list[str],
    mine: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, Mapping[str, str]],
) -> tuple[str, ...]:
    notes = []
    if not models:
        notes.append("ours: no rows of experiment=table1 yet; the quoted columns stand alone")
    for model in models:
        absent = [name for name in TABLE1_NAMES.values() if name not in mine[model]]
        if absent:
            notes.append(f"{label(model)}: no result on {', '.join(absent)}")
    if any(marks.values()):
        notes.append(
            f"{BETTER} / {WORSE}: better / worse than our FSPN by a paired t-test over the test "
            f"rows, p < {SIGNIFICANT:g}"
        )
    elif len(models) > 1:
        notes.append("no significance marks: no per-row log-likelihoods were recorded")
    if len(rows) and bool(rows["other_code"].any()):
        notes.append(f"{OTHER_CODE} measured by another version of the code")
    return tuple(notes)


def _published(paper: Paper) -> dict[str, dict[str, float]]:
    table = paper.table1
    methods = [name for name in table.columns if name not in ("dataset", "variables")]
    return {m: dict(zip(table["dataset"], table[m].astype(float), strict=True)) for m in methods}


def _ours(rows: pd.DataFrame, model: str) -> dict[str, float]:
    """Mean over seeds of the test log-likelihood, by the paper's dataset names."""
    mine = rows[(rows["model"] == model) & rows["test_ll"].notna()]
    means = mine.groupby("dataset")["test_ll"].mean()
    return {_name(str(key)): float(value) for key, value in means.items()}


def _name(dataset: str) -> str:
    return TABLE1_NAMES.get(dataset.removeprefix("debd_"), dataset)


def _variables(paper: Paper, name: str) -> Cell:
    found = paper.table1[paper.table1["dataset"] == name]
    return fixed(float(found["variables"].iloc[0]) if len(found) else math.nan, 0)


def _stale(rows: pd.DataFrame, model: str, name: str) -> str:
    mine = rows[(rows["model"] == model) & (rows["dataset"].map(_name) == name)]
    return OTHER_CODE if bool(mine["other_code"].any()) else ""


def _marks(rows: pd.DataFrame, model: str, results_dir: Path) -> dict[str, str]:
    """Paired significance against our FSPN where the log-likelihood of each row was kept."""
    marks = {}
    for dataset, of_dataset in rows.groupby("dataset"):
        a = _per_row(of_dataset, model, results_dir)
        b = _per_row(of_dataset, "fspn", results_dir)
        if a is not None and b is not None and len(a) == len(b):
            marks[_name(str(dataset))] = paired_mark(a, b)
    return {name: mark for name, mark in marks.items() if mark}


def _per_row(rows: pd.DataFrame, model: str, results_dir: Path) -> np.ndarray | None:
    for row in rows[rows["model"] == model].to_dict("records"):
        store = Store.of(results_dir, str(row["experiment"]))
        found = store.read_scores(str(row["fingerprint"]))
        if found is not None:
            return found
    return None


def paired_mark(ours: np.ndarray, reference: np.ndarray) -> str:
    """`+*` or `−*` where the mean difference over the rows is significant, else nothing."""
    from scipy import stats

    difference = ours - reference
    if not np.any(difference):
        return ""
    p = float(stats.ttest_rel(ours, reference).pvalue)
    if not p < SIGNIFICANT:
        return ""
    return BETTER if difference.mean() > 0 else WORSE


def _best(values: list[float]) -> float:
    known = [round(value, 2) for value in values if math.isfinite(value)]
    return max(known) if known else math.nan


def _is(value: float | None, best: float) -> bool:
    return value is not None and math.isfinite(value) and round(value, 2) == best

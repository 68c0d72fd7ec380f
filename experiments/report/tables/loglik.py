"""Table 1: test log-likelihoods on the binary benchmarks, ours beside the ten published columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from experiments.report.names import CEILING, in_order, label
from experiments.report.paper import TABLE1_NAMES, Paper
from experiments.report.tables.pairs import BETTER, SIGNIFICANT, WORSE, Pair
from experiments.report.tables.writing import OTHER_CODE, Cell, Table, fixed, text

FAMILY = "debd"
STUDY = "table1"
# Our columns of Table 1 in their order; others that were run follow.
MODELS = (
    *("fspn", "fspn_ensemble", "fspn_paper"),
    *("spn_tree", "spn_bt", "spn_btb", "spgm", "mixture_trees", "tree_network", "ecnet"),
    *("chow_liu", "bn_tree"),
)
DIFFERENCES = {
    "spn_tree": "two row clusters by k-means, univariate leaves; the original clusters by "
    "hard EM with a penalty on their number",
    "spn_bt": "SPN-BTB without bags",
    "spn_btb": "as published; the smoothing is chosen on the validation rows inside the fit",
    "spgm": "as published with fewer edges and components where the publication has thousands; EM "
    "starts from clusters of the rows and shrinks components towards the whole table",
    "mixture_trees": "starts from k-means and shrinks towards the trees of all rows; the original "
    "starts at random and smooths evenly",
    "tree_network": "greedy splits by Bayesian score as WinMine, whose program is not public; the "
    "number of splits is chosen on the validation rows",
    "ecnet": "averages of four mixtures of ten networks by EM; the original has the best of bags, "
    "boosting and sequential EM",
}
QUOTED_ONLY = {
    "ID-SPN": "quoted only: arithmetic circuits inside LearnSPN's leaves, a rebuild takes "
    "one to two weeks (a circuit learner with its own compiler)",
    "EM-PSDD": "quoted only: probabilistic sentential decision diagrams learned by structural EM, "
    "one to two weeks' rebuild (a compiler of logical circuits)",
    "BayesSPN": "quoted only: Gibbs sampling of structures over region graphs, one to two weeks' "
    "rebuild (a sampler and hours of chains per table)",
}
HERE = {CEILING: "Independent"}
SLIPS = {"SPN-BTB": ("BBC",), "EM-PSDD": ("WebKB", "20 Newsgrp")}
"""Quoted values that look like slips: 22 nats above all others; one number for two datasets."""


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
        return self._minus(self.published.get(method, {}))

    def to_the_best(self) -> dict[str, float]:
        """Subject minus the highest published value."""
        return self._minus({name: self.best(name)[1] for name in self.subject})

    def best(self, name: str) -> tuple[str, float]:
        """The published method with the highest value on a dataset, and that value."""
        known = {m: v[name] for m, v in self.published.items() if _known(v.get(name))}
        if not known:
            return "", math.nan
        method = max(known, key=known.__getitem__)
        return method, known[method]

    def _minus(self, theirs: Mapping[str, float]) -> dict[str, float]:
        both = [name for name in self.subject if _known(theirs.get(name))]
        return {name: self.subject[name] - theirs[name] for name in both}


def by_the_paper(paper: Paper) -> LogLikelihoods:
    """The paper's FSPN column against the other nine."""
    columns = published(paper)
    return LogLikelihoods(columns.pop("FSPN", {}), columns)


def by_rows(rows: pd.DataFrame, model: str, paper: Paper) -> LogLikelihoods:
    """A model of ours against all ten published columns."""
    return LogLikelihoods(ours(rows, model), published(paper))


def benchmark_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the study of Table 1, one per dataset, model and seed.

    A job with a model setting of its own is no part of it; one whose grid was another counts where
    there is none with the study's own grid.
    """
    mine = table[(table["family"] == FAMILY) & (table["experiment"] == STUDY)]
    variants = [
        name.removeprefix(f"{dataset}/{model}/{seed}").removeprefix("/")
        for name, dataset, model, seed in mine[["label", "dataset", "model", "seed"]].to_numpy()
    ]
    kept = [not v or (v.startswith("search.") and ",model." not in v) for v in variants]
    mine = mine.assign(own=[bool(v) for v in variants])[
        pd.Series(kept, index=mine.index, dtype=bool)
    ]
    first = mine.sort_values("own", kind="stable").drop_duplicates(["dataset", "model", "seed"])
    return first.sort_index().drop(columns="own")


def table1(rows: pd.DataFrame, paper: Paper, pairs: list[Pair]) -> Table:
    """The paper's Table 1 with our columns first; best in bold."""
    models = models_of(rows)
    mine = {model: ours(rows, model) for model in models}
    theirs = published(paper)
    marks = {(benchmark_name(pair.dataset), pair.model): pair.mark for pair in pairs}
    lines = []
    for name in TABLE1_NAMES.values():
        quoted = [theirs[method].get(name, math.nan) for method in theirs]
        found = [mine[model].get(name, math.nan) for model in models]
        best = _best([*found, *quoted])
        cells: list[Cell] = [text(name), _variables(paper, name)]
        for model, value in zip(models, found, strict=True):
            mark = marks.get((name, model), "") + _stale(rows, model, name)
            cells.append(fixed(value, bold=_is(value, best), mark=mark))
        cells += [fixed(value, bold=_is(value, best)) for value in quoted]
        lines.append(tuple(cells))
    return Table(
        "table1",
        "Table 1: test log-likelihood",
        "Nats per row on the test split; ours first, then the paper's ten columns as quoted. "
        "Best in bold.",
        ("dataset", "vars", *map(short, models), *(f"{method} (quoted)" for method in theirs)),
        tuple(lines),
        _notes(rows, models, mine, pairs),
    )


def models_of(rows: pd.DataFrame) -> list[str]:
    """The models that were run, in the order of the table's columns."""
    found = frozenset(rows["model"])
    first = [model for model in MODELS if model in found]
    return first + in_order(found - set(first))


def short(model: str) -> str:
    """The name of one of our columns."""
    return HERE.get(model) or label(model)


def published(paper: Paper) -> dict[str, dict[str, float]]:
    """The paper's ten columns, by method, then by dataset."""
    table = paper.table1
    methods = [name for name in table.columns if name not in ("dataset", "variables")]
    return {m: dict(zip(table["dataset"], table[m].astype(float), strict=True)) for m in methods}


def without_slips(paper: Paper) -> dict[str, dict[str, float]]:
    """The ten columns without values that look like slips, and hidden Chow-Liu trees."""
    columns = {
        method: {name: value for name, value in own.items() if name not in SLIPS.get(method, ())}
        for method, own in published(paper).items()
    }
    return columns | {"HCLT": dict(paper.hclt)}


def ours(rows: pd.DataFrame, model: str) -> dict[str, float]:
    """Mean over seeds of the test log-likelihood, by the paper's dataset names."""
    mine = rows[(rows["model"] == model) & rows["test_ll"].notna()]
    means = mine.groupby("dataset")["test_ll"].mean()
    return {benchmark_name(str(key)): float(value) for key, value in means.items()}


def benchmark_name(dataset: str) -> str:
    """The paper's name of a benchmark."""
    return TABLE1_NAMES.get(dataset, dataset)


def _notes(
    rows: pd.DataFrame,
    models: list[str],
    mine: Mapping[str, Mapping[str, float]],
    pairs: list[Pair],
) -> tuple[str, ...]:
    notes = []
    if not models:
        notes.append("ours: no rows of experiment=table1 yet; the quoted columns stand alone")
    for model in models:
        absent = [name for name in TABLE1_NAMES.values() if name not in mine[model]]
        if absent:
            notes.append(f"{short(model)}: no result on {', '.join(absent)}")
    notes += [f"{short(m)}: {DIFFERENCES[m]}" for m in models if m in DIFFERENCES]
    notes += [f"{name}: {why}" for name, why in QUOTED_ONLY.items()]
    if any(pair.mark for pair in pairs):
        notes.append(
            f"{BETTER} / {WORSE}: better / worse than our FSPN by a paired t-test over the test "
            f"rows and fits, p < {SIGNIFICANT:g}"
        )
    elif not pairs and "fspn" in models and len(models) > 1:
        notes.append("no significance marks: no per-row log-likelihoods were recorded")
    if len(rows) and bool(rows["other_code"].any()):
        notes.append(f"{OTHER_CODE} measured by another version of the code")
    return tuple(notes)


def _variables(paper: Paper, name: str) -> Cell:
    found = paper.table1[paper.table1["dataset"] == name]
    return fixed(float(found["variables"].iloc[0]) if len(found) else math.nan, 0)


def _stale(rows: pd.DataFrame, model: str, name: str) -> str:
    mine = rows[(rows["model"] == model) & (rows["dataset"].map(benchmark_name) == name)]
    return OTHER_CODE if bool(mine["other_code"].any()) else ""


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _best(values: list[float]) -> float:
    known = [round(value, 2) for value in values if math.isfinite(value)]
    return max(known) if known else math.nan


def _is(value: float, best: float) -> bool:
    return math.isfinite(value) and round(value, 2) == best

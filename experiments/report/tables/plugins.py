"""Appendix C: is RDC with k-means and greedy splitting the best choice of plug-ins?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.tables.writing import Cell, Table, number, text

EXPERIMENT = "plugins"
RECIPE = "the recipe"
APPENDIX_C = ("oracle", "split", "n_clusters")
"""The plug-ins that the appendix speaks of; what a multi-leaf is, it leaves open."""
OWN = {"oracle": (None, "rdc"), "split": ("greedy",), "multi_leaf": ("auto",), "n_clusters": (2,)}
TIE = 1.01
MEASURES = (("kl_mean", "KL"), ("latency_single_ms", "ms"), ("train_seconds", "s"))


def plugins_table(rows: pd.DataFrame) -> Table:
    """Mean KL, query and training time per dataset and variant; the lowest KL is bold."""
    named = _named(rows)
    datasets = sorted(set(named["dataset"]))
    variants = sorted(set(named["variant"]), key=lambda name: (name != RECIPE, name))
    columns = [column for column, _ in MEASURES]
    means = named.groupby(["variant", "dataset"], as_index=False)[columns].mean()
    found = {(r["variant"], r["dataset"]): r for r in means.to_dict("records")}
    best = {d: min(r["kl_mean"] for (_, x), r in found.items() if x == d) for d in datasets}
    lines = [
        (text(variant), *(c for d in datasets for c in _cells(found.get((variant, d)), best[d])))
        for variant in variants
    ]
    heading = ("plug-in", *(f"{d} {unit}" for d in datasets for _, unit in MEASURES))
    return Table(
        "plugins",
        "Plug-ins of the recipe",
        "The recipe at its thresholds with one plug-in changed at a time, same rows and queries. "
        "Bold: the lowest mean KL of a dataset.",
        heading,
        tuple(lines),
        (verdict(rows),),
    )


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """The finished rows, with what each of them changes of the recipe."""
    done = rows[rows["status"] == "ok"]
    return done.assign(variant=[variant_of(params) for params in done["params"]])


def variant_of(params: str) -> str:
    """What a row changes of the recipe.

    >>> variant_of('{"split": "kmeans_grid", "n_clusters": 2}')
    'split=kmeans_grid'
    """
    given = json.loads(params)
    changed = [f"{k}={given[k]}" for k, own in OWN.items() if k in given and given[k] not in own]
    return ", ".join(changed) or RECIPE


@dataclass(frozen=True)
class Standing:
    """On how many datasets no variant has a lower KL than the recipe (1% counts as equal).

    Arguments:
        wins: so many.
        datasets: of those on which some plug-in of Appendix C changes the KL.
        idle: plug-ins that change nothing on any of them.
    """

    wins: int
    datasets: int
    idle: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"the recipe has the lowest mean KL on {self.wins} of the {self.datasets} datasets "
            "on which oracle, splits or clusters matter"
        )


def standing(rows: pd.DataFrame) -> Standing | None:
    """How the recipe stands among its variants; None where it or all of them were not run."""
    table = _named(rows).pivot_table(
        index="dataset", columns="variant", values="kl_mean", aggfunc="mean"
    )
    names = [name for name in map(str, table) if _changes(name, APPENDIX_C)]
    if RECIPE not in table or not names:
        return None
    rivals, recipe = table[names], table[RECIPE]
    moved = rivals.gt(TIE * recipe, axis=0) | rivals.lt(recipe / TIE, axis=0)
    matters = moved.any(axis=1)
    won = recipe <= TIE * rivals.min(axis=1)
    tried = [key for key in APPENDIX_C if any(_changes(name, (key,)) for name in names)]
    idle = [k for k in tried if not moved[[n for n in names if _changes(n, (k,))]].any(axis=None)]
    return Standing(int(np.sum(won & matters)), int(matters.sum()), tuple(idle))


def _changes(variant: str, keys: Iterable[str]) -> bool:
    """Whether a variant is one of these plug-ins and of no other."""
    return variant != RECIPE and all(part.split("=")[0] in keys for part in variant.split(", "))


def verdict(rows: pd.DataFrame) -> str:
    """The standing in words."""
    found = standing(rows)
    if found is None:
        return "Appendix C cannot be judged: the recipe or its variants were not run"
    if not found.datasets:
        return "Appendix C cannot be judged: no plug-in changes anything on these datasets"
    all_won = found.wins == found.datasets
    word = "holds" if all_won else "holds in part" if found.wins else "does not hold"
    return f'Appendix C, "attains the best performance": {word}; {found}'


def _cells(row: Mapping[Any, Any] | None, best: float) -> list[Cell]:
    if row is None:
        return [text("–")] * len(MEASURES)
    return [
        number(row[column], 2, bold=column == "kl_mean" and row[column] <= TIE * best)
        for column, _ in MEASURES
    ]

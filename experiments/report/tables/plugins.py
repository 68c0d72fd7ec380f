"""Appendix C: is RDC with k-means and greedy splitting the best choice of plug-ins?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.tables.writing import Cell, Table, number, text

EXPERIMENT = "plugins"
RECIPE = "the recipe"
OWN = {"oracle": (None, "rdc"), "split": ("greedy",), "multi_leaf": ("auto",), "n_clusters": (2,)}
TIE = 1.01
MEASURES = (("kl_mean", "KL"), ("latency_single_ms", "ms"), ("train_seconds", "s"))


def plugins_table(rows: pd.DataFrame) -> Table:
    """Mean KL, query and training time per dataset and variant; the lowest KL is bold."""
    named = rows[rows["status"] == "ok"].assign(
        variant=[variant_of(params) for params in rows.loc[rows["status"] == "ok", "params"]]
    )
    datasets = sorted(set(named["dataset"]))
    variants = sorted(set(named["variant"]), key=lambda name: (name != RECIPE, name))
    found = {(r["variant"], r["dataset"]): r for r in named.to_dict("records")}
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
        (verdict(named),),
    )


def variant_of(params: str) -> str:
    """What a row changes of the recipe.

    >>> variant_of('{"split": "kmeans_grid", "n_clusters": 2}')
    'split=kmeans_grid'
    """
    given = json.loads(params)
    changed = [f"{k}={given[k]}" for k, own in OWN.items() if k in given and given[k] not in own]
    return ", ".join(changed) or RECIPE


def verdict(named: pd.DataFrame) -> str:
    """On how many datasets no other variant has a lower KL (1% counts as equal)."""
    table = named.pivot_table(index="dataset", columns="variant", values="kl_mean", aggfunc="mean")
    if RECIPE not in table or table.shape[1] < 2:
        return "Appendix C cannot be judged: the recipe or its variants were not run"
    rivals = table.drop(columns=RECIPE).min(axis=1)
    wins = int(np.sum(table[RECIPE] <= TIE * rivals))
    word = "holds" if wins == len(table) else "holds in part" if wins else "does not hold"
    return (
        f'Appendix C, "attains the best performance": {word}; the recipe has the lowest mean KL on '
        f"{wins} of {len(table)} datasets"
    )


def _cells(row: Mapping[Any, Any] | None, best: float) -> list[Cell]:
    if row is None:
        return [text("–")] * len(MEASURES)
    return [
        number(row[column], 2, bold=column == "kl_mean" and row[column] <= TIE * best)
        for column, _ in MEASURES
    ]

"""What switching off one ingredient of the default learner costs (`experiment=node_kinds`).

Mean KL of a variant over that of the default on the same draws and queries, with a paired interval,
and the difference in test log-likelihood.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from experiments.report.job_queries import Kls
from experiments.report.numbers import same_queries
from experiments.report.statistics import LEVEL, compare, holm
from experiments.report.tables.writing import Cell, Table, fixed, number, text, whole

EXPERIMENT = "node_kinds"
DEFAULT = "everything"
VARIANTS = {
    "no sum nodes": ("n_components", 1),
    "no factorize nodes": ("tau_high", 1.1),
    "one parent only": ("max_parents", 1),
    "no laws of integers": ("offsets", False),
    "no graded laws": ("graded", False),
    "no decision trees": ("trees", False),
}
COLUMNS = (
    *("dataset", "variant", "draws", "kl_default", "kl", "ratio", "low", "high", "p", "nats"),
    *("p_holm", "verdict"),
)
ROUNDS = 20_000


def variant_of(params: str) -> str:
    """The ingredient that a row's parameters switch off.

    >>> variant_of('{"n_components": 1}')
    'no sum nodes'
    """
    settings = json.loads(params)
    for name, (key, value) in VARIANTS.items():
        if settings.get(key) == value:
            return name
    return DEFAULT


def node_kind_comparisons(rows: pd.DataFrame, kls: Kls) -> pd.DataFrame:
    """One line per dataset and variant that was run; p-values are Holm's over all of them.

    Arguments:
        rows: The rows of the study.
        kls: The KL of their queries.
    """
    done = rows[(rows["status"] == "ok") & rows["fingerprint"].isin(list(kls))]
    done = done.assign(variant=[variant_of(params) for params in done["params"]])
    done = done.drop_duplicates(["dataset", "variant", "seed"], keep="last")
    found = pd.DataFrame(list(_lines(done, kls)), columns=list(COLUMNS[:-2]))
    p_holm = holm(found["p"].tolist())
    rows_of = zip(p_holm, *(found[name] for name in ("ratio", "low", "high")), strict=True)
    return found.assign(p_holm=p_holm, verdict=[_verdict(*row) for row in rows_of])


def _verdict(p: float, ratio: float, low: float, high: float) -> str:
    if low == high == 1.0:
        return "not used"
    return "no difference" if p > LEVEL else ("costs" if ratio > 1 else "gains")


def _lines(rows: pd.DataFrame, kls: Kls) -> Iterator[dict[str, object]]:
    for dataset, here in rows.groupby("dataset", sort=True):
        default = here[here["variant"] == DEFAULT].set_index("seed")
        for name in VARIANTS:
            own = here[here["variant"] == name].set_index("seed")
            seeds = [seed for seed in own.index if seed in default.index]
            pairs = [
                (kls[str(own.at[seed, "fingerprint"])], kls[str(default.at[seed, "fingerprint"])])
                for seed in seeds
            ]
            same = same_queries(pairs)
            found = compare(same, rounds=ROUNDS) if same else None
            if found is None:
                continue
            yield {
                "dataset": dataset,
                "variant": name,
                "draws": found.draws,
                "kl_default": float(default.loc[seeds, "kl_mean"].mean()),
                "kl": float(own.loc[seeds, "kl_mean"].mean()),
                "ratio": found.ratio,
                "low": found.low,
                "high": found.high,
                "p": found.p,
                "nats": float((default.loc[seeds, "test_ll"] - own.loc[seeds, "test_ll"]).mean()),
            }


def node_kinds_table(found: pd.DataFrame) -> Table:
    """The comparisons as a table."""
    return Table(
        "node_kinds",
        "What each kind of node brings",
        "The default learner (with laws) with one ingredient switched off, 20,000 rows. Ratio: "
        "mean KL without it over mean KL with it, so above 1 it pays. Interval: 95%, paired, over "
        "draws and queries; verdict after Holm's correction over this table; not used: the learner "
        "chose none, the model is the same. Nats: test log-likelihood per row that is lost.",
        ("dataset", "switched off", "draws", "KL with", "KL without", "ratio", "95%", "nats",
         "verdict"),
        tuple(_cells(row) for row in found.to_dict("records")),
        (summary(found),),
    )  # fmt: skip


def summary(found: pd.DataFrame) -> str:
    """Where an ingredient pays, and how far the default is from the best variant at most."""
    pays = [
        f"{name} ({', '.join(own['dataset'])})"
        for name, own in found[found["verdict"] == "costs"].groupby("variant", sort=False)
    ]
    worst = min(found.to_dict("records"), key=lambda row: float(row["ratio"]))
    return (
        f"Costs where switched off: {'; '.join(pays) or 'nothing'}. The variant that does best "
        f"beside the default: {worst['variant']} on {worst['dataset']}, {worst['ratio']:.3f} of "
        f"its KL ({worst['verdict']})."
    )


def _cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    return (
        text(row["dataset"]),
        text(row["variant"]),
        whole(row["draws"]),
        *(number(row[key]) for key in ("kl_default", "kl", "ratio")),
        text(f"{row['low']:.3g} to {row['high']:.3g}"),
        fixed(row["nats"], 3),
        text(row["verdict"]),
    )

"""What switching off one kind of node costs, as a table for `docs/learning.md`.

    python -m experiments.report.tables.node_kinds results

prints it from the rows of `experiment=node_kinds`: the ratio of mean KL to that of the default
learner, with a paired 95% interval over draws and queries, and the difference in test
log-likelihood.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.records.rows import collect, collect_queries
from experiments.report.statistics import compare

DEFAULT = "everything"
VARIANTS = {
    "no sum nodes": ("n_components", 1),
    "no factorize nodes": ("tau_high", 1.1),
    "splits over one variable": ("max_parents", 1),
    "no laws of integers": ("offsets", False),
    "no graded laws": ("graded", False),
    "no decision trees": ("trees", False),
}
HEAD = "| dataset | variant | mean KL | over the default [95%] | draws | nats less on test rows |"


def variant_of(params: str) -> str:
    """The ingredient that a row's parameters switch off."""
    settings = json.loads(params)
    for name, (key, value) in VARIANTS.items():
        if settings.get(key) == value:
            return name
    return DEFAULT


def node_kinds_table(rows: pd.DataFrame, queries: pd.DataFrame) -> str:
    """One line per dataset and variant, in Markdown.

    Arguments:
        rows: The finished rows of the study.
        queries: Their queries, with the fingerprint of their row.
    """
    rows = rows[rows["status"] == "ok"].assign(
        variant=lambda table: table["params"].map(variant_of)
    )
    kls = {str(key): own["kl"].to_numpy() for key, own in queries.groupby("fingerprint")}
    lines = [HEAD, "|" + "---|" * HEAD.count("|", 1)]
    for dataset, here in rows.groupby("dataset"):
        default = here[here["variant"] == DEFAULT].set_index("seed")
        for name in (DEFAULT, *VARIANTS):
            own = here[here["variant"] == name].set_index("seed")
            lines.append(_line(f"| {dataset} | {name} |", own, default, kls))
    return "\n".join(lines)


def _line(
    start: str, own: pd.DataFrame, default: pd.DataFrame, kls: Mapping[str, np.ndarray]
) -> str:
    seeds = [seed for seed in own.index if seed in default.index]
    if not seeds:
        return f"{start} not run | | | |"
    pairs = [
        (kls[str(own.at[seed, "fingerprint"])], kls[str(default.at[seed, "fingerprint"])])
        for seed in seeds
    ]
    found = compare(pairs)
    interval = f"{found.ratio:.2f} [{found.low:.2f}, {found.high:.2f}]" if found else "-"
    mean = float(own.loc[seeds, "kl_mean"].mean())
    less = float((default.loc[seeds, "test_ll"] - own.loc[seeds, "test_ll"]).mean())
    return f"{start} {mean:.2g} | {interval} | {len(seeds)} | {less:.3f} |"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    everything = collect(folder, latest=True)
    study = everything[everything["experiment"] == "node_kinds"]
    print(node_kinds_table(study, collect_queries(folder, study)))

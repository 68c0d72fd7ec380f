"""Tables of the documents, from the committed rows: `python -m experiments.report.documents`.

A document has a table between `<!-- table: name -->` and `<!-- end of table -->`; what stands there
is replaced by what the rows say: to be run after `--freeze`. A test fails where a document is not
what its rows give.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.records.reference import ROWS, read_rows
from experiments.report.names import LAWS

DOCUMENTS = Path("docs")
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
NAMES = {
    "fspn": "FSPN",
    LAWS: "FSPN with integer-linear laws",
    "fspn_paper": "FSPN, the paper's recipe",
    "mspn": "MSPN",
    "spn_btb": "SPN-BTB",
    "spn_bt": "SPN-BT (no bags)",
    "spgm": "SPGM",
    "spn_tree": "LearnSPN (tree SPN)",
    "bn_dag": "BN-DAG",
    "bn_tree": "BN-Tree",
    "true_dag": "true DAG, fitted",
}
MEASURES = {
    "mean KL": ("kl_mean", 1.0),
    "median KL": ("kl_median", 1.0),
    "ms per query, one engine": ("engine_ms", 1.0),
    "ms per query, own program": ("latency_single_ms", 1.0),
    "size, KB": ("size_bytes", 1 / 1024),
    "nodes": ("n_nodes", 1.0),
    "training, s": ("train_seconds", 1.0),
}
LIKELIHOOD = "test log-likelihood"
KL_ONLY = ("true_dag",)
"""Models that are no opponents: a floor of the divergence."""
DRAWN_HIDDEN = (5, 6, 7, 8)


def update(results_dir: Path, folder: Path = DOCUMENTS) -> list[Path]:
    """Write the tables of all documents anew; returns the documents that changed."""
    rows, changed = read_rows(results_dir / ROWS), []
    for path in sorted(folder.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = filled(before, rows)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def filled(text: str, rows: pd.DataFrame) -> str:
    """A document with its tables as the rows give them."""

    def table(found: re.Match[str]) -> str:
        begin, name, end = found.groups()
        return begin + "\n".join(TABLES[name](rows)) + "\n" + end

    return MARKED.sub(table, text)


def main_study(rows: pd.DataFrame) -> Iterator[str]:
    """Every measure of every model on the first draw of the six levels."""
    own = rows[(rows["experiment"] == "reproduce") & (rows["seed"] == 0)]
    levels = [f"{rdc:.2f}" for rdc in sorted(own["target_rdc"].unique())]
    yield _line(["average RDC", *levels])
    yield _rule(len(levels))
    for measure, (column, scale) in MEASURES.items():
        values = own.pivot(index="model", columns="target_rdc", values=column) * scale
        yield from _lines(values, f"**{measure}** ", measure)


def dense(rows: pd.DataFrame) -> Iterator[str]:
    """Divergence, likelihood and time on the first draw of the random dense tables."""
    own = rows[(rows["experiment"] == "dense") & (rows["seed"] == 0)]
    levels = [name.removeprefix("dense_") for name in sorted(own["dataset"].unique())]
    yield _line(["treewidth", *levels])
    yield _rule(len(levels))
    for measure, column in (
        ("mean KL", "kl_mean"),
        (LIKELIHOOD, "test_ll"),
        ("ms a query, one engine", "engine_ms"),
    ):
        values = own.pivot(index="model", columns="dataset", values=column)
        yield from _lines(values.drop(index=LAWS), f"**{measure}** ", measure)


def hidden(rows: pd.DataFrame) -> Iterator[str]:
    """The first draw of the populations with hidden classes, and the four further ones."""
    models, own = ("fspn", "spn_bt", "bn_dag"), rows[rows["family"] == "hidden"]
    first = own[own["experiment"] == "hidden"].set_index(["dataset", "model"])
    drawn = (own["experiment"] == "draws") & own["seed"].isin(DRAWN_HIDDEN)
    more = own[drawn].groupby(["dataset", "model"])["kl_mean"]
    names = [NAMES[model] for model in models]
    yield _line(
        [
            "dataset",
            *(f"{name}, first draw" for name in names),
            "FSPN, four further draws (least to most)",
            "BN-DAG, four further draws",
            *(f"{LIKELIHOOD}, first draw: {names[0]}", *names[1:]),
            *(f"ms a query, one engine: {names[0]}", *names[1:]),
        ]
    )
    yield _rule(11)
    for dataset in sorted(first.index.unique("dataset"), key=lambda name: (name.count("_"), name)):
        kls, mean = first["kl_mean"][dataset], more.mean()[dataset]
        least, most = more.min()[dataset]["fspn"], more.max()[dataset]["fspn"]
        yield _line(
            [dataset, *(number(kls[model]) for model in models)]
            + [f"{number(mean['fspn'])} ({number(least)} to {number(most)})"]
            + [number(mean["bn_dag"])]
            + [number(first["test_ll"][dataset][model], 2) for model in models]
            + [number(first["engine_ms"][dataset][model]) for model in models]
        )


Table = Callable[[pd.DataFrame], Iterator[str]]
TABLES: Mapping[str, Table] = {"main_study": main_study, "dense": dense, "hidden": hidden}


def _lines(values: pd.DataFrame, prefix: str, measure: str) -> Iterator[str]:
    """A line per model that has a value, FSPN's first."""
    is_kl, is_likelihood = "KL" in measure, measure == LIKELIHOOD
    for model, label in NAMES.items():
        if model not in values.index or values.loc[model].isna().all():
            continue
        if model in KL_ONLY and not (is_kl or is_likelihood):
            continue
        told = [number(x, 3 if is_likelihood else None) for x in values.loc[model]]
        yield _line([prefix + label, *told])


def number(value: Any, places: int | None = None) -> str:
    """Two digits, or all before the point, or so many behind it; a dash where there is none."""
    if pd.isna(value):
        return "-"
    if places is not None:
        return f"{value:.{places}f}"
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * (columns + 1)


def main() -> None:
    """Print which documents changed."""
    for path in update(Path("results")):
        print(f"tables written: {path}")


if __name__ == "__main__":
    main()

"""Tables of the documents, from the committed records: `python -m experiments.report.documents`.

A document has a table between `<!-- table: name -->` and `<!-- end of table -->`; what stands there
is replaced by what the rows say: to be run after `--freeze`. A test fails where a document is not
what the records give.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.records.reference import ROWS, read_rows
from experiments.report.names import LAWS, label
from experiments.report.row_counts.names import label as estimator
from experiments.report.row_counts.summary import ALL
from experiments.report.rows import is_other_code

DOCUMENTS = Path("docs")
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
MODELS = (
    *("fspn", LAWS, "fspn_paper", "mspn", "spn_btb", "spn_bt"),
    *("spgm", "spn_tree", "bn_dag", "bn_tree", "true_dag"),
)
"""Models in the order of a table's lines."""
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
ESTIMATORS = (
    *("fspn", "fspn_paper", "bn_dag", "mspn", "postgres", "postgres_max_ext"),
    *("duckdb", "histograms", "sample", "sample_bytes", "sample_file"),
)
"""Estimators of row counts in the table of real tables."""
DRAWN_HIDDEN = (5, 6, 7, 8)
SUBJECTS = {
    "the paper's own numbers": "paper's own numbers: verdict",
    "the recipe, here": "paper's recipe here: verdict",
    "FSPN, here": "FSPN here: verdict",
}
"""What a claim is judged by, and the column of the ledger."""


@dataclass(frozen=True)
class Records:
    """What is committed.

    Arguments:
        rows: the recorded rows of all studies.
        claims: the ledger.
        row_counts: errors of estimated row counts on real tables.
    """

    rows: pd.DataFrame
    claims: pd.DataFrame
    row_counts: pd.DataFrame


def read_records(results_dir: Path) -> Records:
    """The committed records of a results folder."""
    folder = results_dir / "reference"
    claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
    return Records(read_rows(results_dir / ROWS), claims, pd.read_csv(folder / "row_counts.csv"))


def update(results_dir: Path, folder: Path = DOCUMENTS) -> list[Path]:
    """Write the tables of all documents anew; returns the documents that changed."""
    records, changed = read_records(results_dir), []
    for path in sorted(folder.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = filled(before, records)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def filled(text: str, records: Records) -> str:
    """A document with its tables as the records give them."""

    def table(found: re.Match[str]) -> str:
        begin, name, end = found.groups()
        return begin + "\n".join(TABLES[name](records)) + "\n" + end

    return MARKED.sub(table, text)


def main_study(records: Records) -> Iterator[str]:
    """Every measure of every model on the first draw of the six levels."""
    rows = records.rows
    own = rows[(rows["experiment"] == "reproduce") & (rows["seed"] == 0)]
    levels = [f"{rdc:.2f}" for rdc in sorted(own["target_rdc"].unique())]
    yield _line(["average RDC", *levels])
    yield _rule(len(levels))
    for measure, (column, scale) in MEASURES.items():
        values = own.pivot(index="model", columns="target_rdc", values=column) * scale
        yield from _lines(values, f"**{measure}** ", measure)


def dense(records: Records) -> Iterator[str]:
    """Divergence, likelihood and time on the first draw of the random dense tables."""
    rows = records.rows
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


def hidden(records: Records) -> Iterator[str]:
    """The first draw of the populations with hidden classes, and the four further ones."""
    models = ("fspn", "spn_bt", "bn_dag")
    own = records.rows[records.rows["family"] == "hidden"]
    first = own[own["experiment"] == "hidden"].set_index(["dataset", "model"])
    drawn = (own["experiment"] == "draws") & own["seed"].isin(DRAWN_HIDDEN)
    more = own[drawn].groupby(["dataset", "model"])["kl_mean"]
    names = [label(model) for model in models]
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


def real_tables(records: Records) -> Iterator[str]:
    """The 95% and 99% quantiles of the q-error on each real table, and what FSPN takes."""
    whole = records.row_counts[records.row_counts["group"] == ALL]
    yield _line(["table", "FSPN: KB / file KB / training s / us", *map(estimator, ESTIMATORS)])
    yield _rule(1 + len(ESTIMATORS))
    for name, table in whole.groupby("dataset"):
        found = table.set_index("model")
        own = found.loc["fspn"]
        sizes = f"{own['size_bytes'] / 1024:,.0f} / {own['stored_bytes'] / 1024:,.0f}"
        cost = f"{sizes} / {own['train_seconds']:.1f} / {own['latency_us']:.0f}"
        yield _line([str(name), cost, *(_errors(found, model) for model in ESTIMATORS)])


def _errors(found: pd.DataFrame, model: str) -> str:
    """Both quantiles, or a dash where there is no model."""
    if model not in found.index or found["status"][model] != "ok":
        return "-"
    return " / ".join(_three(found[column][model]) for column in ("q_p95", "q_p99"))


def _three(value: float) -> str:
    """A q-error: two places below ten, whole above."""
    return f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"


def verdicts(records: Records) -> Iterator[str]:
    """The ledger in short: each claim, its three verdicts and where to look."""
    yield _line(["claim", "place in the paper", *SUBJECTS, "shown in"])
    yield _rule(4)
    for claim in records.claims.to_dict("records"):
        figure = str(claim["figure"])
        link = f"[{Path(figure).stem}](../results/{figure})" if figure else "-"
        told = [_bold(str(claim[column])) for column in SUBJECTS.values()]
        yield _line([f"`{claim['id']}`: {claim['claim']}", str(claim["place"]), *told, link])


def _bold(verdict: str) -> str:
    """A verdict with its first words in bold, its reservations behind."""
    first, comma, rest = verdict.partition(",")
    return verdict if first == "no evidence yet" else f"**{first}**{comma}{rest}"


def other_code(records: Records) -> Iterator[str]:
    """Per study and model, the rows that are not of the present code, and those refitted by it."""
    rows = records.rows.assign(other=is_other_code(records.rows))
    older = rows.groupby(["experiment", "model"]).agg(
        other=("other", "sum"),
        refitted=("measured_code", lambda codes: int((codes.notna() & (codes != "")).sum())),
        rows=("other", "size"),
    )
    yield _line(["study", "model", "rows", "of other code", "learned again, the same model"])
    yield _rule(4)
    shown = older[older[["other", "refitted"]].any(axis=1)].reset_index()
    for row in shown.to_dict("records"):
        counts = [str(row[column]) for column in ("rows", "other", "refitted")]
        yield _line([f"`{row['experiment']}`", f"`{row['model']}`", *counts])


Table = Callable[[Records], Iterator[str]]
TABLES: Mapping[str, Table] = {
    "main_study": main_study,
    "dense": dense,
    "hidden": hidden,
    "verdicts": verdicts,
    "other_code": other_code,
    "real_tables": real_tables,
}


def _lines(values: pd.DataFrame, prefix: str, measure: str) -> Iterator[str]:
    """A line per model that has a value, FSPN's first."""
    is_kl, is_likelihood = "KL" in measure, measure == LIKELIHOOD
    for model in MODELS:
        if model not in values.index or values.loc[model].isna().all():
            continue
        if model in KL_ONLY and not (is_kl or is_likelihood):
            continue
        told = [number(x, 3 if is_likelihood else None) for x in values.loc[model]]
        yield _line([prefix + label(model), *told])


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

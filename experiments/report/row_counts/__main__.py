"""The command: `python -m experiments.report.row_counts`, from recorded runs to tables and figure.

It writes to `<results>/report`, which git ignores; `--freeze` writes what is committed:
`reference/row_counts*.csv`, `figures` and `tables` of the results folder. Estimators that were not
run keep what that reference says of them; one that was is taken from its runs alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from experiments.report.figures.style import Picture
from experiments.report.row_counts.figure import figure_row_counts
from experiments.report.row_counts.names import SUBJECT
from experiments.report.row_counts.summary import pooled, read_runs, summarise
from experiments.report.row_counts.tables import (
    errors_table,
    groups_table,
    wins_table,
    worst_table,
)
from experiments.report.row_counts.worst import worst_queries
from experiments.report.tables.writing import Table, write

PARTS = ("row_counts", "row_counts_pooled", "row_counts_worst")


@dataclass(frozen=True)
class Kept:
    """What the runs come to: per table, over all tables, and the worst queries."""

    summary: pd.DataFrame
    pooled: pd.DataFrame
    worst: pd.DataFrame


def keep_runs(results_dir: Path, out: Path) -> bool:
    """Summarise the runs of the study, if there are any, into `reference` of a folder."""
    rows, queries = read_runs(results_dir)
    if queries.empty:
        return False
    kept = merged(read_kept(results_dir), rows, queries, results_dir)
    folder = out / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in zip(PARTS, (kept.summary, kept.pooled, kept.worst), strict=True):
        frame.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g")
    return True


def merged(kept: Kept | None, rows: pd.DataFrame, queries: pd.DataFrame, results_dir: Path) -> Kept:
    """What is kept of estimators that were not run, and what the runs of the others come to.

    Arguments:
        kept: what an earlier run came to; None where there was none.
        rows: the rows of the study.
        queries: their queries.
        results_dir: the folder that holds the fitted models, for the worst queries.
    """
    summary, run = summarise(rows, queries), set(rows["model"])
    if kept is not None:
        others = kept.summary[~kept.summary["model"].isin(run)]
        summary = pd.concat([others, summary]) if len(others) else summary
    whole = summary[(summary["model"] == SUBJECT) & (summary["status"] == "ok")]
    together = pooled(queries, set(whole["dataset"]))
    if kept is not None and len(kept.pooled):
        together = pd.concat([kept.pooled[~kept.pooled["model"].isin(run)], together])
    if kept is not None and SUBJECT not in run:
        return Kept(summary, together, kept.worst)
    return Kept(summary, together, worst_queries(queries, results_dir))


def read_kept(results_dir: Path) -> Kept | None:
    """What an earlier run came to; None where there was none."""
    files = [results_dir / "reference" / f"{name}.csv" for name in PARTS]
    if not all(file.is_file() for file in files):
        return None
    summary, together, worst = (pd.read_csv(file) for file in files)
    errors = summary["error"].astype("object").fillna("")
    stored = summary.get("stored_bytes", float("nan"))  # Older files do not have it.
    return Kept(summary.assign(error=errors, stored_bytes=stored), together, worst)


def parts(kept: Kept, figures: Path) -> tuple[Picture, tuple[Table, ...]]:
    """The figure and the tables."""
    found = (
        errors_table(kept.summary),
        wins_table(kept.summary),
        groups_table(kept.pooled),
        worst_table(kept.worst),
    )
    return figure_row_counts(kept.summary, kept.pooled, figures), found


def main(arguments: Sequence[str] | None = None) -> int:
    """Make tables and figure; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m experiments.report.row_counts")
    parser.add_argument("--results", type=Path, default=Path("results"), help="holds runs/")
    parser.add_argument("--freeze", action="store_true", help="write what is committed")
    options = parser.parse_args(arguments)
    out = options.results if options.freeze else options.results / "report"
    kept = read_kept(out if keep_runs(options.results, out) else options.results)
    if kept is None:
        print("no runs of experiment=tables and no reference: run `make tables`", file=sys.stderr)
        return 2
    _, tables = parts(kept, out / "figures")
    for table in tables:
        write(table, out / "tables")
    print(f"written: {out / 'figures' / 'row_counts.png'} and {out / 'tables'}/row_counts*")
    return 0


if __name__ == "__main__":
    sys.exit(main())

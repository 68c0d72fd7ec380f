"""Keep rows and verdicts as the committed reference: `python -m experiments.report --freeze`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from experiments.records.reference import FOLDER, write_rows
from experiments.report.claims.ledger import Entry, claims_table, families_table
from experiments.report.job_queries import keep
from experiments.report.rows import JOB, Rows
from experiments.report.tables import writing as tables
from experiments.report.tables.loglik import benchmark_rows
from experiments.report.tables.pairs import pairs, write_pairs


def freeze(rows: Rows, entries: tuple[Entry, ...], results_dir: Path) -> Path:
    """Write rows (`as_kept`), per-query values and ledger to `reference/`; returns that folder.

    A later `--rows reference/rows` gives the same ledger, which a test checks.
    """
    folder = results_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(rows.table, results_dir)
    if len(rows.queries):
        values = rows.queries.drop(columns=JOB)
        values.set_index("fingerprint").to_csv(folder / "queries.csv")
    found = pairs(benchmark_rows(rows.table), results_dir)
    if found:
        write_pairs(found, results_dir)
    if rows.kls:
        keep(rows.kls, folder)
    for table in (claims_table(entries), families_table(entries)):
        (folder / f"{table.name}.csv").write_text(tables.to_csv(table), encoding="utf-8")
    return folder


def as_kept(rows: Rows) -> Rows:
    """Rows and queries to the digits that are kept: what is drawn is what a reader can redraw."""
    return replace(rows, table=_rounded(rows.table, 7), queries=_rounded(rows.queries, 6))


def _rounded(frame: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Some significant digits are enough to draw from, and keep the file small."""
    numbers = frame.select_dtypes("float").columns
    return frame.assign(
        **{str(name): [float(f"{value:.{digits}g}") for value in frame[name]] for name in numbers}
    )

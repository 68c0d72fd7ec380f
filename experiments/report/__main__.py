"""The command: `python -m experiments.report`, from recorded rows to a page of figures and tables.

It writes to `results/report` (a trial run's to `results/smoke`), which git ignores; `--freeze`
writes what is committed: `results/figures`, `results/tables` and `results/reference`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.records.reference import RowsError
from experiments.report.freeze import as_kept, freeze
from experiments.report.page.build import Sources, build, summary
from experiments.report.page.page import Report
from experiments.report.paper import FOLDER, load_paper
from experiments.report.rows import load_rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the report; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    try:
        if options.freeze and options.rows is not None:
            raise RowsError("--freeze keeps all rows of the results folder: leave --rows out")
        rows = load_rows(options.results, options.rows, options.experiment)
    except RowsError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    if options.freeze:
        rows = as_kept(rows)
    out = options.out or _default_out(options.results, rows.study, frozen=options.freeze)
    command = " ".join(["python -m experiments.report", *given])
    sources = Sources(rows, load_paper(options.paper), options.results, out, command)
    report = build(sources)
    print(summary(report))
    print(f"page: {out / 'index.html'}")
    if options.freeze:
        print(f"kept as the reference: {freeze(rows, report.entries, options.results)}")
    if not options.no_tracking:
        _log(report, sources)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.report", description=__doc__)
    add = parser.add_argument
    add("--results", type=Path, default=Path("results"), help="folder that holds runs/")
    add("--rows", type=Path, help="a CSV or Parquet file of rows, or a folder, in place of these")
    add("--out", type=Path, help="where to write (default: report/ of the results folder)")
    add("--experiment", help="the study to report (default: reproduce, if there is one)")
    add("--paper", type=Path, default=FOLDER, help="folder of the paper's published numbers")
    add("--freeze", action="store_true", help="write what is committed, rows and verdicts too")
    add("--no-tracking", action="store_true", help="do not log the report to MLflow")
    return parser


def _default_out(results: Path, study: str, *, frozen: bool = False) -> Path:
    """A user's report must not replace the committed one, nor a trial run the real study's."""
    if frozen:
        return results
    return results / ("smoke" if study == "smoke" else "report")


def _log(report: Report, sources: Sources) -> None:
    """Log everything to MLflow: the server that is named, else the store of the results."""
    from experiments.records.tracking import SQLITE, tracker

    store = sources.results_dir / "mlflow.db"
    uri = os.environ.get("MLFLOW_TRACKING_URI") or (f"{SQLITE}{store}" if store.is_file() else "")
    if not uri:
        print(f"not logged to MLflow: there is no {store} and no MLFLOW_TRACKING_URI")
        return
    files = [sources.out / "index.html", *sorted(sources.figures.glob("*"))]
    files += sorted((sources.out / "tables").glob("*"))
    name = f"report of {report.study}"
    try:
        tracker(uri, sources.results_dir).log_files("report", name, files)
    except Exception as error:
        print(f"not logged to MLflow, {uri} failed: {str(error).splitlines()[0]}")
        return
    print(f"logged to MLflow: experiment report, run {name!r}")


if __name__ == "__main__":
    sys.exit(main())

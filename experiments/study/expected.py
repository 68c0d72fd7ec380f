"""How long the jobs of a study are expected to take, from the rows of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.records.rows import collect
from experiments.study.config import JobConfig
from experiments.study.plan import conf_dir
from experiments.study.progress import Clock

COLUMNS = ["experiment", "label", "dataset", "model", "job_seconds"]
REFERENCE = Path("reference") / "rows.csv"


def clock_of(jobs: Sequence[JobConfig], workers: int) -> Clock:
    """A clock that knows what each job took before, here or in the committed reference."""
    rows = _rows(jobs[0].results_dir)
    own = rows[rows["experiment"] == jobs[0].study]
    trusted = {job.model.name for job in jobs} <= set(own["model"])
    found = [_seconds(job, own if trusted else rows) for job in jobs]
    known = [seconds for seconds in found if seconds is not None]
    usual = sum(known) / len(known) if known else 1.0
    titles = [job.title for job in jobs]
    expected = {t: usual if s is None else s for t, s in zip(titles, found, strict=True)}
    return Clock(expected, workers, trusted=trusted)


def _seconds(job: JobConfig, rows: pd.DataFrame) -> float | None:
    """Mean time of the rows that are most like a job: its label, its dataset, its model."""
    same_model = rows["model"] == job.model.name
    for like in (
        rows["label"] == job.label,
        same_model & (rows["dataset"] == job.dataset["name"]),
        same_model,
    ):
        if like.any():
            return float(rows.loc[like, "job_seconds"].mean())
    return None


def _rows(results_dir: Path) -> pd.DataFrame:
    """Finished rows of these results; the committed ones for the jobs that are not among them."""
    tables = [collect(results_dir, latest=True)[COLUMNS]]
    for folder in (results_dir, conf_dir().parent / "results"):
        if (folder / REFERENCE).is_file():
            tables.append(pd.read_csv(folder / REFERENCE, usecols=COLUMNS)[COLUMNS])
            break
    rows = pd.concat(tables, ignore_index=True).dropna(subset="job_seconds")
    return rows.drop_duplicates(["experiment", "label"], keep="first")

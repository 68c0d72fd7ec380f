"""How long the jobs of a study are expected to take, from the rows of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.records.reference import committed
from experiments.records.rows import collect
from experiments.study.config import JobConfig, Phase
from experiments.study.plan import conf_dir
from experiments.study.progress import Clock

COLUMNS = ["experiment", "label", "dataset", "model", "job_seconds"]


def clock_of(jobs: Sequence[JobConfig], workers: int) -> Clock:
    """A clock that knows what each job took before, here or in the committed reference.

    It trusts the records when at least half of the jobs have one of their own study. Other
    studies have other grids and rows: their times are proportions, and only roughly so, which is
    why their square roots are taken.
    """
    # Most models need less than a pass's budget, slow ones a few of them.
    alone = {job.title: job.timing.budget_seconds for job in jobs if _times(job)}
    jobs = [job for job in jobs if not _times(job)]
    rows = _rows(jobs[0].results_dir)
    own = rows[rows["experiment"] == jobs[0].study]
    mine = [_seconds(job, own) for job in jobs]
    trusted = 2 * sum(seconds is not None for seconds in mine) >= len(jobs)
    found = [s if s is not None else _seconds(job, rows) for s, job in zip(mine, jobs, strict=True)]
    known = [seconds for seconds in found if seconds is not None]
    usual = sum(known) / len(known) if known else 1.0
    power = 1.0 if trusted else 0.5
    expected = {
        job.title: (usual if seconds is None else seconds) ** power
        for job, seconds in zip(jobs, found, strict=True)
    }
    return Clock(expected, workers, trusted=trusted, alone=alone)


def _times(job: JobConfig) -> bool:
    return job.phase is Phase.LATENCY


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
        if (kept := committed(folder)) is not None:
            tables.append(kept[COLUMNS])
            break
    rows = pd.concat(tables, ignore_index=True).dropna(subset="job_seconds")
    return rows.drop_duplicates(["experiment", "label"], keep="first")

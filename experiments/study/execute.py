"""A study: the jobs of a plan in worker processes, with progress, then the report."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra.errors import CompactHydraException

from experiments.records import tracking
from experiments.records.rows import DiskFullError, Store, collect
from experiments.study.config import JobConfig, PlanConfig
from experiments.study.job import Outcome, run_job
from experiments.study.plan import compose_jobs, workers_of
from experiments.study.pool import Ended, Started, run_tasks
from experiments.study.progress import Clock, Display

log = logging.getLogger(__name__)


class StudyFailed(CompactHydraException):
    """Some jobs have no result; all others are recorded."""


def run_plan(plan: PlanConfig, given: Sequence[str]) -> None:
    """Run all jobs of a study, then its report. Finished jobs are skipped."""
    stages = without_repeats(compose_jobs(plan, given))
    first = stages[0][0]
    tracker = tracking.tracker(first.tracking_uri, first.results_dir)
    killed = tracker.recover()
    if killed:
        log.info("%d runs of killed jobs were closed; those jobs are run again", killed)
    failed = _run_stages(stages, workers_of(plan))
    tracker.recover()
    reported = not plan.report or _report(first.results_dir, first.study)
    if failed:
        names = ", ".join(failed[:5]) + (" ..." if len(failed) > 5 else "")
        logs = _log_folder(first)
        raise StudyFailed(f"{len(failed)} jobs failed ({names}); the reasons are in {logs}")
    if not reported:
        raise StudyFailed("all jobs are recorded, but the report failed: see above")


def without_repeats(stages: Sequence[Sequence[JobConfig]]) -> list[list[JobConfig]]:
    """Every job once: a key given on the command line can make two stages ask for the same."""
    first: dict[str, int] = {}
    for number, stage in enumerate(stages):
        for job in stage:
            first.setdefault(job.title, number)
    return [
        list({job.title: job for job in stage if first[job.title] == number}.values())
        for number, stage in enumerate(stages)
    ]


def _run_stages(stages: Sequence[Sequence[JobConfig]], workers: int) -> list[str]:
    """Run the stages; returns the labels of failed jobs."""
    jobs = [job for stage in stages for job in stage]
    rows = collect(jobs[0].results_dir)
    earlier = {str(k): list(v) for k, v in rows.groupby("model")["job_seconds"]}
    clock = Clock({job.title: job.model.name for job in jobs}, earlier, workers)
    failed: list[str] = []
    with Display(jobs[0].study, clock) as display:
        for stage in stages:
            for event in run_tasks(_work, stage, workers):
                if isinstance(event, Started):
                    display.started(event.task.title)
                elif not _show(display, event):
                    failed.append(event.task.title)
    return failed


def _show(display: Display, event: Ended[JobConfig, Outcome]) -> bool:
    """Show how a job ended; returns whether it has a result. A full disk ends the study."""
    if isinstance(event.error, DiskFullError):
        raise StudyFailed(str(event.error))
    if event.result is None:
        display.ended(event.task.title, None, skipped=False, error=str(event.error))
        return False
    row = event.result.row
    display.ended(event.task.title, row, skipped=event.result.skipped)
    return row.status != "failed"


def _work(config: JobConfig) -> Outcome:
    """What a worker does with a job; everything that is printed meanwhile goes to its log."""
    path = _log_folder(config) / f"{config.title.replace('/', '_')[:150]}.log"
    with _output_to(path):
        return run_job(config)


def _log_folder(config: JobConfig) -> Path:
    return Store.of(config.results_dir, config.study).folder / "logs"


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    saved = os.dup(1), os.dup(2)
    with path.open("a", encoding="utf-8") as file:
        handler = logging.StreamHandler(file)
        logging.getLogger().addHandler(handler)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            logging.getLogger().removeHandler(handler)
            for number, before in enumerate(saved, start=1):
                os.dup2(before, number)
                os.close(before)


def _report(results_dir: Path, study: str) -> bool:
    """Make the report in a process of its own; returns whether that went well."""
    command = [sys.executable, "-m", "experiments.report", "--results", str(results_dir)]
    return subprocess.run([*command, "--experiment", study], check=False).returncode == 0

"""A study: the jobs of a plan, wherever they run, with progress, then the report."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hydra.errors import CompactHydraException

from experiments.records import tracking
from experiments.records.file_systems import check_locks
from experiments.records.rows import DiskFullError, Store
from experiments.records.sync import settle, sync
from experiments.records.tracking import SQLITE, Tracker
from experiments.study.cluster import Cluster, Event
from experiments.study.config import ConfigError, JobConfig, Phase, PlanConfig
from experiments.study.executors import ExecutorConfig
from experiments.study.expected import clock_of
from experiments.study.job import Outcome, record_late, run_job
from experiments.study.plan import compose_jobs, expand, workers_of
from experiments.study.pool import Ended, Limit, Started, run_tasks
from experiments.study.progress import Display

log = logging.getLogger(__name__)
Stages = list[list[JobConfig]]


class StudyFailed(CompactHydraException):
    """Some jobs have no result; all others are recorded."""


class JobFailed(RuntimeError):
    """A job on a cluster whose model failed: its process ends with an exit code that says so."""


def run_plan(
    plan: PlanConfig, given: Sequence[str], executor: ExecutorConfig | None = None
) -> None:
    """Run all jobs of a study, then its report. Finished jobs are skipped.

    Settings, tracking store, locks and executor are checked before the first job starts.
    """
    executor = executor or ExecutorConfig()
    every = {tuple(job) for stage in expand(plan, given) for job in stage}
    log.info("checking the settings of %d jobs before the first one starts", len(every))
    stages = _logged_from_here(without_repeats(compose_jobs(plan, given)), executor)
    first = stages[0][0]
    tracker = tracking.tracker(first.tracking_uri, first.results_dir)
    tracker.check()
    check_results_dir(first.results_dir)
    runner = Cluster(executor, workers_of(plan))
    if not executor.is_local:
        runner.check(Store.of(first.results_dir, first.study).folder / "submitit" / "check")
    settle(tracker)
    failed = _run_stages(stages, runner, tracker, latency_last=plan.latency_last)
    settle(tracker)
    reported = not plan.report or _report(first)
    _say_how_it_ended(stages, failed, reported=reported)


def check_results_dir(folder: Path) -> None:
    """Raise a ConfigError unless results can be written and locked there; warn of weak locks."""
    try:
        warning = check_locks(folder / "runs")
    except OSError as error:
        raise ConfigError(f"results_dir={folder} cannot be used: {error}") from error
    if warning:
        log.warning("%s", warning)


def _say_how_it_ended(stages: Stages, failed: Sequence[str], *, reported: bool) -> None:
    """All failures by name, or that there were none."""
    jobs = [job for stage in stages for job in stage]
    if failed:
        names = "".join(f"\n  {name}" for name in failed)
        logs = _log_folder(jobs[0])
        raise StudyFailed(f"{len(failed)} jobs failed; the reasons are in {logs}:{names}")
    if not reported:
        raise StudyFailed("all jobs are recorded, but the report failed: see above")
    log.info("all %d jobs of %s are recorded in %s", len(jobs), jobs[0].study, jobs[0].results_dir)


def _logged_from_here(stages: Stages, executor: ExecutorConfig) -> Stages:
    """Jobs on a cluster leave a SQLite store to this process: it serves one machine only."""
    first = stages[0][0]
    if executor.is_local or not (first.tracking_uri or "").startswith(SQLITE):
        return stages
    return [[replace(job, live=False) for job in stage] for stage in stages]


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


def _run_stages(
    stages: Stages, runner: Cluster, tracker: Tracker, *, latency_last: bool
) -> list[str]:
    """Run the stages; returns the titles of failed jobs.

    On a cluster every job measures its own latency, on a node that it has for itself.
    """
    later = latency_last and runner.config.is_local
    if later:
        stages = [[replace(job, phase=Phase.FIT) for job in stage] for stage in stages]
    jobs = [job for stage in stages for job in stage]
    workers = min(runner.config.parallel or runner.workers, len(jobs))
    clock = clock_of([*jobs, *(_timing(job) for job in jobs if later)], workers)
    failed: list[str] = []
    waiting: list[JobConfig] = []
    with Display(jobs[0].study, clock) as display, _leaving(runner):
        for stage in stages:
            for event in _events(stage, runner):
                if isinstance(event, Started):
                    display.started(event.task.title)
                    continue
                if event.result is not None and event.result.waits:
                    waiting.append(_timing(event.task))
                elif later:
                    display.dropped(_timing(event.task).title)
                if not _show(display, event):
                    failed.append(event.task.title)
                if not event.task.live:
                    sync(tracker)
        failed += _measure(waiting, display)
    return failed


def _timing(job: JobConfig) -> JobConfig:
    return replace(job, phase=Phase.LATENCY)


def _measure(waiting: Sequence[JobConfig], display: Display) -> list[str]:
    """Measure the latencies that were left, one by one; returns the titles of failed jobs."""
    failed = []
    for event in run_tasks(_work, waiting, 1):
        if isinstance(event, Started):
            display.started(event.task.title)
        elif not _show(display, event):
            failed.append(event.task.title)
    return failed


def _events(stage: Sequence[JobConfig], runner: Cluster) -> Iterator[Event]:
    """What happens while the jobs of a stage run, by whatever runs them."""
    if runner.config.is_local:
        return run_tasks(_work, stage, runner.workers, LIMIT)
    return runner.run(_work_or_fail, stage)


@contextmanager
def _leaving(runner: Cluster) -> Iterator[None]:
    """Say what becomes of the jobs of a cluster when the command is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if runner.watched:
            ids = sorted({w.entry.job_id.partition("_")[0] for w in runner.watched})
            log.info(
                "left: %d jobs go on (%s); the same command takes them up again",
                *(len(runner.watched), " ".join(ids)),
            )
        raise


def _show(display: Display, event: Ended[JobConfig, Outcome]) -> bool:
    """Show how a job ended; returns whether it has a result. A full disk ends the study."""
    if isinstance(event.error, DiskFullError):
        raise StudyFailed(str(event.error))
    if event.result is None:
        display.ended(event.task.title, None, skipped=False, error=str(event.error))
        return False
    row = event.result.row
    display.ended(event.task.title, row, skipped=event.result.skipped, seconds=event.result.seconds)
    return row.status != "failed"


def _job_seconds(config: JobConfig) -> float | None:
    return config.search.job_seconds


LIMIT = Limit(_job_seconds, record_late)
"""A job that takes longer than its limit is ended, and its row says so."""


def _work_or_fail(config: JobConfig) -> Outcome:
    """What a cluster's job does; a failed row is an error there, so that exit codes are true."""
    outcome = _work(config)
    if outcome.row.status == "failed":
        raise JobFailed(outcome.row.error)
    return outcome


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


def _report(job: JobConfig) -> bool:
    """Make the report in a process of its own; returns whether that went well."""
    command = [sys.executable, "-m", "experiments.report", "--results", str(job.results_dir)]
    command += ["--experiment", job.study, *([] if job.tracking_uri else ["--no-tracking"])]
    env = {k: v for k, v in os.environ.items() if k != "MLFLOW_TRACKING_URI"}
    if job.tracking_uri and not job.tracking_uri.startswith(SQLITE):
        env["MLFLOW_TRACKING_URI"] = job.tracking_uri
    return subprocess.run(command, env=env, check=False).returncode == 0

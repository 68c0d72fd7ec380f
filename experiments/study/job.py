"""One job: dataset -> search -> evaluate -> record."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pandas as pd

from baselines.base import DensityModel, FitTimeout, ModelTooLarge
from experiments.datasets import DEBD
from experiments.measures.evaluate import evaluate, evaluate_answers, evaluate_latency
from experiments.records import tracking
from experiments.records.fingerprint import code_version, commit, data_digest, fingerprint
from experiments.records.journal import Recorder
from experiments.records.locks import Machine, Untimed, locked
from experiments.records.rows import ResultRow, Store, disk_full_is_clear
from experiments.study.coarse import search_coarse_to_fine
from experiments.study.config import JobConfig, Phase
from experiments.study.data import load_dataset
from experiments.study.edges import at_edge
from experiments.study.frozen import with_settings
from experiments.study.kept_trials import KeptTrials
from experiments.study.refit import check_kind, search_and_refit
from experiments.study.search import SearchResult, search
from experiments.study.stop import Stop, stoppable, stops_the_job
from experiments.study.trial import Trial
from experiments.study.waiting_models import Waiting, keep_waiting, read_waiting
from experiments.types import Dataset

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """How a job ended; `skipped` if its result was there before; `waits` for its latency.

    `seconds` is how long this part of it took, where that is not the whole job.
    """

    row: ResultRow
    skipped: bool
    waits: bool = False
    seconds: float | None = None


def run_job(config: JobConfig) -> Outcome:
    """Run one job, unless it is finished; whoever comes second waits for the first.

    A model that fails gives a row with status `failed`, which the next start tries again.
    A full disk, a wrong setting, or a launcher that stops the job is an exception: no row.
    """
    with stoppable() as stop:
        return _run_unless_finished(config, stop)


def record_late(config: JobConfig) -> Outcome:
    """Record that a job was ended because it took longer than `search.job_seconds`."""
    dataset = load_dataset(config)
    config = with_settings(config, dataset)
    limit = f"{config.search.job_seconds:g} s" if config.search.job_seconds else "its limit"
    row = replace(
        _blank_row(config, dataset),
        status="timeout",
        error=f"the job did not end within {limit} (learning, search and estimates)",
        job_seconds=_number(config.search.job_seconds),
    )
    store = Store.of(config.results_dir, config.study)
    tracker = tracking.tracker(config.tracking_uri, config.results_dir)
    with locked(store.lock(row.fingerprint)):
        done = None if config.force else store.finished(row.fingerprint)
        if done is not None:  # Its last act was under way when it was ended.
            return Outcome(done, skipped=False)
        recorder = Recorder(tracker, store, row, _resolved(config), live=config.live)
        with _closing(recorder):
            row = replace(row, run_id=recorder.run_id)
            recorder.record(row, None)
        KeptTrials(store.trials(row.fingerprint), row.node_type).forget()
    return Outcome(row, skipped=False)


def _run_unless_finished(config: JobConfig, stop: Stop) -> Outcome:
    machine = Machine.local(config.label)
    store = Store.of(config.results_dir, config.study)
    with machine.working():
        dataset = load_dataset(config)
    if dataset.workload is None and dataset.counting is None:
        machine = Untimed(machine.folder, machine.who)
    check_kind(config, dataset)
    config = with_settings(config, dataset)
    row = _blank_row(config, dataset)
    with locked(store.lock(row.fingerprint)):
        again = config.force and config.phase is not Phase.LATENCY
        done = None if again else store.finished(row.fingerprint)
        if done is not None:
            return Outcome(done, skipped=True)
        draft = store.read(row.fingerprint)
        waiting = None if again else read_waiting(store, row.fingerprint)
        if waiting is None or draft is None or config.phase is Phase.WHOLE:
            row = _run(config, dataset, row, store, machine, stop)
            waits = store.waiting(row.fingerprint).exists()
            return Outcome(row, skipped=False, waits=waits)
        if config.phase is Phase.FIT:
            return Outcome(draft, skipped=True, waits=True)
        row = _time(config, dataset, draft, waiting, store, machine, stop)
        return Outcome(row, skipped=False, seconds=stop.seconds)


def _run(
    config: JobConfig, dataset: Dataset, row: ResultRow, store: Store, machine: Machine, stop: Stop
) -> ResultRow:
    tracker = tracking.tracker(config.tracking_uri, config.results_dir)
    recorder = Recorder(tracker, store, row, _resolved(config), live=config.live)
    store.waiting(row.fingerprint).unlink(missing_ok=True)
    kept = KeptTrials(store.trials(row.fingerprint), row.node_type)
    if config.force:
        kept.forget()
    waits = False

    def ended(trial: Trial) -> None:
        stop.check()
        recorder.trial(trial)

    with _closing(recorder):
        queries = None
        row = replace(row, run_id=recorder.run_id)
        try:
            found = _finder(config, dataset)(
                config.model.build,
                config.search.grid,
                dataset,
                config.random_state,
                then=config.search.then,
                max_settings=config.search.max_settings,
                limit_seconds=config.search.limit_seconds,
                turn=machine.working,
                report=ended,
                memory=kept,
            )
            row = replace(_with_search(row, config, found), node_type=kept.where)
            model = _remembering(found.model, dataset)
            later = config.phase is Phase.FIT and dataset.counting is None
            if later:
                row, queries = evaluate_answers(model, dataset, row, config.kl, machine)
            else:
                row, queries = evaluate(model, dataset, row, config.kl, config.timing, machine)
            _keep_scores(model, store, row)
            _save(found.model, config, store)
            if later:
                left = Waiting(found.model, found.trials)
                waits = keep_waiting(store, row.fingerprint, left)
            if later and not waits:
                done = row, queries
                row, queries = evaluate_latency(model, dataset, done, config.timing, machine)
        except Exception as error:
            if stops_the_job(error):
                raise
            row = _as_failed(row, error)
        stop.check()
        row = replace(row, job_seconds=stop.seconds + kept.seconds)
        (recorder.suspend if waits else recorder.record)(row, queries)
        kept.forget()
    return row


def _time(
    config: JobConfig,
    dataset: Dataset,
    row: ResultRow,
    waiting: Waiting,
    store: Store,
    machine: Machine,
    stop: Stop,
) -> ResultRow:
    """Measure the latency of a model that was trained before, and complete its row."""
    tracker = tracking.tracker(config.tracking_uri, config.results_dir)
    trials = waiting.trials
    recorder = Recorder(tracker, store, row, _resolved(config), live=config.live, trials=trials)
    queries = store.read_queries(row.fingerprint)
    with _closing(recorder):
        try:
            done = row, queries if queries is not None else pd.DataFrame()
            row, queries = evaluate_latency(waiting.model, dataset, done, config.timing, machine)
        except Exception as error:
            if stops_the_job(error):
                raise
            row = _as_failed(row, error)
        stop.check()
        row = replace(row, job_seconds=row.job_seconds + stop.seconds)
        recorder.record(row, queries)
        store.waiting(row.fingerprint).unlink(missing_ok=True)
    return row


def _as_failed(row: ResultRow, error: Exception) -> ResultRow:
    log.exception("%s failed", row.label)
    status = "timeout" if isinstance(error, FitTimeout) else "failed"
    return replace(row, status=status, error=f"{type(error).__name__}: {error}")


def _finder(config: JobConfig, dataset: Dataset) -> Callable[..., SearchResult]:
    """How the setting is found: real tables and coarse searches end with a fit on all rows."""
    rows, finalists = config.search.rows, config.search.finalists
    if dataset.counting is not None:
        return partial(search_and_refit, rows=rows)
    if rows is None or config.search.whole:
        return search
    return partial(search_coarse_to_fine, rows=rows, finalists=finalists)


class _Remembering:
    """A model that keeps the scores it gave last, so that the test rows are scored once."""

    def __init__(self, model: DensityModel) -> None:
        self._model = model
        self.scores: np.ndarray | None = None

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        self.scores = self._model.score_samples(table)
        return self.scores

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _remembering(model: DensityModel, dataset: Dataset) -> DensityModel:
    """On benchmarks, where nothing is timed, the model with a memory of its scores."""
    return cast(DensityModel, _Remembering(model)) if dataset.family == DEBD else model


def _keep_scores(model: DensityModel, store: Store, row: ResultRow) -> None:
    """Keep the log-likelihood of each test row of a benchmark, for paired comparisons."""
    if isinstance(model, _Remembering) and model.scores is not None:
        store.write_scores(row.fingerprint, model.scores)


@runtime_checkable
class Saves(Protocol):
    """A model that can be kept."""

    def save(self, path: Path) -> None:
        """Write the fitted model to one file."""


def _save(model: object, config: JobConfig, store: Store) -> None:
    """Keep a model that can be kept as `models/<dataset>-<model>[-<seed>].fspn` of its study.

    One that is too large to be written out as an FSPN is not kept: its measures stand all the same.
    """
    if not isinstance(model, Saves) or config.variant:
        return
    seed = f"-{config.seed}" if config.seed else ""
    path = store.folder / "models" / f"{config.dataset['name']}-{config.model.name}{seed}.fspn"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}")
    try:
        with disk_full_is_clear(path):
            model.save(part)
    except ModelTooLarge as error:
        log.info("%s: the model is not kept: %s", config.label, error)
    if part.exists():
        part.replace(path)


@contextmanager
def _closing(recorder: Recorder) -> Iterator[None]:
    """Show a run as failed, or as killed if it was stopped, when its job cannot be recorded."""
    try:
        yield
    except BaseException as error:
        recorder.abandon("FAILED" if isinstance(error, Exception) else "KILLED")
        raise


def _with_search(row: ResultRow, config: JobConfig, found: SearchResult) -> ResultRow:
    params = config.model.params | found.best.params
    fitted = params | found.model.fitted_params
    size = found.model.footprint
    return replace(
        row,
        engine=found.model.engine,
        train_seconds=found.best.train_seconds,
        search_seconds=found.seconds,
        search_rows=found.rows,
        n_trials=len(found.trials),
        n_failed_trials=found.n_failed,
        valid_ll=found.best.valid_ll,
        n_nodes=size.n_nodes,
        n_parameters=size.n_parameters,
        size_bytes=size.size_bytes,
        compiled_bytes=_number(size.compiled_bytes),
        stored_bytes=_number(size.stored_bytes),
        n_factorize=_number(size.n_factorize),
        n_multi_leaves=_number(size.n_multi_leaves),
        depth=_number(size.depth),
        tau_low=_number(fitted.get("tau_low")),
        tau_high=_number(fitted.get("tau_high")),
        params=json.dumps(params, sort_keys=True, default=str),
        at_edge=" ".join(at_edge(config.search, params)),
    )


def _blank_row(config: JobConfig, dataset: Dataset) -> ResultRow:
    code = code_version(config.model.target, dataset.family, config.model.multi_leaf)
    return ResultRow(
        fingerprint=fingerprint(config.what_matters(), data_digest(dataset), code),
        experiment=config.study,
        label=config.label,
        dataset=dataset.name,
        family=dataset.family,
        target_rdc=_number(dataset.target_rdc),
        measured_rdc=_number(dataset.measured_rdc),
        seed=config.seed,
        model=config.model.name,
        code_version=code,
        commit=commit(),
        dataset_digest=dataset.digest,
        machine=machine_name(),
        node_type=node_type(),
        python=platform.python_version(),
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        command=config.command,
    )


def _resolved(config: JobConfig) -> dict[str, Any]:
    """The settings as the tracking store shows them."""
    return asdict(config) | {"model": _model_node(config), "phase": config.phase.value}


def _model_node(config: JobConfig) -> dict[str, Any]:
    return {"name": config.model.name, "_target_": config.model.target, **config.model.params}


def machine_name() -> str:
    """Processor, number of cores, system: what a latency belongs to."""
    cores = len(os.sched_getaffinity(0))
    return f"{_processor()}, {cores} cores, {platform.system()} {platform.release()}"


def node_type() -> str:
    """Processor and cores of the whole machine, however few of them this job may use."""
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)

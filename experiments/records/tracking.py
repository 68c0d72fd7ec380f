"""MLflow: the only module that imports it. Switched off, the same calls do nothing.

A run is opened after its job took the job's lock and closed before the lock is given back. So a
run that MLflow shows as running although nobody holds that lock was killed; `recover` says so,
on whatever machine it is called. A folder of results has an identity of its own (`runs/.identity`)
by which its runs are known: paths and host names change.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hydra.errors import CompactHydraException

from experiments.records.file_systems import locks_reach_all
from experiments.records.locks import is_held, locked
from experiments.records.rows import ResultRow, Store, disk_full_is_clear, write_text
from experiments.types import Trial

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
# A server that does not answer costs a job seconds: `sync` logs later what is missing then.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")

SQLITE = "sqlite:///"
FINGERPRINT, HOST, RESULTS, IDENTITY, SUPERSEDED = (
    f"fspn.{name}" for name in ("fingerprint", "host", "results", "identity", "superseded_by")
)
ENDED = frozenset({"FINISHED", "FAILED"})
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}


class TrackingError(CompactHydraException, RuntimeError):
    """The tracking store cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Run:
    """One job as the tracking store sees it; this one is logged nowhere."""

    id: str = ""

    def trial(self, trial: Trial) -> None:
        """Log a setting of the grid as a child run."""

    def log(self, row: ResultRow, queries: pd.DataFrame | None) -> None:
        """Log the job's results; the run stays open until `close`."""

    def close(self, status: str) -> None:
        """End the run as FINISHED or FAILED."""


@dataclass(frozen=True)
class Tracker:
    """Where runs are logged; here nowhere."""

    results_dir: Path

    @property
    def logs(self) -> bool:
        """Whether anything is logged at all."""
        return False

    def check(self) -> None:
        """Raise a TrackingError unless the store can be used from here, now."""

    def has_finished(self, run_id: str) -> bool:
        """Whether the run `run_id` was logged to its end."""
        return False

    def recover(self) -> int:
        """Make the store ready and close the runs of killed jobs; returns how many there were."""
        return 0

    def start(self, row: ResultRow, config: Mapping[str, Any]) -> Run:
        """Open the run of a job."""
        return Run()

    def reopen(self, row: ResultRow) -> Run:
        """The run of a job that goes on after a break."""
        return Run(row.run_id)

    def log_files(self, experiment: str, name: str, files: Iterable[Path]) -> None:
        """Log finished files (figures, tables) as a run of their own."""


def tracker(uri: str | None, results_dir: Path) -> Tracker:
    """The tracker for a tracking URI; None switches tracking off."""
    return MlflowTracker(results_dir, uri) if uri else Tracker(results_dir)


@dataclass(frozen=True, kw_only=True)
class MlflowRun(Run):
    """An open MLflow run."""

    client: Any
    experiment_id: str
    tags: dict[str, str]

    def trial(self, trial: Trial) -> None:
        """Log a setting of the grid as a child run."""
        ended = _now()
        tags = self.tags | {"mlflow.parentRunId": self.id, "error": trial.error}
        child = self.client.create_run(
            self.experiment_id,
            start_time=ended - round(1000 * trial.seconds),
            tags=tags,
            run_name=f"trial {trial.number}",
        ).info.run_id
        measures = {k: getattr(trial, k) for k in ("valid_ll", "train_seconds", "seconds")}
        _log_batch(self.client, child, trial.params, measures)
        status = "FINISHED" if trial.status == "ok" else "FAILED"
        self.client.set_terminated(child, status, end_time=ended)

    def log(self, row: ResultRow, queries: pd.DataFrame | None) -> None:
        """Log measures, the chosen setting and the per-query table."""
        values = asdict(row)
        chosen = {f"chosen.{k}": v for k, v in json.loads(row.params).items()}
        texts = {k: v for k, v in values.items() if isinstance(v, str) and k != "params"}
        with disk_full_is_clear("the MLflow store"):
            _log_batch(self.client, self.id, chosen, _numbers(values), texts)
            if queries is not None:
                self.client.log_text(self.id, queries.to_csv(index=False), "queries.csv")

    def close(self, status: str) -> None:
        """End the run; earlier finished runs of the same job are marked as superseded."""
        if status == "FINISHED":
            same_job = f"tags.`{FINGERPRINT}` = '{self.tags[FINGERPRINT]}'"
            ask = f"{same_job} and attributes.status = 'FINISHED'"
            for old in self.client.search_runs([self.experiment_id], ask):
                if "mlflow.parentRunId" not in old.data.tags:
                    self.client.set_tag(old.info.run_id, SUPERSEDED, self.id)
        self.client.set_terminated(self.id, status)


@dataclass(frozen=True)
class MlflowTracker(Tracker):
    """Runs in the MLflow store at `uri`."""

    uri: str

    @property
    def logs(self) -> bool:
        """Whether anything is logged at all."""
        return True

    def check(self) -> None:
        """Ask a server for something small, once, and say clearly why it refuses."""
        if self._database is not None:
            return
        try:
            with _environment(PATIENCE):
                self._client.search_experiments(max_results=1)
        except Exception as error:
            raise TrackingError(_refusal(self.uri, str(error))) from error

    def has_finished(self, run_id: str) -> bool:
        """Whether the run `run_id` was logged to its end."""
        from mlflow.exceptions import MlflowException

        try:
            return bool(run_id) and self._client.get_run(run_id).info.status in ENDED
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return False
            raise

    def prepare(self) -> None:
        """Create a SQLite store once, under a lock.

        It is made aside and then renamed: a store that several processes or a killed one were
        still migrating would be damaged for good.
        """
        path = self._database
        if path is None or path.exists():
            return
        with locked(path.with_name(path.name + ".lock")):
            if path.exists():
                return
            new = path.with_name(f".new-{path.name}")
            new.unlink(missing_ok=True)
            with disk_full_is_clear(path):
                _create_database(new)
            new.replace(path)

    def recover(self) -> int:
        """Close runs whose process died: FINISHED if their record was written, else KILLED."""
        self.prepare()
        experiments = {e.experiment_id: e.name for e in self._client.search_experiments()}
        if not experiments:
            return 0
        running = self._client.search_runs(
            list(experiments), "attributes.status = 'RUNNING'", max_results=1000
        )
        dead = [run for run in running if self._is_dead(run, experiments)]
        for run in dead:
            status = "FINISHED" if self._is_recorded(run, experiments) else "KILLED"
            self._client.set_terminated(run.info.run_id, status)
        return len(dead)

    def start(self, row: ResultRow, config: Mapping[str, Any]) -> Run:
        """Open the run `model/dataset/seed` with its resolved settings."""
        self.prepare()
        tags = self._tags(row)
        experiment = self._experiment(row.experiment)
        name = f"{row.model}/{row.dataset}/{row.seed}"
        with disk_full_is_clear("the MLflow store"):
            began = _milliseconds(row.started_at)
            run = self._client.create_run(
                experiment, start_time=began, run_name=name, tags=tags
            ).info.run_id
            who = {k: getattr(row, k) for k in ("dataset", "model", "seed", "dataset_digest")}
            _log_batch(self._client, run, who | {"code_version": row.code_version}, {})
            self._client.log_dict(run, dict(config), "config.yaml")
        return MlflowRun(id=run, client=self._client, experiment_id=experiment, tags=tags)

    def reopen(self, row: ResultRow) -> Run:
        """The run that `row` names, open again; what was logged there stays."""
        self._client.update_run(row.run_id, status="RUNNING")
        return MlflowRun(
            id=row.run_id,
            client=self._client,
            experiment_id=self._experiment(row.experiment),
            tags=self._tags(row),
        )

    def _tags(self, row: ResultRow) -> dict[str, str]:
        return {
            FINGERPRINT: row.fingerprint,
            HOST: socket.gethostname(),
            RESULTS: self._results,
            IDENTITY: self.identity,
        }

    def log_files(self, experiment: str, name: str, files: Iterable[Path]) -> None:
        """Log finished files as the artifacts of one run."""
        self.prepare()
        run = self._client.create_run(self._experiment(experiment), run_name=name).info.run_id
        for path in files:
            self._client.log_artifact(run, str(path))
        self._client.set_terminated(run, "FINISHED")

    @cached_property
    def _client(self) -> Any:
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.uri)

    @cached_property
    def identity(self) -> str:
        """What tells this folder of results from every other, wherever it is seen from."""
        path = self.results_dir / "runs" / ".identity"
        with locked(path.with_name(".mlflow.lock")):
            if not path.is_file():
                write_text(uuid.uuid4().hex, path)
        return path.read_text(encoding="utf-8")

    @property
    def _database(self) -> Path | None:
        return Path(self.uri.removeprefix(SQLITE)) if self.uri.startswith(SQLITE) else None

    @property
    def _results(self) -> str:
        return str(self.results_dir.resolve())

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        with locked(self.results_dir / "runs" / ".mlflow.lock"):
            found = self._client.get_experiment_by_name(name)
            if found is not None:
                return str(found.experiment_id)
            return str(self._client.create_experiment(name, artifact_location=self._artifacts))

    @property
    def _artifacts(self) -> str | None:
        """Beside the database; a server decides for itself."""
        if self._database is None:
            return None
        return (self._database.resolve().parent / "mlartifacts").as_uri()

    def _is_dead(self, run: Any, experiments: Mapping[str, str]) -> bool:
        tags = run.data.tags
        if FINGERPRINT not in tags or tags.get(IDENTITY) != self.identity:
            return False
        if tags.get(HOST) != socket.gethostname() and not locks_reach_all(self.results_dir):
            return False
        store = Store.of(self.results_dir, experiments[run.info.experiment_id])
        return not is_held(store.lock(tags[FINGERPRINT]))

    def _is_recorded(self, run: Any, experiments: Mapping[str, str]) -> bool:
        store = Store.of(self.results_dir, experiments[run.info.experiment_id])
        fingerprint = run.data.tags[FINGERPRINT]
        row = store.finished(fingerprint)
        owed = store.unlogged(fingerprint).exists()
        return row is not None and row.run_id == run.info.run_id and not owed


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables that hold inside the block only."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _refusal(uri: str, error: str) -> str:
    """Why a server is of no use, and what to do about it."""
    if "Invalid Host header" in error:
        why = "refuses this name: start it with --allowed-hosts (see docs/cluster.md)"
    elif re.search(r"\b401\b", error) or "not authenticated" in error:  # No port such as 34011.
        why = (
            "asks for a login: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, "
            "e.g. by the client.env that `python -m experiments.server` wrote"
        )
    else:
        why = f"does not answer: is it running? ({error.splitlines()[0][:200]})"
    return (
        f"the MLflow server {uri} {why}; tracking=sqlite needs no server, tracking=none no MLflow"
    )


def _create_database(path: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore(f"{SQLITE}{path.resolve()}", str(path.resolve().parent / "mlartifacts"))
    store.engine.dispose()


def _log_batch(
    client: Any,
    run: str,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    tags: Mapping[str, str] | None = None,
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = _now()
    client.log_batch(
        run,
        metrics=[Metric(k, v, now, 0) for k, v in metrics.items() if np.isfinite(v)],
        params=[Param(k, str(v)) for k, v in params.items()],
        tags=[RunTag(k, v) for k, v in (tags or {}).items()],
    )


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {k: float(v) for k, v in values.items() if isinstance(v, int | float) and k != "seed"}


def _milliseconds(started_at: str) -> int | None:
    return round(1000 * datetime.fromisoformat(started_at).timestamp()) if started_at else None


def _now() -> int:
    return round(1000 * time.time())

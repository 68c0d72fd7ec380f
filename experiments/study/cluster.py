"""Jobs on a cluster through submitit: arrays, one look at the queue for all, taken up when left."""

from __future__ import annotations

import getpass
import logging
import pickle
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.datasets import DEBD
from experiments.study.config import ConfigError, JobConfig
from experiments.study.executors import ExecutorConfig
from experiments.study.job import Outcome
from experiments.study.ledger import Ledger, Submitted
from experiments.study.pool import Ended, Started

log = logging.getLogger(__name__)
ARRAY = 1000  # Slurm's usual MaxArraySize is 1001
PATIENCE = 20.0  # seconds that a result file may come after its job has left the queue
OVER = frozenset(
    {
        *("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "BOOT_FAIL"),
        *("DEADLINE", "OUT_OF_MEMORY", "PREEMPTED", "GONE"),
    }
)
Work = Callable[[JobConfig], Outcome]
Event = Started[JobConfig] | Ended[JobConfig, Outcome]


class JobLost(RuntimeError):
    """A job that left the queue without a result."""


@dataclass
class Watched:
    """A submitted job while it is waited for."""

    task: JobConfig
    entry: Submitted
    process: Any = None
    started: bool = False
    over_since: float | None = None


@dataclass
class Cluster:
    """Runs jobs through submitit.

    Arguments:
        config: the executor.
        workers: jobs at the same time on this machine (`submitit_local`).
        poll_seconds: time between two looks at the queue.
    """

    config: ExecutorConfig
    workers: int
    poll_seconds: float = 2.0
    watched: list[Watched] = field(default_factory=list)

    def check(self, folder: Path) -> None:
        """Raise a ConfigError if nothing can be submitted with these options."""
        try:
            for timed in (True, False):
                self._executor(folder, timed=timed)
        except (RuntimeError, ValueError, TypeError, NameError) as error:
            raise ConfigError(f"executor={self.config.kind}: {error}") from error

    def run(self, work: Work, tasks: Sequence[JobConfig]) -> Iterator[Event]:
        """Run `work` on each task; yields what happens as it is seen.

        Tasks that were finished or submitted by an earlier start are not submitted again. Closing
        the iterator leaves the jobs where they are.
        """
        waiting = []
        for task in tasks:
            event = self._from_before(task)
            if event is not None:
                yield event
            elif not self._take_up(task):
                waiting.append(task)
        while waiting or self.watched:
            waiting = self._submit(work, waiting)
            time.sleep(self.poll_seconds)
            yield from self._look()

    def _from_before(self, task: JobConfig) -> Event | None:
        row = Ledger.of(task).finished(task)
        return None if row is None else Ended(task, Outcome(row, skipped=True), None)

    def _take_up(self, task: JobConfig) -> bool:
        """Wait for a job that an earlier start submitted, if it is still there."""
        entry = Ledger.of(task).read(task)
        if entry is None or entry.fingerprint or entry.executor != self.config.kind:
            return False
        watched = Watched(task, entry)
        alive = self._states([watched]).get(entry.job_id, "GONE") not in OVER
        path = _result_path(entry)
        if alive or (path.is_file() and _read_result(task, path).result is not None):
            self.watched.append(watched)
            return True
        return False

    def _submit(self, work: Work, tasks: Sequence[JobConfig]) -> list[JobConfig]:
        """Submit as many tasks as there is room for; returns the others."""
        room = ARRAY if self.config.kind == "slurm" else self.workers - len(self.watched)
        now, later = list(tasks[: max(room, 0)]), list(tasks[max(room, 0) :])
        for timed in (True, False):
            chosen = [task for task in now if is_timed(task) == timed]
            if chosen:
                self._submit_array(work, chosen, timed=timed)
        return later

    def _submit_array(self, work: Work, tasks: Sequence[JobConfig], *, timed: bool) -> None:
        ledger = Ledger.of(tasks[0])
        # A folder of its own: the numbers of processes, and of a new cluster's jobs, come again.
        folder = ledger.store.folder / "submitit" / uuid.uuid4().hex[:8]
        jobs = self._executor(folder, timed=timed).map_array(work, tasks)
        for task, job in zip(tasks, jobs, strict=True):
            entry = Submitted(self.config.kind, job.job_id, str(folder.resolve()))
            ledger.write(task, entry)
            self.watched.append(Watched(task, entry, job))

    def _executor(self, folder: Path, *, timed: bool) -> Any:
        import submitit

        kind = submitit.SlurmExecutor if self.config.kind == "slurm" else submitit.LocalExecutor
        # A job that ran into its limit would do so again: it is not requeued.
        executor = kind(folder, max_num_timeout=0)
        executor.update_parameters(**self.config.submitit_options(timed=timed))
        return executor

    def _look(self) -> Iterator[Event]:
        """What has changed since the last look."""
        states = self._states(self.watched)
        for watched in list(self.watched):
            state = states.get(watched.entry.job_id, "GONE")
            ended = self._ended(watched, state)
            if not watched.started and (ended is not None or state == "RUNNING"):
                watched.started = True
                yield Started(watched.task)
            if ended is not None:
                self.watched.remove(watched)
                _note(ended, watched.entry)
                yield ended

    def _ended(self, watched: Watched, state: str) -> Ended[JobConfig, Outcome] | None:
        path = _result_path(watched.entry)
        if path.is_file():
            return _read_result(watched.task, path)
        if state not in OVER:
            watched.over_since = None
            return None
        now = time.monotonic()
        watched.over_since = watched.over_since or now
        if now - watched.over_since < PATIENCE:
            return None
        said = state.lower().replace("_", " ")
        error = JobLost(
            f"job {watched.entry.job_id} ended without a result ({said}): give the command again"
        )
        return Ended(watched.task, None, error)

    def _states(self, watched: Sequence[Watched]) -> Mapping[str, str]:
        if self.config.kind == "slurm":
            return _slurm_states(watched)
        return {w.entry.job_id: _process_state(w) for w in watched}


def is_timed(config: JobConfig) -> bool:
    """Whether a job measures latency (the binary benchmarks do not)."""
    return config.dataset.get("family") != DEBD


def _result_path(entry: Submitted) -> Path:
    return Path(entry.folder) / f"{entry.job_id}_0_result.pkl"


def _read_result(task: JobConfig, path: Path) -> Ended[JobConfig, Outcome]:
    """What a job left behind: its outcome, or the trace of the exception that ended it."""
    kind, value = pickle.loads(path.read_bytes())
    if kind == "success":
        return Ended(task, value, None)
    if "timed-out" in value:
        reason = "stopped by its time limit: raise executor.timeout_min, give the command again"
        return Ended(task, None, JobLost(reason))
    return Ended(task, None, RuntimeError(value.strip().splitlines()[-1]))


def _note(event: Ended[JobConfig, Outcome], entry: Submitted) -> None:
    """Keep in the ledger how a job ended."""
    ledger = Ledger.of(event.task)
    if event.result is None:
        ledger.drop(event.task)
    else:
        ledger.write(event.task, replace(entry, fingerprint=event.result.row.fingerprint))


def _slurm_states(watched: Sequence[Watched]) -> Mapping[str, str]:
    """The state of the user's jobs, by one call; a controller that does not answer changes nothing.

    `squeue` is there on every cluster; `sacct` knows nothing where accounting is off.
    """
    command = ["squeue", "--noheader", "--array", "--states=all", "--format=%i|%T"]
    asked = subprocess.run(
        [*command, "--user", getpass.getuser()], capture_output=True, text=True, check=False
    )
    if asked.returncode:
        log.warning("squeue failed, asking again: %s", asked.stderr.strip())
        return {w.entry.job_id: "UNKNOWN" for w in watched}
    pairs = (line.strip().partition("|") for line in asked.stdout.splitlines())
    return {job: state for job, _, state in pairs}


def _process_state(watched: Watched) -> str:
    """Whether the process of a `submitit_local` job lives."""
    if watched.process is not None:
        return "RUNNING" if watched.process.state == "RUNNING" else "GONE"
    try:
        command = Path("/proc", watched.entry.job_id, "cmdline").read_bytes()
    except OSError:
        return "GONE"
    return "RUNNING" if b"submitit" in command else "GONE"

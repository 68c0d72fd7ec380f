"""What a tracking store still has to be told about a job, in a file until it was told."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.records.rows import ResultRow, Store, is_disk_full, write_text
from experiments.records.tracking import Run, Tracker
from experiments.types import Trial

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """What a tracking store is told beside the row: the resolved settings and the trials."""

    fingerprint: str
    started_at: str
    config: dict[str, Any]
    trials: tuple[Trial, ...]


def write_entry(store: Store, entry: Entry) -> None:
    """Keep what is to be logged."""
    text = json.dumps(asdict(entry), default=str)
    write_text(text, store.unlogged(entry.fingerprint))


def read_entry(path: Path) -> Entry | None:
    """What is to be logged, or None if the file is gone or damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        trials = tuple(Trial(**trial) for trial in values.pop("trials"))
        return Entry(**values, trials=trials)
    except (OSError, ValueError, TypeError, KeyError):
        return None


class Recorder:
    """Records one job: the row first, then the tracking store.

    The results never depend on the store. When it fails, the job goes on without it, and what it
    missed stays in the journal until `experiments.records.sync` logs it.

    Arguments:
        tracker: where the job is logged.
        store: where its row is written.
        row: the job, before it has any results.
        config: its resolved settings.
        live: log while the job runs; else the journal is all that this process writes.
        trials: of a job that goes on after a break; its run is the one that `row` names.
    """

    def __init__(
        self,
        tracker: Tracker,
        store: Store,
        row: ResultRow,
        config: Mapping[str, Any],
        *,
        live: bool = True,
        trials: Sequence[Trial] | None = None,
    ) -> None:
        self.tracker, self.store, self.config = tracker, store, dict(config)
        self.trials: list[Trial] = list(trials or ())
        self._run: Run | None = Run()
        if live:
            self._tell(lambda _: self._open(row, again=trials is not None and bool(row.run_id)))
        else:
            self._run = None

    @property
    def run_id(self) -> str:
        """The run of this job; empty if the store was not told of it."""
        return self._run.id if self._run is not None else ""

    def trial(self, trial: Trial) -> None:
        """Log a setting of the grid as it ends."""
        self.trials.append(trial)
        self._tell(lambda run: run.trial(trial))

    def record(self, row: ResultRow, queries: pd.DataFrame | None) -> None:
        """Write the job's row, then log it."""
        if not self.tracker.logs:
            self.store.write(row, queries)
            return
        write_entry(
            self.store, Entry(row.fingerprint, row.started_at, self.config, tuple(self.trials))
        )
        self.store.write(row, queries)
        self._tell(lambda run: run.log(row, queries))
        self._tell(lambda run: run.close(row.run_status))
        if self._run is not None:
            self.store.unlogged(row.fingerprint).unlink(missing_ok=True)

    def suspend(self, row: ResultRow, queries: pd.DataFrame | None) -> None:
        """Write what is known of a job that goes on later; its run stays open until then."""
        self.store.write(row, queries)

    def abandon(self, status: str) -> None:
        """End the run of a job that is not recorded, as FAILED or KILLED."""
        self._tell(lambda run: run.close(status))

    def _open(self, row: ResultRow, *, again: bool) -> None:
        self._run = self.tracker.reopen(row) if again else self.tracker.start(row, self.config)

    def _tell(self, action: Callable[[Run], None]) -> None:
        """Tell the store; after its first failure it is not asked again in this job."""
        if self._run is None:
            return
        try:
            action(self._run)
        except Exception as error:
            if is_disk_full(error):
                raise
            self._run = None
            log.warning(
                "the tracking store failed (%s); results are kept in files, and the next start "
                "or `python -m experiments.sync` logs them",
                str(error).splitlines()[0] if str(error) else type(error).__name__,
            )

"""Bring a tracking store up to date: close the runs of killed jobs, log what it missed."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from experiments.records.journal import Entry, read_entry
from experiments.records.locks import locked_if_free
from experiments.records.rows import UNLOGGED, ResultRow, Store, is_disk_full
from experiments.records.tracking import Tracker

log = logging.getLogger(__name__)


def settle(tracker: Tracker) -> None:
    """`recover` and `sync`, saying what they did; a store that fails is asked again later."""
    try:
        killed, logged = tracker.recover(), sync(tracker)
    except Exception as error:
        if is_disk_full(error):
            raise
        log.warning("the tracking store is not up to date, the next start tries again: %s", error)
        return
    if killed:
        log.info("%d runs of killed jobs were closed; those jobs are run again", killed)
    if logged:
        log.info("%d jobs that the tracking store had missed were logged", logged)


def sync(tracker: Tracker) -> int:
    """Log every recorded job that the store has missed; returns how many there were."""
    runs = tracker.results_dir / "runs"
    paths = sorted(runs.glob(f"*/{UNLOGGED}/*.json")) if tracker.logs else []
    if not paths:
        return 0
    with locked_if_free(runs / ".sync.lock") as free:
        return sum(_log(tracker, path) for path in paths) if free else 0


def _log(tracker: Tracker, path: Path) -> bool:
    """Log the job of one journal entry, unless it is running again."""
    store = Store(path.parents[1])
    with locked_if_free(store.lock(path.stem)) as free:
        entry = read_entry(path) if free else None
        if entry is None:
            return False
        row = store.read(entry.fingerprint)
        owed = row is not None and row.started_at == entry.started_at
        if row is not None and owed and not tracker.has_finished(row.run_id):
            _log_whole(tracker, store, row, entry)
        path.unlink(missing_ok=True)
        return owed


def _log_whole(tracker: Tracker, store: Store, row: ResultRow, entry: Entry) -> None:
    """A new run with everything in it; the row then names that run."""
    run = tracker.start(row, entry.config)
    for trial in entry.trials:
        run.trial(trial)
    row = replace(row, run_id=run.id)
    run.log(row, store.read_queries(row.fingerprint))
    store.write(row)
    run.close(row.run_status)

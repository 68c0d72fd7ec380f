"""Who holds the machine, and what is said by whoever has to wait for it."""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from experiments.records.flocks import is_held, locked

log = logging.getLogger(__name__)
PATIENCE_SECONDS = 2.0
_numbers = itertools.count()


@contextmanager
def present(folder: Path, who: str, what: str) -> Iterator[None]:
    """Be named as one who uses the machine; a killed process is no longer named."""
    path = folder / "holders" / f"{os.getpid()}-{next(_numbers)}.lock"
    with locked(path):
        since = datetime.now().astimezone().strftime("%H:%M:%S")
        path.write_text(f"{who or 'a job'} {what} since {since} (process {os.getpid()})")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def holders(folder: Path) -> list[str]:
    """Who uses the machine now, in words."""
    found = []
    for path in sorted((folder / "holders").glob("*.lock")):
        if is_held(path):
            with suppress(FileNotFoundError):
                found.append(path.read_text())
        else:
            path.unlink(missing_ok=True)
    return [text for text in found if text]


@contextmanager
def patiently(folder: Path) -> Iterator[None]:
    """A block that may wait for the machine: after a while it says for whom."""

    def say() -> None:
        who = "; ".join(holders(folder)) or "another job that is about to start"
        log.warning("waiting for the machine: %s", who)

    timer = threading.Timer(PATIENCE_SECONDS, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

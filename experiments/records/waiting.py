"""Who holds the machine, and what is said by whoever has to wait for it."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from experiments.records.flocks import is_held, locked

log = logging.getLogger(__name__)
PATIENCE_SECONDS = 2.0
_numbers = itertools.count()


class Waited:
    """How long a process has waited for the machine, in memory that another process may read.

    Arguments:
        shared: seconds of the waits that are over; when the present one began, 0 if there is none.
    """

    def __init__(self, shared: MutableSequence[float] | None = None) -> None:
        self.shared: MutableSequence[float] = [0.0, 0.0] if shared is None else shared

    @property
    def seconds(self) -> float:
        """All waits, the present one included."""
        began = self.shared[1]
        return self.shared[0] + (time.monotonic() - began if began else 0.0)

    def reset(self) -> None:
        """Begin to count anew."""
        self.shared[0] = self.shared[1] = 0.0

    def begin(self) -> None:
        """A wait begins."""
        self.shared[1] = time.monotonic()

    def end(self) -> None:
        """A wait is over; a reader may count it twice for a moment, but never too little."""
        self.shared[0] += time.monotonic() - self.shared[1]
        self.shared[1] = 0.0


_waited = Waited()


def tell_waits(shared: MutableSequence[float]) -> None:
    """Count the waits of this process in `shared` from now on."""
    global _waited
    _waited = Waited(shared)


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
    waited = _waited
    waited.begin()
    try:
        yield
    finally:
        waited.end()
        timer.cancel()

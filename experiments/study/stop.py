"""What stops a job from outside: it is never taken for a failure of the job's model."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from experiments.records.rows import is_disk_full

# submitit tells a job by SIGUSR2 (or what SUBMITIT_PREEMPT_SIGNAL names) that its time is over.
SIGNALS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)
Handler = Callable[[int, Any], Any]


class JobStopped(BaseException):
    """The job was told to stop: no `except Exception` on the way may take it for its own."""


class Stop:
    """Whether a running job was told to stop, even if something swallowed the exception."""

    def __init__(self) -> None:
        self.reason: BaseException | None = None
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long the job has been running."""
        return time.perf_counter() - self._began

    def check(self) -> None:
        """Raise JobStopped if the job was told to stop at any time before."""
        if self.reason is not None:
            raise JobStopped(str(self.reason)) from self.reason


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Run a job that its launcher's signals can stop.

    Whatever a handler of the launcher raises inside the block travels as JobStopped, and leaves
    the block as the exception that it was, so that the launcher understands it.
    """
    stop = Stop()
    with _handlers(stop):
        try:
            yield stop
        except JobStopped as stopped:
            raise (stopped.__cause__ or stopped) from None


def stops_the_job(error: BaseException) -> bool:
    """Whether an error is not the model's: a full disk, or a launcher that ends the job."""
    from submitit.core.utils import UncompletedJobError

    found: BaseException | None = error
    while found is not None:
        if is_disk_full(found) or isinstance(found, UncompletedJobError):
            return True
        found = found.__cause__ or found.__context__
    return False


@contextmanager
def _handlers(stop: Stop) -> Iterator[None]:
    """Handlers of signals exist in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, _noting(handler, stop))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _noting(handler: Handler, stop: Stop) -> Handler:
    def noting(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            stop.reason = error
            raise JobStopped(str(error)) from error

    return noting

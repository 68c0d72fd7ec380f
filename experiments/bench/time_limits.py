"""Time limits of a run and of its parts."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(Exception):
    """A part is not measured, or not to its end."""


class Limits:
    """When to stop.

    Arguments:
        seconds: No part begins later than so long after the first one.
        part_seconds: A part is ended after so long, between two steps of Python.
    """

    def __init__(self, seconds: float, part_seconds: float) -> None:
        self._end, self._part_seconds = time.monotonic() + seconds, part_seconds
        self._seconds = seconds

    @contextmanager
    def of_a_part(self, is_done: bool) -> Iterator[None]:
        """Raise :class:`OutOfTime` where a part may not begin, or takes too long."""
        if is_done:
            yield
            return
        if time.monotonic() > self._end:
            raise OutOfTime(f"the run has taken its {self._seconds / 60:g} minutes")
        former = signal.signal(signal.SIGALRM, self._stop)
        signal.setitimer(signal.ITIMER_REAL, self._part_seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, former)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        raise OutOfTime(f"ended after {self._part_seconds / 60:g} minutes")

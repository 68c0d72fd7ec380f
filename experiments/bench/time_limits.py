"""Time limits of a run and of its parts."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType


class OutOfTime(Exception):
    """A part is not measured, or not to its end."""


class Limits:
    """When to stop.

    Arguments:
        seconds: No part begins later than so long after the first one.
        part_seconds: A part is ended after so long, between two steps of Python; 0 = never.

    The time that a part waits for the machine counts towards neither.
    """

    def __init__(self, seconds: float, part_seconds: float) -> None:
        self._end, self._part_seconds = time.monotonic() + seconds, part_seconds
        self._seconds = seconds

    @contextmanager
    def of_a_part(self, machine: AbstractContextManager[None]) -> Iterator[None]:
        """Raise :class:`OutOfTime` where a part may not begin, or takes too long.

        Arguments:
            machine: What the part has to hold, and may have to wait for.
        """
        asked = time.monotonic()
        if asked > self._end:
            raise OutOfTime(f"the run has taken its {self._seconds / 60:g} minutes")
        with machine:
            self._end += time.monotonic() - asked
            with self._alarm():
                yield

    @contextmanager
    def _alarm(self) -> Iterator[None]:
        former = signal.signal(signal.SIGALRM, self._stop)
        signal.setitimer(signal.ITIMER_REAL, self._part_seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, former)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        raise OutOfTime(f"ended after {self._part_seconds / 60:g} minutes")

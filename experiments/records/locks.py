"""The cores of a machine: jobs that train share them, a job that measures time has them alone."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.records.flocks import flock, is_held, locked, locked_if_free, open_lock
from experiments.records.waiting import patiently, present

__all__ = ["Machine", "Untimed", "is_held", "locked", "locked_if_free"]


@dataclass(frozen=True)
class Machine:
    """Who may use the cores of this machine: many jobs that train, or one that measures time.

    A job that trains or evaluates holds `floor` shared; a job that measures latency holds it
    alone. Everyone passes through `gate` first, and the one who wants to measure keeps it while
    waiting, so that new work cannot overtake it for ever.

    Arguments:
        folder: where the lock files live; one per user and machine by default.
        who: what others are told that they wait for.
    """

    folder: Path
    who: str = ""

    @classmethod
    def local(cls, who: str = "") -> Machine:
        """The lock of this machine, or of `FSPN_LOCK_DIR` where that is set."""
        default = Path(tempfile.gettempdir()) / f"fspn-machine-{os.getuid()}"
        return cls(Path(os.environ.get("FSPN_LOCK_DIR", default)), who)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Use a core beside others."""
        path = self.folder / "floor.lock"
        handle = open_lock(path)
        try:
            with patiently(self.folder), locked(self.folder / "gate.lock"):
                flock(handle, path, fcntl.LOCK_SH)
            with present(self.folder, self.who, "computes"):
                yield
        finally:
            os.close(handle)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Use the machine while no other job of this kind computes."""
        with ExitStack() as held:
            with patiently(self.folder):
                held.enter_context(locked(self.folder / "gate.lock"))
                held.enter_context(locked(self.folder / "floor.lock"))
            held.enter_context(present(self.folder, self.who, "measures times, alone,"))
            yield


class Untimed(Machine):
    """A machine for jobs that measure no latency: nobody has to wait for them."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing is timed, so there is nothing to keep away."""
        yield

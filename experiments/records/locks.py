"""Locks between processes; the kernel drops them when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock file `path`, waiting for it if need be."""
    handle = _open(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock file `path`."""
    if not path.exists():
        return False
    handle = _open(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@dataclass(frozen=True)
class Machine:
    """Who may use the cores of this machine: many jobs that train, or one that measures time.

    A job that trains or evaluates holds `floor` shared; a job that measures latency holds it
    alone. Everyone passes through `gate` first, and the one who wants to measure keeps it while
    waiting, so that new work cannot overtake it for ever.

    Arguments:
        folder: where the two lock files live; one per user and machine by default.
    """

    folder: Path

    @classmethod
    def local(cls) -> Machine:
        """The lock of this machine, or of `FSPN_LOCK_DIR` where that is set."""
        default = Path(tempfile.gettempdir()) / f"fspn-machine-{os.getuid()}"
        return cls(Path(os.environ.get("FSPN_LOCK_DIR", default)))

    @contextmanager
    def working(self) -> Iterator[None]:
        """Use a core beside others."""
        handle = _open(self.folder / "floor.lock")
        try:
            with locked(self.folder / "gate.lock"):
                fcntl.flock(handle, fcntl.LOCK_SH)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Use the machine while no other job of this kind computes."""
        with locked(self.folder / "gate.lock"), locked(self.folder / "floor.lock"):
            yield


class Untimed(Machine):
    """A machine for jobs that measure no latency: nobody has to wait for them."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing is timed, so there is nothing to keep away."""
        yield


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

"""Locks between processes; the kernel drops them when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.records.file_systems import clear_lock_errors


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock file `path`, waiting for it if need be."""
    handle = _open(path)
    try:
        _flock(handle, path, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock file `path` if nobody else does; gives whether that is so."""
    handle = _open(path)
    try:
        try:
            _flock(handle, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock file `path`."""
    if not path.exists():
        return False
    with locked_if_free(path) as free:
        return not free


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
        path = self.folder / "floor.lock"
        handle = _open(path)
        try:
            with locked(self.folder / "gate.lock"):
                _flock(handle, path, fcntl.LOCK_SH)
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


def _flock(handle: int, path: Path, how: int) -> None:
    with clear_lock_errors(path):
        fcntl.flock(handle, how)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

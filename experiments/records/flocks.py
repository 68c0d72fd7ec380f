"""Locks between processes; the kernel drops them when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.records.file_systems import clear_lock_errors


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock file `path`, waiting for it if need be."""
    handle = open_lock(path)
    try:
        flock(handle, path, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock file `path` if nobody else does; gives whether that is so."""
    handle = open_lock(path)
    try:
        try:
            flock(handle, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


def flock(handle: int, path: Path, how: int) -> None:
    """Take a lock on an open lock file."""
    with clear_lock_errors(path):
        fcntl.flock(handle, how)


def open_lock(path: Path) -> int:
    """Open a lock file, made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

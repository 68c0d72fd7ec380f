"""The first minute of an installation: kernels are compiled in a second process.

Compiling the kernels takes about a minute, once per installation; from then on numba's cache has
them. Until then a second process compiles them (``python -m fspn.warm``), and elimination in numpy
(:mod:`fspn.model.eliminate`) answers. ``FSPN_KERNELS=wait`` in the environment (:mod:`fspn.jit`)
switches this off: the first call then compiles what it needs and waits.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any

import numba
import numpy as np

from fspn.engine.limits import TooWide
from fspn.jit import MODE, is_cached, mode, warn_of_compiling
from fspn.schema.events import Events

CHUNK = 8
PATIENCE = 3.0
CHECK_EVERY = 0.2

Call = tuple[Any, Sequence[Any]]
"""A kernel and arguments of the types that it will be called with."""


class Compilation:
    """A process that compiles all kernels into numba's cache; started when first asked for."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._failed = False

    def is_running(self) -> bool:
        """Whether kernels are being compiled; starts the process where there was none."""
        if self._process is None and not self._failed:
            try:
                self._process = _start()
            except OSError:
                self._failed = True
        return self._process is not None and self._process.poll() is None

    def wait(self) -> None:
        """Wait until it has ended."""
        if self.is_running() and self._process is not None:
            self._process.wait()


COMPILATION = Compilation()


def _start() -> subprocess.Popen[bytes]:
    """Start it detached, so that it outlives a short script and the next one finds the kernels."""
    environment = {
        **os.environ,
        MODE: "wait",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    if numba.config.CACHE_DIR:
        environment["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR
    return subprocess.Popen(
        [sys.executable, "-m", "fspn.warm"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


class Readiness:
    """Whether the kernels behind some calls can be called without a long wait."""

    def __init__(self, calls: Callable[[], Iterable[Call]]):
        self._calls = calls
        self._next = 0.0

    def check(self) -> bool:
        """Whether they can; if not, this starts their compilation."""
        if mode() == "wait":
            return True
        if monotonic() < self._next:
            return False
        if self._cached():
            return True
        self._next = monotonic() + CHECK_EVERY
        if COMPILATION.is_running():
            return False
        if not self._cached():
            warn_of_compiling("the kernels could not be compiled beside this process: it does so")
        return True

    def _cached(self) -> bool:
        return all(is_cached(kernel, arguments) for kernel, arguments in self._calls())


def answer_meanwhile(
    events: Events,
    slowly: Callable[[Events], np.ndarray],
    fast: Callable[[Events], np.ndarray],
    is_ready: Callable[[], bool],
) -> np.ndarray:
    """The answers to a batch, a few at a time by the slow path until the fast one is ready."""
    parts: list[np.ndarray] = []
    place, begin, told = 0, monotonic(), False
    try:
        while place < events.n and not is_ready():
            rows = np.arange(place, min(place + CHUNK, events.n))
            parts.append(slowly(events.take(rows)))
            place += len(rows)
            if not told and monotonic() - begin > PATIENCE:
                warn_of_compiling("answers come slowly until the kernels are compiled")
                told = True
    except (TooWide, RecursionError):
        warn_of_compiling("this answer needs the compiled kernels and waits for them")
        COMPILATION.wait()
    if place < events.n:
        parts.append(fast(events.take(np.arange(place, events.n))))
    return np.concatenate(parts) if parts else np.empty(0)

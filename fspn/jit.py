"""How calls behave while numba functions are not compiled yet.

Imports nothing of this package. ``FSPN_KERNELS`` in the environment says how a first call behaves:
``background`` (the default) answers at once by plain Python where that is quick enough, ``wait``
compiles first, as benchmarks and tests must.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numba
from numba.core import event

MODE = "FSPN_KERNELS"
MODES = ("background", "wait")
PATIENCE = 0.1
SILENCE = 1.0
"""Seconds that this process compiles before it says so."""


class KernelsCompile(UserWarning):
    """A call takes longer because kernels are being compiled."""


def warn_of_compiling(what: str) -> None:
    """Say why a call takes so long, and what helps."""
    warnings.warn(
        f"{what} (about a minute, once per installation; `python -m fspn.warm` does it beforehand)",
        KernelsCompile,
        stacklevel=3,
    )


class Announcer(event.Listener):
    """Warns once that this process is compiling, after :data:`SILENCE` seconds.

    Not with ``FSPN_KERNELS=wait``, where the wait was asked for.
    """

    def __init__(self) -> None:
        self._depth, self._begin, self._spent, self._told = 0, 0.0, 0.0, False

    def on_start(self, event: Any) -> None:
        """A function is compiled, perhaps one that another calls."""
        if self._depth == 0:
            self._begin = perf_counter()
        self._depth += 1
        spent = self._spent + perf_counter() - self._begin
        if not self._told and spent > SILENCE and os.environ.get(MODE) != "wait":
            self._told = True
            warn_of_compiling("kernels are being compiled before this call goes on")

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += perf_counter() - self._begin


event.register("numba:compile", Announcer())


def mode() -> str:
    """What to do about kernels that are not compiled."""
    chosen = os.environ.get(MODE, MODES[0])
    if chosen not in MODES:
        raise ValueError(f"{MODE}={chosen!r} in the environment: must be one of {MODES}")
    return chosen


def is_cached(kernel: Any, arguments: Sequence[Any]) -> bool:
    """Whether a kernel is compiled for such arguments, in this process or in numba's cache."""
    if not hasattr(kernel, "overloads"):
        return True
    signature = tuple(numba.typeof(argument) for argument in arguments)
    if signature in kernel.overloads:
        return True
    cache = kernel._cache
    if not hasattr(cache, "_cache_file"):
        return False
    key = cache._index_key(signature, kernel.targetctx.codegen())
    return key in cache._cache_file._load_index()


class Patient:
    """A numba function that runs as Python until that has taken as long as compiling would.

    Small tables are then learned without a compiler. Only for functions that call no other numba
    function: those would be compiled.
    """

    def __init__(self, kernel: Any):
        self.kernel = kernel
        self._left = PATIENCE
        self._call: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._call is not None:
            return self._call(*arguments)
        if self._left <= 0.0 or mode() == "wait" or is_cached(self.kernel, arguments):
            self._call = self.kernel
            return self.kernel(*arguments)
        begin = perf_counter()
        answer = self.kernel.py_func(*arguments)
        self._left -= perf_counter() - begin
        return answer


def patient(kernel: Any) -> Any:
    """The function as a :class:`Patient`; unchanged where numba is switched off."""
    return Patient(kernel) if hasattr(kernel, "py_func") else kernel

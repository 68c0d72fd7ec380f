"""Numba's cache, made to notice changes of any file with kernels.

Numba caches the machine code of a function until its own source file changes. The machine code also
contains what the function calls, which may be defined in other files: after a change of one of
those, stale code would read a model that is laid out differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any


@cache
def stamp_of_kernels() -> str:
    """A digest of all files of this package that hold kernels, or what kernels read by name."""
    return digest(kernel_files())


def kernel_files() -> list[Path]:
    """The files that machine code depends on."""
    here = Path(__file__).parent
    others = ("compile_messages", "elimination", "pools", "program", "region_program", "workspace")
    return [*here.glob("*kernels.py"), *(here / f"{name}.py" for name in others)]


def digest(files: Iterable[Path]) -> str:
    """A digest of the contents of files."""
    found = sha256()
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()


def stamped(function: Any, stamp: str) -> Any:
    """A function of numba whose cached code is valid for one stamp only.

    It extends numba's own stamp of the source file. Functions that are not compiled or not cached
    are left as they are.
    """
    index: Any = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, stamp)
    return function

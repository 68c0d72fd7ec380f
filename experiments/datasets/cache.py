"""Named arrays in one checked file that many processes may ask for at once."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
from filelock import FileLock

log = logging.getLogger(__name__)

CHECKSUM = "checksum"
Arrays = dict[str, np.ndarray]


class DamagedFileError(Exception):
    """A cache file that cannot be read or does not match its checksum."""


def cached(path: Path, build: Callable[[], Arrays]) -> Arrays:
    """The arrays in `path`; built and written, by one process only, if absent or damaged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if path.exists():
            try:
                return read(path)
            except DamagedFileError as damage:
                log.warning("%s: building it again", damage)
        arrays = build()
        write(path, arrays)
        return arrays


def write(path: Path, arrays: Arrays) -> None:
    """Writes beside the file and renames, so that a reader never sees half of it."""
    checksum = np.array(_checksum(arrays))
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            np.savez_compressed(file, allow_pickle=False, **(arrays | {CHECKSUM: checksum}))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read(path: Path) -> Arrays:
    """Reads and verifies the arrays; anything wrong is a `DamagedFileError`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:
        raise DamagedFileError(f"cache file {path} is unreadable ({error})") from error
    if CHECKSUM not in arrays or str(arrays.pop(CHECKSUM)) != _checksum(arrays):
        raise DamagedFileError(f"cache file {path} does not match its checksum")
    return arrays


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        if name != CHECKSUM:
            array = np.ascontiguousarray(arrays[name])
            digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()

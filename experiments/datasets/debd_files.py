"""Files of the 20 binary benchmarks: found in a folder or fetched, and always verified.

What is verified is the public text file. A table from an npz is written out as that text first, so
that one list of checksums serves both formats, whoever made the npz.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
from filelock import FileLock

SPLITS = ("train", "valid", "test")
COMMA, NEWLINE, ZERO, ONE = b",\n01"
SECONDS = 30

Splits = dict[str, np.ndarray]


class BenchmarkError(ValueError):
    """Files that are not there or are not what they should be; says where to put them."""


@cache
def checksums() -> Mapping[str, str]:
    """SHA-256 of each public text file, by its name `<name>/<name>.<split>.data`."""
    text = (resources.files("experiments.datasets") / "debd.sha256").read_text(encoding="utf-8")
    return {name: digest for digest, name in map(str.split, text.splitlines())}


def read_splits(name: str, folder: Path, url: str | None, cache_dir: Path) -> Splits:
    """The three splits of a benchmark as uint8 tables of 0 and 1.

    Arguments:
        name: a benchmark, e.g. `nltcs`.
        folder: looked at first: `<name>.npz`, then `<name>/<name>.<split>.data`.
        url: where the text files are fetched from if the folder has neither; None = nowhere.
        cache_dir: where fetched files are kept.
    """
    known = checksums()
    packed = folder / f"{name}.npz"
    if packed.is_file():
        return _read_npz(packed, name, known)
    files = [file_name(name, split) for split in SPLITS]
    if any((folder / file).is_file() for file in files):
        contents = [_read_file(folder / file) for file in files]
        where = [str(folder / file) for file in files]
    else:
        contents = [_fetch(file, folder, url, cache_dir, known[file]) for file in files]
        where = [f"{url}/{file}" for file in files]
    for content, file, origin in zip(contents, files, where, strict=True):
        _verify(content, known[file], origin)
    tables = [parse(c, origin) for c, origin in zip(contents, where, strict=True)]
    return dict(zip(SPLITS, tables, strict=True))


def file_name(name: str, split: str) -> str:
    """Path of a text file within the collection.

    >>> file_name("nltcs", "valid")
    'nltcs/nltcs.valid.data'
    """
    return f"{name}/{name}.{split}.data"


def parse(content: bytes, origin: str) -> np.ndarray:
    r"""The table in a text of comma separated 0 and 1.

    >>> parse(b"0,1\n1,1\n", "here").tolist()
    [[0, 1], [1, 1]]
    """
    lines = content.split(maxsplit=1)
    width = len(lines[0]) + 1 if lines else 0
    signs = np.frombuffer(content, dtype=np.uint8)
    if width < 2 or len(signs) % width or format_text(_cells(signs, width)) != content:
        raise BenchmarkError(f"{origin} is no table of comma separated 0 and 1")
    return _cells(signs, width)


def format_text(table: np.ndarray) -> bytes:
    """A table of 0 and 1 as the public collection writes it."""
    signs = np.full((len(table), 2 * table.shape[1]), COMMA, dtype=np.uint8)
    signs[:, 0::2] = table + ZERO
    signs[:, -1] = NEWLINE
    return signs.tobytes()


def _cells(signs: np.ndarray, width: int) -> np.ndarray:
    return (signs.reshape(-1, width)[:, ::2] == ONE).astype(np.uint8)


def _read_npz(path: Path, name: str, known: Mapping[str, str]) -> Splits:
    try:
        with np.load(path, allow_pickle=False) as file:
            tables = {split: file[split] for split in SPLITS}
    except KeyError as error:
        raise BenchmarkError(f"{path} must hold the arrays {SPLITS}: {error}") from error
    except Exception as error:
        raise BenchmarkError(f"{path} is no npz file that can be read: {error}") from error
    for split, table in tables.items():
        if table.ndim != 2 or table.dtype != np.uint8 or (table > 1).any():
            raise BenchmarkError(f"{path}, {split}: must be a two-dimensional uint8 table of 0, 1")
        _verify(format_text(table), known[file_name(name, split)], f"{path}, {split}")
    return tables


def _read_file(path: Path) -> bytes:
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing: put it beside the other two splits")
    return path.read_bytes()


def _verify(content: bytes, digest: str, origin: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise BenchmarkError(
            f"{origin} does not match its checksum (SHA-256 {found[:12]}..., not "
            f"{digest[:12]}...): remove it, or replace it by the public file"
        )


def _fetch(file: str, folder: Path, url: str | None, cache_dir: Path, digest: str) -> bytes:
    """A text file from the cache or the network; many processes may ask at once."""
    name = file.partition("/")[0]
    put = (
        f"put {name}.npz (arrays train, valid, test) or the text files {file_name(name, '*')} "
        f"into {folder} (dataset.folder, or the variable FSPN_DEBD_DIR)"
    )
    if url is None:
        raise BenchmarkError(f"there is no {file}, and dataset.url is null: {put}")
    path = cache_dir / "debd" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        try:
            _download(f"{url}/{file}", path, digest)
        except Exception as error:
            raise BenchmarkError(f"{url}/{file} could not be fetched ({error}): {put}") from error
        return path.read_bytes()


def _download(address: str, path: Path, digest: str) -> None:
    """Fetch a file unless it is there with the right checksum; a wrong one is not kept."""
    import pooch

    pooch.retrieve(
        address,
        known_hash=f"sha256:{digest}",
        fname=path.name,
        path=path.parent,
        downloader=pooch.HTTPDownloader(timeout=SECONDS),
    )

"""Files that are cut short, altered, foreign or forged are refused, and take no memory for it."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fspn.io.container import DIGEST_BYTES, HEAD, MAGIC, ModelFileError, pack, unpack
from fspn.io.model_file import load_model, save_model
from fspn.model.cpt.backoff import CountLevel
from fspn.model.cpt.compact import base_of_counts
from tests.fspn.io.models import everything, learned


def test_every_truncation_is_an_error(saved: Path) -> None:
    content = saved.read_bytes()
    for length in [*range(0, len(content), 37), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"not an FSPN model|truncated"):
            load_model(saved)


def test_every_altered_byte_is_an_error(saved: Path) -> None:
    content = saved.read_bytes()
    for place in [*range(0, len(content), 29), len(content) - 1]:
        altered = bytearray(content)
        altered[place] ^= 0x10
        saved.write_bytes(altered)
        with pytest.raises(ModelFileError, match=r"not an FSPN model|altered|version"):
            load_model(saved)


class _Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\x89PNG\r\n\x1a\n" + bytes(200), pickle.dumps(_Bomb()), bytes(500)],
    ids=["empty", "text", "png", "pickle", "zeros"],
)
def test_foreign_files_are_refused_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ModelFileError, match="not an FSPN model file"):
        load_model(tmp_path / "f")
    assert not (tmp_path / "exploded").exists()


def test_a_newer_format_says_so(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    HEAD.pack_into(content, 0, MAGIC, 99, 10)
    saved.write_bytes(_signed(bytes(content[:-DIGEST_BYTES])))
    with pytest.raises(ModelFileError, match="format version 99"):
        load_model(saved)


def _signed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


def _forge(path: Path, change: Any) -> None:
    """Rewrite a file with changed contents and a right checksum, as an attacker would."""
    header, arrays = unpack(path.read_bytes(), "it")
    header.pop("arrays")
    change(header, arrays)
    path.write_bytes(pack(header, arrays))


def _swap(nodes: list[Any], kind: str, place: int, value: Any) -> None:
    next(node for node in nodes if node[0] == kind)[place] = value


FORGERIES = {
    "unknown family": lambda h, a: _swap(h["nodes"], "leaf", 2, ["os.system", [["p", 0]]]),
    "index beyond": lambda h, a: _swap(h["nodes"], "leaf", 2, ["categorical", [["p", 999]]]),
    "negative index": lambda h, a: _swap(h["nodes"], "leaf", 2, ["categorical", [["p", -1]]]),
    "wrong state": lambda h, a: _swap(h["nodes"], "leaf", 2, ["categorical", [["q", 0]]]),
    "too many children": lambda h, a: _swap(h["nodes"], "product", 1, 1000),
    "lost children": lambda h, a: _swap(h["nodes"], "product", 1, 1),
    "no such variable": lambda h, a: _swap(h["nodes"], "leaf", 1, 17),
    "unknown node": lambda h, a: h["nodes"].insert(0, ["eval", "1"]),
    "no nodes": lambda h, a: h["nodes"].clear(),
    "no header": lambda h, a: h.pop("domain"),
    "unsorted domain": lambda h, a: a[h["domain"][0][2]].__setitem__(0, 99),
    "rows out of bounds": lambda h, a: [x.__setitem__(0, 77) for x in a if x.ndim == 2],
    "weights": lambda h, a: a.__setitem__(
        next(n[2] for n in h["nodes"] if n[0] == "sum"), np.array([2.0, -1.0])
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_contents_are_refused(saved: Path, name: str) -> None:
    _forge(saved, FORGERIES[name])
    with pytest.raises(ModelFileError, match=r"damaged|no proper model"):
        load_model(saved)


@pytest.mark.parametrize(
    "described",
    [["|O8", [1]], ["<f8", [10**9]], ["<f8", [-1]], ["<f8", [True]], ["<f8", [1] * 40], ["<f8"]],
)
def test_forged_arrays_are_refused(described: list[Any]) -> None:
    import zlib

    text = json.dumps({"arrays": [described]}).encode()
    body = len(text).to_bytes(8, "little") + text + bytes(8)
    content = HEAD.pack(MAGIC, 1, len(body)) + zlib.compress(body)
    with pytest.raises(ModelFileError, match="damaged"):
        unpack(_signed(content), "it")


def test_a_claim_of_endless_contents_is_refused() -> None:
    content = HEAD.pack(MAGIC, 1, 2**50) + bytes(100)
    with pytest.raises(ModelFileError, match="cannot be as long"):
        unpack(_signed(content), "it")


def _counted(header: Any) -> list[Any]:
    """The first table of a header whose levels are stored in few numbers."""
    tables = (node[3] for node in header["nodes"] if node[0] == "table")
    found: list[Any] = next(cpt for cpt in tables if cpt[2][0][0] == "fewer parents")
    return found


def _levels(header: Any) -> list[Any]:
    levels: list[Any] = _counted(header)[2]
    return levels


def _one_count(header: Any, arrays: list[np.ndarray], code: int) -> None:
    """A table of a single level with a single count, stored as it is."""
    state = {"sizes": [], "keys": [0], "start": [0, 1], "codes": [code], "counts": [1]}
    record = [["alpha", len(arrays)]]
    arrays.append(np.ones(1))
    for name, values in state.items():
        record.append([name, len(arrays)])
        arrays.append(np.array(values, dtype=np.int64))
    _counted(header)[2] = [["counts", record]]


FORGED_LEVELS = {
    "nothing above": lambda h, a: _levels(h).__setitem__(-1, ["fewer parents", 1.0]),
    "no counts above": lambda h, a: _levels(h).__setitem__(-1, ["offset", []]),
    "negative smoothing": lambda h, a: _levels(h).__setitem__(0, ["fewer parents", -1.0]),
    "cells outside": lambda h, a: a[_levels(h)[-1][1][1][1]].__setitem__(-1, 2**50),
    "cells out of order": lambda h, a: a.__setitem__(
        _levels(h)[-1][1][1][1], a[_levels(h)[-1][1][1][1]][::-1].copy()
    ),
    "lost counts": lambda h, a: a.__setitem__(_levels(h)[-1][1][2][1], np.array([3])),
    "size beyond the domain": lambda h, a: _counted(h)[1].__setitem__(0, 10**6),
    "code beyond the domain": lambda h, a: _one_count(h, a, 10**6),
}


@pytest.mark.parametrize("name", FORGED_LEVELS)
def test_forged_levels_are_refused(tmp_path: Path, name: str) -> None:
    learned()[0].save(tmp_path / "m.fspn")
    _forge(tmp_path / "m.fspn", FORGED_LEVELS[name])
    with pytest.raises(ModelFileError, match=r"damaged|no proper model"):
        load_model(tmp_path / "m.fspn")


@pytest.mark.parametrize("name", ["size beyond the domain", "code beyond the domain"])
def test_what_a_file_states_is_checked_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked = []

    def base(top: CountLevel, size: int, pseudo_count: float) -> np.ndarray:
        asked.append(max(size, int(top.codes.max()) + 1))
        return base_of_counts(top, size, pseudo_count)

    learned()[0].save(tmp_path / "m.fspn")
    _forge(tmp_path / "m.fspn", FORGED_LEVELS[name])
    monkeypatch.setattr("fspn.io.model_file.base_of_counts", base)
    with pytest.raises(ModelFileError, match=r"1000000 codes|codes beyond"):
        load_model(tmp_path / "m.fspn")
    assert max(asked, default=0) < 10**6


def test_a_file_that_needs_all_memory_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    save_model(tmp_path / "m", *everything(), {})
    monkeypatch.setattr("fspn.io.model_file.validate", full)
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(("version", "most"), [(2, 1100), (3, 8000)])
def test_no_file_claims_more_than_its_compression_allows(version: int, most: int) -> None:
    packed = bytes(100)
    for length, message in ((100 * most + 1, "as long as"), (100 * most, "decompressed|stated")):
        content = HEAD.pack(MAGIC, version, length) + packed
        with pytest.raises(ModelFileError, match=message):
            unpack(_signed(content), "it")

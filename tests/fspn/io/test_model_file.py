"""Files: an exact round trip, the same bytes for the same model, and nothing but models read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import appendix_b as paper_example
from fspn import FSPN
from fspn.io.container import DIGEST_BYTES, HEAD, MAGIC, ModelFileError, pack, unpack
from fspn.io.model_file import load_model, save_model
from fspn.model.cpt.backoff import BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.compact import base_of_counts
from fspn.model.cpt.full import FullTable
from fspn.model.infer import log_probability
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture, Histogram
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    walk,
)
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import Codes, Interval, Span
from fspn.validate import ModelError
from tests.random_models import ModelMaker, point_events

CELLS = Cells(
    np.array([-np.inf, -1.0, 0.0, 0.0, 1.0]),
    np.array([-1.0, 0.0, 0.0, 1.0, np.inf]),
    np.array([0.1, 5.0, 40.0, 7.0, 0.1]),
    np.array([0, 2, 3]),
)
GAUSS = GaussianMixture(np.array([0.25, 0.75]), np.array([-1.0, 2.0]), np.array([0.5, 3.0]))


def labels(*values: Any) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def everything() -> tuple[Domain, Node]:
    """A model with every node type, every leaf family and every kind of value."""
    domain = Domain(
        (
            Variable("whole", "ordered", np.array([-3, 0, 2**40])),
            Variable(("a", 1), "ordered", np.array([0.5, 1.5, 2.5])),
            Variable(7, "unordered", labels("é", "z", "\ud800")),
            Variable("mixed", "unordered", labels(False, True, 3, 0.25, "x")),
            Variable("binned", "continuous", cells=CELLS),
            Variable("real", "continuous"),
            Variable("bars", "continuous"),
        )
    )
    bars = Histogram(np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.5]), _one(2.0), 0.01)
    level = CountLevel(
        (3,),
        np.array([0, 2], dtype=np.uint8),
        np.array([0, 2, 3], dtype=np.int32),
        np.array([0, 2, 1], dtype=np.uint8),
        np.array([9, 1, 300], dtype=np.uint16),
        0.7,
    )
    law = LinearLaw(
        (np.array([-3, 0, 2**40]),),
        np.array([0, 1, 2]),
        np.array([1]),
        np.array([0, 1]),
        np.array([0.5, 0.5]),
        0.125,
    )
    node: Node = Product((UniLeaf(0, Categorical(np.array([0.2, 0.3, 0.5]))), _reals(bars)))
    node = Factorize(node, TableSplit(1, (0,), BackoffTable(np.full(3, 1 / 3), (law, level))))
    table = FullTable.from_probabilities(np.array([[0.0, 0.5, 0.5], [1, 0, 0], [0.2, 0.2, 0.6]]))
    node = Factorize(node, TableSplit(2, (1,), table))
    return domain, Factorize(node, _groups())


def _one(scale: float) -> GaussianMixture:
    return GaussianMixture(np.ones(1), np.zeros(1), np.array([scale]))


def _reals(bars: Histogram) -> Node:
    other = Product((UniLeaf(5, _one(2.0)), UniLeaf(6, bars)))
    return Sum(np.array([0.4, 0.6]), (other, Product((UniLeaf(5, GAUSS), UniLeaf(6, bars)))))


def _groups() -> Node:
    five, three = Categorical(np.full(5, 0.2)), Categorical(np.array([0.1, 0.2, 0.7]))
    rows = np.array([[0, 2], [4, 1]], dtype=np.uint8)
    joint = SparseJoint(rows, np.array([0.5, 0.5]), (five, three), 0.25)
    nested = Nested(Sum(np.array([0.5, 0.5]), (_pair(five, three), _pair(five, three))))
    deeper = Split(
        ({5: Interval(-np.inf, 0.5)}, {5: Interval(0.5, np.inf)}),
        (MultiLeaf((3, 4), joint), MultiLeaf((3, 4), Independent((five, three)))),
    )
    regions = ({2: Codes(frozenset([0, 2])), 1: Span(0, 2)}, {2: Codes(frozenset([1]))})
    return Split(regions, (MultiLeaf((3, 4), nested), deeper))


def _pair(five: Categorical, three: Categorical) -> Node:
    return Product((UniLeaf(3, five), UniLeaf(4, three)))


def same(first: Any, second: Any) -> bool:
    """Equal in type and content, through dataclasses, containers and arrays."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if hasattr(first, "__dataclass_fields__"):
        names = [name for name in first.__dataclass_fields__ if name != "left_out"]
        return all(same(getattr(first, n), getattr(second, n)) for n in names)
    return bool(first == second)


def test_round_trip_is_exact(tmp_path: Path) -> None:
    domain, root = everything()
    params = {"tau": 0.1 + 0.2, "top": float("inf"), "n": None, "on": True, "t": (1, ("a",))}
    save_model(tmp_path / "m.fspn", domain, root, params)
    loaded_domain, loaded_root, loaded_params = load_model(tmp_path / "m.fspn")
    assert same(loaded_domain.variables, domain.variables)
    assert same(loaded_root, root)
    assert same(loaded_params, params)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    domain, root = everything()
    save_model(tmp_path / "a", domain, root, {"x": 1})
    save_model(tmp_path / "b", *everything(), {"x": 1})
    save_model(tmp_path / "c", *load_model(tmp_path / "a"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_round_trip_of_random_models(tmp_path_factory: Any, seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    root, path = maker.model(), tmp_path_factory.mktemp("m") / "m.fspn"
    save_model(path, maker.domain(), root, {})
    _, loaded, _ = load_model(path)
    assert same(loaded, root)


def test_estimators_save_and_load(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 400)
    table = pd.DataFrame({"a": a, "b": a + rng.integers(0, 2, 400), "c": rng.normal(size=400)})
    table["d"] = rng.choice(["u", "v"], 400)
    for preset in ("default", "paper"):
        model = FSPN(preset=preset, random_state=0).fit(table)
        model.save(tmp_path / preset)
        loaded = FSPN.load(tmp_path / preset)
        assert np.array_equal(loaded.score_samples(table), model.score_samples(table))
        assert loaded.get_params() == model.get_params()
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / preset).read_bytes()


def test_parameters_of_numpy_types_and_kinds_are_kept(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [0, 1] * 40, "b": [0, 1, 2, 3] * 20})
    params = {"tau_low": np.float64(0.25), "min_rows": np.int64(30), "offsets": np.bool_(False)}
    params["tau_high"] = np.float32(0.5)
    FSPN(**params, kinds={"a": "unordered"}).fit(table).save(tmp_path / "model.fspn")
    loaded = FSPN.load(tmp_path / "model.fspn").get_params()
    assert {name: loaded[name] for name in params} == params
    assert loaded["kinds"] == {"a": "unordered"}


def test_a_saved_file_is_compact(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(2000))
    domain = Domain((Variable("a", "ordered", np.arange(2000)),))
    save_model(tmp_path / "m", domain, UniLeaf(0, Categorical(p)), {})
    assert (tmp_path / "m").stat().st_size < p.nbytes * 1.25


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.fspn"
    save_model(path, paper_example.domain(), paper_example.root(), {})
    return path


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


def test_a_full_disk_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*No space left.*unchanged") as caught:
        save_model(saved, *everything(), {})
    assert caught.value.errno == errno.ENOSPC
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot write .*nowhere"):
        save_model(tmp_path / "nowhere" / "m", *everything(), {})
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nowhere" / "m")


def test_links_and_permissions_are_kept(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save_model(tmp_path / "link", *everything(), {})
    assert (tmp_path / "link").is_symlink()
    load_model(tmp_path / "real")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o666 & ~mask


def test_what_cannot_be_stored_is_named(tmp_path: Path) -> None:
    domain, root = everything()
    odd = replace(domain[3], values=labels(1, 2, 3, 4, pd.Period("2020-01")))
    strange = Domain((*domain.variables[:3], odd, *domain.variables[4:]))
    with pytest.raises(ModelFileError, match="column 'mixed': Period"):
        save_model(tmp_path / "m", strange, root, {})
    with pytest.raises(ModelFileError, match="parameter 'oracle'"):
        save_model(tmp_path / "m", domain, root, {"oracle": object()})
    with pytest.raises(ModelError, match="not modelled"):
        save_model(tmp_path / "m", domain, UniLeaf(0, Categorical(np.full(3, 1 / 3))), {})
    assert list(tmp_path.iterdir()) == []


def test_loaded_models_answer_the_same(tmp_path: Path) -> None:
    maker = ModelMaker(11, 5)
    root = maker.model()
    save_model(tmp_path / "m", maker.domain(), root, {})
    _, loaded, _ = load_model(tmp_path / "m")
    points = np.column_stack([maker.rng.integers(0, size, 50) for size in maker.sizes])
    events = point_events(points)
    assert np.array_equal(log_probability(loaded, events), log_probability(root, events))


def learned() -> tuple[FSPN, pd.DataFrame]:
    """A model with several levels of counts, tilts, cells and missing labels."""
    rng = np.random.default_rng(4)
    n = 4000
    a, e = rng.integers(0, 4, n), rng.integers(0, 3, n)
    b = (a + rng.integers(0, 2, n)) % 5
    c = np.where(rng.random(n) < 0.9, (a * b + e) % 6, rng.integers(0, 6, n))
    label = np.array(list("pqrs"), dtype=object)[(c * a + rng.integers(0, 2, n)) % 4]
    label[rng.random(n) < 0.1] = None
    x = np.where(rng.random(n) < 0.3, 0.0, rng.normal(c, 1.0))
    table = pd.DataFrame({"a": a, "b": b, "c": c, "e": e, "label": label, "x": x})
    return FSPN(offsets=False, random_state=0).fit(table), table


def test_a_learned_model_comes_back_to_the_bit(tmp_path: Path) -> None:
    model, table = learned()
    model.save(tmp_path / "m.fspn")
    loaded = FSPN.load(tmp_path / "m.fspn")
    pairs = list(zip(walk(model.root_), walk(loaded.root_), strict=True))
    kinds = set()
    for one, other in pairs:
        if isinstance(one, TableSplit) and isinstance(one.cpt, BackoffTable):
            assert isinstance(other, TableSplit)
            assert isinstance(other.cpt, BackoffTable)
            assert np.array_equal(one.cpt.base, other.cpt.base)
            for level, its in zip(one.cpt.levels, other.cpt.levels, strict=True):
                mine, read = level.state(), its.state()
                assert list(mine) == list(read)
                assert all(np.array_equal(mine[key], read[key]) for key in mine)
                assert all(mine[key].dtype == read[key].dtype for key in mine)
    assert np.array_equal(model.score_samples(table), loaded.score_samples(table))
    header, _ = unpack((tmp_path / "m.fspn").read_bytes(), "it")
    for record in header["nodes"]:
        if record[0] == "table":
            kinds |= {record[3][0], *(level[0] for level in record[3][2])}
    assert kinds >= {"counted", "cells", "fewer parents"}
    loaded.save(tmp_path / "again.fspn")
    assert (tmp_path / "again.fspn").read_bytes() == (tmp_path / "m.fspn").read_bytes()


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
            unpack(content + hashlib.sha256(content).digest(), "it")

"""Files: an exact round trip, the same bytes for the same model, and the old file if it fails."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn import FSPN
from fspn.io.container import ModelFileError, unpack
from fspn.io.model_file import load_model, save_model
from fspn.model.cpt.backoff import BackoffTable
from fspn.model.infer import log_probability
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import TableSplit, UniLeaf, walk
from fspn.schema.domain import Domain, Variable
from fspn.validate import ModelError
from tests.fspn.io.models import everything, labels, learned, same
from tests.random_models import ModelMaker, point_events


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

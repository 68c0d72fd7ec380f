"""The cache of datasets: checked, rebuilt when damaged, safe for many processes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from experiments.datasets.cache import Arrays, DamagedFileError, cached, read, write


def arrays() -> Arrays:
    return {"codes": np.arange(5_000, dtype=np.int32), "about": np.array("a text")}


def forbidden() -> Arrays:
    raise AssertionError("built although the cache was good")


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other_numbers(path: Path) -> None:
    """A sound archive whose numbers do not match the checksum inside."""
    inside = dict(np.load(path)) | {"codes": np.arange(1, 5_001, dtype=np.int32)}
    with path.open("wb") as file:
        np.savez(file, **inside)  # type: ignore[arg-type]


def no_checksum(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays())  # type: ignore[arg-type]


def test_second_call_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.npz"
    first = cached(path, arrays)
    second = cached(path, forbidden)
    np.testing.assert_array_equal(first["codes"], second["codes"])
    assert str(second["about"]) == "a text"


@pytest.mark.parametrize("damage", [flip_a_byte, cut, empty, other_numbers, no_checksum])
def test_damage_is_noticed_and_mended(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.npz"
    cached(path, arrays)
    damage(path)
    with pytest.raises(DamagedFileError):
        read(path)
    with caplog.at_level(logging.WARNING):
        mended = cached(path, arrays)
    assert "building it again" in caplog.text
    np.testing.assert_array_equal(mended["codes"], np.arange(5_000))
    np.testing.assert_array_equal(cached(path, forbidden)["codes"], np.arange(5_000))


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(AssertionError):
        cached(path, forbidden)
    assert not path.exists()


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.npz"
    write(path, arrays())

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write(path, arrays() | {"more": np.zeros(3)})
    assert set(read(path)) == {"codes", "about"}
    assert not list(tmp_path.glob("*.part"))


def build_in_process(path: Path) -> int:
    """Counts the builds in a file of their own."""

    def build() -> Arrays:
        with path.with_suffix(".builds").open("a") as file:
            file.write("built\n")
        return arrays()

    return int(cached(path, build)["codes"].sum())


def test_many_processes_build_once(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
        sums = list(pool.map(build_in_process, [path] * 8))
    assert set(sums) == {int(np.arange(5_000).sum())}
    assert path.with_suffix(".builds").read_text() == "built\n"

"""The 20 binary benchmarks: both formats, checksums, the way over the network."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import yaml

from experiments.datasets import debd_files, load
from experiments.datasets.debd_files import BenchmarkError, checksums, format_text, parse
from experiments.report.paper import TABLE1_NAMES
from experiments.study.plan import conf_dir
from tests.benchmarks import FOLDER, benchmark, made_up, settings

SPLITS = {"train": 40, "valid": 12, "test": 9}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """A benchmark of our own in the place of nltcs, with its checksums."""
    found = {s: made_up(n, 5, seed=n).to_numpy() for s, n in SPLITS.items()}
    sums = {
        f"nltcs/nltcs.{split}.data": hashlib.sha256(text_of(table).encode()).hexdigest()
        for split, table in found.items()
    }
    monkeypatch.setattr(debd_files, "checksums", lambda: sums)
    return found


def text_of(table: np.ndarray) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in table.tolist())


def write_text(folder: Path, tables: dict[str, np.ndarray]) -> None:
    (folder / "nltcs").mkdir(parents=True)
    for split, table in tables.items():
        (folder / "nltcs" / f"nltcs.{split}.data").write_text(text_of(table))


@pytest.fixture
def server(tmp_path: Path, tables: dict[str, np.ndarray]) -> Iterator[str]:
    """The public text files, behind an address of this machine."""
    write_text(tmp_path / "served", tables)
    handler = partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


def test_both_formats_give_the_same_dataset(tmp_path: Path, tables: dict[str, np.ndarray]) -> None:
    write_text(tmp_path / "text", tables)
    (tmp_path / "packed").mkdir()
    np.savez_compressed(tmp_path / "packed" / "nltcs.npz", **tables)
    text, packed = (
        load(settings("nltcs", tmp_path / kind), 0, tmp_path) for kind in ("text", "packed")
    )
    for split, table in tables.items():
        assert getattr(text, split).to_numpy().tolist() == table.tolist()
        assert getattr(text, split).equals(getattr(packed, split))
    assert list(text.train.columns) == ["x0", "x1", "x2", "x3", "x4"]
    assert text.digest == packed.digest
    assert text.truth is None
    assert text.workload is None
    assert all(d.tolist() == [0, 1] for d in text.domains.values())


def test_a_damaged_file_is_named(tmp_path: Path, tables: dict[str, np.ndarray]) -> None:
    write_text(tmp_path, tables)
    path = tmp_path / "nltcs" / "nltcs.valid.data"
    path.write_text(path.read_text().replace("0", "1", 1))
    with pytest.raises(BenchmarkError, match=r"nltcs\.valid\.data does not match its checksum"):
        load(settings("nltcs", tmp_path), 0, tmp_path)
    path.unlink()
    with pytest.raises(BenchmarkError, match=r"nltcs\.valid\.data is missing: put it beside"):
        load(settings("nltcs", tmp_path), 0, tmp_path)


def test_a_damaged_npz_is_named(tmp_path: Path, tables: dict[str, np.ndarray]) -> None:
    path = tmp_path / "nltcs.npz"
    changed = tables["test"].copy()
    changed[3, 2] ^= 1
    np.savez(path, **(tables | {"test": changed}))
    with pytest.raises(BenchmarkError, match=r"nltcs\.npz, test does not match its checksum"):
        load(settings("nltcs", tmp_path), 0, tmp_path)
    np.savez(path, train=tables["train"], valid=tables["valid"])
    with pytest.raises(BenchmarkError, match=r"must hold the arrays .*'test'"):
        load(settings("nltcs", tmp_path), 0, tmp_path)
    np.savez(path, **(tables | {"valid": tables["valid"] * 2}))
    with pytest.raises(BenchmarkError, match=r"valid: must be a two-dimensional uint8 table"):
        load(settings("nltcs", tmp_path), 0, tmp_path)
    path.write_bytes(b"no zip file")
    with pytest.raises(BenchmarkError, match="can be read"):
        load(settings("nltcs", tmp_path), 0, tmp_path)


def test_a_download_is_verified_and_kept(
    tmp_path: Path, tables: dict[str, np.ndarray], server: str
) -> None:
    wanted = settings("nltcs", tmp_path / "absent", server)
    first = load(wanted, 0, tmp_path / "cache")
    assert first.test.to_numpy().tolist() == tables["test"].tolist()
    kept = tmp_path / "cache" / "debd" / "nltcs" / "nltcs.test.data"
    assert kept.read_text() == text_of(tables["test"])
    gone = settings("nltcs", tmp_path / "absent", "http://127.0.0.1:9")
    assert load(gone, 0, tmp_path / "cache").digest == first.digest


def test_a_wrong_download_is_not_kept(tmp_path: Path, server: str) -> None:
    wrong = tmp_path / "served" / "nltcs" / "nltcs.train.data"
    right = wrong.read_text()
    wrong.write_text(right.replace("0", "1", 1))
    wanted = settings("nltcs", tmp_path / "absent", server)
    with pytest.raises(BenchmarkError, match=r"could not be fetched \((?s:.)*hash(?s:.)*absent"):
        load(wanted, 0, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.data"))
    wrong.write_text(right)
    assert len(load(wanted, 0, tmp_path / "cache").train) == SPLITS["train"]


def test_a_damaged_cache_is_fetched_again(
    tmp_path: Path, tables: dict[str, np.ndarray], server: str
) -> None:
    wanted = settings("nltcs", tmp_path / "absent", server)
    load(wanted, 0, tmp_path / "cache")
    kept = tmp_path / "cache" / "debd" / "nltcs" / "nltcs.test.data"
    kept.write_text("0,1\n")
    assert load(wanted, 0, tmp_path / "cache").test.to_numpy().tolist() == tables["test"].tolist()


def test_what_the_server_lacks_is_said_with_the_place_for_it(tmp_path: Path, server: str) -> None:
    (tmp_path / "served" / "nltcs" / "nltcs.valid.data").unlink()
    wanted = settings("nltcs", tmp_path / "absent", server)
    message = r"nltcs\.valid\.data could not be fetched \(.*404.*\): put nltcs\.npz .*absent"
    with pytest.raises(BenchmarkError, match=message):
        load(wanted, 0, tmp_path / "cache")


def test_no_network_is_said_with_the_place_for_the_files(
    tmp_path: Path, tables: dict[str, np.ndarray]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    wanted = settings("nltcs", tmp_path / "absent", address)
    with pytest.raises(BenchmarkError, match=r"could not be fetched .*put nltcs\.npz .*absent"):
        load(wanted, 0, tmp_path / "cache")
    with pytest.raises(BenchmarkError, match=r"dataset\.url is null: put nltcs\.npz"):
        load(settings("nltcs", tmp_path / "absent"), 0, tmp_path / "cache")


@pytest.mark.parametrize("text", [b"", b"0,1\n1\n", b"0,2\n", b"0;1\n", b"0,1\n1,0", b"a,b\n1,0\n"])
def test_text_that_is_no_binary_table(text: bytes) -> None:
    with pytest.raises(BenchmarkError, match="here is no table"):
        parse(text, "here")


def test_text_goes_there_and_back() -> None:
    table = made_up(7, 4).to_numpy()
    assert format_text(table).decode() == text_of(table)
    assert parse(format_text(table), "here").tolist() == table.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "nltc"}, r"dataset\.name is 'nltc' but must be one of"),
        ({"fodler": "x"}, r"dataset\.fodler is no known key"),
        ({"folder": None}, r"dataset\.folder is missing"),
        ({"url": "ftp://somewhere"}, r"dataset\.url is 'ftp://somewhere'"),
    ],
)
def test_wrong_settings_name_the_key(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load(settings("nltcs", tmp_path) | change, 0, tmp_path)


def test_settings_checksums_and_report_name_the_same_twenty() -> None:
    config = yaml.safe_load((conf_dir() / "dataset" / "debd.yaml").read_text())
    assert config["labels"] == TABLE1_NAMES
    files = {f"{n}/{n}.{s}.data" for n in TABLE1_NAMES for s in SPLITS}
    assert set(checksums()) == files
    assert len(files) == 60
    plan = yaml.safe_load((conf_dir() / "experiment" / "table1.yaml").read_text())["plan"]
    assert sorted(plan["stages"][0]["dataset.name"]) == sorted(TABLE1_NAMES)


def test_the_real_files_are_the_public_ones() -> None:
    data = benchmark("nltcs")
    assert [len(t) for t in (data.train, data.valid, data.test)] == [16181, 2157, 3236]
    assert data.train.shape[1] == 16
    assert FOLDER.is_dir()

import errno
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.records import rows as records
from experiments.records.rows import DiskFullError, ResultRow, Store, collect, collect_queries

ROW = ResultRow(
    fingerprint="f1",
    experiment="e",
    label="d/m/0",
    dataset="d",
    family="sparse",
    seed=0,
    model="m",
    kl_mean=0.25,
    params='{"alpha": 1.0}',
    started_at="2026-01-01",
)
QUERIES = pd.DataFrame({"kl": [0.1, 0.4], "latency_ms": [1.0, 2.0]})


@pytest.fixture
def store(tmp_path):
    return Store.of(tmp_path, "e")


def test_a_row_survives_the_round_trip(store, tmp_path):
    store.write(ROW, QUERIES)
    back = store.finished("f1")
    assert back is not None
    pd.testing.assert_frame_equal(records.as_frame([back]), records.as_frame([ROW]))
    assert np.isnan(back.test_ll)
    queries = collect_queries(tmp_path, collect(tmp_path))
    assert queries["kl"].tolist() == [0.1, 0.4]
    assert queries["model"].tolist() == ["m", "m"]


def test_failed_missing_and_damaged_rows_are_not_finished(store):
    assert store.finished("f1") is None
    store.write(replace(ROW, status="failed", error="boom"))
    assert store.finished("f1") is None
    assert store.read("f1").error == "boom"
    store.write(ROW)
    path = store.folder / "f1.parquet"
    path.write_bytes(path.read_bytes()[:-10])
    assert store.finished("f1") is None


@pytest.mark.parametrize("status", ["ok", "unsupported", "timeout"])
def test_final_results_are_finished(store, status):
    store.write(replace(ROW, status=status))
    assert store.finished("f1").status == status


def test_collect_keeps_types_and_the_newest_row_of_each_job(store, tmp_path):
    store.write(ROW)
    store.write(replace(ROW, fingerprint="f2", started_at="2026-02-01", kl_mean=0.125))
    Store.of(tmp_path, "other").write(replace(ROW, experiment="other"))
    assert len(collect(tmp_path)) == 3
    latest = collect(tmp_path, latest=True)
    assert latest["kl_mean"].tolist() == [0.125, 0.25]
    assert list(latest.columns) == list(records.COLUMNS)
    empty = collect(tmp_path / "nothing")
    assert empty.empty
    assert empty.dtypes.to_dict() == latest.dtypes.to_dict()


def test_a_full_disk_is_a_clear_error_and_keeps_what_was_there(store, monkeypatch):
    store.write(ROW)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(DiskFullError, match=r"disk is full.*earlier results are kept"):
        store.write(replace(ROW, kl_mean=9.0))
    monkeypatch.undo()
    assert store.finished("f1").kl_mean == 0.25
    assert [p.name for p in store.folder.iterdir()] == ["f1.parquet"]


def test_a_full_database_counts_as_a_full_disk():
    assert records.is_disk_full(RuntimeError("(sqlite3) database or disk is full"))
    assert not records.is_disk_full(RuntimeError("database is locked"))
    assert not records.is_disk_full(OSError(errno.ENOENT, "no such file"))


def test_other_write_errors_pass_through(store, monkeypatch):
    def wrong(*_, **__):
        raise ValueError("not a table")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", wrong)
    with pytest.raises(ValueError, match="not a table"):
        store.write(ROW)

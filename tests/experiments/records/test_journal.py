"""The row comes first; what MLflow missed is logged later, once."""

import json
import os
import socket
from dataclasses import replace

import pandas as pd
import pytest

from experiments.records import journal, tracking
from experiments.records.journal import Recorder
from experiments.records.locks import locked
from experiments.records.rows import ResultRow, Store
from experiments.records.sync import settle, sync
from experiments.records.tracking import HOST, RESULTS, MlflowRun, tracker
from experiments.types import Trial

QUERIES = pd.DataFrame({"kl": [0.5]})
TRIAL = Trial(0, {"alpha": 1.0}, "ok", "", -2.5, 0.1, 0.2)


def blank(fingerprint):
    who = {"dataset": "d", "family": "sparse", "seed": 0, "model": "m"}
    began = {"started_at": "2026-01-01T00:00:00.000+00:00"}
    return ResultRow(fingerprint, "e", f"d/m/{fingerprint}", **who, **began)


@pytest.fixture(scope="module")
def store(results):
    return tracker(f"sqlite:///{results}/mlflow.db", results)


def runs_of(store, fingerprint):
    """Status of every run of a job, trials left out, and the run itself."""
    found = store._client.search_runs(
        [store._experiment("e")], f"tags.`fspn.fingerprint` = '{fingerprint}'"
    )
    return {r.info.run_id: r for r in found if "mlflow.parentRunId" not in r.data.tags}


def down(*_, **__):
    raise ConnectionError("the server is gone\nand more")


@pytest.mark.parametrize("when", ["start", "trial", "log", "close"])
def test_a_store_that_dies_costs_no_row_and_is_told_later(store, results, monkeypatch, when):
    records, row = Store.of(results, "e"), blank(f"dies-{when}")
    owner = tracking.MlflowTracker if when == "start" else MlflowRun
    monkeypatch.setattr(owner, when, down)
    recorder = Recorder(store, records, row, {"seed": 0})
    recorder.trial(TRIAL)
    recorder.record(replace(row, run_id=recorder.run_id, kl_mean=0.25), QUERIES)
    monkeypatch.undo()
    assert records.finished(row.fingerprint).kl_mean == 0.25
    assert records.unlogged(row.fingerprint).is_file()
    settle(store)
    assert not records.unlogged(row.fingerprint).exists()
    runs = runs_of(store, row.fingerprint)
    finished = [r for r in runs.values() if r.info.status == "FINISHED"]
    assert [r.info.run_id for r in finished] == [records.read(row.fingerprint).run_id]
    assert {r.info.status for r in runs.values()} <= {"FINISHED", "KILLED"}
    assert finished[0].data.metrics["kl_mean"] == 0.25
    children = store._client.search_runs(
        [finished[0].info.experiment_id], f"tags.`mlflow.parentRunId` = '{finished[0].info.run_id}'"
    )
    assert [c.data.params["alpha"] for c in children] == ["1.0"]
    assert sync(store) == 0


def test_a_store_that_answers_owes_nothing(store, results):
    records, row = Store.of(results, "e"), blank("fine")
    recorder = Recorder(store, records, row, {})
    recorder.record(replace(row, run_id=recorder.run_id), None)
    assert not records.unlogged("fine").exists()
    (run,) = runs_of(store, "fine").values()
    assert run.info.status == "FINISHED"
    assert run.info.start_time == 1767225600000


def test_the_row_is_written_before_the_store_is_told(store, results, monkeypatch):
    records, row = Store.of(results, "e"), blank("order")
    seen = []
    monkeypatch.setattr(MlflowRun, "log", lambda *_: seen.append(records.finished("order")))
    Recorder(store, records, row, {}).record(row, None)
    assert seen[0] is not None


def test_jobs_that_leave_logging_to_others_touch_no_store(results, monkeypatch):
    elsewhere = tracker("http://127.0.0.1:1", results)
    records, row = Store.of(results, "e"), blank("later")
    monkeypatch.setattr(tracking.MlflowTracker, "_client", property(down))
    recorder = Recorder(elsewhere, records, row, {}, live=False)
    recorder.trial(TRIAL)
    recorder.record(row, QUERIES)
    assert records.finished("later").run_id == ""


def test_they_are_logged_by_whoever_settles(store, results):
    settle(store)
    (run,) = runs_of(store, "later").values()
    assert Store.of(results, "e").read("later").run_id == run.info.run_id


def test_a_journal_whose_job_was_logged_or_is_running_is_left_alone(store, results):
    records, row = Store.of(results, "e"), blank("twice")
    recorder = Recorder(store, records, row, {})
    row = replace(row, run_id=recorder.run_id)
    recorder.record(row, None)
    entry = journal.Entry("twice", row.started_at, {}, ())
    journal.write_entry(records, entry)
    with locked(records.lock("twice")):
        assert sync(store) == 0
    sync(store)
    assert not records.unlogged("twice").exists()
    assert len(runs_of(store, "twice")) == 1
    journal.write_entry(records, replace(entry, started_at="another start"))
    assert sync(store) == 0
    assert not records.unlogged("twice").exists()


def test_runs_of_killed_jobs_are_closed_from_any_machine(store, results, monkeypatch):
    run = store.start(blank("k"), {})
    monkeypatch.setattr(socket, "gethostname", lambda: "another-node")
    assert store.recover() == 1
    assert store._client.get_run(run.id).info.status == "KILLED"


def test_where_locks_do_not_reach_only_the_own_machine_closes_runs(store, monkeypatch):
    run = store.start(blank("far"), {})
    store._client.set_tag(run.id, HOST, "another-node")
    monkeypatch.setattr(tracking, "locks_reach_all", lambda folder: False)
    assert store.recover() == 0
    monkeypatch.undo()
    assert store.recover() == 1


def test_a_folder_is_known_by_its_identity_not_by_its_path(store):
    run = store.start(blank("moved"), {})
    store._client.set_tag(run.id, RESULTS, "where/another/node/mounts/it")
    assert store.recover() == 1
    assert store._client.get_run(run.id).info.status == "KILLED"


def test_row_files_are_readable_as_usual_files_are(results):
    before = os.umask(0o022)
    try:
        Store.of(results, "mode").write(blank("m"), QUERIES)
    finally:
        os.umask(before)
    files = list((results / "runs" / "mode").iterdir())
    assert {oct(f.stat().st_mode & 0o777) for f in files} == {"0o644"}


def test_a_damaged_journal_is_not_logged(store, results):
    path = Store.of(results, "e").unlogged("damaged")
    path.write_text(json.dumps({"fingerprint": "damaged"}))
    assert sync(store) == 0
    path.unlink()

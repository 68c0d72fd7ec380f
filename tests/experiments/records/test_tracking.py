import sqlite3
from dataclasses import replace

import pandas as pd
import pytest

from experiments.records.locks import locked
from experiments.records.rows import ResultRow, Store
from experiments.records.tracking import SUPERSEDED, Tracker, tracker
from experiments.types import Trial

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
    dataset_digest="dd",
    code_version="cc",
)
TRIALS = (
    Trial(0, {"alpha": 1.0}, "ok", "", -2.5, 0.1, 0.2),
    Trial(1, {"alpha": 2.0}, "failed", "ValueError: no", float("nan"), float("nan"), 0.1),
)


@pytest.fixture
def store(results):
    found = tracker(f"sqlite:///{results}/mlflow.db", results)
    found.recover()
    return found


def run_of(store, run_id):
    return store._client.get_run(run_id)


def test_a_run_holds_what_is_needed_to_understand_it(store, results):
    run = store.start(ROW, {"seed": 0, "model": {"alpha": 1.0}})
    for trial in TRIALS:
        run.trial(trial)
    run.log(replace(ROW, run_id=run.id), pd.DataFrame({"kl": [0.5]}))
    run.close("FINISHED")
    seen = run_of(store, run.id)
    assert seen.info.run_name == "m/d/0"
    assert seen.info.status == "FINISHED"
    assert seen.data.metrics["kl_mean"] == 0.25
    assert "test_ll" not in seen.data.metrics
    assert seen.data.params["dataset_digest"] == "dd"
    assert seen.data.params["chosen.alpha"] == "1.0"
    assert seen.data.tags["code_version"] == "cc"
    files = {path.name: path for path in (results / "mlartifacts").rglob("*.*")}
    assert "alpha: 1.0" in files["config.yaml"].read_text()
    assert files["queries.csv"].read_text().split() == ["kl", "0.5"]
    ask = f"tags.`mlflow.parentRunId` = '{run.id}'"
    children = store._client.search_runs([seen.info.experiment_id], ask)
    assert {c.info.run_name: c.info.status for c in children} == {
        "trial 0": "FINISHED",
        "trial 1": "FAILED",
    }
    assert {c.data.params["alpha"] for c in children} == {"1.0", "2.0"}


def test_runs_of_killed_jobs_are_closed_and_living_ones_left_alone(store, results):
    records = Store.of(results, "e")
    killed, living, recorded = (replace(ROW, fingerprint=f) for f in ("k", "l", "r"))
    runs = [store.start(row, {}) for row in (killed, living, recorded)]
    records.write(replace(recorded, run_id=runs[2].id))
    with locked(records.lock("l")):
        assert store.recover() == 2
    assert [run_of(store, run.id).info.status for run in runs] == [
        "KILLED",
        "RUNNING",
        "FINISHED",
    ]
    assert store.recover() == 1
    assert store.recover() == 0


def test_runs_of_other_folders_are_left_alone(store, results, tmp_path):
    other = tracker(store.uri, tmp_path)
    run = other.start(ROW, {})
    assert store.recover() == 0
    assert other.recover() == 1
    assert run_of(store, run.id).info.status == "KILLED"


def test_a_repeated_job_supersedes_its_earlier_run(store):
    row = replace(ROW, fingerprint="again")
    runs = [store.start(row, {}) for _ in range(2)]
    for run in runs:
        run.close("FINISHED")
    assert run_of(store, runs[0].id).data.tags[SUPERSEDED] == runs[1].id
    assert SUPERSEDED not in run_of(store, runs[1].id).data.tags


def test_files_are_logged_as_a_run_of_their_own(store, results, tmp_path):
    figure = tmp_path / "figure.svg"
    figure.write_text("<svg/>")
    store.log_files("e", "report", [figure])
    assert [p.read_text() for p in (results / "mlartifacts").rglob("figure.svg")] == ["<svg/>"]


def test_the_store_appears_in_one_step(results, store):
    with sqlite3.connect(results / "mlflow.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    assert not list(results.glob(".new-*"))


def test_without_tracking_nothing_is_written(tmp_path):
    off = tracker(None, tmp_path)
    assert type(off) is Tracker
    run = off.start(ROW, {})
    run.trial(TRIALS[0])
    run.log(ROW, None)
    run.close("FINISHED")
    off.log_files("e", "report", [tmp_path / "missing"])
    assert off.recover() == 0
    assert not list(tmp_path.iterdir())

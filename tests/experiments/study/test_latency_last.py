"""A study that trains all its models first and measures their latencies afterwards."""

import math
import os
import signal
import sqlite3
import time
from dataclasses import replace

import numpy as np

from experiments.records.rows import Store, collect
from experiments.study.config import Phase
from experiments.study.job import run_job
from experiments.study.waiting_models import Waiting, keep_waiting, read_waiting
from tests.experiments.tiny import Fragile, dataset, finish, start

SEEDS = 4
# One worker: what a second one would do to a killed study is the matter of `test_kill`.
PLAN = (
    f"plan={{stages: [{{seed: {list(range(SEEDS))}}}], workers: 1, report: false, "
    "latency_last: true}"
)


def waiting(base):
    return list((base / "results" / "runs" / "late").glob("waiting/*.pickle"))


def check(base, output):
    rows = collect(base / "results")
    assert sorted(rows["seed"]) == list(range(SEEDS))
    assert (rows["status"] == "ok").all()
    assert (rows["latency_single_ms"] > 0).all()
    assert not waiting(base)
    with sqlite3.connect(base / "results" / "mlflow.db") as database:
        runs = dict(database.execute("select run_uuid, status from runs").fetchall())
    assert {runs[run] for run in rows["run_id"]} == {"FINISHED"}
    assert "RUNNING" not in runs.values()
    assert "0/latency" in output


def test_a_killed_study_measures_what_is_left(tmp_path):
    process = start(tmp_path, PLAN, "study=late")
    deadline = time.monotonic() + 60
    while len(waiting(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = collect(tmp_path / "results").set_index("seed")["started_at"].to_dict()
    output = finish(start(tmp_path, PLAN, "study=late"))
    check(tmp_path, output)
    after = collect(tmp_path / "results").set_index("seed")["started_at"].to_dict()
    assert before.items() <= after.items(), "a trained model was trained again"


def test_a_model_waits_in_a_file_or_not_at_all(tmp_path):
    store = Store(tmp_path)
    model = Fragile(1.0).fit(dataset().train, dataset().domains)
    assert keep_waiting(store, "a", Waiting(model, ()))
    found = read_waiting(store, "a")
    assert found is not None
    rows = dataset().valid
    np.testing.assert_array_equal(found.model.score_samples(rows), model.score_samples(rows))
    model.hook = lambda: None  # what cannot be written to a file
    assert not keep_waiting(store, "b", Waiting(model, ()))
    assert read_waiting(store, "b") is None
    store.waiting("a").write_bytes(b"damaged")
    assert read_waiting(store, "a") is None


def test_a_job_in_two_phases_measures_what_a_whole_one_does(config):
    fit, late = replace(config, phase=Phase.FIT), replace(config, phase=Phase.LATENCY)
    first = run_job(fit)
    assert first.waits
    assert math.isnan(first.row.latency_single_ms)
    again = run_job(fit)
    assert (again.skipped, again.waits) == (True, True)
    assert again.row.started_at == first.row.started_at
    last = run_job(late)
    assert not last.waits
    assert last.row.latency_single_ms > 0
    assert last.row.job_seconds > first.row.job_seconds
    assert last.row.started_at == first.row.started_at
    kept = Store.of(config.results_dir, "single").read_queries(last.row.fingerprint)
    assert {"kl", "latency_ms"} <= set(kept.columns)
    assert run_job(fit).skipped
    assert run_job(late).skipped
    whole = run_job(replace(config, force=True)).row
    assert (whole.kl_mean, whole.test_ll) == (last.row.kl_mean, last.row.test_ll)


def test_force_trains_again_and_still_measures(config):
    fit = replace(config, phase=Phase.FIT, force=True)
    first, second = run_job(fit), run_job(fit)
    assert second.waits
    assert second.row.started_at > first.row.started_at
    last = run_job(replace(fit, phase=Phase.LATENCY))
    assert last.row.latency_single_ms > 0
    assert last.row.started_at == second.row.started_at


def test_a_damaged_model_is_trained_again(config):
    row = run_job(replace(config, phase=Phase.FIT)).row
    Store.of(config.results_dir, "single").waiting(row.fingerprint).write_bytes(b"damaged")
    last = run_job(replace(config, phase=Phase.LATENCY))
    assert not last.waits
    assert last.row.latency_single_ms > 0

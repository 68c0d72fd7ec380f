"""A sweep is killed again and again: nothing lost, nothing doubled, the store intact."""

import os
import random
import signal
import sqlite3
import time

from experiments.records.rows import collect
from tests.experiments.tiny import finish, start

SEEDS = 4
PLAN = f"plan={{stages: [{{seed: {list(range(SEEDS))}}}], workers: 2, report: false}}"
ROUNDS = 2


def kill_after_some_progress(process, base, rng):
    """SIGKILL the sweep and its workers at a random moment after the next recorded job."""
    before = len(collect(base / "results"))
    deadline = time.monotonic() + 60
    while len(collect(base / "results")) == before and time.monotonic() < deadline:
        if process.poll() is not None:
            return
        time.sleep(0.02)
    time.sleep(rng.uniform(0, 0.3))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_sigkill_loses_nothing_and_doubles_nothing(tmp_path):
    rng = random.Random(0)
    kept = {}
    for number in range(ROUNDS):
        process = start(tmp_path, PLAN, "study=kill")
        if number == 0:  # also once before anything is recorded: while the store is made
            time.sleep(rng.uniform(2.0, 4.0))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        else:
            kill_after_some_progress(process, tmp_path, rng)
        rows = collect(tmp_path / "results")
        now = dict(zip(rows["fingerprint"], rows["started_at"], strict=True))
        assert kept.items() <= now.items(), "a recorded job was lost or repeated"
        kept = now
    output = finish(start(tmp_path, PLAN, "study=kill"))
    assert f"[{SEEDS}/{SEEDS}]" in output
    check(tmp_path, kept)


def check(base, kept):
    rows = collect(base / "results")
    assert rows["seed"].sort_values().tolist() == list(range(SEEDS))
    assert (rows["status"] == "ok").all()
    assert kept.items() <= dict(zip(rows["fingerprint"], rows["started_at"], strict=True)).items()
    with sqlite3.connect(base / "results" / "mlflow.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        runs = database.execute("select run_uuid, status from runs").fetchall()
        children = {
            r
            for (r,) in database.execute(
                "select run_uuid from tags where key = 'mlflow.parentRunId'"
            )
        }
    finished = [run for run, status in runs if status == "FINISHED" and run not in children]
    assert sorted(finished) == sorted(rows["run_id"])
    assert {status for _, status in runs} <= {"FINISHED", "KILLED"}


def test_a_worker_ends_when_its_study_is_killed(tmp_path):
    slow = f"plan={{stages: [{{seed: {list(range(40))}}}], workers: 1, report: false}}"
    process = start(tmp_path, slow, "study=orphan", "tracking=none")
    deadline = time.monotonic() + 60
    while collect(tmp_path / "results").empty and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    time.sleep(1.0)
    count = len(collect(tmp_path / "results"))
    time.sleep(1.5)
    assert 0 < len(collect(tmp_path / "results")) == count < 40

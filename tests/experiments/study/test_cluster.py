"""Jobs through submitit: one code path for a cluster and for this machine."""

import os
import signal
import stat
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from experiments.records.locks import is_held
from experiments.records.rows import Store, collect
from experiments.study.cluster import Cluster, JobLost, Watched, _slurm_states
from experiments.study.config import ConfigError, ModelConfig, SearchConfig, read_job
from experiments.study.execute import _events, _work_or_fail
from experiments.study.executors import ExecutorConfig, read_executor
from experiments.study.ledger import Ledger, Submitted, job_key
from experiments.study.plan import conf_dir
from experiments.study.pool import Ended, Started
from tests.experiments.tiny import OVERRIDES, ROOT, folders

TARGET = "tests.experiments.tiny.Fragile"


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.chdir(ROOT)
    overrides = [*OVERRIDES, *folders(tmp_path)[:2], "tracking=none"]
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return read_job(compose("config", overrides=overrides), overrides)


def fragile(job, **params):
    return replace(job, model=ModelConfig("fragile", TARGET, params), search=SearchConfig())


def local():
    options = {"timeout_min": 5, "signal_delay_s": 1}
    return Cluster(ExecutorConfig("submitit_local", options), workers=3, poll_seconds=0.1)


def ends(events):
    return {e.task.title: e for e in events if isinstance(e, Ended)}


def test_a_failed_job_costs_no_other_and_a_finished_one_is_not_submitted_again(job):
    """An error, also for submitit: the process of a failed job ends with another code than 0."""
    tasks = [job, replace(fragile(job, alpha=1.0, fails=True), seed=1)]
    seen = list(_events(tasks, local()))
    ended = ends(seen)
    assert {e.task.title for e in seen if isinstance(e, Started)} == set(ended)
    assert ended["rdc_07/independent/0"].result.row.status == "ok"
    assert "told to fail" in str(ended["rdc_07/fragile/1"].error)
    assert sorted(collect(job.results_dir)["status"]) == ["failed", "ok"]
    (again,) = local().run(_work_or_fail, [job])
    assert again.result.skipped


def test_a_job_over_its_time_limit_leaves_no_row(job):
    """The signal that submitit sends before the limit, sent by hand while the model is fitted."""
    task = fragile(job, alpha=1.0, sleeps=600.0)
    events = local().run(_work_or_fail, [task])
    assert isinstance(next(events), Started)
    locks = Store.of(job.results_dir, job.study).folder / "locks"
    deadline = time.monotonic() + 120
    while not any(is_held(path) for path in locks.glob("*.lock")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)  # from the lock to the fit
    for child in children(Ledger.of(task).read(task).job_id):
        os.kill(child, signal.SIGUSR2)
    ended = next(events)
    assert isinstance(ended.error, JobLost)
    assert "stopped by its time limit: raise executor.timeout_min" in str(ended.error)
    assert collect(job.results_dir).empty
    assert Ledger.of(task).read(task) is None


def children(parent):
    """The processes that the process `parent` started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[1] == parent:
                yield int(path.parent.name)


def test_a_study_that_was_left_is_taken_up_and_no_job_submitted_twice(job, tmp_path):
    go_on = tmp_path / "go on"
    first = local()
    events = first.run(_work_or_fail, [fragile(job, alpha=1.0, waits=str(go_on))])
    task = next(events).task
    events.close()
    entry = Ledger.of(task).read(task)
    assert not entry.fingerprint
    second = local()
    taken_up = second.run(_work_or_fail, [task])
    assert isinstance(next(taken_up), Started)
    go_on.touch()
    (ended,) = taken_up
    assert isinstance(ended, Ended)
    assert not ended.result.skipped
    now = Ledger.of(task).read(task)
    assert (now.job_id, now.folder) == (entry.job_id, entry.folder)
    assert now.fingerprint == ended.result.row.fingerprint
    assert len(collect(job.results_dir)) == 1


def test_another_setting_or_file_is_another_job(job, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a\n1\n")
    file = replace(job, dataset=job.dataset | {"path": str(path)})
    keys = [job_key(job), job_key(replace(job, seed=1)), job_key(file)]
    path.write_text("a\n1\n2\n")
    assert len({*keys, job_key(file)}) == 4
    assert job_key(replace(job, force=True, live=False)) == job_key(job)


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """A `squeue` that says what a file says."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "squeue"
    script.write_text(f"#!/bin/sh\ncat {folder}/answer && exit 0\necho down >&2\nexit 1\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "answer"


def test_a_job_that_leaves_the_queue_without_a_result_is_lost(job, squeue, monkeypatch):
    monkeypatch.setattr("experiments.study.cluster.PATIENCE", 0.3)
    squeue.write_text("7_0|RUNNING\n7_1|PENDING\n")
    cluster = Cluster(ExecutorConfig("slurm"), workers=1, poll_seconds=0.05)
    entry = Submitted("slurm", "7_0", str(job.results_dir))
    Ledger.of(job).write(job, entry)
    events = cluster.run(_work_or_fail, [job])
    assert isinstance(next(events), Started)
    squeue.write_text("7_0|CANCELLED\n")
    ended = next(events)
    assert isinstance(ended.error, JobLost)
    assert "7_0 ended without a result (cancelled)" in str(ended.error)
    assert Ledger.of(job).read(job) is None


def test_a_job_that_slurm_requeues_is_waited_for_and_another_is_named(job, monkeypatch):
    cluster = Cluster(ExecutorConfig("slurm"), workers=1)
    watched = Watched(job, Submitted("slurm", "7_0", str(job.results_dir)))
    for state, may_be_lost in (("PREEMPTED", True), ("PENDING", False), ("RUNNING", False)):
        assert cluster._ended(watched, state) is None
        assert (watched.over_since is not None) == may_be_lost
    monkeypatch.setattr("experiments.study.cluster.PATIENCE", 0.0)
    assert cluster._ended(watched, "RUNNING") is None
    assert "without a result (preempted)" in str(cluster._ended(watched, "PREEMPTED").error)
    assert "without a result (timeout)" in str(cluster._ended(watched, "TIMEOUT").error)


def test_a_controller_that_does_not_answer_ends_nothing(job, squeue):
    watched = [Watched(job, Submitted("slurm", "7_0", "x"))]
    assert _slurm_states(watched) == {"7_0": "UNKNOWN"}
    squeue.write_text("7_0|COMPLETING\n8|FAILED\n")
    assert _slurm_states(watched) == {"7_0": "COMPLETING", "8": "FAILED"}


def test_slurm_is_asked_for_whole_nodes_where_latency_is_measured():
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("config", overrides=["executor=slurm", "executor.partition=short"])
    slurm = read_executor(config)
    timed, untimed = (slurm.submitit_options(timed=t) for t in (True, False))
    assert timed["exclusive"] is True
    assert "exclusive" not in untimed
    assert (timed["partition"], timed["cpus_per_task"], timed["mem"]) == ("short", 1, "8192MB")
    assert timed["time"] - timed["signal_delay_s"] / 60 > timed["time"] - 0.5
    assert "account" not in timed


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ({"kind": "pbs"}, "executor.kind is 'pbs'"),
        ({"kind": "slurm", "timeout_min": "long"}, "executor.timeout_min is 'long'"),
        ({"kind": "slurm", "array_parallelism": 0}, "executor.array_parallelism is 0"),
        ({"kind": "submitit_local", "partition": "short"}, "executor.partition is no option"),
        ({"kind": "local", "timeout_min": 5}, "executor.timeout_min is no option"),
    ],
)
def test_a_wrong_executor_is_named(executor, message):
    with pytest.raises(ConfigError, match=message):
        read_executor({"executor": executor})


def test_options_that_slurm_does_not_have_are_found_before_submission(tmp_path, squeue):
    srun = squeue.parent / "srun"
    srun.write_text("#!/bin/sh\n")
    srun.chmod(srun.stat().st_mode | stat.S_IXUSR)
    Cluster(ExecutorConfig("slurm", {"exclusive": True}), 1).check(tmp_path / "x")
    with pytest.raises(ConfigError, match="partitoin"):
        Cluster(ExecutorConfig("slurm", {"partitoin": "short"}), 1).check(tmp_path / "x")


def test_without_slurm_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"executor=slurm: .*srun"):
        Cluster(ExecutorConfig("slurm"), 1).check(tmp_path / "x")

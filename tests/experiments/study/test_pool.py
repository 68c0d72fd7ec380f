import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from experiments.records.waiting import patiently
from experiments.study.pool import Ended, Limit, Started, WorkerDied, run_tasks


def work(task):
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "raise":
        raise ValueError("no")
    if isinstance(task, float):
        time.sleep(task)
    return os.getpid()


def test_one_dead_worker_costs_its_own_task_only():
    tasks = [1, "die", 2, "raise", 3]
    events = list(run_tasks(work, tasks, workers=1))
    assert [e.task for e in events if isinstance(e, Started)] == tasks
    ended = {e.task: e for e in events if isinstance(e, Ended)}
    assert isinstance(ended["die"].error, WorkerDied)
    assert isinstance(ended["raise"].error, ValueError)
    assert all(ended[n].error is None for n in (1, 2, 3))
    assert ended[1].result != ended[2].result == ended[3].result


def test_two_workers_run_side_by_side():
    events = list(run_tasks(work, [0.5, 0.5], workers=2))
    assert [type(e) for e in events] == [Started, Started, Ended, Ended]
    assert len({e.result for e in events if isinstance(e, Ended)}) == 2


def test_leaving_early_ends_the_workers():
    events = run_tasks(work, ["pid", 60.0], workers=1)
    pid = next(e.result for e in events if isinstance(e, Ended))
    events.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the worker lives on")


def test_a_task_over_its_limit_is_ended_and_the_next_goes_on():
    limit = Limit(lambda task: 1.0 if isinstance(task, float) else None, late)
    events = list(run_tasks(work, [60.0, "pid"], workers=1, limit=limit))
    ended = {e.task: e for e in events if isinstance(e, Ended)}
    assert ended[60.0].result == "late: 60.0"
    assert ended[60.0].error is None
    assert isinstance(ended["pid"].result, int)


def test_waiting_for_the_machine_does_not_count(tmp_path):
    """A task that waits for longer than its limit is not ended, one that works as long is."""
    limit = Limit(lambda task: 2.0 if isinstance(task, tuple) else None, late)
    tasks = ["warm", (str(tmp_path), 3.0), ("", 60.0)]
    events = list(run_tasks(wait_or_work, tasks, workers=1, limit=limit))
    ended = {e.task: e for e in events if isinstance(e, Ended)}
    assert ended[tasks[1]].result == "ended by itself"
    assert ended[tasks[2]].result.startswith("late")


def wait_or_work(task):
    if isinstance(task, tuple):
        folder, seconds = task
        with patiently(Path(folder)) if folder else nullcontext():
            time.sleep(seconds)
    return "ended by itself"


def late(task):
    return f"late: {task}"

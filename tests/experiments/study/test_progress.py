import io
import math
import time

import pytest
from rich.console import Console

from experiments.records.rows import ResultRow
from experiments.study.progress import Clock, Display


def row(label, seconds, **changes):
    who = {"dataset": "d", "family": "f", "seed": 0, "model": "m"}
    return ResultRow("f", "e", label, **who, job_seconds=seconds, **changes)


def test_time_left_goes_by_what_each_job_is_expected_to_take():
    clock = Clock({"1": 10.0, "2": 10.0, "3": 100.0, "4": 100.0}, workers=2)
    assert clock.left() == pytest.approx(110)
    clock.ended("1", 10.0)
    assert clock.left() == pytest.approx(110)
    clock.ended("3", 200.0)
    factor = (55 + 210) / (55 + 110)
    assert clock.left() == pytest.approx(factor * 100)


def test_time_left_counts_what_is_running_and_the_long_job_at_the_end():
    clock = Clock({"1": 10.0, "2": 10.0, "3": 300.0}, workers=3)
    clock.started("3")
    assert clock.left() == pytest.approx(300, abs=1)
    clock.ended("1", 10.0)
    assert clock.left() == pytest.approx(300, abs=1)


def test_latencies_at_the_end_are_measured_one_by_one_and_estimated_apart():
    clock = Clock({"1": 100.0, "2": 100.0}, 2, alone={"1/latency": 4.0, "2/latency": 4.0})
    assert clock.left() == pytest.approx(100 + 8)
    clock.ended("1", 200.0)
    clock.ended("2", 200.0)
    assert clock.left() == pytest.approx(8)
    clock.started("1/latency")
    assert list(clock.running) == ["1/latency"]
    clock.ended("1/latency", 2.0)
    assert clock.left() == pytest.approx((4 + 2) / (4 + 4) * 4)
    clock.ended("2/latency", None)
    assert clock.left() == 0


def test_proportions_alone_give_no_time_before_a_job_ended():
    clock = Clock({"1": 1.0, "2": 3.0}, workers=1, trusted=False)
    assert clock.left() is None
    clock.ended("1", None)
    assert clock.left() is None
    clock = Clock({"1": 1.0, "2": 3.0}, workers=1, trusted=False)
    clock.ended("1", 20.0)
    assert clock.left() == pytest.approx(60)


def test_a_log_file_is_told_at_once_and_again_when_nothing_ends():
    out = io.StringIO()
    clock = Clock({"x/m/0": 600.0, "y/m/0": 600.0}, workers=1)
    with Display("study", clock, Console(file=out, width=200), silence=0.02) as display:
        assert out.getvalue() == "study: 2 jobs, 1 at a time; about 20 min left\n"
        display.started("x/m/0")
        deadline = time.monotonic() + 10
        while "running" not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "[0/2]  running: x/m/0  about 20 min left" in out.getvalue()


def test_the_display_says_which_of_how_many_and_what_came_out():
    out = io.StringIO()
    jobs = dict.fromkeys(("x/m/0", "y/m/0", "z/m/0", "w/m/0"), 1.0)
    clock = Clock(jobs, workers=1, trusted=False)
    with Display("study", clock, Console(file=out, width=200)) as display:
        display.started("x/m/0")
        display.ended("x/m/0", row("x/m/0", 60.0, kl_mean=0.125), skipped=False)
        display.ended("y/m/0", row("y/m/0", 1.0), skipped=True)
        failed = row("z/m/0", 60.0, status="failed", error="E: [bad]")
        display.ended("z/m/0", failed, skipped=False)
        display.ended("w/m/0", None, skipped=False, error="killed")
    lines = out.getvalue().splitlines()[1:]
    shown = ["[1/4]", "ok", "x/m/0", "60.0 s", "KL 0.125", "about 3 min left"]
    assert lines[0].split("  ") == shown
    assert lines[1].startswith("[2/4]  done before  y/m/0")
    assert "failed" in lines[2]
    assert "E: [bad]" in lines[2]
    assert lines[3] == "[4/4]  failed  w/m/0  killed"
    assert math.isnan(row("x", 1.0).kl_mean)

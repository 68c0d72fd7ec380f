import io
import math

import pytest
from rich.console import Console

from experiments.records.rows import ResultRow
from experiments.study.progress import Clock, Display


def row(label, seconds, **changes):
    who = {"dataset": "d", "family": "f", "seed": 0, "model": "m"}
    return ResultRow("f", "e", label, **who, job_seconds=seconds, **changes)


def test_time_left_goes_by_the_jobs_of_the_same_model():
    clock = Clock({"1": "a", "2": "a", "3": "b", "4": "b"}, {"b": [100.0]}, workers=2)
    clock.ended("1", 10.0)
    assert clock.left() == pytest.approx((10 + 100 + 100) / 2)
    clock.ended("3", 50.0)
    assert clock.left() == pytest.approx((10 + 50) / 2)


def test_time_left_is_unknown_at_first_and_skipped_jobs_teach_nothing():
    clock = Clock({"1": "a", "2": "a"}, {}, workers=1)
    assert clock.left() is None
    clock.ended("1", None)
    assert clock.left() is None
    clock.ended("2", 3.0)
    assert clock.left() == 0


def test_the_display_says_which_of_how_many_and_what_came_out():
    out = io.StringIO()
    clock = Clock({"x/m/0": "m", "y/m/0": "m", "z/m/0": "m", "w/m/0": "m"}, {}, workers=1)
    with Display("study", clock, Console(file=out, width=200)) as display:
        display.started("x/m/0")
        display.ended("x/m/0", row("x/m/0", 60.0, kl_mean=0.125), skipped=False)
        display.ended("y/m/0", row("y/m/0", 1.0), skipped=True)
        failed = row("z/m/0", 60.0, status="failed", error="E: [bad]")
        display.ended("z/m/0", failed, skipped=False)
        display.ended("w/m/0", None, skipped=False, error="killed")
    lines = out.getvalue().splitlines()
    shown = ["[1/4]", "ok", "x/m/0", "60.0 s", "KL 0.125", "about 3 min left"]
    assert lines[0].split("  ") == shown
    assert lines[1].startswith("[2/4]  done before  y/m/0")
    assert "failed" in lines[2]
    assert "E: [bad]" in lines[2]
    assert lines[3] == "[4/4]  failed  w/m/0  killed"
    assert math.isnan(row("x", 1.0).kl_mean)

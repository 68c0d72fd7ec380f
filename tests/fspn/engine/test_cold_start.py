"""The first minute: answers without compiled kernels, and the change to compiled ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numba import njit

from fspn import FSPN, jit
from fspn.engine import cold_start
from fspn.engine.cold_start import Readiness, answer_meanwhile
from fspn.engine.limits import TooWide
from fspn.jit import Announcer, KernelsCompile, Patient, is_cached, mode, patient
from fspn.schema.events import CodeRange, Events

ROOT = Path(__file__).parents[3]

COLD = """
import json, subprocess, sys
from pathlib import Path
import fspn.engine.cold_start as cold_start

started = []
def start():
    started.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
    return started[-1]
cold_start._start = start

import pandas as pd
from fspn import FSPN
from fspn.engine.batch_kernels import answer

table = pd.read_json(sys.argv[1])
model = FSPN(random_state=0).fit(table)
answers = [
    model.probability({"age": (20, 30), "sex": "F"}),
    model.conditional({"sex": "F"}, {"age": 40}),
    *model.conditional_table(["age"], {"sex": "M"}).tolist(),
    *model.score_samples(table[:3]).tolist(),
]
kernels = [len(answer.overloads)]
for process in started:
    process.communicate(b"")
print(json.dumps([answers, kernels, len(started), len(list(Path(sys.argv[2]).rglob("*.nbi")))]))
"""


def five_lines() -> pd.DataFrame:
    return pd.DataFrame({"age": [20, 20, 30, 30, 40] * 40, "sex": ["F", "M"] * 100})


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
def test_a_cold_start_answers_without_compiling_anything(tmp_path: Path) -> None:
    """The README's five lines and more, with an empty cache and a compiler that never ends."""
    cache, file = tmp_path / "cache", tmp_path / "table.json"
    cache.mkdir()
    table = five_lines()
    table.to_json(file)
    environment = {
        **os.environ,
        "FSPN_KERNELS": "background",
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", COLD, str(file), str(cache)],
        capture_output=True, text=True, check=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    answers, kernels, started, cached = json.loads(done.stdout)
    assert (kernels, started, cached) == ([0], 1, 0)
    model = FSPN(random_state=0).fit(table)
    assert model._engine is not None
    expected = [
        model.probability({"age": (20, 30), "sex": "F"}),
        model.conditional({"sex": "F"}, {"age": 40}),
        *model.conditional_table(["age"], {"sex": "M"}),
        *model.score_samples(table[:3]),
    ]
    np.testing.assert_allclose(answers, expected, atol=1e-12)


def batch(n: int) -> Events:
    codes = np.arange(n)
    return Events(n, {0: CodeRange(codes, codes)})


def codes_of(events: Events) -> np.ndarray:
    constraint = events.constraints[0]
    assert isinstance(constraint, CodeRange)
    return constraint.lower.astype(float)


def test_a_batch_goes_over_to_the_kernels_as_soon_as_they_are_there() -> None:
    calls: list[str] = []
    ready = iter([False, False, True])

    def slowly(events: Events) -> np.ndarray:
        calls.append("slow")
        return codes_of(events)

    def fast(events: Events) -> np.ndarray:
        calls.append("fast")
        return codes_of(events)

    n = 5 * cold_start.CHUNK
    found = answer_meanwhile(batch(n), slowly, fast, lambda: next(ready))
    np.testing.assert_array_equal(found, np.arange(n))
    assert calls == ["slow", "slow", "fast"]


def test_a_long_answer_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "PATIENCE", -1.0)
    with pytest.warns(KernelsCompile, match=r"fspn\.warm"):
        answer_meanwhile(batch(3), codes_of, codes_of, lambda: False)


def test_compiling_in_this_process_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(jit, "perf_counter", lambda: now[0])
    monkeypatch.setenv("FSPN_KERNELS", "background")
    announcer = Announcer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        announcer.on_start(None)
        now[0] += 0.8
        announcer.on_start(None)  # one that the first calls: its time counts once
        announcer.on_end(None)
        announcer.on_end(None)
        now[0] += 60.0
        announcer.on_start(None)
    now[0] += 0.4
    with pytest.warns(KernelsCompile, match=r"compiled before this call.*fspn\.warm"):
        announcer.on_start(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        announcer.on_start(None)


def test_compiling_that_was_asked_for_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "SILENCE", -1.0)
    monkeypatch.setenv("FSPN_KERNELS", "wait")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Announcer().on_start(None)


def test_what_only_the_kernels_can_answer_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    monkeypatch.setattr(cold_start.COMPILATION, "wait", lambda: waited.append(True))

    def too_wide(events: Events) -> np.ndarray:
        raise TooWide

    with pytest.warns(KernelsCompile, match="waits"):
        found = answer_meanwhile(batch(3), too_wide, codes_of, lambda: False)
    np.testing.assert_array_equal(found, np.arange(3))
    assert waited


def test_kernels_are_compiled_here_where_no_process_can_do_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise OSError

    monkeypatch.setenv("FSPN_KERNELS", "background")
    monkeypatch.setattr(cold_start, "COMPILATION", cold_start.Compilation())
    monkeypatch.setattr(cold_start, "_start", fail)
    monkeypatch.setattr(cold_start, "is_cached", lambda kernel, arguments: False)
    with pytest.warns(KernelsCompile, match="could not"):
        assert Readiness(lambda: [(None, ())]).check()


def test_the_mode_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSPN_KERNELS", "soon")
    with pytest.raises(ValueError, match="FSPN_KERNELS"):
        mode()


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
def test_a_patient_function_is_compiled_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSPN_KERNELS", "background")

    @njit
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    function = Patient(double)
    assert not is_cached(double, (1,))
    assert function(2) == 4
    assert not double.overloads
    function._left = 0.0
    assert function(2) == 4
    assert len(double.overloads) == 1
    assert patient(len) is len


def test_no_warning_where_all_is_compiled() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FSPN().fit(five_lines()).probability({"age": 20}) > 0

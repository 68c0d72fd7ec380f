import multiprocessing
import threading
import time

import pytest

from experiments.records import waiting
from experiments.records.locks import Machine, is_held, locked

SPAWN = multiprocessing.get_context("spawn")


def hold(path, ready):
    with locked(path):
        ready.set()
        time.sleep(60)


def test_a_lock_is_dropped_when_its_holder_is_killed(tmp_path):
    path, ready = tmp_path / "x" / "job.lock", SPAWN.Event()
    assert not is_held(path)
    process = SPAWN.Process(target=hold, args=(path, ready))
    process.start()
    assert ready.wait(30)
    assert is_held(path)
    process.kill()
    process.join()
    assert not is_held(path)


def test_is_held_does_not_take_the_lock(tmp_path):
    path = tmp_path / "job.lock"
    with locked(path):
        assert is_held(path)
    assert not is_held(path)
    with locked(path, shared=True), locked(path, shared=True):
        assert is_held(path)


class Watch:
    """Counts who is inside, and the most at any one time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.working = self.alone = self.most_working = 0
        self.disturbed = False

    def work(self, machine, seconds):
        with machine.working():
            with self.lock:
                self.working += 1
                self.most_working = max(self.most_working, self.working)
                self.disturbed |= self.alone > 0
            time.sleep(seconds)
            with self.lock:
                self.working -= 1

    def time(self, machine, seconds):
        with machine.alone():
            with self.lock:
                self.alone += 1
                self.disturbed |= self.working > 0 or self.alone > 1
            time.sleep(seconds)
            with self.lock:
                self.alone -= 1


def test_workers_share_the_machine_and_a_timing_has_it_alone(tmp_path):
    machine, watch = Machine(tmp_path), Watch()
    threads = []
    for number in range(12):
        action = watch.time if number % 3 == 0 else watch.work
        threads.append(threading.Thread(target=action, args=(machine, 0.02)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert watch.most_working > 1
    assert not watch.disturbed


def test_a_waiting_timing_is_not_overtaken_for_ever(tmp_path):
    machine, stop = Machine(tmp_path), threading.Event()

    def busy(offset):
        time.sleep(offset)
        while not stop.wait(0.001):
            with machine.working():
                time.sleep(0.05)

    threads = [threading.Thread(target=busy, args=(o,)) for o in (0, 0.02, 0.04)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    started = time.monotonic()
    with machine.alone():
        waited = time.monotonic() - started
    stop.set()
    for thread in threads:
        thread.join(10)
    assert waited < 5.0


def test_the_machine_lock_can_be_moved(tmp_path, monkeypatch):
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path / "here"))
    with Machine.local().alone():
        assert is_held(tmp_path / "here" / "floor.lock")
    with pytest.raises(RuntimeError, match="inside"), Machine.local().working():
        raise RuntimeError("inside")
    assert not is_held(tmp_path / "here" / "floor.lock")


def test_whoever_waits_says_for_whom(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.0)
    inside, leave = threading.Event(), threading.Event()

    def measure():
        with Machine(tmp_path, "rdc_65/fspn/0").alone():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=measure)
    thread.start()
    assert inside.wait(30)
    assert "rdc_65/fspn/0 measures times" in waiting.holders(tmp_path)[0]
    threading.Timer(0.3, leave.set).start()
    caplog.clear()
    with Machine(tmp_path, "rdc_21/mspn/0").working():
        assert "waiting for the machine: rdc_65/fspn/0 measures times" in caplog.text
        assert "rdc_21/mspn/0 computes" in waiting.holders(tmp_path)[0]
    thread.join()
    assert waiting.holders(tmp_path) == []


def test_a_killed_holder_is_not_named(tmp_path):
    path = tmp_path / "holders" / "1-0.lock"
    path.parent.mkdir()
    path.write_text("a job of old")
    assert waiting.holders(tmp_path) == []
    assert not path.exists()

"""Worker processes that survive each other: one that dies costs its own job only."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from concurrent import futures
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

from experiments.records.waiting import Waited, tell_waits

LOOK = 0.05  # seconds at least between two looks at a task that waits
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Started(Generic[Task]):
    """A worker took up a task."""

    task: Task


@dataclass(frozen=True)
class Ended(Generic[Task, Result]):
    """A task ended, with a result or an error (WorkerDied if its process was killed)."""

    task: Task
    result: Result | None
    error: BaseException | None


class WorkerDied(RuntimeError):
    """The process that ran a job was killed, e.g. for want of memory."""


@dataclass(frozen=True)
class Limit(Generic[Task, Result]):
    """How long a task may take, and what is run in a new process in place of one that was ended.

    A process is ended from outside: compiled code of a library heeds no signal.

    What a task waits for a machine that others measure times on is not counted: how long that is
    says nothing about the task.

    Arguments:
        seconds: most seconds of a task; None = no limit.
        late: gives the result of a task that took longer.
    """

    seconds: Callable[[Task], float | None]
    late: Callable[[Task], Result]


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int,
    limit: Limit[Task, Result] | None = None,
) -> Iterator[Started[Task] | Ended[Task, Result]]:
    """Run `function` on each task in `workers` processes; yields what happens as it happens.

    Closing the iterator ends the workers at once.
    """
    todo: queue.SimpleQueue[Task] = queue.SimpleQueue()
    events: queue.SimpleQueue[Started[Task] | Ended[Task, Result]] = queue.SimpleQueue()
    for task in tasks:
        todo.put(task)
    slots = [_Slot() for _ in range(min(workers, len(tasks)))]
    for slot in slots:
        threading.Thread(
            target=slot.work, args=(function, todo, events, limit), daemon=True
        ).start()
    try:
        ended = 0
        while ended < len(tasks):
            event = events.get()
            ended += isinstance(event, Ended)
            yield event
    finally:
        for slot in slots:
            slot.stop()


class _Slot:
    """One worker process at a time, replaced when it dies."""

    def __init__(self) -> None:
        self.waited = Waited(multiprocessing.get_context("spawn").RawArray("d", 2))
        self.executor = self._start()
        self.stopped = False

    def work(
        self,
        function: Callable[[Task], Result],
        todo: queue.SimpleQueue[Task],
        events: queue.SimpleQueue[Started[Task] | Ended[Task, Result]],
        limit: Limit[Task, Result] | None,
    ) -> None:
        while not self.stopped:
            try:
                task = todo.get_nowait()
            except queue.Empty:
                return
            events.put(Started(task))
            events.put(self._run(function, task, limit))

    def stop(self) -> None:
        self.stopped = True
        self._kill()

    def _kill(self) -> None:
        processes = list((self.executor._processes or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()

    def _run(
        self,
        function: Callable[[Task], Result],
        task: Task,
        limit: Limit[Task, Result] | None,
    ) -> Ended[Task, Result]:
        try:
            self.waited.reset()
            future = self.executor.submit(function, task)
            if limit is None or self._ends_within(future, limit.seconds(task)):
                return Ended(task, future.result(), None)
            self._kill()
            self.executor = self._start()
            if self.stopped:  # Just now, so that the new worker was not there to be killed.
                self._kill()
            return Ended(task, self.executor.submit(limit.late, task).result(), None)
        except BrokenProcessPool:
            self.executor = self._start()
            died = WorkerDied("the job's process was killed (out of memory?)")
            return Ended(task, None, died)
        except Exception as error:
            return Ended(task, None, error)

    def _ends_within(self, future: futures.Future[Any], seconds: float | None) -> bool:
        """Wait for a task until it ends, or has taken so many seconds beside its waits."""
        started = time.monotonic()
        left = seconds
        while left is None or left > 0:
            _, unfinished = futures.wait([future], None if left is None else max(left, LOOK))
            if not unfinished:
                return True
            assert seconds is not None
            left = seconds + self.waited.seconds - (time.monotonic() - started)
        return False

    def _start(self) -> ProcessPoolExecutor:
        # A worker of Hydra's launcher has a start method that its children would not know.
        if multiprocessing.get_start_method() not in multiprocessing.get_all_start_methods():
            multiprocessing.set_start_method("spawn", force=True)
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            1, mp_context=context, initializer=_begin, initargs=(self.waited.shared,)
        )


def _begin(waits: MutableSequence[float]) -> None:
    """What a worker does before its first task."""
    tell_waits(waits)
    _end_with_parent()


def _end_with_parent() -> None:
    """End this worker as soon as the process that started it is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

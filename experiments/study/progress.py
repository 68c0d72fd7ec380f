"""What a running study shows: which job of how many, what is running, and the time left."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from experiments.records.rows import ResultRow

MARKS = {"ok": "[green]ok", "skipped": "[dim]done before", "failed": "[red]failed"}
SILENCE = 60.0  # seconds after which a log file gets a line although no job ended


class Part:
    """Jobs that run side by side, and the time until the last of them ends.

    Job j is expected to take w_j seconds, from earlier records. With the finished jobs F, the
    estimate for a job is f w_j, where f = (w + sum of seconds in F) / (w + sum of w_j in F) and w
    is the mean of all w_j: one job's worth of trust in the records. Where no record is of this
    very study, only the proportions of the w_j count, and there is no estimate before a job ended.

    Arguments:
        expected: seconds that each job is expected to take, by label, in the order of the jobs.
        workers: jobs at the same time.
        trusted: whether the seconds are of this study; else they are proportions.
    """

    def __init__(self, expected: Mapping[str, float], workers: int, *, trusted: bool) -> None:
        self.waiting = dict(expected)
        self.workers = max(workers, 1)
        self.running: dict[str, float] = {}
        self._trust = sum(expected.values()) / max(len(expected), 1) if trusted else 0.0
        self._seconds = self._foreseen = 0.0

    def ended(self, label: str, seconds: float | None) -> None:
        """A job ended; None if it was skipped."""
        self.running.pop(label, None)
        foreseen = self.waiting.pop(label)
        if seconds is not None:
            self._seconds += seconds
            self._foreseen += foreseen

    def left(self) -> float | None:
        """Seconds until the last job ends; None while there is nothing to go by."""
        if not self.waiting:
            return 0.0
        if self._trust + self._foreseen <= 0:
            return None
        factor = (self._trust + self._seconds) / (self._trust + self._foreseen)
        now = time.monotonic()
        free = [
            max(factor * self.waiting[label] - (now - began), 0.1 * (now - began))
            for label, began in self.running.items()
        ]
        free += [0.0] * (self.workers - len(free))
        heapq.heapify(free)
        for label, seconds in self.waiting.items():
            if label not in self.running:
                heapq.heappush(free, heapq.heappop(free) + factor * seconds)
        return max(free)


class Clock:
    """Time left of a study: jobs side by side, then those that measure, one after the other.

    The two parts are estimated apart: how long training takes says nothing about latencies.

    Arguments:
        expected, workers, trusted: as for `Part`.
        alone: seconds that each of the measuring jobs at the end is expected to take, by label.
    """

    def __init__(
        self,
        expected: Mapping[str, float],
        workers: int,
        *,
        trusted: bool = True,
        alone: Mapping[str, float] | None = None,
    ) -> None:
        self.workers = max(workers, 1)
        self._parts = [Part(expected, workers, trusted=trusted), Part(alone or {}, 1, trusted=True)]

    @property
    def running(self) -> dict[str, float]:
        """The running jobs, and when each began."""
        return {label: began for part in self._parts for label, began in part.running.items()}

    @property
    def waiting(self) -> dict[str, float]:
        """The jobs that have not ended, with what they are expected to take."""
        return {label: seconds for part in self._parts for label, seconds in part.waiting.items()}

    def started(self, label: str) -> None:
        """A job began."""
        self._part(label).running[label] = time.monotonic()

    def ended(self, label: str, seconds: float | None) -> None:
        """A job ended; None if it was skipped."""
        self._part(label).ended(label, seconds)

    def left(self) -> float | None:
        """Seconds until the last job ends; None while there is nothing to go by."""
        parts = [part.left() for part in self._parts]
        known = [seconds for seconds in parts if seconds is not None]
        return sum(known) if len(known) == len(parts) else None

    def _part(self, label: str) -> Part:
        return next(part for part in self._parts if label in part.waiting)


class Display:
    """A bar on a terminal; in a log file a line per job, at the start, and at least each minute."""

    def __init__(
        self,
        title: str,
        clock: Clock,
        console: Console | None = None,
        silence: float = SILENCE,
    ) -> None:
        self.title, self.clock = title, clock
        self.total = len(clock.waiting)
        self.count = 0
        self.console = console or Console(highlight=False)
        self.progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}  {task.fields[now]}"),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.progress.add_task(title, total=self.total, left="", now="")
        self._silence = silence
        self._spoke = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Display:
        count = f"{self.total} jobs, {self.clock.workers} at a time"
        self._print(f"{escape(self.title)}: {count}; {_left(self.clock.left())}")
        self.progress.start()
        threading.Thread(target=self._remind, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._spoke.set()
        self.progress.stop()

    def started(self, label: str) -> None:
        """Show that a job began."""
        with self._lock:
            self.clock.started(label)
        self._refresh()

    def ended(
        self,
        label: str,
        row: ResultRow | None,
        *,
        skipped: bool,
        error: str = "",
        seconds: float | None = None,
    ) -> None:
        """Show how a job, or the part of it that took `seconds`, ended."""
        if skipped or row is None:
            seconds = None
        elif seconds is None:
            seconds = row.job_seconds
        with self._lock:
            self.clock.ended(label, seconds)
        self.count += 1
        status = "skipped" if skipped else (row.status if row else "failed")
        mark = MARKS.get(status, f"[yellow]{status}")
        parts = [escape(f"[{self.count}/{self.total}]"), mark + "[/]", escape(label)]
        parts += _measures(row) if row is not None and not skipped else []
        parts += [escape(error or (row.error if row is not None else ""))]
        parts += [_left(self.clock.left())] if self.count < self.total else []
        self._print("  ".join(part for part in parts if part))
        self.progress.advance(self.task)
        self._refresh()

    def dropped(self, label: str) -> None:
        """Leave out a job that is not needed."""
        with self._lock:
            self.clock.ended(label, None)
        self.total -= 1
        self.progress.update(self.task, total=self.total)

    def _print(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)
        self._spoke.set()

    def _remind(self) -> None:
        """In a log file, say what is running when nothing else was said for a while."""
        while not self._over.is_set():
            self._spoke.clear()
            if self._spoke.wait(self._silence) or self._over.is_set():
                continue
            if self.console.is_terminal:
                self._refresh()
                continue
            with self._lock:
                now, left = _named(list(self.clock.running)), _left(self.clock.left())
            self.console.print(
                escape(f"[{self.count}/{self.total}]  running: {now}  {left}"), soft_wrap=True
            )

    def _refresh(self) -> None:
        with self._lock:
            now, left = ", ".join(self.clock.running), _left(self.clock.left())
        self.progress.update(self.task, left=left, now=now)


def _named(labels: Sequence[str]) -> str:
    """The first labels, and how many more there are."""
    more = f" and {len(labels) - 4} more" if len(labels) > 4 else ""
    return (", ".join(labels[:4]) or "nothing yet") + more


def _measures(row: ResultRow) -> list[str]:
    parts = [f"{row.job_seconds:.1f} s"]
    if row.kl_mean == row.kl_mean:
        parts.append(f"KL {row.kl_mean:.3g}")
    elif row.test_ll == row.test_ll:
        parts.append(f"test LL {row.test_ll:.2f}")
    if row.latency_single_ms == row.latency_single_ms:
        parts.append(f"{row.latency_single_ms:.3g} ms/query")
    return parts


def _left(seconds: float | None) -> str:
    if seconds is None:
        return "time left: not known yet"
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s left"
    return f"about {seconds / 60:.0f} min left"

"""What a running study shows: which job of how many, what is running, and the time left."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from experiments.records.rows import ResultRow

MARKS = {"ok": "[green]ok", "skipped": "[dim]done before", "failed": "[red]failed"}


class Clock:
    """Time left, from how long jobs of the same model took, in this or in earlier studies.

    Arguments:
        models: the model of each job, by label.
        earlier: seconds of earlier jobs, by model.
        workers: jobs at the same time.
    """

    def __init__(
        self, models: Mapping[str, str], earlier: Mapping[str, Sequence[float]], workers: int
    ) -> None:
        self.waiting = dict(models)
        self.workers = workers
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._earlier = {model: list(values) for model, values in earlier.items() if values}
        self.running: dict[str, float] = {}

    def started(self, label: str) -> None:
        """A job began."""
        self.running[label] = time.monotonic()

    def ended(self, label: str, seconds: float | None) -> None:
        """A job ended; None if it was skipped."""
        self.running.pop(label, None)
        model = self.waiting.pop(label)
        if seconds is not None:
            self.seconds[model].append(seconds)

    def left(self) -> float | None:
        """Seconds until the last job ends; None while there is nothing to go by."""
        known = [s for values in (self.seconds or self._earlier).values() for s in values]
        if not known:
            return None
        total = 0.0
        for label, model in self.waiting.items():
            values = self.seconds.get(model) or self._earlier.get(model) or known
            gone = time.monotonic() - self.running[label] if label in self.running else 0.0
            total += max(fmean(values) - gone, 0.0)
        return total / self.workers


class Display:
    """A bar on a terminal; one plain line per job in a log file."""

    def __init__(self, title: str, clock: Clock, console: Console | None = None) -> None:
        self.clock = clock
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

    def __enter__(self) -> Display:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def started(self, label: str) -> None:
        """Show that a job began."""
        self.clock.started(label)
        self._refresh()

    def ended(self, label: str, row: ResultRow | None, *, skipped: bool, error: str = "") -> None:
        """Show how a job ended."""
        seconds = None if skipped or row is None else row.job_seconds
        self.clock.ended(label, seconds)
        self.count += 1
        status = "skipped" if skipped else (row.status if row else "failed")
        mark = MARKS.get(status, f"[yellow]{status}")
        parts = [escape(f"[{self.count}/{self.total}]"), mark + "[/]", escape(label)]
        parts += _measures(row) if row is not None and not skipped else []
        parts += [escape(error or (row.error if row is not None else ""))]
        parts += [_left(self.clock.left())] if self.count < self.total else []
        self.console.print("  ".join(part for part in parts if part), soft_wrap=True)
        self.progress.advance(self.task)
        self._refresh()

    def _refresh(self) -> None:
        now = ", ".join(self.clock.running)
        self.progress.update(self.task, left=_left(self.clock.left()), now=now)


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

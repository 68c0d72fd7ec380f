"""A progress display for long fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int, verbose: bool) -> Iterator[Callable[[int], None]]:
    """Yields a function that is told how much has been done; shows nothing unless ``verbose``."""
    if not verbose:
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("learning FSPN"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}% of the table modelled"),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as display:
        task = display.add_task("fit", total=total)
        yield lambda done: display.update(task, advance=done)

"""Settings are compared on some of the training rows, the best few once more on all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

from baselines.base import DensityModel
from experiments.measures.timing import one_thread
from experiments.study.search import (
    Params,
    SearchOptions,
    SearchResult,
    Trial,
    all_failed,
    better,
    search,
    settings,
    try_setting,
)
from experiments.types import Dataset


def search_coarse_to_fine(
    build: Callable[[Params], DensityModel],
    grid: Mapping[str, Sequence[Any]],
    dataset: Dataset,
    seed: int,
    *,
    rows: int,
    finalists: int,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """The best on all training rows of the settings that are best on the first `rows` of them.

    The rows of a dataset are independent draws, so the first ones are a sample. Validation rows
    are all used both times. On the sample a fit has its share of the time limit: one that takes
    longer would not end on all rows either. A single setting, or a table no longer than `rows`, is
    not searched twice. `finalists` is the number of settings that are learned once more from all
    rows. The next best takes the place of one that fails; after a time-out, the next best that
    was twice as fast on the sample. The rest is as for `search`.
    """
    many = len(settings(grid)) * len(settings(options.get("then") or {})) > 1
    if not many or len(dataset.train) <= rows:
        return search(build, grid, dataset, seed, **options)
    some, limit = replace(dataset, train=dataset.train.head(rows)), options.get("limit_seconds")
    share = None if limit is None else limit * rows / len(dataset.train)
    sample: SearchOptions = {**options, "limit_seconds": share}
    trials = list(search(build, grid, some, seed, **sample).trials)
    # Settings of one score are one model: a value that is named, and is the default.
    scores = {t.valid_ll: t for t in reversed(trials) if t.status == "ok"}
    waiting = [scores[score] for score in sorted(scores, reverse=True)]
    best: tuple[Trial, DensityModel] | None = None
    coarse, fitted = len(trials), 0
    while waiting and fitted < finalists:
        chosen = waiting.pop(0)
        base = best[1] if best is not None else None
        with options.get("turn", nullcontext)(), one_thread():
            trial, model = try_setting(
                build, len(trials), chosen.params, dataset, seed, limit, base
            )
        trials.append(trial)
        options.get("report", _nothing)(trial)
        if model is None:
            if trial.status == "timeout":
                waiting = [t for t in waiting if t.train_seconds < chosen.train_seconds / 2]
            continue
        fitted += 1
        if best is None or better(trial, best[0]):
            best = trial, model
    if best is None:
        raise all_failed(trials[coarse:])
    return SearchResult(best[1], best[0], tuple(trials), float(rows))


def _nothing(_trial: Trial) -> None:
    pass

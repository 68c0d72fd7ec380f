"""Settings are compared on some of the training rows, the best few once more on all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

from baselines.base import DensityModel
from experiments.study.contest import Contest, Memory
from experiments.study.search import SearchOptions, SearchResult, all_failed, search, settings
from experiments.study.trial import Params, Trial
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
    turn, report = options.get("turn", nullcontext), options.get("report", _nothing)
    contest = Contest(build, seed, turn, report, options.get("memory") or Memory(), trials)
    coarse, fitted = len(trials), 0
    while waiting and fitted < finalists:
        chosen = waiting.pop(0)
        trial = contest.enter(chosen.params, dataset, limit, contest.best)
        fitted += trial.status == "ok"
        if trial.status == "timeout":
            waiting = [t for t in waiting if t.train_seconds < chosen.train_seconds / 2]
    if contest.best is None:
        raise all_failed(trials[coarse:])
    return SearchResult(contest.model(dataset), contest.best, tuple(trials), float(rows))


def _nothing(_trial: Trial) -> None:
    pass

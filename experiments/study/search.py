"""Exhaustive grid search on the validation rows, inside the job."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypedDict

from baselines.base import DensityModel, FitTimeout
from experiments.study.contest import Contest, Memory
from experiments.study.stop import stops_the_job
from experiments.study.trial import Params, Trial
from experiments.types import Dataset

log = logging.getLogger(__name__)
WARM_ROWS = 200


class SearchError(RuntimeError):
    """No setting of the grid could be fitted."""


@dataclass(frozen=True)
class SearchResult:
    """The fitted model of the best trial, that trial, and all of them.

    `rows` is the number of training rows that the grid was compared on, where it was not all.
    """

    model: DensityModel
    best: Trial
    trials: tuple[Trial, ...]
    rows: float = math.nan

    @property
    def seconds(self) -> float:
        """Time of all trials (fits and validation)."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def n_failed(self) -> int:
        """Number of settings that could not be fitted."""
        return sum(trial.status != "ok" for trial in self.trials)


def settings(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the grid; those with tau_low > tau_high do not exist.

    >>> settings({"tau_low": [0.1, 0.5], "tau_high": [0.3]})
    [{'tau_low': 0.1, 'tau_high': 0.3}]
    """
    combinations = itertools.product(*grid.values())
    return [p for c in combinations if _in_order(p := dict(zip(grid, c, strict=True)))]


def open_grid(
    grid: Mapping[str, Sequence[Any]], params: Params, fixed: Collection[str]
) -> dict[str, list[Any]]:
    """The grid without what was given: a given key is not searched, nor what contradicts it.

    >>> grid = {"tau_low": [0.1, 0.3], "tau_high": [0.2, 0.7], "alpha": [1, 2]}
    >>> open_grid(grid, {"tau_low": 0.5}, {"tau_low"})
    {'tau_high': [0.7], 'alpha': [1, 2]}
    """
    given = {key: params.get(key) for key in fixed}
    # What was given may contradict itself; the check of the settings says so.
    asked = _in_order(given)
    return {
        key: [value for value in values if not asked or _in_order({**given, key: value})]
        for key, values in grid.items()
        if key not in fixed
    }


class SearchOptions(TypedDict, total=False):
    """The keywords of `search`, described there."""

    then: Mapping[str, Sequence[Any]] | None
    max_settings: int | None
    limit_seconds: float | None
    turn: Callable[[], Any]
    report: Callable[[Trial], None]
    memory: Memory


def search(
    build: Callable[[Params], DensityModel],
    grid: Mapping[str, Sequence[Any]],
    dataset: Dataset,
    seed: int,
    *,
    then: Mapping[str, Sequence[Any]] | None = None,
    max_settings: int | None = None,
    limit_seconds: float | None = None,
    turn: Callable[[], Any] = nullcontext,
    report: Callable[[Trial], None] = lambda trial: None,
    memory: Memory | None = None,
) -> SearchResult:
    """The setting with the highest validation log-likelihood.

    Arguments:
        build: makes an unfitted model from a setting.
        grid: values to try for each hyper-parameter; empty for the model's own setting.
        dataset: fitted on `train`, compared on `valid`.
        seed: seed of every fit.
        then: values to try afterwards, with the grid's best setting held fixed.
        max_settings: try at most this many of each, spread evenly over the grid.
        limit_seconds: time limit of one fit.
        turn: context in which each trial computes (a lock on the machine's cores).
        report: called with each trial as it ends.
        memory: trials of an earlier start, which are not made again.
    """
    with turn():
        _warm_up(build, dataset, seed)
    contest = Contest(build, seed, turn, report, memory or Memory())
    for part in (grid, then) if then else (grid,):
        base = contest.best
        for params in _spread(settings(part), max_settings):
            setting = (base.params if base is not None else {}) | params
            if any(trial.params == setting for trial in contest.trials):
                continue
            contest.enter(setting, dataset, limit_seconds, base)
        if contest.best is None:
            break
    if contest.best is None:
        raise all_failed(contest.trials)
    return SearchResult(contest.model(dataset), contest.best, tuple(contest.trials))


def _warm_up(build: Callable[[Params], DensityModel], dataset: Dataset, seed: int) -> None:
    """Load libraries and compiled kernels on a few rows, so that no fit is charged for it."""
    try:
        model = build({})
        model.bind(dataset)
        model.fit(dataset.train.head(WARM_ROWS), dataset.domains, seed)
    except Exception as error:
        if stops_the_job(error):
            raise
        log.info("warm-up on %d rows failed (the trials decide): %s", WARM_ROWS, error)


def _spread(values: list[dict[str, Any]], most: int | None) -> list[dict[str, Any]]:
    """At most `most` of the values, evenly spread, the first among them."""
    count = len(values) if most is None else min(most, len(values))
    return [values[number * len(values) // count] for number in range(count)]


def _in_order(params: Params) -> bool:
    """Whether tau_low <= tau_high, as far as both are set (also as `model.tau_low`)."""
    named = {key.rpartition(".")[2]: value for key, value in params.items()}
    low, high = named.get("tau_low"), named.get("tau_high")
    return low is None or high is None or low <= high


def all_failed(trials: Sequence[Trial]) -> Exception:
    """What to raise when no setting could be fitted."""
    if not trials:
        return SearchError("the grid has no setting with tau_low <= tau_high")
    message = f"all {len(trials)} settings failed; the first: {trials[0].error}"
    if all(trial.status == "timeout" for trial in trials):
        return FitTimeout(message)
    return SearchError(message)

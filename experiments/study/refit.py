"""Estimators on real tables: settings are compared on held-out rows, the best learns all rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack, cast

from hydra.utils import get_class

from baselines.base import DensityModel
from baselines.estimators.base import Absent, Estimator, Unavailable
from experiments.measures.timing import one_thread
from experiments.study.config import ConfigError, JobConfig
from experiments.study.search import SearchOptions, SearchResult, search, settings
from experiments.study.stop import stops_the_job
from experiments.study.trial import Params, Trial, time_limit
from experiments.types import Dataset

log = logging.getLogger(__name__)
WARM_ROWS = 1_000


def check_kind(config: JobConfig, dataset: Dataset) -> None:
    """Estimators go with real tables, density models with everything else."""
    is_estimator = issubclass(get_class(config.model.target), Estimator)
    if is_estimator == (dataset.counting is not None):
        return
    if is_estimator:
        raise ConfigError(
            f"model {config.model.name} estimates row counts of real tables: "
            "choose dataset=table, or a model without tables/ before its name"
        )
    raise ConfigError(
        f"model {config.model.name} does not take a real table: "
        "choose one of conf/model/tables, such as model=tables/fspn"
    )


def search_and_refit(
    build: Callable[[Params], DensityModel],
    grid: Mapping[str, Sequence[Any]],
    dataset: Dataset,
    seed: int,
    *,
    rows: int | None = None,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """The setting that is best on held-out rows, learned once more from the whole table.

    Settings are compared on all other rows, or on a sample of `rows` of them. The rest of the
    arguments are those of `search`. With a single setting there is nothing to search. The time
    of training is that of the last fit. An estimator that cannot run here is a gap, not a failure.
    """
    n_train = len(dataset.train)
    trials: tuple[Trial, ...] = ()
    best: dict[str, Any] = {key: values[0] for key, values in grid.items()}
    score = float("nan")
    if len(settings(grid)) > 1:
        compared = _sampled(held_out(dataset), rows, seed)
        found = search(build, grid, compared, seed, **options)
        trials, best, score = found.trials, found.best.params, found.best.valid_ll
    started = time.perf_counter()
    with options.get("turn", nullcontext)(), one_thread():
        model = cast(Estimator, build(best))
        try:
            seconds = _fit(build, model, dataset, seed, options.get("limit_seconds"))
        except Unavailable as gap:
            log.warning("%s is left out: %s", model.name, gap)
            model, seconds = Absent(model.name, str(gap)), float("nan")
    spent = time.perf_counter() - started
    last = Trial(len(trials), best, "ok", "", score, seconds, spent)
    if not trials and "report" in options:
        options["report"](last)
    sample = float(rows) if trials and rows is not None and rows < n_train else float("nan")
    return SearchResult(cast(DensityModel, model), last, (*trials, last), sample)


def held_out(dataset: Dataset) -> Dataset:
    """The dataset with its validation rows taken out of the training rows."""
    rest = dataset.train.drop(index=dataset.valid.index)
    return replace(dataset, train=rest.reset_index(drop=True))


def _sampled(dataset: Dataset, rows: int | None, seed: int) -> Dataset:
    """The dataset with a random sample of its training rows; tables are often sorted."""
    if rows is None or rows >= len(dataset.train):
        return dataset
    some = dataset.train.sample(rows, random_state=seed).sort_index().reset_index(drop=True)
    return replace(dataset, train=some)


def _fit(
    build: Callable[[Params], DensityModel],
    model: Estimator,
    dataset: Dataset,
    seed: int,
    limit_seconds: float | None,
) -> float:
    """Fit on all rows; returns the seconds that learning took."""
    if model.in_process:
        _warm_up(cast(Estimator, build({})), dataset, seed)
    with time_limit(limit_seconds):
        started = time.perf_counter()
        model.bind(dataset)
        model.fit(dataset.train, dataset.domains, seed)
        seconds = time.perf_counter() - started
    return seconds if model.learning_seconds is None else model.learning_seconds


def _warm_up(model: Estimator, dataset: Dataset, seed: int) -> None:
    """Load libraries and compiled kernels on a few rows, so that no fit is charged for it."""
    try:
        model.fit(dataset.train.head(WARM_ROWS), dataset.domains, seed)
    except Exception as error:
        if stops_the_job(error):
            raise
        log.info("warm-up on %d rows failed (the fit decides): %s", WARM_ROWS, error)

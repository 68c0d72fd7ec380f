"""One setting of a grid: fitted within its time limit, compared on the validation rows."""

from __future__ import annotations

import logging
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from baselines.base import SCORE, DensityModel, FitTimeout
from experiments.measures.divergence import log_likelihood
from experiments.study.stop import stops_the_job
from experiments.types import Dataset, Trial

log = logging.getLogger(__name__)
Params = Mapping[str, Any]


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise FitTimeout in the block after `seconds` (main thread only)."""
    if seconds is None:
        yield
        return

    def stop(_signum: int, _frame: Any) -> None:
        raise FitTimeout(f"the fit did not end within its limit of {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def try_setting(
    build: Callable[[Params], DensityModel],
    number: int,
    params: dict[str, Any],
    dataset: Dataset,
    seed: int,
    limit_seconds: float | None,
    base: DensityModel | None = None,
) -> tuple[Trial, DensityModel | None]:
    """Fit and validate one setting; a failure of the model is a result too.

    Of `base`, fitted on the same rows, a model may take over what it would learn again; its
    training time counts that all the same.
    """
    started = time.perf_counter()
    try:
        model = build(params)
        model.bind(dataset)
        saved = model.resume(base) if isinstance(base, DensityModel) else 0.0
        with time_limit(limit_seconds):
            model.fit(dataset.train, dataset.domains, seed)
        fitted = time.perf_counter() - started + saved
        score = validate(model, dataset)
    except Exception as error:
        if stops_the_job(error):
            raise
        log.warning("trial %d %s failed: %s", number, params, error)
        status = "timeout" if isinstance(error, FitTimeout) else "failed"
        spent = time.perf_counter() - started
        message = f"{type(error).__name__}: {error}"
        return Trial(number, params, status, message, math.nan, math.nan, spent), None
    spent = time.perf_counter() - started
    return Trial(number, params, "ok", "", score, fitted, spent), model


def validate(model: DensityModel, dataset: Dataset) -> float:
    """Mean log-likelihood of the validation rows; NaN where the model gives none."""
    if SCORE not in model.answers:
        return math.nan
    score = log_likelihood(model, dataset.valid).mean
    if math.isnan(score):
        raise ArithmeticError(f"{model.name} scores validation rows as NaN")
    return score


def better(trial: Trial, best: Trial) -> bool:
    """Higher validation log-likelihood; the earlier setting of the grid wins a tie."""
    return trial.valid_ll > best.valid_ll

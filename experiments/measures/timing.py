"""Latency of Pr(Q = q | E = e): one by one and in a batch, one thread, warm, median of repeats."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from baselines.base import DensityModel
from experiments.types import Workload

WARM_QUERIES = 10
LEAST_QUERIES = 5
Pair = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class TimingConfig:
    """How often latency is measured.

    Arguments:
        repeats: passes over the workload.
        budget_seconds: no further pass starts after this time, and a first pass that takes longer
            ends with the query that it is at, so that one slow model cannot hold a study.
    """

    repeats: int = 7
    budget_seconds: float = 10.0


@dataclass(frozen=True)
class Latency:
    """Milliseconds per query.

    Arguments:
        single_ms, single_iqr_ms: median and interquartile range, over passes, of the mean time
            per query when they are asked one by one.
        batch_ms, batch_iqr_ms: the same when all are asked in one call.
        queries_ms: each query's own median over the passes, one by one; NaN for those that the
            budget had no room for, whose means are then over the first queries alone.
    """

    single_ms: float
    single_iqr_ms: float
    batch_ms: float
    batch_iqr_ms: float
    queries_ms: np.ndarray

    @property
    def n_timed(self) -> int:
        """The number of queries that were asked."""
        return int(np.isfinite(self.queries_ms).sum())


def measure(model: DensityModel, workload: Workload, config: TimingConfig) -> Latency:
    """Latency of a fitted model on a workload; the caller sees to it that nothing else runs."""
    targets = [query.target for query in workload.queries]
    evidence = [query.evidence for query in workload.queries]
    pairs = [([q], [e]) for q, e in zip(targets, evidence, strict=True)]
    with one_thread(), no_garbage_collection():
        _warm(model, pairs[:WARM_QUERIES], _deadline(config))
        single = _passes(lambda deadline: _one_by_one(model, pairs, deadline), config)
        timed = int(np.isfinite(single[0]).sum())
        some = targets[:timed], evidence[:timed]
        if len(single) > 1:  # Else it is so slow that a second pass is no warmer.
            model.conditional(*some)
        batch = _passes(lambda _: np.array([_clock(model, *some)]), config)
    single_pass, batch_pass = np.nanmean(single, axis=1), batch[:, 0] / timed
    return Latency(
        single_ms=float(np.median(single_pass)),
        single_iqr_ms=_iqr(single_pass),
        batch_ms=float(np.median(batch_pass)),
        batch_iqr_ms=_iqr(batch_pass),
        queries_ms=np.median(single, axis=0),
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for BLAS, OpenMP, numba, torch and pyAgrum, as far as they are loaded."""
    restore = [undo for library in _LIMITERS if (undo := _limit(library)) is not None]
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        for undo in restore:
            undo()


_LIMITERS: Mapping[str, tuple[str, str]] = {
    "numba": ("get_num_threads", "set_num_threads"),
    "torch": ("get_num_threads", "set_num_threads"),
    "pyagrum": ("getNumberOfThreads", "setNumberOfThreads"),
}


def _limit(library: str) -> Callable[[], Any] | None:
    module = sys.modules.get(library)
    if module is None:
        return None
    getter, setter = _LIMITERS[library]
    before = getattr(module, getter)()
    getattr(module, setter)(1)
    return lambda: getattr(module, setter)(before)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect now and not while measuring."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _deadline(config: TimingConfig) -> float:
    return time.perf_counter() + config.budget_seconds


def _warm(model: DensityModel, pairs: Sequence[Pair], deadline: float) -> None:
    for q, e in pairs:
        model.conditional(q, e)
        if time.perf_counter() > deadline:
            return


def _passes(one_pass: Callable[[float], np.ndarray], config: TimingConfig) -> np.ndarray:
    """Milliseconds of each pass, one row per pass; only the first may be cut by the deadline."""
    deadline = _deadline(config)
    rows = [one_pass(deadline)]
    while len(rows) < config.repeats and time.perf_counter() <= deadline:
        rows.append(one_pass(np.inf))
    return np.stack(rows)


def _one_by_one(model: DensityModel, pairs: Sequence[Pair], deadline: float) -> np.ndarray:
    """Milliseconds of each query; NaN for those behind the deadline, at least a few are asked."""
    found = np.full(len(pairs), np.nan)
    for number, (q, e) in enumerate(pairs):
        if number >= LEAST_QUERIES and time.perf_counter() > deadline:
            break
        found[number] = _clock(model, q, e)
    return found


def _clock(model: DensityModel, query: list[Any], evidence: list[Any]) -> float:
    started = time.perf_counter_ns()
    model.conditional(query, evidence)
    return (time.perf_counter_ns() - started) / 1e6


def _iqr(values: np.ndarray) -> float:
    low, high = np.percentile(values, [25, 75])
    return float(high - low)

"""Latency of Pr(Q = q | E = e): one by one and in a batch, one thread, warm, median of repeats."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from baselines.base import DensityModel
from experiments.types import Workload

WARM_QUERIES = 10


@dataclass(frozen=True)
class TimingConfig:
    """How often latency is measured.

    Arguments:
        repeats: passes over the workload.
        budget_seconds: no further pass starts after this time (two are always made).
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
        queries_ms: each query's own median over the passes, one by one.
    """

    single_ms: float
    single_iqr_ms: float
    batch_ms: float
    batch_iqr_ms: float
    queries_ms: np.ndarray


def measure(model: DensityModel, workload: Workload, config: TimingConfig) -> Latency:
    """Latency of a fitted model on a workload; the caller sees to it that nothing else runs."""
    targets = [query.target for query in workload.queries]
    evidence = [query.evidence for query in workload.queries]
    pairs = [([q], [e]) for q, e in zip(targets, evidence, strict=True)]
    with one_thread(), no_garbage_collection():
        for q, e in pairs[:WARM_QUERIES]:
            model.conditional(q, e)
        single = _passes(lambda: _one_by_one(model, pairs), config)
        model.conditional(targets, evidence)
        batch = _passes(lambda: np.array([_clock(model, targets, evidence)]), config)
    single_pass, batch_pass = single.mean(axis=1), batch[:, 0] / len(pairs)
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


def _passes(one_pass: Callable[[], np.ndarray], config: TimingConfig) -> np.ndarray:
    """Milliseconds of each pass, one row per pass."""
    started = time.perf_counter()
    rows: list[np.ndarray] = []
    while len(rows) < config.repeats:
        if len(rows) >= 2 and time.perf_counter() - started > config.budget_seconds:
            break
        rows.append(one_pass())
    return np.stack(rows)


def _one_by_one(model: DensityModel, pairs: list[tuple[list[Any], list[Any]]]) -> np.ndarray:
    return np.array([_clock(model, q, e) for q, e in pairs])


def _clock(model: DensityModel, query: list[Any], evidence: list[Any]) -> float:
    started = time.perf_counter_ns()
    model.conditional(query, evidence)
    return (time.perf_counter_ns() - started) / 1e6


def _iqr(values: np.ndarray) -> float:
    low, high = np.percentile(values, [25, 75])
    return float(high - low)

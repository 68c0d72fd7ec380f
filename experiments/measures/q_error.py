r"""How far estimated row counts are off, and how long an estimate takes.

The q-error of an estimate e of a true count t is :math:`\max(e / t, t / e)`, both at least one row:
1 is exact, and being ten times too high is as bad as ten times too low.
"""

from __future__ import annotations

import gc
import logging
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from baselines.base import UnsupportedQuery
from baselines.estimators.base import Estimator, Question
from experiments.measures.timing import TimingConfig, one_thread
from experiments.records.locks import Machine
from experiments.records.rows import ResultRow
from experiments.types import CountWorkload, Dataset
from fspn.sql import read_condition, write_condition

log = logging.getLogger(__name__)

QUANTILES = {"q_median": 0.5, "q_p90": 0.9, "q_p95": 0.95, "q_p99": 0.99, "q_max": 1.0}
WARM = 20


def q_error(estimates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The q-error of each estimate; infinite where there is none (NaN).

    >>> q_error(np.array([0.2, 50.0]), np.array([1, 10])).tolist()
    [1.0, 5.0]
    """
    estimated, true = np.maximum(estimates, 1.0), np.maximum(counts, 1.0)
    return np.where(np.isnan(estimates), np.inf, np.maximum(estimated / true, true / estimated))


def quantiles(errors: np.ndarray) -> dict[str, float]:
    """The quantiles that the rows record; infinite errors count as what they are."""
    ordered = np.sort(errors)
    places = {k: min(int(np.ceil(q * len(ordered))), len(ordered)) for k, q in QUANTILES.items()}
    return {key: float(ordered[max(place, 1) - 1]) for key, place in places.items()}


@dataclass(frozen=True)
class _Asked:
    """Estimated rows, seconds of each query, seconds of all in one call."""

    rows: np.ndarray
    seconds: np.ndarray
    batch: float


def evaluate_counts(
    model: Estimator, dataset: Dataset, row: ResultRow, timing: TimingConfig, machine: Machine
) -> tuple[ResultRow, pd.DataFrame]:
    """The row with q-errors and latency filled in, and the per-query table; closes the model."""
    workload = dataset.counting
    assert workload is not None
    try:
        with machine.alone(), one_thread():
            asked = _ask(model, workload, timing)
            table = _table(workload, asked)
            exact = getattr(model, "count", None)
            if exact is not None:
                table["exact_us"] = [_seconds(exact, each) * 1e6 for each in workload.questions]
    except UnsupportedQuery as error:
        return replace(row, status="unsupported", error=str(error)), pd.DataFrame()
    finally:
        model.close()
    found = quantiles(table["q_error"].to_numpy())
    row = replace(
        row,
        q_median=found["q_median"],
        q_p90=found["q_p90"],
        q_p95=found["q_p95"],
        q_p99=found["q_p99"],
        q_max=found["q_max"],
        n_queries=len(workload),
        latency_single_ms=1e3 * float(np.median(asked.seconds)),
        latency_single_iqr_ms=1e3 * float(np.subtract(*np.quantile(asked.seconds, [0.75, 0.25]))),
        latency_batch_ms=1e3 * asked.batch / len(workload),
    )
    return row, table


def _ask(model: Estimator, workload: CountWorkload, timing: TimingConfig) -> _Asked:
    """Estimates one by one, as often as the budget allows; then all in one call."""
    for question in workload.questions[:WARM]:
        _estimate(model, question)
    started = time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        passes: list[tuple[np.ndarray, np.ndarray]] = []
        while len(passes) < timing.repeats:
            if passes and time.perf_counter() - started > timing.budget_seconds:
                break
            passes.append(_one_pass(model, workload))
        times = np.stack([seconds for _, seconds in passes])
        batch = _seconds(_batch, model, list(workload.questions))
    finally:
        gc.enable()
    return _Asked(passes[0][0] * workload.n_rows, np.median(times, axis=0), batch)


def _one_pass(model: Estimator, workload: CountWorkload) -> tuple[np.ndarray, np.ndarray]:
    found, seconds = np.empty(len(workload)), np.empty(len(workload))
    for k, question in enumerate(workload.questions):
        started = time.perf_counter_ns()
        found[k] = _estimate(model, question)
        seconds[k] = (time.perf_counter_ns() - started) / 1e9
    return found, seconds


def _estimate(model: Estimator, question: Question) -> float:
    """One estimate; a question that the model refuses or fails on has none."""
    try:
        return float(model.selectivity([question])[0])
    except UnsupportedQuery:
        raise
    except (ArithmeticError, MemoryError, RuntimeError, ValueError) as error:
        log.warning("%s has no estimate of %s: %s", model.name, question, error)
        return float("nan")


def _batch(model: Estimator, questions: list[Question]) -> None:
    try:
        model.selectivity(questions)
    except (ArithmeticError, MemoryError, RuntimeError, ValueError) as error:
        log.warning("%s did not take all questions at once: %s", model.name, error)


def _seconds(function: object, *arguments: object) -> float:
    assert callable(function)
    started = time.perf_counter_ns()
    function(*arguments)
    return (time.perf_counter_ns() - started) / 1e9


def _table(workload: CountWorkload, asked: _Asked) -> pd.DataFrame:
    """One row per question: what was asked, the truth, the estimate, its error and its time."""
    return pd.DataFrame(
        {
            "query": [_text(each) for each in workload.questions],
            "n_predicates": [_predicates(each) for each in workload.questions],
            "count": workload.counts,
            "n_rows": workload.n_rows,
            "estimate": asked.rows,
            "q_error": q_error(asked.rows, workload.counts),
            "latency_us": asked.seconds * 1e6,
        }
    )


def _text(question: Question) -> str:
    return question if isinstance(question, str) else write_condition(question)


def _predicates(question: Question) -> int:
    return len(read_condition(question).columns if isinstance(question, str) else question)

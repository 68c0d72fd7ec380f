"""A fitted model against its dataset: log-likelihood, KL, latency."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pandas as pd

from baselines.base import DensityModel, UnsupportedQuery
from baselines.estimators.base import Estimator
from baselines.same_engine import in_our_engine
from experiments.measures.divergence import KLConfig, kl_divergence, log_likelihood
from experiments.measures.q_error import evaluate_counts
from experiments.measures.timing import Latency, TimingConfig, measure, one_thread
from experiments.records.locks import Machine
from experiments.records.rows import ResultRow
from experiments.types import Dataset, Workload

log = logging.getLogger(__name__)
Measured = tuple[ResultRow, pd.DataFrame]


def evaluate(
    model: DensityModel,
    dataset: Dataset,
    row: ResultRow,
    kl: KLConfig,
    timing: TimingConfig,
    machine: Machine,
) -> Measured:
    """The row with all measures filled in, and the per-query table.

    Real tables with counted questions are measured by q-errors.
    What the dataset has no truth or no queries for is left out. A question that the model does
    not answer leaves its measure out too, and makes the job's status `unsupported`.
    """
    if dataset.counting is not None:
        return evaluate_counts(cast(Estimator, model), dataset, row, timing, machine)
    return evaluate_latency(
        model, dataset, evaluate_answers(model, dataset, row, kl, machine), timing, machine
    )


def evaluate_answers(
    model: DensityModel, dataset: Dataset, row: ResultRow, kl: KLConfig, machine: Machine
) -> Measured:
    """The row with log-likelihood and KL filled in, and the per-query table."""
    done = row, _queries_table(dataset)
    with machine.working(), one_thread():
        done = _try(lambda: _test_ll(model, dataset, *done), done)
        return _try(lambda: _kl(model, dataset, kl, *done), done)


def evaluate_latency(
    model: DensityModel, dataset: Dataset, done: Measured, timing: TimingConfig, machine: Machine
) -> Measured:
    """What was measured before, with the latencies; nothing else computes meanwhile."""
    with machine.alone():
        return _try(lambda: _latency(model, dataset, timing, *done), done)


def _test_ll(
    model: DensityModel, dataset: Dataset, row: ResultRow, queries: pd.DataFrame
) -> Measured:
    found = log_likelihood(model, dataset.test)
    return replace(row, test_ll=found.mean, test_ll_se=found.se), queries


def _kl(
    model: DensityModel, dataset: Dataset, config: KLConfig, row: ResultRow, queries: pd.DataFrame
) -> Measured:
    if dataset.truth is None or dataset.workload is None:
        return row, queries
    found = kl_divergence(model, dataset, config)
    row = replace(
        row,
        kl_mean=found.mean,
        kl_median=found.median,
        kl_p95=found.p95,
        kl_max=found.max,
        kl_se=found.se,
        kl_sampling_se=found.sampling_se,
        kl_floored=found.floored,
        n_queries=found.n_queries,
    )
    return row, queries.join(found.table().drop(columns="index"))


def _latency(
    model: DensityModel,
    dataset: Dataset,
    config: TimingConfig,
    row: ResultRow,
    queries: pd.DataFrame,
) -> Measured:
    if dataset.workload is None:
        return row, queries
    found = measure(model, dataset.workload, config)
    ours = _same_engine(model, dataset.workload, config, found)
    row = replace(
        row,
        latency_single_ms=found.single_ms,
        latency_single_iqr_ms=found.single_iqr_ms,
        latency_batch_ms=found.batch_ms,
        latency_batch_iqr_ms=found.batch_iqr_ms,
        engine_ms=ours.single_ms if ours is not None else math.nan,
        engine_batch_ms=ours.batch_ms if ours is not None else math.nan,
        n_queries=len(dataset.workload),
        n_timed=found.n_timed if ours is None else min(found.n_timed, ours.n_timed),
    )
    queries = queries.assign(latency_ms=found.queries_ms)
    return row, queries if ours is None else queries.assign(engine_ms=ours.queries_ms)


def _same_engine(
    model: DensityModel, workload: Workload, config: TimingConfig, own: Latency
) -> Latency | None:
    """Latency in our engine: the model's own where it answers there, else of its conversion."""
    try:
        converted = in_our_engine(model)
        if converted is None or converted is model:
            return own if converted is model else None
        return measure(converted, workload, config)
    except (MemoryError, ValueError) as error:
        log.warning("%s is not answered by our engine: %s", model.name, error)
        return None


def _try(step: Callable[[], Measured], before: Measured) -> Measured:
    try:
        return step()
    except UnsupportedQuery as error:
        row, queries = before
        known = f"{row.error}; " if row.error else ""
        return replace(row, status="unsupported", error=f"{known}{error}"), queries


def _queries_table(dataset: Dataset) -> pd.DataFrame:
    queries = dataset.workload.queries if dataset.workload is not None else ()
    return pd.DataFrame(
        {
            "query": [" ".join(q.query) for q in queries],
            "n_query": [len(q.query) for q in queries],
            "n_evidence": [len(q.evidence) for q in queries],
        }
    )

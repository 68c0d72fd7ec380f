"""A fitted model against its dataset: log-likelihood, KL, latency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pandas as pd

from baselines.base import DensityModel, UnsupportedQuery
from baselines.estimators.base import Estimator
from experiments.measures.divergence import KLConfig, kl_divergence, log_likelihood
from experiments.measures.q_error import evaluate_counts
from experiments.measures.timing import TimingConfig, measure, one_thread
from experiments.records.locks import Machine
from experiments.records.rows import ResultRow
from experiments.types import Dataset

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
    done = row, _queries_table(dataset)
    with machine.working(), one_thread():
        done = _try(lambda: _test_ll(model, dataset, *done), done)
        done = _try(lambda: _kl(model, dataset, kl, *done), done)
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
    row = replace(
        row,
        latency_single_ms=found.single_ms,
        latency_single_iqr_ms=found.single_iqr_ms,
        latency_batch_ms=found.batch_ms,
        latency_batch_iqr_ms=found.batch_iqr_ms,
        n_queries=len(dataset.workload),
    )
    return row, queries.assign(latency_ms=found.queries_ms)


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

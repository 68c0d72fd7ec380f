"""A fitted model against its dataset: KL, log-likelihood, latency."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from baselines.base import SCORE, DensityModel
from experiments.locks import Machine
from experiments.records import ResultRow
from experiments.timing import TimingConfig, measure, one_thread
from experiments.types import Dataset


def evaluate(
    model: DensityModel, dataset: Dataset, timing: TimingConfig, row: ResultRow, machine: Machine
) -> tuple[ResultRow, pd.DataFrame | None]:
    """The row with all measures filled in, and the per-query table.

    A question that the model does not answer leaves its measure out and is named in `error`.
    """
    with machine.working(), one_thread():
        row = _with_test_ll(row, model, dataset)
    if dataset.workload is None:
        return row, None
    queries = _queries_table(dataset)
    with machine.alone():
        latency = measure(model, dataset.workload, timing)
    row = replace(
        row,
        latency_single_ms=latency.single_ms,
        latency_single_iqr_ms=latency.single_iqr_ms,
        latency_batch_ms=latency.batch_ms,
        latency_batch_iqr_ms=latency.batch_iqr_ms,
    )
    return row, queries.assign(latency_ms=latency.queries_ms)


def _with_test_ll(row: ResultRow, model: DensityModel, dataset: Dataset) -> ResultRow:
    if SCORE not in model.answers:
        return row
    scores = model.score_samples(dataset.test)
    error = float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else math.nan
    return replace(row, test_ll=float(scores.mean()), test_ll_se=error)


def _queries_table(dataset: Dataset) -> pd.DataFrame:
    assert dataset.workload is not None
    return pd.DataFrame(
        {
            "query": [" ".join(q.query) for q in dataset.workload.queries],
            "n_query": [len(q.query) for q in dataset.workload.queries],
            "n_evidence": [len(q.evidence) for q in dataset.workload.queries],
        }
    )

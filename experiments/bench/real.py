"""Counts on real tables: FSPN by dictionary beside DuckDB's count(*) and a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from baselines.estimators.duck import DuckDB
from baselines.estimators.row_sample import RowSample
from experiments.bench.clock import Pass, Rounds, interleave, seconds_of, whole
from experiments.bench.options import Options
from experiments.datasets.table_sources import read_source
from experiments.measures.count_workload import CountConfig, draw_counts
from experiments.measures.table_index import TableIndex
from experiments.measures.timing import one_thread
from fspn import FSPN

LABELS = {
    "fspn": "FSPN, one `probability({...})`",
    "fspn_batch": "FSPN, a list of all questions",
    "sample": "a sample of 1% of the rows",
    "duckdb": "DuckDB, `count(*)` over all rows",
}
QUANTILES = (50, 95, 99, 100)


@dataclass(frozen=True)
class Counted:
    """One engine on one table.

    Arguments:
        engine: A key of `LABELS`.
        label: What it is.
        microseconds: Median, 95%, 99% and slowest question, each by its median round.
        per_second: Questions per second.
        q_error: Median, 95%, 99% and largest factor between estimate and true count.
    """

    engine: str
    label: str
    microseconds: tuple[float, ...]
    per_second: float
    q_error: tuple[float, ...]


@dataclass(frozen=True)
class RealPart:
    """All engines on one table."""

    table: str
    rows: int
    columns: int
    train_seconds: float
    model_bytes: int
    times: tuple[Counted, ...]


def measure_real(name: str, options: Options) -> RealPart:
    """Learn a table, then ask all engines for the same counts in turn."""
    table = read_source(name)
    if len(table) > options.table_rows:
        table = table.sample(options.table_rows, random_state=options.seed).reset_index(drop=True)
    rng = np.random.default_rng(options.seed)
    config = CountConfig(queries=options.table_queries, empty=0)
    questions, counts = draw_counts(TableIndex(table), config, rng)
    model = FSPN(random_state=options.seed)
    sample, duck = RowSample().fit(table, {}, options.seed), DuckDB().fit(table, {})
    with one_thread():
        train_seconds = seconds_of(lambda: model.fit(table))
        answers: dict[str, Callable[[Any], float]] = {
            "fspn": lambda question: float(model.probability(question)),
            "sample": lambda question: float(sample.selectivity([question])[0]),
            "duckdb": lambda question: duck.count(question) / len(table),
        }
        passes = {engine: _each(answer, questions) for engine, answer in answers.items()}
        passes["fspn_batch"] = whole(lambda: model.probability(questions))
        interleave(passes, Rounds(1, 1))
        seconds = interleave(passes, options.queries)
    found = {engine: np.array([ask(q) for q in questions]) for engine, ask in answers.items()}
    found["fspn_batch"] = model.probability(questions)
    duck.close()
    errors = {engine: q_errors(shares * len(table), counts) for engine, shares in found.items()}
    return RealPart(
        table=name,
        rows=len(table),
        columns=table.shape[1],
        train_seconds=train_seconds,
        model_bytes=model.size_bytes_,
        times=tuple(_counted(seconds, errors, engine, len(questions)) for engine in LABELS),
    )


def q_errors(estimates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The factor between estimate and truth, both at least one row."""
    a, b = np.maximum(estimates, 1.0), np.maximum(counts, 1.0)
    return np.maximum(a / b, b / a)


def _each(answer: Callable[[Any], float], questions: list[Any]) -> Pass:
    return lambda: np.array([seconds_of(lambda q=q: answer(q)) for q in questions])  # type: ignore[misc]


def _counted(
    seconds: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray], engine: str, n: int
) -> Counted:
    typical = np.median(seconds[engine], axis=0) * 1e6
    if len(typical) == 1:
        typical = np.repeat(typical / n, n)
    return Counted(
        engine,
        LABELS[engine],
        tuple(np.percentile(typical, QUANTILES).tolist()),
        1e6 / float(typical.mean()),
        tuple(np.percentile(errors[engine], QUANTILES).tolist()),
    )

"""What a scaling curve is made of, and the exponent that is fitted to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.bench.clock import Rounds, Spread, interleave, whole
from experiments.bench.contestants import fspn_batch
from experiments.bench.data import boxes
from experiments.measures.workload import WorkloadConfig, draw_workload
from fspn import FSPN


@dataclass(frozen=True)
class Point:
    """One model of a curve.

    Arguments:
        x: What is varied: rows, columns, values of a domain, or nodes.
        train_seconds: Training.
        query_us: One query of a batch.
        nodes: Its nodes.
        peak_bytes: Memory while training, beyond what the interpreter had before the data came.
        data_bytes: The table.
    """

    x: int
    train_seconds: Spread
    query_us: Spread
    nodes: int
    peak_bytes: int | None = None
    data_bytes: int | None = None


@dataclass(frozen=True)
class Curve:
    """Points in growing order of x."""

    name: str
    about: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Trained:
    """A model and the seconds of its fits."""

    model: FSPN
    seconds: np.ndarray


def fit_all(
    tables: Mapping[int, pd.DataFrame], settings: Mapping[int, Mapping[str, Any]], rounds: Rounds
) -> dict[int, Trained]:
    """Fit every table with its settings, in turn."""
    models: dict[int, FSPN] = {}

    def fit(x: int) -> None:
        models[x] = FSPN(random_state=0, **settings.get(x, {})).fit(tables[x])

    seconds = interleave({str(x): whole(lambda x=x: fit(x)) for x in tables}, rounds)  # type: ignore[misc]
    return {x: Trained(models[x], seconds[str(x)][:, 0]) for x in tables}


def query_times(
    models: Mapping[int, FSPN], events: Mapping[int, np.ndarray], rounds: Rounds
) -> dict[int, Spread]:
    """Microseconds per query of a batch, the models in turn."""
    calls = {str(x): whole(lambda x=x: fspn_batch(models[x], events[x])) for x in models}  # type: ignore[misc]
    interleave(calls, Rounds(1, 1))
    found = interleave(calls, rounds)
    return {x: Spread.of(found[str(x)][:, 0]).scaled(2e6 / len(events[x])) for x in models}


def events_of(table: pd.DataFrame, n: int, seed: int) -> np.ndarray:
    """The stacked boxes of n queries whose values come from rows of the table."""
    queries = draw_workload(
        table.head(n), WorkloadConfig(queries=n), np.random.default_rng(seed)
    ).queries
    return boxes(queries, list(table.columns)).stacked


def points_of(trained: Mapping[int, Trained], queries: Mapping[int, Spread]) -> tuple[Point, ...]:
    """Points of a curve over what was varied."""
    return tuple(
        Point(x, Spread.of(t.seconds), queries[x], t.model.n_nodes_) for x, t in trained.items()
    )


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    r"""B of the least-squares fit :math:`y = a x^b`; NaN for fewer than two points."""
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])

"""Time of training on one dataset: every learner in turn; SPFlow's own learner apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from baselines.base import FitTimeout
from baselines.encoding import Encoder
from baselines.registry import build_model
from experiments.bench.clock import Spread, interleave, ratio, whole
from experiments.bench.data import settings, study_dataset, study_fspn
from experiments.bench.options import Options
from experiments.measures.timing import one_thread
from experiments.types import Dataset

WARM_ROWS = 1_000
LABELS = {
    "fspn": "FSPN",
    "agrum_search": "pyAgrum hill-climbing, graph only",
    "bn_dag": "BN-DAG: the same, with parameters",
    "bn_tree": "BN-Tree: Chow-Liu, with parameters",
    "mspn": "MSPN: SPFlow's learner, fast RDC",
}


@dataclass(frozen=True)
class TrainingTime:
    """One learner: seconds, and how many times FSPN's."""

    learner: str
    label: str
    seconds: Spread
    over_fspn: Spread


@dataclass(frozen=True)
class TrainingPart:
    """All learners on one dataset."""

    dataset: str
    rows: int
    times: tuple[TrainingTime, ...]


@dataclass(frozen=True)
class StockPart:
    """SPFlow's `learn_mspn`, all cores; `ended` where it ran into the limit."""

    dataset: str
    seconds: float
    ended: bool


def measure_training(name: str, options: Options) -> TrainingPart:
    """Train all in turn; a small fit beforehand loads libraries and kernels."""
    dataset = study_dataset(name, options.rows, options.seed, options.cache_dir)
    with one_thread():
        for learner in _learners(dataset, dataset.train.head(WARM_ROWS), options.seed).values():
            learner()
    learners = _learners(dataset, dataset.train, options.seed)
    with one_thread():
        passes = {key: whole(learner) for key, learner in learners.items()}
        seconds = interleave(passes, options.training)
    times = tuple(
        TrainingTime(k, LABELS[k], Spread.of(s[:, 0]), ratio(s, seconds["fspn"]))
        for k, s in seconds.items()
    )
    return TrainingPart(name, options.rows, times)


def measure_stock(name: str, options: Options) -> StockPart:
    """Train SPFlow's MSPN as it comes, with a time limit."""
    dataset = study_dataset(name, options.rows, options.seed, options.cache_dir)
    model = build_model(settings("model", "mspn_stock") | {"time_limit": options.stock_limit})
    started = time.perf_counter()
    try:
        model.fit(dataset.train, dataset.domains, options.seed)
    except FitTimeout:
        return StockPart(name, options.stock_limit, ended=True)
    return StockPart(name, time.perf_counter() - started, ended=False)


def _learners(dataset: Dataset, table: pd.DataFrame, seed: int) -> dict[str, Callable[[], object]]:
    domains: dict[Hashable, np.ndarray] = dict(dataset.domains.items())
    learners: dict[str, Callable[[], object]] = {
        "fspn": lambda: study_fspn(seed).fit(table, domains=domains),
        "agrum_search": _agrum_search(dataset, table, seed),
    }
    for name in ("bn_dag", "bn_tree", "mspn"):
        learners[name] = lambda name=name: build_model(settings("model", name)).fit(  # type: ignore[misc]
            table, dataset.domains, seed
        )
    return learners


def _agrum_search(dataset: Dataset, table: pd.DataFrame, seed: int) -> Callable[[], object]:
    """The search alone: codes are ready, no parameters are fitted."""
    model: object = build_model(settings("model", "bn_dag"))
    encoder = Encoder.build(table, dataset.domains)
    codes: np.ndarray = encoder.table(table)
    model.encoder = encoder  # type: ignore[attr-defined]
    return lambda: model._structure(codes, seed)  # type: ignore[attr-defined]

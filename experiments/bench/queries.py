"""Time of Pr(Q = q | E = e) on one dataset: every engine, one by one and in a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.bench.clock import Rounds, Spread, interleave, ratio, seconds_of
from experiments.bench.contestants import LABELS, batch_passes, fit_models, single_passes
from experiments.bench.data import more_queries, study_dataset
from experiments.bench.options import Options
from experiments.measures.timing import one_thread
from fspn import FSPN

CALLS = 500


@dataclass(frozen=True)
class QueryTime:
    """One engine on one dataset.

    Arguments:
        engine: A key of `contestants.LABELS`.
        label: What it is.
        batched: Whether all queries were asked in one call.
        queries: How many.
        microseconds: Per query, over the rounds.
        over_fspn: Its time by FSPN's on the same queries, one by one, in the same round.
        over_fspn_batch: Its time by FSPN's per query of a batch.
        typical_us: The median query (each query by its median round) rather than the mean one.
        typical_over_fspn: The median over the queries of its time by FSPN's; None in a batch.
    """

    engine: str
    label: str
    batched: bool
    queries: int
    microseconds: Spread
    over_fspn: Spread
    over_fspn_batch: float
    typical_us: float | None = None
    typical_over_fspn: float | None = None


@dataclass(frozen=True)
class QueryPart:
    """All engines on one dataset, the size of the FSPN, and what a call costs by itself.

    `call_us` is a single call of `probability` on a box without constraints: no work inside.
    """

    dataset: str
    target_rdc: float
    fspn_nodes: int
    fspn_bytes: int
    call_us: float
    times: tuple[QueryTime, ...]


def measure_queries(name: str, options: Options) -> QueryPart:
    """Fit all models, then ask all engines the same queries in turn."""
    dataset = study_dataset(name, options.rows, options.seed, options.cache_dir)
    assert dataset.workload is not None
    asked = dataset.workload.queries[: options.single]
    with one_thread():
        models = fit_models(dataset, options.seed)
    singles = single_passes(models, asked, options.slow)
    batches = batch_passes(models, more_queries(dataset, options.batch))
    with one_thread():
        interleave(singles, Rounds(1, 1))
        single = interleave(singles, options.queries)
        interleave({"fspn": batches["fspn"]}, Rounds(1, 1))
        batch = interleave(batches, options.queries)
        call = _call_us(models.fspn)
    return QueryPart(
        dataset=name,
        target_rdc=float(dataset.target_rdc or np.nan),
        fspn_nodes=models.fspn.n_nodes_,
        fspn_bytes=models.fspn.size_bytes_,
        call_us=call,
        times=tuple(_times(single, batch, options.batch)),
    )


def _times(
    single: dict[str, np.ndarray], batch: dict[str, np.ndarray], batch_size: int
) -> list[QueryTime]:
    best = float(np.median(batch["fspn"]))
    rows = []
    for engine, seconds in single.items():
        mean = seconds.mean(axis=1)
        over, typical = ratio(seconds, single["fspn"]), _typical(seconds, single["fspn"])
        size, by_batch = seconds.shape[1], float(np.median(mean)) / best
        time = Spread.of(mean).scaled(1e6)
        rows.append(QueryTime(engine, LABELS[engine], False, size, time, over, by_batch, *typical))
    for engine, seconds in batch.items():
        over, by_batch = _batch_ratio(seconds, single["fspn"]), float(np.median(seconds)) / best
        time = Spread.of(seconds[:, 0]).scaled(1e6)
        rows.append(QueryTime(engine, LABELS[engine], True, batch_size, time, over, by_batch))
    return rows


def _typical(seconds: np.ndarray, ours: np.ndarray) -> tuple[float, float]:
    """The median query's time, and the median ratio, of each query's median over the rounds."""
    own, other = np.median(ours, axis=0)[: seconds.shape[1]], np.median(seconds, axis=0)
    return float(np.median(other)) * 1e6, float(np.median(other / own))


def _call_us(model: FSPN) -> float:
    box = np.full(model.n_features_in_, np.nan)
    calls = [seconds_of(lambda: model.probability(box, box)) for _ in range(CALLS)]
    return float(np.median(calls)) * 1e6


def _batch_ratio(batch: np.ndarray, single: np.ndarray) -> Spread:
    n = min(len(batch), len(single))
    return Spread.of(batch[:n, 0] / single[:n].mean(axis=1))

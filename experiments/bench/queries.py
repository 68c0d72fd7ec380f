"""Time of Pr(Q = q | E = e) on one dataset: every engine, one by one and in a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.bench.clock import Rounds, Spread, interleave, ratio
from experiments.bench.contestants import LABELS, batch_passes, fit_models, single_passes
from experiments.bench.data import more_queries, study_dataset
from experiments.bench.options import Options
from experiments.timing import one_thread


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
    """

    engine: str
    label: str
    batched: bool
    queries: int
    microseconds: Spread
    over_fspn: Spread
    over_fspn_batch: float


@dataclass(frozen=True)
class QueryPart:
    """All engines on one dataset, and the size of the FSPN."""

    dataset: str
    target_rdc: float
    fspn_nodes: int
    fspn_bytes: int
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
    return QueryPart(
        dataset=name,
        target_rdc=float(dataset.target_rdc or np.nan),
        fspn_nodes=models.fspn.n_nodes_,
        fspn_bytes=models.fspn.size_bytes_,
        times=tuple(_times(single, batch, options.batch)),
    )


def _times(
    single: dict[str, np.ndarray], batch: dict[str, np.ndarray], batch_size: int
) -> list[QueryTime]:
    best = float(np.median(batch["fspn"]))
    rows = []
    for batched, found in ((False, single), (True, batch)):
        for engine, seconds in found.items():
            mean = seconds.mean(axis=1)
            n = batch_size if batched else seconds.shape[1]
            over = (
                _batch_ratio(seconds, single["fspn"]) if batched else ratio(seconds, single["fspn"])
            )
            rows.append(
                QueryTime(
                    engine, LABELS[engine], batched, n, Spread.of(mean).scaled(1e6), over,
                    float(np.median(mean)) / best,
                )
            )  # fmt: skip
    return rows


def _batch_ratio(batch: np.ndarray, single: np.ndarray) -> Spread:
    n = min(len(batch), len(single))
    return Spread.of(batch[:n, 0] / single[:n].mean(axis=1))

"""One batch by one thread and by several: how far a batch scales."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from experiments.bench.clock import Rounds, Spread, interleave, ratio, whole
from experiments.bench.contestants import fit_fspn
from experiments.bench.data import boxes, more_queries, study_dataset
from experiments.bench.options import Options
from fspn import FSPN


@dataclass(frozen=True)
class ThreadsPart:
    """One dataset.

    Arguments:
        dataset: Its name.
        events: Boxes in one call.
        cores: Processors that this process may use.
        threads: Threads of the second contestant.
        one_us, many_us: Microseconds per event by one thread, and by so many.
        speed_up: The first time over the second, round by round.
    """

    dataset: str
    events: int
    cores: int
    threads: int
    one_us: Spread
    many_us: Spread
    speed_up: Spread


def measure_threads(name: str, options: Options) -> ThreadsPart:
    """Time one model on equal boxes with one thread and with several, alternately."""
    dataset = study_dataset(name, options.rows, options.seed, options.cache_dir)
    queries = more_queries(dataset, options.batch)
    events = boxes(queries, [str(column) for column in dataset.train.columns]).stacked
    fitted = fit_fspn(dataset, options.seed)
    models = {
        str(n): FSPN.from_root(fitted.domain_, fitted.root_, n_jobs=n).compile_kernels()
        for n in (1, options.threads)
    }
    calls = {n: whole(lambda m=model: m.probability(events, events)) for n, model in models.items()}  # type: ignore[misc]
    interleave(calls, Rounds(1, 1))
    found = interleave(calls, options.queries)
    one, many = found["1"], found[str(options.threads)]
    per_event = 1e6 / len(events)
    return ThreadsPart(
        name, len(events), len(os.sched_getaffinity(0)), options.threads,
        _spread(one, per_event), _spread(many, per_event), ratio(one, many),
    )  # fmt: skip


def _spread(seconds: np.ndarray, factor: float) -> Spread:
    return Spread.of(seconds[:, 0]).scaled(factor)

"""Trains on many rows and reports time and peak memory: a process of its own.

`python -m experiments.bench.memory <dataset> <rows> <seed> <cache_dir> <repeats> <budget>`; the
last line of its output is JSON.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.bench.clock import Rounds, Spread
from experiments.bench.curves import events_of, query_times
from experiments.bench.data import study_dataset, study_fspn
from experiments.measures.timing import one_thread
from fspn import FSPN

STATUS = Path("/proc/self/status")
STUDY_ROWS = 100_000
QUERIES = 500


def status_bytes(key: str) -> int:
    """A memory figure of this process, e.g. `VmRSS` (now) or `VmHWM` (peak)."""
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    found = next(line for line in lines if line.startswith(f"{key}:"))
    return int(found.split()[1]) * 1024


def reset_peak() -> None:
    """Let the peak begin at what is in use now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def big_table(network: Any, rows: int, seed: int) -> pd.DataFrame:
    """Rows from a generating network, written in place: no second copy at any time."""
    values = np.empty((len(network.columns), rows), dtype=np.int64)
    done = 0
    for chunk in network.stream_codes(rows, np.random.default_rng(seed)):
        for j, domain in enumerate(network.domains):
            values[j, done : done + len(chunk)] = domain[chunk[:, j]]
        done += len(chunk)
    return pd.DataFrame(values.T, columns=list(network.columns), copy=False)


def measure(name: str, rows: int, seed: int, cache_dir: Path, rounds: Rounds) -> dict[str, Any]:
    """Time and memory of FSPN at the settings of the study."""
    dataset = study_dataset(name, STUDY_ROWS, seed, cache_dir)
    domains: dict[Any, np.ndarray] = dict(dataset.domains.items())
    network = getattr(dataset.truth, "network")  # noqa: B009
    with one_thread():
        study_fspn(seed).fit(dataset.train.head(1_000), domains=domains)
        events = events_of(dataset.test, QUERIES, seed)
        del dataset
        base = status_bytes("VmRSS")
        table = big_table(network, rows, seed)
        reset_peak()
        first, model = _fit(table, domains, seed)
        peak, seconds = status_bytes("VmHWM") - base, [first]
        while len(seconds) < rounds.repeats and sum(seconds) < rounds.budget_seconds:
            seconds.append(_fit(table, domains, seed)[0])
        query = query_times({0: model}, {0: events}, Rounds(5, 3, 1.0))[0]
    return {
        "train_seconds": asdict(Spread.of(np.array(seconds))),
        "query_us": asdict(query),
        "nodes": model.n_nodes_,
        "peak_bytes": peak,
        "data_bytes": int(table.memory_usage(index=False).sum()),
    }


def _fit(table: pd.DataFrame, domains: dict[Any, np.ndarray], seed: int) -> tuple[float, FSPN]:
    started = time.perf_counter()
    model = study_fspn(seed).fit(table, domains=domains)
    return time.perf_counter() - started, model


def main(arguments: list[str]) -> None:
    """Measure as the command line says."""
    name, rows, seed, cache_dir, repeats, budget = arguments
    rounds = Rounds(int(repeats), 1, float(budget))
    print(json.dumps(measure(name, int(rows), int(seed), Path(cache_dir), rounds)))


if __name__ == "__main__":
    main(sys.argv[1:])

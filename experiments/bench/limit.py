"""How far a batched query is from the time to read the bytes of the model that it touches."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from experiments.bench.clock import Pass, Spread, interleave, whole
from experiments.bench.contestants import fit_fspn, fspn_batch
from experiments.bench.data import boxes, more_queries, study_dataset
from experiments.bench.options import Options
from experiments.bench.touch import POOLS
from experiments.measures.timing import one_thread
from fspn import FSPN

LINE = 64
PASSES = 200


@dataclass(frozen=True)
class LimitPart:
    """One dataset; everything per query, that is, for the two events (q, e) and e, one by one.

    Arguments:
        batch_us: FSPN in a batch.
        model_bytes: The compiled model.
        touched_bytes: Distinct elements of it that each event reads, added up over the two.
        line_bytes: The cache lines that these lie in.
        read_us: Time to read as many consecutive bytes: the limit.
        lines_us: Time to read as many consecutive cache lines: what a processor reads for them.
        replay_us: Time to read the same elements at their places, in order, as often as the
            query does, and nothing else.
        structure, indices, probabilities: Reads of the three pools.
        domains: Reads of what codes are found from.
        state: Reads and writes of the evaluation's own bookkeeping.
        intermediate: Reads and writes of intermediate tables.
    """

    dataset: str
    batch_us: Spread
    model_bytes: int
    touched_bytes: float
    line_bytes: float
    read_us: Spread
    lines_us: Spread
    replay_us: Spread
    structure: float
    indices: float
    probabilities: float
    domains: float
    state: float
    intermediate: float


def measure_limit(name: str, options: Options) -> LimitPart:
    """Count the accesses of some queries, then time them, the reads alone, and the limit."""
    dataset = study_dataset(name, options.rows, options.seed, options.cache_dir)
    columns = list(dataset.train.columns)
    with one_thread():
        model = fit_fspn(dataset, options.seed)
    queries = more_queries(dataset, options.batch)
    events = boxes(queries, columns).stacked
    watched = boxes(queries[: options.touched], columns).stacked
    notes = watch(model, watched)
    with one_thread():
        seconds = interleave(_passes(model, events, notes), options.queries)
    n_batch, n = len(queries), options.touched
    uses = notes["uses"].sum(axis=0) / n
    return LimitPart(
        name,
        Spread.of(seconds["batch"][:, 0]).scaled(1e6 / n_batch),
        sum(pool.nbytes for pool in pools_of(model)),
        float(distinct_bytes(model, notes).sum() / n),
        float(distinct_bytes(model, notes, LINE).sum() / n),
        Spread.of(seconds["read"][:, 0]).scaled(1e6 / n / PASSES),
        Spread.of(seconds["lines"][:, 0]).scaled(1e6 / n / PASSES),
        Spread.of(seconds["replay"][:, 0]).scaled(1e6 / n / PASSES),
        *(float(count) for count in uses),
    )


def watch(model: FSPN, events: np.ndarray) -> dict[str, np.ndarray]:
    """The notes of `touch` on some boxes; the answers there must be the model's own."""
    with tempfile.TemporaryDirectory(prefix="fspn_touch_") as folder:
        task, path, answer = (Path(folder, n) for n in ("points.npy", "model.fspn", "notes.npz"))
        np.save(task, events)
        model.save(path)
        command = [sys.executable, "-m", "experiments.bench.touch"]
        done = subprocess.run(
            [*command, str(task), str(path), str(answer)],
            env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"counting accesses failed:\n{done.stderr[-2000:]}")
        with np.load(answer) as found:
            notes = dict(found)
    expected = np.asarray(model.probability(events, events))
    if not np.allclose(np.exp(notes["answers"]), expected, rtol=1e-9, atol=0):
        raise RuntimeError("the watched kernels gave other answers than the model")
    return notes


def pools_of(model: FSPN) -> tuple[np.ndarray, ...]:
    """The arrays of the compiled model, in the order of `POOLS`."""
    assert model._engine is not None
    program = model._engine.program
    return (*program.pools, program.dense, *model._engine.coding)


def distinct_bytes(
    model: FSPN, notes: dict[str, np.ndarray], unit: int | None = None
) -> np.ndarray:
    """Bytes that each event reads at least once, in elements or in units such as cache lines."""
    total = np.zeros(len(notes["answers"]))
    for name, pool in zip(POOLS, pools_of(model), strict=True):
        size = unit or pool.itemsize
        ends, places = notes[f"{name}_ends"], notes[f"{name}_read"].astype(np.int64)
        blocks = places * pool.itemsize // size
        for i in range(len(total)):
            total[i] += size * len(np.unique(blocks[ends[i] : ends[i + 1]]))
    return total


def _passes(model: FSPN, events: np.ndarray, notes: dict[str, np.ndarray]) -> dict[str, Pass]:
    pools = pools_of(model)
    words, lines = (
        np.maximum(distinct_bytes(model, notes, unit) // 8, 1).astype(np.int64)
        for unit in (None, LINE)
    )
    memory = np.ones(max(sum(p.nbytes for p in pools) // 8, int(lines.max())) + 1)
    reads = [notes[f"{name}_read"] for name in POOLS]
    calls = {
        "batch": lambda: fspn_batch(model, events),
        "read": lambda: _read(memory, words, PASSES),
        "lines": lambda: _read(memory, lines, PASSES),
        "replay": lambda: [
            _replay(p.ravel(), r, PASSES) for p, r in zip(pools, reads, strict=True)
        ],
    }
    for call in calls.values():
        call()
    return {name: whole(call) for name, call in calls.items()}


@njit(cache=True, fastmath=True)
def _read(memory: np.ndarray, words: np.ndarray, passes: int) -> float:
    """Sum as many numbers as each event touches, in vector registers.

    The place moves on through a piece of memory of the model's size.
    """
    total, start = 0.0, 0
    for _ in range(passes):
        for n in words:
            if start + n > len(memory):
                start = 0
            part = memory[start : start + n]  # so that the loop has no negative places to fear
            for k in range(n):
                total += part[k]
            start += n
    return total


@njit(cache=True)
def _replay(pool: np.ndarray, places: np.ndarray, passes: int) -> float:
    total = 0.0
    for p in range(passes):
        for k in range(len(places)):
            total += pool[places[k]]
        total -= p
    return total

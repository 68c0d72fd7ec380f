"""Counts what a query reads: the kernels run as plain Python on arrays that take notes.

`python -m experiments.bench.touch <task.npz> <model.fspn> <answer.npz>`, in a process of its own
with `NUMBA_DISABLE_JIT=1`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from fspn import FSPN
from fspn.dense_kernels import new_dense_state
from fspn.kernels import new_state
from fspn.tree_kernels import FRAME, evaluate

POOLS = ("ints", "tables", "numbers", "dense")


class Noted:
    """An array that notes which of its elements are read and how often it is used."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.read: list[int] = []
        self.uses = 0

    def __getitem__(self, place: Any) -> Any:
        self.uses += 1
        if not isinstance(place, tuple):
            self.read.append(int(place))
        return self.array[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self.uses += 1
        self.array[place] = value

    def __len__(self) -> int:
        return len(self.array)

    def forget(self) -> None:
        """Start anew."""
        self.read, self.uses = [], 0


class Watch:
    """A model whose queries are watched."""

    def __init__(self, model: FSPN) -> None:
        engine = model._engine
        if engine is None:
            raise ValueError("the model is not compiled, so there are no kernels to watch")
        self.program = engine.program
        self.pools = [Noted(pool) for pool in self.program.pools]
        k = self.program.depth[2]
        self.state = [Noted(array) for array in (*new_state(k), *new_dense_state(k))]
        self.buffer = Noted(np.concatenate([self.program.dense, np.empty(1 << 22)]))

    @property
    def reads(self) -> list[np.ndarray]:
        """The elements that the last question read, per pool; dense tables head the buffer."""
        known = len(self.program.dense)
        dense = [place for place in self.buffer.read if place < known]
        read = [*(pool.read for pool in self.pools), dense]
        return [np.array(places, dtype=np.int32) for places in read]

    @property
    def uses(self) -> list[int]:
        """Uses of structure, indices, probabilities, bookkeeping and intermediate tables."""
        ints, tables, numbers = (pool.uses for pool in self.pools)
        dense = len(self.reads[-1])
        state = sum(array.uses for array in self.state)
        return [ints, tables, numbers + dense, state, self.buffer.uses - dense]

    def ask(self, lower: np.ndarray, upper: np.ndarray) -> float:
        """The log-probability of one box of codes, noting every access."""
        p, m = self.program, len(lower)
        for array in (*self.pools, *self.state, self.buffer):
            array.forget()
        frames = np.empty((p.depth[0], FRAME), dtype=np.int64)
        partial, saved = np.empty((p.depth[0], 2)), np.empty(p.depth[1], dtype=np.int64)
        value, need = evaluate(
            p.root, *self.pools, lower.copy(), upper.copy(), np.full(m, -1), np.zeros(1), p.sizes,
            self.buffer, len(p.dense), np.zeros(m, dtype=np.bool_), frames, partial, saved,
            *self.state,
        )  # fmt: skip
        if need > 0:
            raise MemoryError(f"a query needs a buffer of {need} numbers")
        return float(value)


def watch_all(model: FSPN, lower: np.ndarray, upper: np.ndarray) -> dict[str, np.ndarray]:
    """Per event its answer and counts; per pool the elements read, in order, and where they end."""
    watch = Watch(model)
    answers, uses = [], []
    reads: list[list[np.ndarray]] = [[] for _ in POOLS]
    for low, high in zip(lower, upper, strict=True):
        answers.append(watch.ask(low, high))
        uses.append(watch.uses)
        for kept, places in zip(reads, watch.reads, strict=True):
            kept.append(places)
    found = {"answers": np.array(answers), "uses": np.array(uses)}
    for name, kept in zip(POOLS, reads, strict=True):
        found[f"{name}_read"] = np.concatenate(kept)
        found[f"{name}_ends"] = np.cumsum([0, *map(len, kept)])
    return found


def main(arguments: list[str]) -> None:
    """Watch as the command line says."""
    task, model, answer = map(Path, arguments)
    with np.load(task) as boxes:
        found = watch_all(FSPN.load(model), boxes["lower"], boxes["upper"])
    np.savez(answer, allow_pickle=False, **found)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Counts what a query reads: the kernels run as plain Python on arrays that take notes.

`python -m experiments.bench.touch <points.npy> <model.fspn> <answer.npz>`, in a process of its own
with `NUMBA_DISABLE_JIT=1`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from fspn import FSPN
from fspn.engine.batch_kernels import new_workspace, workspace_words
from fspn.engine.code_kernels import codes_of_box
from fspn.engine.pools import Pools
from fspn.engine.tree_kernels import evaluate
from fspn.engine.workspace import DenseState, EliminationState, Event

DOMAINS = ("values", "starts", "edges", "others")
POOLS = ("ints", "tables", "numbers", "dense", *DOMAINS)


class Noted:
    """An array that notes which of its elements are read and how often it is used."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.read: list[int] = []
        self.uses = 0

    def __getitem__(self, place: Any) -> Any:
        self.uses += 1
        if isinstance(place, tuple):
            row, column = place
            self.read.append(int(row) * self.array.shape[1] + int(column))
        else:
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
        self.domains = [Noted(array) for array in engine.coding]
        needs = self.program.needs
        words = np.empty(workspace_words(needs), dtype=np.int64)
        no_words, no_numbers = words[:0], np.empty(0)  # Regions are not watched.
        work, _, _ = new_workspace(
            len(self.program.sizes), needs, words, no_words, no_words, no_numbers
        )
        self.state: list[Noted] = []
        self.work = work._replace(
            sparse=EliminationState(*map(self._noted, work.sparse)),
            dense=DenseState(*map(self._noted, work.dense)),
        )
        self.buffer = Noted(np.concatenate([self.program.dense, np.empty(1 << 22)]))

    def _noted(self, array: np.ndarray) -> Any:
        self.state.append(Noted(array))
        return self.state[-1]

    @property
    def reads(self) -> list[np.ndarray]:
        """The elements that the last question read, per pool; dense tables head the buffer."""
        known = len(self.program.dense)
        dense = [place for place in self.buffer.read if place < known]
        domains = [array.read for array in self.domains]
        read = [*(pool.read for pool in self.pools), dense, *domains]
        return [np.array(places, dtype=np.int32) for places in read]

    @property
    def uses(self) -> list[int]:
        """Uses of structure, indices, probabilities, domains, bookkeeping, intermediate tables."""
        ints, tables, numbers = (pool.uses for pool in self.pools)
        dense = len(self.reads[POOLS.index("dense")])
        state, domains = (sum(a.uses for a in arrays) for arrays in (self.state, self.domains))
        return [ints, tables, numbers + dense, domains, state, self.buffer.uses - dense]

    def ask(self, point: np.ndarray) -> float:
        """The log-probability of a point, NaN for free columns, noting every access."""
        p, m = self.program, len(point)
        for array in (*self.pools, *self.domains, *self.state, self.buffer):
            array.forget()
        lower, upper = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
        codes_of_box(point[None], point[None], 0, *self.domains, lower, upper)
        pools: Any = Pools(*self.pools)  # type: ignore[arg-type]
        event = Event(lower, upper, np.full(m, -1), np.zeros(1))
        value, need = evaluate(p.root, pools, event, p.sizes, self.buffer, len(p.dense), self.work)
        if need > 0:
            raise MemoryError(f"a query needs a buffer of {need} numbers")
        return float(value)


def watch_all(model: FSPN, points: np.ndarray) -> dict[str, np.ndarray]:
    """Per event its answer and counts; per pool the elements read, in order, and where they end."""
    watch = Watch(model)
    answers, uses = [], []
    reads: list[list[np.ndarray]] = [[] for _ in POOLS]
    for point in points:
        answers.append(watch.ask(point))
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
    found = watch_all(FSPN.load(model), np.load(task))
    np.savez(answer, allow_pickle=False, **found)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The whole table of some variables given an event, sharing the work between its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fspn.elimination import eliminate
from fspn.event import CodeRange, Events
from fspn.kernels import BLOCK, FIRST, KEPT, PRODUCT, SUM, UNI_LEAF, new_state

if TYPE_CHECKING:
    from fspn.engine import Engine


TABLE_CHUNK = 1 << 16


def joint_part(engine: Engine, kept: frozenset[int], given: Events) -> Part:
    """The joint table of the kept variables with a single event."""
    return _Tables(engine, kept, given).at(engine.program.root)


@dataclass(frozen=True)
class Part:
    """A table over some variables, times e to the power of ``scale``."""

    variables: tuple[int, ...]
    array: np.ndarray
    scale: float


class _Tables:
    def __init__(self, engine: Engine, kept: frozenset[int], given: Events):
        self.engine = engine
        self.program = engine.program
        self.kept = kept
        self.given = given
        self.event = engine.pack(given)

    def at(self, node: int) -> Part:
        ints = self.program.pools.ints
        kind = ints[node]
        scope = ints[ints[node + 2] : ints[node + 2] + ints[node + 1]]
        mine = tuple(sorted(self.kept & set(scope.tolist())))
        if not mine:
            return Part((), np.ones(()), float(self.engine.run(*self.event, root=node)[0]))
        if kind == PRODUCT:
            children = ints[node + 4 : node + 4 + ints[node + 3]]
            return self._product([self.at(child) for child in children])
        if kind == SUM:
            return self._sum(node)
        if kind == BLOCK and ints[node + 4] < 0:
            return self._block(node)
        if kind == UNI_LEAF:
            size, pmf = ints[node + 4], ints[node + 5]
            return Part(mine, self.program.pools.numbers[pmf : pmf + size], 0.0)
        return self._enumerate(node, mine)

    def _product(self, parts: list[Part]) -> Part:
        array = np.ones(())
        variables: tuple[int, ...] = ()
        for part in parts:
            array = np.multiply.outer(array, part.array)
            variables = (*variables, *part.variables)
        return Part(variables, array, sum(part.scale for part in parts))

    def _sum(self, node: int) -> Part:
        ints = self.program.pools.ints
        n, weights = ints[node + 3], ints[node + 4]
        parts = [self.at(child) for child in ints[node + 5 : node + 5 + n]]
        logs = self.program.pools.numbers[weights : weights + n]
        scales = [part.scale + weight for part, weight in zip(parts, logs, strict=True)]
        top = max(scales)
        if np.isneginf(top):
            return parts[0]
        first = parts[0].variables
        total = sum(
            np.exp(scale - top) * np.transpose(part.array, [part.variables.index(v) for v in first])
            for part, scale in zip(parts, scales, strict=True)
        )
        return Part(first, np.asarray(total), top)

    def _block(self, node: int) -> Part:
        p, engine = self.program, self.engine
        lower, upper, places, weights = self.event
        keep = np.zeros(lower.shape[1], dtype=bool)
        keep[list(self.kept)] = True
        block = int(p.pools.ints[node + 3])
        state = new_state(int(p.depth[2]))
        while True:
            buffer = engine.buffer
            scale, start, cells, top, n_kept = eliminate(
                *p.pools, block,
                lower[0], upper[0], places[0], weights, keep, *state, buffer, 0,
            )  # fmt: skip
            if top >= 0:
                break
            engine.grow(-top)
        variables = tuple(
            int(p.pools.ints[p.pools.ints[block + 4 + v]])
            for v in state[1][-KEPT, FIRST : FIRST + n_kept]
        )
        mine = self.kept & set(
            p.pools.ints[p.pools.ints[block + 4 : block + 4 + p.pools.ints[block + 1]]].tolist()
        )
        if np.isneginf(scale):
            return Part(tuple(sorted(mine)), np.zeros([p.sizes[v] for v in sorted(mine)]), scale)
        shape = [upper[0, v] - lower[0, v] + 1 for v in variables]
        array = buffer[start : start + cells].reshape(shape).copy()
        single = [v for v in sorted(mine) if v not in variables]
        return Part((*variables, *single), array.reshape(array.shape + (1,) * len(single)), scale)

    def _enumerate(self, node: int, mine: tuple[int, ...]) -> Part:
        def answer(events: Events) -> np.ndarray:
            return self.engine.run(*self.engine.pack(events), root=node)

        sizes = [int(self.program.sizes[v]) for v in mine]
        logs = enumerate_logs(mine, sizes, self.given, answer)
        top = float(logs.max())
        return Part(mine, np.exp(logs - top) if np.isfinite(top) else np.zeros(sizes), top)


def enumerate_logs(
    axes: Sequence[int],
    sizes: Sequence[int],
    given: Events,
    answer: Callable[[Events], np.ndarray],
) -> np.ndarray:
    """The logarithm of a joint table, cell by cell: for models without shared computation."""
    cells = int(np.prod(sizes))
    parts = []
    for start in range(0, cells, TABLE_CHUNK):
        codes = np.unravel_index(np.arange(start, min(start + TABLE_CHUNK, cells)), sizes)
        events = given.take(np.zeros(len(codes[0]), dtype=np.int64))
        for v, column in zip(axes, codes, strict=True):
            events = events.with_constraint(v, CodeRange(column, column))
        parts.append(answer(events))
    return np.concatenate(parts).reshape(sizes)

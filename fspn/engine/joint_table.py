"""The whole table of some variables given an event, sharing the work between its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fspn.engine.elimination import eliminate
from fspn.engine.kernels import FIRST, KEPT, new_state, state_words
from fspn.engine.limits import MAX_BUFFER
from fspn.engine.pools import Pools
from fspn.engine.program import (
    BLOCK,
    BOX,
    FACTORIZE,
    FACTORIZE_NODE,
    JOINT,
    MEMO,
    NEEDS,
    PARENT_SIZE,
    PRODUCT,
    PRODUCT_NODE,
    SIDE_SIZE,
    SUM,
    SUM_NODE,
    TABLES,
    UNI_LEAF,
    VARIABLE,
    BlockRecord,
    BoxRecord,
    FactorizeRecord,
    JointRecord,
    LeafRecord,
    MemoRecord,
    NodeRecord,
    ProductRecord,
    Record,
    SideRecord,
    SumRecord,
    TablesRecord,
    VariableRecord,
    read,
)
from fspn.engine.workspace import Event
from fspn.model.graph import greedy_order, moral_graph
from fspn.schema.events import CodeRange, Events

if TYPE_CHECKING:
    from fspn.engine.engine import Engine, Packed

TABLE_CHUNK = 1 << 14
MAX_KNOWN = 1 << 22
SMALL_BUFFER = 1 << 16

# A cell by itself takes about as long as so many numbers of an intermediate result.
CELL_COST = 1000
MAX_ENUMERATED = 1 << 20
MAX_PATIENT = 1 << 24
"""Cells that are computed one by one where nothing else is possible: minutes, not hours."""


@dataclass(frozen=True)
class Part:
    """A table over some variables, to be multiplied by ``exp(scale)``."""

    variables: tuple[int, ...]
    array: np.ndarray
    scale: float

    def along(self, variables: Sequence[int]) -> np.ndarray:
        """The array with its axes in the given order."""
        return np.transpose(self.array, [self.variables.index(v) for v in variables])


def joint_part(engine: Engine, kept: frozenset[int], given: Packed) -> Part:
    """The joint table of the kept variables with a single event."""
    return _Tables(engine, kept, given, {}).at(engine.program.root)


class _Tables:
    """Joint tables of the nodes of a compiled model; cells outside the event are zero."""

    def __init__(
        self,
        engine: Engine,
        kept: frozenset[int],
        event: Packed,
        known: dict[tuple[int, bytes, bytes], Part],
    ):
        self.engine = engine
        self.program = engine.program
        self.kept = kept
        self.event = event
        self.known = known

    def at(self, node: int) -> Part:
        """The table of a node, shared by regions that leave the same sub-event of its scope."""
        scope = self._scope(node)
        key = (node, self.event[0][0, scope].tobytes(), self.event[1][0, scope].tobytes())
        if key not in self.known:
            part = self._new(node, tuple(sorted(self.kept & set(scope.tolist()))))
            if len(self.known) * part.array.size > MAX_KNOWN:
                return part
            self.known[key] = part
        return self.known[key]

    def _scope(self, node: int) -> np.ndarray:
        record = self._read(NodeRecord, node)
        return self.program.pools.ints[record.scope : record.scope + record.scope_length]

    def _read(self, kind: type[Record], place: int) -> Record:
        return read(kind, self.program.pools.ints, place)

    def _new(self, node: int, mine: tuple[int, ...]) -> Part:
        if not mine:
            lower, upper, places, weights = self.event
            answer = self.engine.run(lower, upper, places, weights, root=node)
            return Part((), np.ones(()), float(answer[0]))
        tables = {
            PRODUCT: self._product,
            SUM: self._sum,
            UNI_LEAF: self._uni_leaf,
            JOINT: self._joint,
            FACTORIZE: self._factorize,
            MEMO: lambda memo: self.at(self._read(MemoRecord, memo).child),
        }
        kind = self._read(NodeRecord, node).kind
        if kind == BLOCK:
            alone = self._read(BlockRecord, node).base < 0
            return self._block(node, mine) if alone else self._enumerate(node, mine)
        return tables[kind](node)

    def _children(self, first: int, n: int) -> list[Part]:
        return [self.at(int(child)) for child in self.program.pools.ints[first : first + n]]

    def _product(self, node: int) -> Part:
        n_children = self._read(ProductRecord, node).n_children
        return _times(self._children(node + PRODUCT_NODE.first_child, n_children))

    def _sum(self, node: int) -> Part:
        record = self._read(SumRecord, node)
        logs = self.program.pools.numbers[record.weights :]
        parts = self._children(node + SUM_NODE.first_child, record.n_children)
        return _plus([Part(p.variables, p.array, p.scale + logs[i]) for i, p in enumerate(parts)])

    def _uni_leaf(self, node: int) -> Part:
        leaf = self._read(LeafRecord, node)
        row = self.program.pools.numbers[leaf.pmf : leaf.pmf + leaf.n_codes]
        return Part((leaf.variable,), row * self._weights(leaf.variable), 0.0)

    def _weights(self, variable: int) -> np.ndarray:
        """The event's weight of every code of a variable."""
        lower, upper, places, weights = self.event
        codes = np.arange(self.program.sizes[variable])
        inside = (codes >= lower[0, variable]) & (codes <= upper[0, variable])
        place = places[0, variable]
        return inside * (weights[place : place + len(codes)] if place >= 0 else 1.0)

    def _joint(self, node: int) -> Part:
        """Rows of the sparse table summed by their kept variables, plus the product term."""
        ints, tables, numbers = self.program.pools
        joint = self._read(JointRecord, node)
        n, n_rows = joint.n_variables, joint.n_rows
        variables = [int(v) for v in ints[joint.variables : joint.variables + n]]
        rows = tables[joint.rows : joint.rows + n * n_rows].reshape(n_rows, n)
        share = numbers[joint.shares : joint.shares + n_rows].copy()
        epsilon = numbers[joint.epsilon]
        weights = [self._weights(v) for v in variables]
        spread = []
        for position, v in enumerate(variables):
            share *= weights[position][rows[:, position]]
            pmf = ints[joint.marginals + 2 * position]
            row = numbers[pmf : pmf + len(weights[position])] * weights[position]
            spread.append(
                Part((v,), row, 0.0) if v in self.kept else Part((), np.asarray(row.sum()), 0.0)
            )
        kept = [p for p, v in enumerate(variables) if v in self.kept]
        table = np.zeros([len(weights[p]) for p in kept])
        np.add.at(table, tuple(rows[:, p] for p in kept), (1 - epsilon) * share)
        names = tuple(variables[p] for p in kept)
        return Part(names, table + epsilon * _times(spread).along(names), 0.0)

    def _factorize(self, node: int) -> Part:
        """The sum over the boxes of the right child."""
        record, first = self._read(FactorizeRecord, node), node + FACTORIZE_NODE.first_box
        parts = []
        for place in self.program.pools.ints[first : first + record.n_boxes]:
            inside = self._inside(int(place))
            if inside is not None:
                leaf = self._read(BoxRecord, int(place)).leaf
                parts.append(_times([inside.at(leaf), inside.at(record.left)]))
        return _plus(parts) if parts else self._nothing(node)

    def _nothing(self, node: int) -> Part:
        """The table of an impossible event."""
        mine = tuple(sorted(self.kept & set(self._scope(node).tolist())))
        return Part(mine, np.zeros([self.program.sizes[v] for v in mine]), -np.inf)

    def _inside(self, box: int) -> _Tables | None:
        """The question restricted to a box; None where the event is disjoint from it."""
        lower, upper, places, weights = self.event
        lower, upper = lower.copy(), upper.copy()
        for c in range(self._read(BoxRecord, box).n_sides):
            v, low, high = self._read(SideRecord, box + BOX.first_side + SIDE_SIZE * c)
            lower[0, v], upper[0, v] = max(lower[0, v], low), min(upper[0, v], high)
            if lower[0, v] > upper[0, v]:
                return None
        return _Tables(self.engine, self.kept, (lower, upper, places, weights), self.known)

    def _block(self, node: int, mine: tuple[int, ...]) -> Part:
        """By elimination, or cell by cell where the intermediate results would be too large.

        The order of the compiled block is for questions that keep nothing; where it needs more than
        a small buffer, one for this question takes its place, unless that is too wide.
        """
        p, engine = self.program, self.engine
        lower, upper, places, weights = self.event
        keep = np.zeros(lower.shape[1], dtype=bool)
        keep[list(self.kept)] = True
        block = self._read(BlockRecord, node).tables
        event = Event(lower[0], upper[0], places[0], weights)
        k = int(p.needs[NEEDS.n_block_variables])
        state = new_state(k, np.empty(state_words(k), dtype=np.int64))
        orders = self._orders(block)
        pools, buffer = next(orders), engine.buffer[: engine.first + SMALL_BUFFER]
        is_first = True
        while True:
            scale, start, cells, top, n_kept = eliminate(
                pools, block, event, keep, state, buffer, engine.first
            )
            if top >= 0:
                break
            other = next(orders, None) if is_first or -top > MAX_BUFFER else None
            is_first = False
            if other is not None:
                pools, buffer = other, engine.buffer
                continue
            if self._cells_pay(mine, -top):
                return self._enumerate(node, mine)
            engine.grow(-top)
            buffer = engine.buffer
        table = np.zeros([p.sizes[v] for v in mine])
        if np.isneginf(scale):
            return Part(mine, table, scale)
        places_kept = state.factors[-KEPT, FIRST : FIRST + n_kept]
        records = p.pools.ints[block + TABLES.first_variable + places_kept]
        found = [self._read(VariableRecord, int(record)).variable for record in records]
        array = buffer[start : start + cells].reshape(
            [upper[0, v] - lower[0, v] + 1 for v in found]
        )
        fixed = [v for v in mine if v not in found]
        array = array.reshape(array.shape + (1,) * len(fixed))
        here = Part((*found, *fixed), array, scale)
        table[tuple(slice(lower[0, v], upper[0, v] + 1) for v in mine)] = here.along(mine)
        return Part(mine, table, scale)

    def _orders(self, block: int) -> Iterator[Pools]:
        """The pools with the elimination orders of a block, as they are tried.

        A greedy order is not always the narrower one, so the compiled order has the last word.
        """
        yield self.program.pools
        yield self._reordered(block)
        yield self.program.pools

    def _cells_pay(self, mine: tuple[int, ...], need: int) -> bool:
        """Whether a table is computed cell by cell, rather than in a buffer of so many numbers."""
        own = float(np.prod([float(self.program.sizes[v]) for v in mine]))
        if need > MAX_BUFFER:
            return own <= MAX_PATIENT
        return own <= MAX_ENUMERATED and own * CELL_COST < need

    def _reordered(self, block: int) -> Pools:
        """The pools with an elimination order of a block that is greedy for this question."""
        lower, upper, places, _ = self.event
        tables, ints = self._read(TablesRecord, block), self.program.pools.ints
        first, k = block + TABLES.first_variable, tables.n_variables
        records = [self._read(VariableRecord, int(place)) for place in ints[first : first + k]]
        names = [record.variable for record in records]
        extents = [int(upper[0, v] - lower[0, v]) + 1 for v in names]
        given = []
        for place, record in zip(ints[first : first + k], records, strict=True):
            start = int(place) + VARIABLE.first_parent
            given.append(
                ints[start : start + PARENT_SIZE * record.n_parents : PARENT_SIZE].tolist()
            )
        kept = [i < tables.n_external or v in self.kept for i, v in enumerate(names)]
        needed = [
            kept[i] or extents[i] < records[i].n_codes or places[0, v] >= 0
            for i, v in enumerate(names)
        ]
        for i in reversed(range(k)):
            for parent in given[i] if needed[i] else ():
                needed[parent] = True
        near = moral_graph(
            [tuple(u for u in given[i] if needed[i] and extents[u] > 1) for i in range(k)]
        )
        order, _ = greedy_order(near, extents, stages=[-1 if stays else 0 for stays in kept])
        order += [i for i in range(k) if kept[i]]
        changed = ints.copy()
        changed[tables.order : tables.order + 2 * k] = [*np.argsort(order), *order]
        return self.program.pools._replace(ints=changed)

    def _enumerate(self, node: int, mine: tuple[int, ...]) -> Part:
        """Cell by cell."""
        sizes = [int(self.program.sizes[v]) for v in mine]
        n = int(np.prod(sizes))
        logs = np.concatenate(
            [
                self._cells(
                    node, mine, np.unravel_index(np.arange(i, min(i + TABLE_CHUNK, n)), sizes)
                )
                for i in range(0, n, TABLE_CHUNK)
            ]
        ).reshape(sizes)
        top = float(logs.max())
        return Part(mine, np.exp(logs - top) if np.isfinite(top) else np.zeros(sizes), top)

    def _cells(self, node: int, mine: tuple[int, ...], codes: tuple[np.ndarray, ...]) -> np.ndarray:
        """The log-probabilities of some cells."""
        lower, upper, places, weights = self.event
        n = len(codes[0])
        low, high, where = (np.repeat(side, n, axis=0) for side in (lower, upper, places))
        for v, column in zip(mine, codes, strict=True):
            low[:, v] = np.maximum(low[:, v], column)
            high[:, v] = np.minimum(high[:, v], column)
        return self.engine.run(low, high, where, weights, root=node)


def _times(parts: list[Part]) -> Part:
    """The product of tables over different variables."""
    array = np.ones(())
    variables: tuple[int, ...] = ()
    for part in parts:
        array = np.multiply.outer(array, part.array)
        variables = (*variables, *part.variables)
    return Part(variables, array, sum(part.scale for part in parts))


def _plus(parts: list[Part]) -> Part:
    """The sum of tables over the same variables."""
    top = max(part.scale for part in parts)
    if np.isneginf(top):
        return parts[0]
    names = parts[0].variables
    total = np.zeros(parts[0].array.shape)
    for part in parts:
        total += np.exp(part.scale - top) * part.along(names)
    return Part(names, total, top)


def enumerate_logs(
    axes: Sequence[int],
    sizes: Sequence[int],
    given: Events,
    answer: Callable[[Events], np.ndarray],
) -> np.ndarray:
    """The logarithm of a joint table, cell by cell: for models that are not compiled."""
    cells = int(np.prod(sizes))
    parts = []
    for start in range(0, cells, TABLE_CHUNK):
        codes = np.unravel_index(np.arange(start, min(start + TABLE_CHUNK, cells)), sizes)
        events = given.take(np.zeros(len(codes[0]), dtype=np.int64))
        for v, column in zip(axes, codes, strict=True):
            events = events.with_constraint(v, CodeRange(column, column))
        parts.append(answer(events))
    return np.concatenate(parts).reshape(sizes)

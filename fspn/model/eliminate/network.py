r"""Eliminating a chain: a Bayesian network of tables over parts that are asked for their factors.

Which tables are needed, which variables are open and which factors meet in which bucket depends
only on *which* variables an event fixes, weighs or cuts. A :class:`Layout` is made once for each
such pattern and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fspn.model.eliminate import buckets
from fspn.model.eliminate.buckets import Plan, eliminate, make_plan
from fspn.model.eliminate.chain import Chain
from fspn.model.eliminate.evidence import Evidence, read_evidence
from fspn.model.eliminate.semiring import Semiring
from fspn.model.eliminate.tables import MAX_KEPT_TABLE, Tables
from fspn.model.graph import greedy_order, scope_graph
from fspn.model.nodes import Node, TableSplit
from fspn.schema.events import Events

MAX_LAYOUTS = 2048

PartFactor = Callable[[Node, Events, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Cut:
    """How a table is cut to the evidence.

    Arguments:
        table: The table.
        logs: Its logarithms, axes of fixed variables first; None = too large to be kept.
        fixed: The variables that every event fixes.
        scope: The open variables, in the plan's order.
        whole: Whether nothing is ever cut off.
    """

    table: TableSplit
    logs: np.ndarray | None
    fixed: tuple[int, ...]
    scope: tuple[int, ...]
    whole: bool


@dataclass(frozen=True)
class Layout:
    """What all events of one pattern share.

    Arguments:
        chain: The chain.
        tables: The tables that are needed; the others sum to one.
        parts: The parts that are asked.
        ends: Per part the open variables that it shares with tables, or that are kept.
        weighted: The variables of tables that carry weights.
        plan: The buckets.
        cuts: One per table.
        family: The variables of the needed tables, and those that are kept.
        free: The evidence about those of them that are not constrained.
        cells: The cells of the largest product, with all codes allowed.
    """

    chain: Chain
    tables: tuple[TableSplit, ...]
    parts: tuple[Node, ...]
    ends: tuple[tuple[int, ...], ...]
    weighted: tuple[int, ...]
    plan: Plan
    cuts: tuple[Cut, ...]
    family: frozenset[int]
    free: dict[int, Evidence]
    cells: float


@dataclass(frozen=True)
class Eliminated:
    """A chain with its variables taken out: what going back down reads.

    Arguments:
        layout: What it was made by.
        factors: All factors and messages.
        evidence: What the events say about every variable of the tables.
    """

    layout: Layout
    factors: list[np.ndarray]
    evidence: dict[int, Evidence]


class NetworkElimination:
    """Takes the variables of chains out.

    Arguments:
        tables: What is shared between questions on one model.
        maxed: The variables that are maximised.
        semiring_of: How a variable is taken out.
        part_factor: The factor of a part over the variables that it shares with tables.
    """

    def __init__(
        self,
        tables: Tables,
        maxed: frozenset[int],
        semiring_of: Callable[[int], Semiring],
        part_factor: PartFactor,
    ):
        self.tables = tables
        self.sizes = tables.sizes
        self.maxed = maxed
        self.semiring_of = semiring_of
        self.part_factor = part_factor

    def run(
        self, chain: Chain, events: Events, kept: tuple[int, ...]
    ) -> tuple[np.ndarray, Eliminated]:
        """The factor of a chain over the kept variables, and what is needed to go back down."""
        known: dict[int, Evidence] = {}
        pattern: list[tuple[int, str]] = []
        for v, constraint in events.constraints.items():
            if v in chain.family or v in kept:
                found = known[v] = read_evidence(constraint, self.sizes[v], v in kept)
                pattern.append((v, found.state))
            elif v in chain.scope:
                pattern.append((v, "inside"))
        layout = self._layout(chain, tuple(pattern), kept, known)
        evidence = dict(layout.free)
        evidence.update((v, found) for v, found in known.items() if v in layout.family)
        factors = [self._cut(cut, evidence) for cut in layout.cuts]
        for place, (part, ends) in enumerate(zip(layout.parts, layout.ends, strict=True)):
            scope = layout.plan.scopes[len(layout.cuts) + place]
            factors.append(self._part(part, events, ends, scope, evidence))
        for v in layout.weighted:
            logs = evidence[v].logs
            assert logs is not None
            factors.append(logs)
        lengths = None
        if layout.cells * events.n > buckets.MAX_CELLS or kept:
            lengths = {v: found.stop - found.start for v, found in evidence.items()}
        factors, answer = eliminate(layout.plan, factors, lengths, self.semiring_of)
        return self._whole(answer, kept, evidence), Eliminated(layout, factors, evidence)

    def _layout(
        self,
        chain: Chain,
        pattern: tuple[tuple[int, str], ...],
        kept: tuple[int, ...],
        known: dict[int, Evidence],
    ) -> Layout:
        key = (id(chain), pattern, kept, self.maxed)
        layout = self.tables.layouts.get(key)
        if layout is None:
            layout = self._lay_out(chain, [v for v, _ in pattern], kept, known)
            if len(self.tables.layouts) >= MAX_LAYOUTS:
                self.tables.layouts.clear()
            self.tables.layouts[key] = layout
        return layout

    def _lay_out(
        self,
        chain: Chain,
        constrained: list[int],
        kept: tuple[int, ...],
        known: dict[int, Evidence],
    ) -> Layout:
        maxed = self.maxed & chain.scope
        tables, reached = chain.needed([*constrained, *maxed, *kept])
        parts = tuple(part for part in chain.parts if not part.scope.isdisjoint(reached))
        family = frozenset(v for t in tables for v in (*t.given, t.variable)).union(kept)
        free = {v: Evidence(None, 0, self.sizes[v]) for v in family if v not in known}
        evidence = {**free, **known}
        opened = {v for v in family if evidence[v].codes is None}
        weighted = tuple(t.variable for t in tables if evidence[t.variable].logs is not None)
        ends = tuple(tuple(sorted(opened & part.scope)) for part in parts)
        scopes = [tuple(v for v in (*t.given, t.variable) if v in opened) for t in tables]
        scopes += ends
        scopes += [(v,) if v in opened else () for v in weighted]
        plan, cells = self._plan(scopes, kept)
        cuts = tuple(self._new_cut(t, plan.scopes[i], set(known)) for i, t in enumerate(tables))
        return Layout(chain, tables, parts, ends, weighted, plan, cuts, family, free, cells)

    def _plan(self, scopes: list[tuple[int, ...]], kept: tuple[int, ...]) -> tuple[Plan, float]:
        """Summed variables go before those that are maximised."""
        variables = sorted({v for scope in scopes for v in scope}.union(kept))
        place = {v: i for i, v in enumerate(variables)}
        near = scope_graph([[place[v] for v in scope] for scope in scopes], len(variables))
        stages = [-1 if v in kept else int(v in self.maxed) for v in variables]
        sizes = [self.sizes[v] for v in variables]
        order, cells = greedy_order(near, sizes, stages=stages)
        return make_plan(scopes, [variables[i] for i in order], kept), cells

    def _new_cut(self, table: TableSplit, scope: tuple[int, ...], cut: set[int]) -> Cut:
        axes = (*table.given, table.variable)
        fixed = tuple(v for v in axes if v not in scope)
        cells = np.prod([float(self.sizes[v]) for v in axes])
        logs = self._logs(table, fixed, scope) if cells <= MAX_KEPT_TABLE else None
        return Cut(table, logs, fixed, scope, not fixed and cut.isdisjoint(scope))

    def _logs(
        self, table: TableSplit, fixed: tuple[int, ...], scope: tuple[int, ...]
    ) -> np.ndarray:
        axes = (*table.given, table.variable)
        return self.tables.logs(table).transpose([axes.index(v) for v in (*fixed, *scope)])

    def _cut(self, cut: Cut, evidence: dict[int, Evidence]) -> np.ndarray:
        """A table cut to the evidence: shape (n or 1, open variables in the plan's order)."""
        logs = self._logs(cut.table, cut.fixed, cut.scope) if cut.logs is None else cut.logs
        if cut.whole:
            return logs[None]
        windows = tuple(evidence[v].window for v in cut.scope)
        codes = [found for v in cut.fixed if (found := evidence[v].codes) is not None]
        if all(len(column) == 1 for column in codes):
            place: tuple[int | slice, ...] = tuple(int(column[0]) for column in codes)
            return logs[place + windows][None]
        return logs[(*(slice(None) for _ in codes), *windows)][tuple(codes)]

    def _part(
        self,
        part: Node,
        events: Events,
        ends: tuple[int, ...],
        scope: tuple[int, ...],
        evidence: dict[int, Evidence],
    ) -> np.ndarray:
        logs = self.part_factor(part, events, ends)
        if not ends:
            return logs
        if len(ends) > 1:
            logs = logs.transpose([0, *(1 + ends.index(v) for v in scope)])
        return logs[(slice(None), *(evidence[v].window for v in scope))]

    def _whole(
        self, answer: np.ndarray, kept: tuple[int, ...], evidence: dict[int, Evidence]
    ) -> np.ndarray:
        """The answer on the whole domains; what the evidence rules out is minus infinity."""
        if not kept:
            return answer
        whole = np.full((len(answer), *(self.sizes[v] for v in kept)), -np.inf)
        whole[(slice(None), *(evidence[v].window for v in kept))] = answer
        return whole

"""The backward pass after an elimination: a choice at every step down the nodes.

The choice is the best alternative (most probable completions) or a random one in proportion to its
weight (conditional samples). Every row belongs to an event and carries the choices made so far;
rows with equal events and choices share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from fspn.model.dispatch import CONDITIONAL, ByKind
from fspn.model.eliminate.chain import Chain, is_chain
from fspn.model.eliminate.elimination import Elimination, Part
from fspn.model.eliminate.leaf_factors import JointFactors, code_logs, weight_logs
from fspn.model.eliminate.network import Eliminated
from fspn.model.eliminate.semiring import TooWide
from fspn.model.leaves import reals
from fspn.model.leaves.base import log_of
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Sum,
    TableSplit,
    UniLeaf,
    table_of,
)
from fspn.schema.events import CodeRange, Constraint, Events, RealPoint, RealRange

Columns = dict[int, np.ndarray]
Choice = Callable[[np.ndarray], np.ndarray]
"""From logarithms of weights, shape (rows, alternatives), to one alternative per row."""


def best_choice(logs: np.ndarray) -> np.ndarray:
    """The alternative of the highest weight."""
    return logs.argmax(axis=1)


def random_choice(rng: np.random.Generator) -> Choice:
    """An alternative in proportion to its weight."""

    def choose(logs: np.ndarray) -> np.ndarray:
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(np.isneginf(top), 0.0, top))
        cumulative = np.cumsum(weights, axis=1)
        reached = rng.random((len(logs), 1)) * cumulative[:, -1:]
        return np.minimum((cumulative <= reached).sum(axis=1), logs.shape[1] - 1)

    return choose


def best_completions(
    elimination: Elimination, node: Part, events: Events
) -> tuple[np.ndarray, Columns]:
    """Per event the maximum, and the completion that the maxima lead to, in one elimination.

    The completion of an impossible event means nothing; there may be no columns at all.
    """
    descent = Descent(elimination, best_choice, events.n)
    if is_chain(node):
        node = elimination.tables.chain(node)
    if isinstance(node, Chain) and node.tables:
        logs, eliminated = elimination.network.run(node, events, ())
        logs = np.broadcast_to(logs, (events.n,))
        alive = np.flatnonzero(~np.isneginf(logs))
        if len(alive):
            descent.go_on(node, eliminated, events, alive, alive)
        return logs, descent.columns
    logs = elimination.logs(node, events)
    alive = np.flatnonzero(~np.isneginf(logs))
    descent.go(node, events, alive, alive)
    return logs, descent.columns


class Descent:
    """Fills the columns of a node's variables, for rows of possible events.

    Arguments:
        elimination: What the weights are: sums, or maxima for variables that are maximised.
        choose: How an alternative is chosen.
        n: The number of rows.
        rng: For reals; None = the mode.
    """

    def __init__(
        self,
        elimination: Elimination,
        choose: Choice,
        n: int,
        rng: np.random.Generator | None = None,
    ):
        self.elimination = elimination
        self.sizes = elimination.sizes
        self.choose = choose
        self.rng = rng
        self.columns: Columns = {}
        self._n = n

    def go(self, node: Part, events: Events, rows: np.ndarray, which: np.ndarray) -> None:
        """Fill in the variables of a node.

        Arguments:
            node: Where to go down.
            events: The events.
            rows: The rows to be filled.
            which: The event of each of these rows.
        """
        if len(rows):
            self._STEPS.of(node)(self, node, events, rows, which)

    def _write(self, variable: int, rows: np.ndarray, values: np.ndarray | int) -> None:
        if variable not in self.columns:
            self.columns[variable] = np.zeros(self._n)
        self.columns[variable][rows] = values

    def _codes(self, variable: int, rows: np.ndarray) -> np.ndarray:
        return self.columns[variable][rows].astype(np.int64)

    # ------------------------------------------------------------------ leaves

    def _uni_leaf(self, node: UniLeaf, events: Events, rows: np.ndarray, which: np.ndarray) -> None:
        v = node.variable
        constraint, size = events.constraints.get(v), self.sizes[v]
        if size == 0:
            self._write(v, rows, self._real(node, constraint, which))
            return
        logs = code_logs(node.dist, size) + weight_logs(constraint, events.n, size)
        self._write(v, rows, self.choose(_of_rows(logs, which)))

    def _real(self, node: UniLeaf, constraint: Constraint | None, which: np.ndarray) -> np.ndarray:
        if isinstance(constraint, RealPoint):
            return constraint.values[which]
        if isinstance(constraint, RealRange):
            lower, upper = constraint.lower[which], constraint.upper[which]
        else:
            lower, upper = np.full(len(which), -np.inf), np.full(len(which), np.inf)
        if self.rng is None:
            return reals.mode(node.dist, lower, upper)[0]
        return reals.draw(node.dist, lower, upper, self.rng)

    def _multi_leaf(
        self, node: MultiLeaf, events: Events, rows: np.ndarray, which: np.ndarray
    ) -> None:
        inside = self.elimination.tables.inside(node)
        if inside is not None:
            self.go(inside, events, rows, which)
        elif node.dist.as_independent() is not None:
            self._network(node, events, rows, which)
        elif (joint := node.dist.as_joint()) and self.elimination.maxed.isdisjoint(node.scope):
            self._joint(JointFactors(joint, events, node.variables), rows, which)
        else:
            self._one_by_one(node, events, rows, which)

    def _joint(self, joint: JointFactors, rows: np.ndarray, which: np.ndarray) -> None:
        """One of the table's rows, or the product term with its variables one by one."""
        spread = [joint.spread_logs(i) for i in range(len(joint.sizes))]
        apart = sum((np.logaddexp.reduce(s, axis=-1) for s in spread), np.zeros(1))
        logs = joint.row_logs()
        apart = np.broadcast_to(apart + log_of(np.array(joint.dist.epsilon)), (len(logs),))
        chosen = self.choose(_of_rows(np.column_stack([logs, apart]), which))
        seen = chosen < logs.shape[1]
        for i, v in enumerate(joint.variables):
            self._write(v, rows[seen], joint.rows[chosen[seen], i])
            self._write(v, rows[~seen], self.choose(_of_rows(spread[i], which[~seen])))

    def _one_by_one(
        self, node: MultiLeaf, events: Events, rows: np.ndarray, which: np.ndarray
    ) -> None:
        """Each variable by its factor, given those before it; maximised ones first."""
        maxed = self.elimination.maxed
        for v in sorted(node.variables, key=lambda v: v not in maxed):
            logs = self.elimination.factor(node, events, (v,))
            self._write(v, rows, self.choose(_of_rows(logs, which)))
            events, which = self._fix([v], events, rows, which)

    # ------------------------------------------------------------------ sums and regions

    def _mixture(self, node: Sum, events: Events, rows: np.ndarray, which: np.ndarray) -> None:
        logs = [self.elimination.logs(child, events) for child in node.children]
        weights = np.stack(logs, axis=1) + log_of(node.weights)
        self._alternatives([(child, events) for child in node.children], weights, rows, which)

    def _factorize(
        self, node: Factorize, events: Events, rows: np.ndarray, which: np.ndarray
    ) -> None:
        if table_of(node) is not None:
            self._network(node, events, rows, which)
            return
        met = self.elimination.region_factors(node, events)
        logs = np.stack([np.broadcast_to(part, (events.n,)) for _, part in met], axis=1)
        regions = self.elimination.tables.regions(node)
        pairs = [
            (Chain((), (regions[place][1], node.left)), events.intersect(regions[place][0]))
            for place, _ in met
        ]
        self._alternatives(pairs, logs, rows, which)

    def _alternatives(
        self,
        pairs: Sequence[tuple[Part, Events]],
        logs: np.ndarray,
        rows: np.ndarray,
        which: np.ndarray,
    ) -> None:
        """One of several nodes per row."""
        chosen = self.choose(logs[which])
        for place in np.unique(chosen):
            mine = chosen == place
            node, events = pairs[place]
            used, again = np.unique(which[mine], return_inverse=True)
            self.go(node, events.take(used), rows[mine], again.ravel())

    # ------------------------------------------------------------------ chains of tables

    def _network(self, node: Node, events: Events, rows: np.ndarray, which: np.ndarray) -> None:
        self._chain(self.elimination.tables.chain(node), events, rows, which)

    def _chain(self, chain: Chain, events: Events, rows: np.ndarray, which: np.ndarray) -> None:
        try:
            eliminated = (
                self.elimination.network.run(chain, events, ())[1] if chain.tables else None
            )
        except TooWide:
            if events.n == 1:
                raise
            self._halves(chain, events, rows, which)
        else:
            self.go_on(chain, eliminated, events, rows, which)

    def _halves(self, chain: Chain, events: Events, rows: np.ndarray, which: np.ndarray) -> None:
        """Half of the events after the other, where the tables of all of them do not fit."""
        for half in np.array_split(np.unique(which), 2):
            mine = np.isin(which, half)
            if mine.any():
                again = np.searchsorted(half, which[mine])
                self._chain(chain, events.take(half), rows[mine], again)

    def go_on(
        self,
        chain: Chain,
        eliminated: Eliminated | None,
        events: Events,
        rows: np.ndarray,
        which: np.ndarray,
    ) -> None:
        """Needed tables against the order of elimination, then the parts, then what is left."""
        done: frozenset[int] = frozenset()
        if eliminated is not None:
            done = eliminated.layout.family
            (self._row if len(rows) == 1 else self._buckets)(eliminated, rows, which)
        for part in chain.parts:
            if isinstance(part, UniLeaf) and part.variable in done:
                continue
            shared = sorted(done & part.scope)
            if shared:
                fixed, of_rows = self._fix(shared, events, rows, which)
                self.go(part, fixed, rows, of_rows)
            else:
                self.go(part, events, rows, which)
        for table in chain.tables:
            if table.variable not in done:
                self._table(table, rows)

    def _buckets(self, eliminated: Eliminated, rows: np.ndarray, which: np.ndarray) -> None:
        evidence = eliminated.evidence
        for v, found in evidence.items():
            if found.codes is not None:
                self._write(v, rows, _of_rows(found.codes, which))
        for step in reversed(eliminated.layout.plan.steps):
            length = evidence[step.variable].stop - evidence[step.variable].start
            logs = np.zeros((1, length))
            inner = {u: self._codes(u, rows) - evidence[u].start for u in step.scope[:-1]}
            for place, _, own in step.inputs:
                factor = eliminated.factors[place]
                event = which if len(factor) > 1 else np.zeros_like(which)
                logs = logs + factor[(event, *(inner[u] for u in own))]
            chosen = self.choose(np.broadcast_to(logs, (len(rows), length)))
            self._write(step.variable, rows, chosen + evidence[step.variable].start)

    def _row(self, eliminated: Eliminated, rows: np.ndarray, which: np.ndarray) -> None:
        """One row by itself: look-ups by plain integers take a fraction of the time."""
        evidence, event = eliminated.evidence, int(which[0])
        inner: dict[int, int] = {}
        for v, found in evidence.items():
            if found.codes is not None:
                self._write(v, rows, _of_rows(found.codes, which))
        for step in reversed(eliminated.layout.plan.steps):
            logs: np.ndarray | float = 0.0
            for place, _, own in step.inputs:
                factor = eliminated.factors[place]
                logs = logs + factor[(event if len(factor) > 1 else 0, *[inner[u] for u in own])]
            code = int(self.choose(np.asarray(logs)[None])[0])
            inner[step.variable] = code
            self._write(step.variable, rows, code + evidence[step.variable].start)

    def _table(self, table: TableSplit, rows: np.ndarray) -> None:
        """A table that nothing was asked of: its row given what was chosen before."""
        given = [self._codes(v, rows) for v in table.given]
        keys = np.zeros(len(rows), dtype=np.int64)
        for codes, size in zip(given, table.cpt.sizes, strict=True):
            keys = keys * size + codes
        distinct, which = np.unique(keys, return_inverse=True)
        configurations = np.column_stack(np.unravel_index(distinct, table.cpt.sizes or (1,)))
        logs = log_of(table.cpt.table(configurations[:, : len(given)]))
        self._write(table.variable, rows, self.choose(logs[which.ravel()]))

    def _fix(
        self, variables: Sequence[int], events: Events, rows: np.ndarray, which: np.ndarray
    ) -> tuple[Events, np.ndarray]:
        """The events with what was chosen as further evidence, and the event of every row."""
        chosen = np.column_stack([which, *(self._codes(v, rows) for v in variables)])
        distinct, of_rows = np.unique(chosen, axis=0, return_inverse=True)
        fixed = events.take(distinct[:, 0])
        for place, v in enumerate(variables, 1):
            fixed = fixed.with_constraint(v, CodeRange(distinct[:, place], distinct[:, place]))
        return fixed, of_rows.ravel()

    _STEPS: ClassVar[ByKind[None]] = ByKind(
        "the way down after an elimination",
        {
            UniLeaf: _uni_leaf,
            MultiLeaf: _multi_leaf,
            Sum: _mixture,
            Product: _network,
            Factorize: _factorize,
            Chain: _chain,
            **CONDITIONAL,
        },
    )


def _of_rows(logs: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The entries of the rows' events."""
    return logs[which] if len(logs) > 1 else np.repeat(logs, len(which), axis=0)

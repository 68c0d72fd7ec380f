r"""The most probable completion: elimination, and branch and bound through sum nodes.

.. math:: \max_{x_M} \sum_{x_S} \Pr(x_M, x_S, e)

Independent pieces are solved one by one. A piece whose max-marginals are exact is solved by one
elimination and a descent. Elsewhere a sum node gives upper bounds,
:math:`\max_x \sum_k w_k p_k(x) \le \sum_k w_k \max_x p_k(x)`: variables are fixed one after the
other, deepest and most promising nodes first, many nodes of one depth at a time, and a node is
dropped once its bound is no higher than the best completion found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from fspn.model.eliminate.boxes import BoxSearch
from fspn.model.eliminate.chain import Chain, is_chain
from fspn.model.eliminate.descend import Columns, best_completions
from fspn.model.eliminate.elimination import Elimination, Part
from fspn.model.eliminate.evidence import is_single, single_values
from fspn.model.eliminate.tables import Tables, walk_all
from fspn.model.leaves.base import log_of
from fspn.model.nodes import MultiLeaf, Sum
from fspn.schema.events import CodeRange, CodeWeights, Constraint, Events, RealPoint

BATCH = 64
TOLERANCE = 1e-10
"""Completions whose logarithms differ by less count as equal."""


@dataclass
class Solution:
    """The best completion found.

    Arguments:
        log_value: Its logarithm.
        log_bound: No completion is above this; equal to the value where it is the maximum.
        columns: The codes or reals of the variables.
    """

    log_value: float
    log_bound: float
    columns: Columns = field(default_factory=dict)


def solve(
    tables: Tables, node: Part, event: Events, maxed: frozenset[int], seconds: float
) -> Solution:
    """The best completion of one event, with an upper bound if the time limit comes first."""
    elimination = Elimination(tables, maxed & node.scope)
    return _Solver(elimination, monotonic() + seconds).solve(node, event)


class _Solver:
    def __init__(self, elimination: Elimination, deadline: float):
        self.elimination = elimination
        self.deadline = deadline

    def solve(self, node: Part, event: Events) -> Solution:
        event = event.restrict(node.scope)
        if self.elimination.is_exact(node, event):
            return self._direct(node, event)
        pieces = self._pieces(node)
        if len(pieces) == 1:
            return _Branching(self, pieces[0], event).run()
        whole = Solution(0.0, 0.0)
        for piece in pieces:
            part = self.solve(piece, event)
            whole.log_value += part.log_value
            whole.log_bound += part.log_bound
            whole.columns.update(part.columns)
        return whole

    def _direct(self, node: Part, event: Events) -> Solution:
        logs, columns = best_completions(self.elimination, node, event)
        value = float(logs[0])
        return Solution(value, value, {} if np.isneginf(value) else columns)

    def _pieces(self, node: Part) -> list[Part]:
        """What is independent of each other."""
        if isinstance(node, MultiLeaf):
            inside = self.elimination.tables.inside(node)
            return [node] if inside is None else self._pieces(inside)
        if is_chain(node):
            node = self.elimination.tables.chain(node)
        if not isinstance(node, Chain):
            return [node]
        if len(node.pieces) == 1:
            alone = not node.tables and len(node.parts) == 1
            return self._pieces(node.parts[0]) if alone else [node]
        return list(node.pieces)


class _Branching:
    """Branch and bound on one piece; coded variables are fixed in one order in all branches.

    The order is kept for the next event that constrains the same variables, so that the layouts of
    the eliminations are reused.
    """

    def __init__(self, solver: _Solver, piece: Part, event: Events):
        self.elimination = solver.elimination
        self.deadline = solver.deadline
        self.piece = piece
        self.event = event
        self.maxed = sorted(self.elimination.maxed & piece.scope)
        self.order = self._known_order()
        self.best = Solution(-np.inf, np.inf)
        self.levels: list[list[tuple[float, tuple[int, ...]]]] = []
        self.unresolved = -np.inf

    def _known_order(self) -> list[int]:
        tables = self.elimination.tables
        fixed = frozenset(v for v, c in self.event.constraints.items() if is_single(c).all())
        key = (id(self.piece), fixed, self.elimination.maxed)
        return tables.branch_orders.setdefault(key, (self.piece, []))[1]

    def run(self) -> Solution:
        bound = float(self.elimination.logs(self.piece, self.event)[0])
        if np.isneginf(bound):
            return Solution(bound, bound)
        self.levels = [[(bound, ())]]
        while any(self.levels):
            if monotonic() > self.deadline and self.best.columns:
                break
            self._expand(max(i for i, level in enumerate(self.levels) if level))
        left = max((entry[0] for level in self.levels for entry in level), default=-np.inf)
        self.best.log_bound = max(self.best.log_value, left, self.unresolved)
        return self.best

    def _expand(self, depth: int) -> None:
        """Take the most promising nodes of one depth and fix a further variable in them."""
        level = sorted(self.levels[depth], reverse=True)
        batch, self.levels[depth] = level[:BATCH], level[BATCH:]
        batch = [entry for entry in batch if entry[0] > self.best.log_value + TOLERANCE]
        if not batch:
            self.levels[depth] = []
            return
        fixed = self._events([codes for _, codes in batch], depth)
        top = fixed.take(np.array([0]))
        votes = self._try(top)
        if depth == len(self.order):
            if self.elimination.is_exact(self.piece, top):
                return
            variable = self._next_variable(top, votes)
            if variable is None:
                self._search_reals(fixed)
                return
            self.order.append(variable)
        if len(self.levels) == depth + 1:
            self.levels.append([])
        self._branch(depth, batch, fixed)

    def _branch(
        self, depth: int, batch: list[tuple[float, tuple[int, ...]]], fixed: Events
    ) -> None:
        bounds = self.elimination.factor(self.piece, fixed, (self.order[depth],))
        bounds = np.broadcast_to(bounds, (fixed.n, bounds.shape[1]))
        floor = self.best.log_value + TOLERANCE
        for entry, code in zip(*np.nonzero(bounds > floor), strict=True):
            bound = min(float(bounds[entry, code]), batch[entry][0])
            self.levels[depth + 1].append((bound, (*batch[entry][1], int(code))))

    def _events(self, nodes: list[tuple[int, ...]], depth: int) -> Events:
        events = self.event.take(np.zeros(len(nodes), dtype=np.int64))
        columns = {
            v: np.array([node[i] for node in nodes]) for i, v in enumerate(self.order[:depth])
        }
        return fix_columns(events, columns, self.elimination.sizes)

    def _try(self, event: Events) -> dict[int, float]:
        """Take the best of some completions of a node, where it is better than what is known.

        The candidates are the completions that the maxima of every component of a sum node lead to.
        Returns per variable the fraction of components that differ from the most frequent code.
        """
        node = self.piece
        children = node.children if isinstance(node, Sum) else (node,)
        found = [best_completions(self.elimination, child, event) for child in children]
        alive = [place for place, (logs, _) in enumerate(found) if not np.isneginf(logs[0])]
        columns = {v: np.array([found[i][1][v][0] for i in alive]) for v in self.maxed}
        events = event.take(np.zeros(len(alive), dtype=np.int64))
        fixed = fix_columns(events, columns, self.elimination.sizes)
        values = self.elimination.logs(self.piece, fixed)
        best = int(values.argmax())
        if values[best] > self.best.log_value:
            chosen = {v: column[best : best + 1] for v, column in columns.items()}
            self.best = Solution(float(values[best]), np.inf, chosen)
        logs = np.array([found[i][0][0] for i in alive])
        logs = logs + (log_of(node.weights)[alive] if isinstance(node, Sum) else 0.0)
        shares = np.exp(logs - logs.max())
        return {v: _disagreement(column, shares / shares.sum()) for v, column in columns.items()}

    def _search_reals(self, fixed: Events) -> None:
        """Only reals are left open: search them box by box, event by event."""
        sizes = self.elimination.sizes
        for entry in range(fixed.n):
            event = fixed.take(np.array([entry]))
            opened = self.elimination.open_variables(self.piece, event)
            search = BoxSearch(self.elimination, self.piece, event, opened, self.deadline)
            value, bound, point = search.run()
            self.unresolved = max(self.unresolved, bound)
            if value > self.best.log_value:
                reals = {v: point[i : i + 1] for i, v in enumerate(opened)}
                known = {v: event.constraints[v] for v in self.maxed if v not in reals}
                codes = {v: single_values(c, sizes[v]) for v, c in known.items()}
                self.best = Solution(value, np.inf, {**codes, **reals})

    def _next_variable(self, event: Events, votes: dict[int, float]) -> int | None:
        """The open coded variable about which components differ most, in scopes of sums first."""
        sizes = self.elimination.sizes
        coded = [v for v in self.elimination.open_variables(self.piece, event) if sizes[v]]
        nodes = walk_all(self.piece, self.elimination.tables)
        summed = frozenset(v for node in nodes if isinstance(node, Sum) for v in node.scope)
        best = [v for v in coded if v in summed] or coded
        return max(best, key=lambda v: (votes[v], sizes[v])) if best else None


def _disagreement(codes: np.ndarray, shares: np.ndarray) -> float:
    _, which = np.unique(codes, return_inverse=True)
    return 1.0 - float(np.bincount(which.ravel(), weights=shares).max())


def fix_columns(events: Events, columns: Columns, sizes: Sequence[int]) -> Events:
    """The events with one code or real per variable; the events' own weights are kept."""
    for v, values in columns.items():
        known = events.constraints.get(v)
        constraint: Constraint
        if sizes[v] == 0:
            constraint = RealPoint(np.asarray(values, dtype=np.float64))
        elif isinstance(known, CodeWeights):
            one = np.arange(sizes[v]) == values[:, None]
            constraint = CodeWeights(known.weights(sizes[v]) * one)
        else:
            codes = values.astype(np.int64)
            constraint = CodeRange(codes, codes)
        events = events.with_constraint(v, constraint)
    return events

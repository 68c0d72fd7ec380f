r"""Probabilities and max-marginals on nodes, as factors over any variables that are kept.

.. math:: f(x_K) = \max_{x_M} \sum_{x_S} \Pr(x_K, x_M, x_S) \, e(x)

K are the variables that are kept, M those that are maximised, S the rest; e are the weights that
an event gives. At a sum node (and at the regions of a factorize node, where their variables are
not maximised) the maximum of a sum is replaced by the sum of the maxima: an upper bound, exact
once the variables that are maximised below it are fixed (:meth:`Elimination.is_exact`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar

import numpy as np

from fspn.model.dispatch import CONDITIONAL, ByKind
from fspn.model.eliminate.chain import Chain
from fspn.model.eliminate.evidence import read_evidence
from fspn.model.eliminate.leaf_factors import (
    JointFactors,
    code_logs,
    enumerated_factor,
    univariate_logs,
    weight_logs,
)
from fspn.model.eliminate.network import NetworkElimination
from fspn.model.eliminate.semiring import MAX_PRODUCT, SUM_PRODUCT, Semiring, TooWide, log_sum
from fspn.model.eliminate.tables import Tables
from fspn.model.leaves.base import log_of
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Sum,
    UniLeaf,
    table_of,
)
from fspn.schema.events import Events, RealPoint

Part = Node | Chain


class Elimination:
    """Answers on nodes, many events at a time.

    Arguments:
        tables: What is shared between questions on one model.
        maxed: The variables that are maximised; all others are summed out.
    """

    def __init__(self, tables: Tables, maxed: Iterable[int] = ()):
        self.tables = tables
        self.sizes = tables.sizes
        self.maxed = frozenset(maxed)
        self.network = NetworkElimination(tables, self.maxed, self.semiring_of, self.factor)

    def semiring_of(self, variable: int) -> Semiring:
        """How a variable is taken out."""
        return MAX_PRODUCT if variable in self.maxed else SUM_PRODUCT

    def logs(self, node: Part, events: Events) -> np.ndarray:
        """One number per event, with all variables eliminated; split in half where too wide."""
        try:
            return np.broadcast_to(self.factor(node, events), (events.n,))
        except TooWide:
            if events.n <= 1:
                raise
            halves = np.array_split(np.arange(events.n), 2)
            return np.concatenate([self.logs(node, events.take(half)) for half in halves])

    def factor(self, node: Part, events: Events, kept: Collection[int] = ()) -> np.ndarray:
        """The factor over the kept variables of a node, sorted: shape (n or 1, their sizes)."""
        own = tuple(sorted(v for v in kept if v in node.scope))
        if not own and not self._speaks_of(node, events):
            return np.zeros(1)
        return self._FACTORS.of(node)(self, node, events, own)

    def _speaks_of(self, node: Part, events: Events) -> bool:
        """Whether the factor can differ from one: evidence, or something to maximise."""
        return not (self.maxed.isdisjoint(node.scope) and node.scope.isdisjoint(events.constraints))

    # ------------------------------------------------------------------ leaves

    def _uni_leaf(self, node: UniLeaf, events: Events, kept: tuple[int, ...]) -> np.ndarray:
        v = node.variable
        constraint, size = events.constraints.get(v), self.sizes[v]
        if kept:
            return code_logs(node.dist, size) + weight_logs(constraint, events.n, size)
        return univariate_logs(node.dist, constraint, size, self.semiring_of(v))

    def _multi_leaf(self, node: MultiLeaf, events: Events, kept: tuple[int, ...]) -> np.ndarray:
        inside = self.tables.inside(node)
        if inside is not None:
            return self.factor(inside, events.restrict(node.scope), kept)
        if node.dist.as_independent() is not None:
            return self._network(node, events, kept)
        if not kept and self.maxed.isdisjoint(node.scope):
            return node.dist.log_probability(events.restrict(node.scope), node.variables)
        joint = node.dist.as_joint()
        if joint is not None:
            return JointFactors(joint, events, node.variables).factor(kept, self.maxed)
        return enumerated_factor(
            node.dist, events, node.variables, self.sizes, kept, self.semiring_of
        )

    # ------------------------------------------------------------------ sums and regions

    def _mixture(self, node: Sum, events: Events, kept: tuple[int, ...]) -> np.ndarray:
        logs = [self.factor(child, events, kept) for child in node.children]
        weights = log_of(node.weights)
        whole = np.broadcast_arrays(*logs)
        return log_sum(np.stack([w + part for w, part in zip(weights, whole, strict=True)], -1))

    def _chain(self, chain: Chain, events: Events, kept: tuple[int, ...]) -> np.ndarray:
        return self.network.run(chain, events, kept)[0]

    def _network(self, node: Node, events: Events, kept: tuple[int, ...]) -> np.ndarray:
        return self.network.run(self.tables.chain(node), events, kept)[0]

    def _factorize(self, node: Factorize, events: Events, kept: tuple[int, ...]) -> np.ndarray:
        if table_of(node) is not None:
            return self._network(node, events, kept)
        parts = self.region_factors(node, events, kept)
        shape = (events.n, *(self.sizes[v] for v in kept))
        if not parts:
            return np.full(shape, -np.inf)
        stacked = np.stack([np.broadcast_to(part, shape) for _, part in parts], axis=-1)
        return self.region_semiring(node, events).plus(stacked)

    _FACTORS: ClassVar[ByKind[np.ndarray]] = ByKind(
        "elimination",
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

    def region_factors(
        self, node: Factorize, events: Events, kept: tuple[int, ...] = ()
    ) -> list[tuple[int, np.ndarray]]:
        r"""Per region that the events meet, :math:`p_i q_i` over the kept variables."""
        found = []
        for place, (region, leaf) in enumerate(self.tables.regions(node)):
            inside = events.intersect(region)
            possible = inside.possible(region)
            if not possible.any():
                continue
            right = self.factor(leaf, events, kept)
            left = self.factor(node.left, inside.restrict(node.left.scope), kept)
            part = self._outer((leaf, right), (node.left, left), kept)
            dead = np.where(possible, 0.0, -np.inf)
            found.append((place, part + dead.reshape(-1, *[1] * (part.ndim - 1))))
        return found

    def region_semiring(self, node: Factorize, events: Events) -> Semiring:
        """Regions are alternatives: they are maximised over where all their variables are."""
        return MAX_PRODUCT if self._picks_region(node, events) else SUM_PRODUCT

    def _picks_region(self, node: Factorize, events: Events) -> bool:
        named = {v for region, _ in self.tables.regions(node) for v in region}
        return all(v in self.maxed or self._is_fixed(v, events) for v in named)

    def _outer(
        self, first: tuple[Part, np.ndarray], second: tuple[Part, np.ndarray], kept: tuple[int, ...]
    ) -> np.ndarray:
        """The product of factors of different variables, its axes in the order of ``kept``."""
        total = np.zeros((1, *[1] * len(kept)))
        for node, logs in (first, second):
            shape = (self.sizes[v] if v in node.scope else 1 for v in kept)
            total = total + logs.reshape(len(logs), *shape)
        return total

    # ------------------------------------------------------------------ exactness

    def open_variables(self, node: Part, events: Events) -> list[int]:
        """The variables of a node that are maximised and not fixed."""
        return [v for v in sorted(node.scope) if self._is_open(v, events)]

    def is_always_exact(self, node: Node) -> bool:
        """Whether the factor of a model's root is exact without any evidence, and so with any."""
        key = (id(node), self.maxed)
        if key not in self.tables.exact:
            self.tables.exact[key] = self.is_exact(node, Events(1, {}))
        return self.tables.exact[key]

    def is_exact(self, node: Part, events: Events) -> bool:
        """Whether the factor of a node is the maximum itself rather than an upper bound."""
        if not any(self._is_open(v, events) for v in node.scope):
            return True
        return self._EXACT.of(node)(self, node, events)

    def _exact_leaf(self, node: MultiLeaf, events: Events) -> bool:
        inside = self.tables.inside(node)
        return inside is None or self.is_exact(inside, events)

    def _exact_network(self, node: Node, events: Events) -> bool:
        return self._exact_chain(self.tables.chain(node), events)

    def _exact_factorize(self, node: Factorize, events: Events) -> bool:
        if table_of(node) is not None:
            return self._exact_network(node, events)
        leaves = [leaf for _, leaf in self.tables.regions(node)]
        return self._picks_region(node, events) and all(
            self.is_exact(child, events) for child in (*leaves, node.left)
        )

    def _exact_chain(self, chain: Chain, events: Events) -> bool:
        """A part must not be maximised before variables that it shares with tables are summed."""
        for part in chain.parts:
            if not self.is_exact(part, events):
                return False
            shared = {v for table in chain.tables for v in table.given if v in part.scope}
            inner = any(self._is_open(v, events) for v in part.scope - shared)
            if inner and not all(v in self.maxed or self._is_fixed(v, events) for v in shared):
                return False
        return True

    _EXACT: ClassVar[ByKind[bool]] = ByKind(
        "exactness of a maximum",
        {
            UniLeaf: lambda *_: True,
            MultiLeaf: _exact_leaf,
            Sum: lambda *_: False,
            Product: _exact_network,
            Factorize: _exact_factorize,
            Chain: _exact_chain,
            **CONDITIONAL,
        },
    )

    def _is_open(self, variable: int, events: Events) -> bool:
        return variable in self.maxed and not self._is_fixed(variable, events)

    def _is_fixed(self, variable: int, events: Events) -> bool:
        constraint = events.constraints.get(variable)
        if constraint is None or self.sizes[variable] == 0:
            return isinstance(constraint, RealPoint)
        return read_evidence(constraint, self.sizes[variable]).codes is not None

r"""Learn-FSPN (Section 5, Appendix C): one function per branch of the pseudocode.

Without conditioning variables: separate a highly correlated group (factorize), else model a single
variable (uni-leaf), else split off independent groups (product), else cluster the rows (sum). With
conditioning variables: a multi-leaf where they do not matter, else a split. With
``group="tables"``, :math:`\Pr(H \mid W)` is modelled by nested factorize nodes with sparse tables
instead of the last two; ``docs/learning.md`` explains why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fspn.learn.dependence.rdc import Oracle
from fspn.learn.dependence.triples import with_triples
from fspn.learn.gains import Gains
from fspn.learn.leaves import (
    LeafSettings,
    NetworkSettings,
    fit_multi_leaf,
    fit_network,
    fit_product,
    fit_univariate,
)
from fspn.learn.partition import Cluster, SplitMethod, row_features
from fspn.learn.slices import Slice
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, UniLeaf


@dataclass(frozen=True)
class Settings:
    """The settings of Learn-FSPN.

    Arguments:
        tau_low: Below this dependence two variables count as independent.
        tau_high: From this dependence on they count as highly correlated; above 1 = never.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: The strength of smoothing; None = by leave-one-out where a family can.
        oracle: Measures dependence.
        cluster: Partitions rows for sum nodes.
        split: Partitions the conditioning space for split nodes.
        group: ``"tables"`` or ``"split"``: how a highly correlated group is modelled.
        leaves: How leaves are fitted.
        n_clusters: The number of children of a sum node.
        max_parents: At most so many parents per variable in tables.
        max_cells: At most so many cells in an intermediate result of a query on tables.
        offsets: Whether a table may be an integer-linear law.
        graded: Whether the location of an ordered variable may follow its parents by a law.
        trees: Whether a table may be a decision tree over its parents.
        max_cost: At most so many cells in all intermediate results of a query together.
        triples: Whether columns that depend on each other only three at a time are looked for.
    """

    tau_low: float
    tau_high: float
    min_rows: int
    alpha: float | None
    oracle: Oracle
    cluster: Cluster
    split: SplitMethod
    group: str
    leaves: LeafSettings
    n_clusters: int
    max_parents: int
    max_cells: int
    offsets: bool
    graded: bool
    trees: bool
    max_cost: float = np.inf
    triples: bool = False

    def network(self, max_cost: float) -> NetworkSettings:
        """The settings of one network, within its part of the query cost."""
        kinds = self.offsets, self.graded, self.trees
        return NetworkSettings(self.max_parents, self.max_cells, self.alpha, max_cost, *kinds)


@dataclass(frozen=True)
class Group:
    """A highly correlated group H among the variables of a node.

    Arguments:
        scope: The variables of the node.
        high: The positions of H in the scope.
        others: The positions of W, the variables that H may depend on.
        dependence: Of all pairs of the scope.
        max_cost: The group's part of the bound on the query cost.
    """

    scope: Sequence[int]
    high: np.ndarray
    others: np.ndarray
    dependence: np.ndarray
    max_cost: float = np.inf

    @property
    def variables(self) -> list[int]:
        return [self.scope[i] for i in self.high]

    @property
    def rest(self) -> list[int]:
        return [self.scope[i] for i in self.others]


Report = Callable[[int], None]


class Learner:
    """Learn-FSPN on one table.

    Arguments:
        settings: How to learn.
        rng: The only source of randomness; used in a fixed order.
        report: Called with the number of (row, variable) cells that have become leaves.
        gains: Filled with what tables gained.
    """

    def __init__(
        self,
        settings: Settings,
        rng: np.random.Generator,
        report: Report = lambda _: None,
        gains: Gains | None = None,
    ):
        self.settings = settings
        self.gains = Gains() if gains is None else gains
        self.rng = rng
        self.report = report

    def learn(
        self, data: Slice, scope: Sequence[int], dependence: np.ndarray | None = None
    ) -> Node:
        r"""The FSPN of :math:`\Pr(X)` on a slice: the branches of the pseudocode, in its order.

        Arguments:
            data: The slice.
            scope: The variables X.
            dependence: Their dependence on this slice, where it is known already.
        """
        if len(scope) == 1:
            return self._uni_leaf(data, scope[0])
        if dependence is None:
            dependence = self._dependence(data, scope)
        groups = self._highly_correlated(dependence)
        if groups:
            return self._factorize(data, scope, groups, dependence)
        parts = self._components(dependence, self.settings.tau_low)
        if len(parts) > 1:
            return self._product(data, scope, parts, dependence)
        return self._sum(data, scope)

    def _dependence(self, data: Slice, scope: Sequence[int]) -> np.ndarray:
        if data.n_rows < 2:
            return np.zeros((len(scope), len(scope)))
        columns = [data.column(v) for v in scope]
        matrix = self.settings.oracle.matrix(columns, columns)
        matrix = np.maximum(matrix, matrix.T)
        np.fill_diagonal(matrix, 0.0)
        if self.settings.triples and all(data.domain[v].is_coded for v in scope):
            sizes = [data.domain[v].size for v in scope]
            return with_triples(matrix, [column.values for column in columns], sizes)
        return matrix

    def _highly_correlated(self, dependence: np.ndarray) -> list[np.ndarray]:
        """The groups H, one factorize node each: the connected components at tau_high.

        The component of the strongest pair comes first. The others are those that the recursion
        on its left child would find, as the rows, and so the dependence, are the same there.
        """
        if self.settings.tau_high > 1:
            return []
        parts = self._components(dependence, self.settings.tau_high)
        groups = [part for part in parts if len(part) > 1]
        return sorted(groups, key=lambda g: (-float(dependence[np.ix_(g, g)].max()), g[0]))

    def _components(self, dependence: np.ndarray, tau: float) -> list[np.ndarray]:
        n_parts, labels = connected_components(csr_array(linked(dependence, tau)), directed=False)
        order = np.argsort(labels, kind="stable")
        return np.split(order, np.searchsorted(labels[order], np.arange(1, n_parts)))

    def _factorize(
        self,
        data: Slice,
        scope: Sequence[int],
        groups: list[np.ndarray],
        dependence: np.ndarray,
    ) -> Node:
        r""":math:`\Pr(X) = \Pr(W) \Pr(H \mid W)`, nested: one node per group."""
        below = np.setdiff1d(np.arange(len(scope)), np.concatenate(groups))
        node: Node | None = None
        if len(below):
            node = self.learn(data, [scope[i] for i in below], dependence[np.ix_(below, below)])
        costs = self._costs(data, scope, groups)
        for high, cost in zip(reversed(groups), reversed(costs), strict=True):
            node = self._add_group(data, Group(scope, high, below, dependence, cost), node)
            below = np.union1d(below, high)
        assert node is not None
        return node

    def _costs(
        self, data: Slice, scope: Sequence[int], groups: list[np.ndarray]
    ) -> Sequence[float]:
        """What a query on each group may cost.

        Every column costs its own cells; what is left is shared by the numbers of columns.
        """
        if self.settings.max_cost == np.inf:
            return [np.inf] * len(groups)
        sizes = np.array([data.domain[v].size for v in scope], dtype=np.float64)
        left = self.settings.max_cost - sizes.sum()
        n_columns = sum(len(group) for group in groups)
        return [float(sizes[group].sum() + left * len(group) / n_columns) for group in groups]

    def _add_group(self, data: Slice, group: Group, left: Node | None) -> Node:
        """One factorize node: H on top of the FSPN of the others."""
        coded = all(data.domain[v].is_coded for v in [*group.variables, *group.rest])
        if self.settings.group == "tables" and coded:
            return self._tables(data, group, left)
        between = group.dependence[np.ix_(group.high, group.others)]
        right = self._conditional(data, group.variables, group.rest, between)
        return right if left is None else Factorize(left, right)

    def _tables(self, data: Slice, group: Group, left: Node | None) -> Node:
        """Nested factorize nodes for the group, on top of the FSPN of the others."""
        high, others = group.high, group.others
        low = linked(group.dependence, self.settings.tau_low)
        given = others[low[np.ix_(high, others)].any(axis=0)]
        both = np.concatenate([high, given])
        strength = np.where(low, group.dependence, 0.0)[np.ix_(both, both)]
        strength[len(high) :] = 0.0
        node = fit_network(
            data,
            group.variables,
            [group.scope[i] for i in given],
            strength,
            self.settings.network(group.max_cost),
            self.rng,
            left if len(given) else None,
            self.gains,
        )
        self.report(data.n_rows * len(high))
        return node if len(given) or left is None else product_of([left, node])

    def _uni_leaf(self, data: Slice, variable: int) -> UniLeaf:
        dist = fit_univariate(data, variable, self.settings.leaves, self.rng)
        self.report(data.n_rows)
        return UniLeaf(variable, dist)

    def _product(
        self,
        data: Slice,
        scope: Sequence[int],
        parts: list[np.ndarray],
        dependence: np.ndarray,
    ) -> Node:
        return product_of(
            [
                self.learn(data, [scope[i] for i in part], dependence[np.ix_(part, part)])
                for part in parts
            ]
        )

    def _sum(self, data: Slice, scope: Sequence[int]) -> Node:
        if data.n_rows < self.settings.min_rows:
            return self._give_up(data, scope)
        features = row_features(data, scope)
        labels = self.settings.cluster(features, self.settings.n_clusters, self.rng)
        parts = [data.take(labels == label) for label in np.unique(labels)]
        if len(parts) == 1:
            return self._give_up(data, scope)
        weights = np.array([part.n_rows for part in parts]) / data.n_rows
        return Sum(weights, tuple(self.learn(part, scope) for part in parts))

    def _give_up(self, data: Slice, scope: Sequence[int]) -> Node:
        """Too few rows, or all equal: treat the variables as independent."""
        self.report(data.n_rows * len(scope))
        return fit_product(data, scope, self.settings.leaves, self.rng)

    def _conditional(
        self,
        data: Slice,
        scope: list[int],
        given: list[int],
        dependence: np.ndarray | None = None,
    ) -> Node:
        r"""The right child, :math:`\Pr(H \mid W)`."""
        if data.n_rows < max(self.settings.min_rows, 2) or not given:
            return self._multi_leaf(data, scope)
        if dependence is None:
            targets = [data.column(v) for v in scope]
            dependence = self.settings.oracle.matrix(targets, [data.column(v) for v in given])
        if not linked(dependence, self.settings.tau_low).any():
            return self._multi_leaf(data, scope)
        cut = self.settings.split(data, scope, given, self.settings.oracle, self.rng)
        if cut is None:
            return self._multi_leaf(data, scope)
        sides = [data.take(cut.first), data.take(~cut.first)]
        children = tuple(self._conditional(side, scope, given) for side in sides)
        return Split(tuple({cut.variable: cell} for cell in cut.cells), children)

    def _multi_leaf(self, data: Slice, scope: list[int]) -> MultiLeaf:
        self.report(data.n_rows * len(scope))
        return fit_multi_leaf(data, scope, self.settings.leaves, self.rng)


def linked(dependence: np.ndarray, tau: float) -> np.ndarray:
    """Which pairs depend on each other at a threshold."""
    return (dependence >= tau) & (dependence > 0)


def product_of(parts: list[Node]) -> Node:
    """A product node; products among the parts are merged into it."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.children if isinstance(part, Product) else [part])
    return flat[0] if len(flat) == 1 else Product(tuple(flat))

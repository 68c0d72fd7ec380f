r"""Learn-FSPN (Section 5, Appendix C): one function per branch of the pseudocode.

Without conditioning variables: separate a highly correlated group (factorize), else model a single
variable (uni-leaf), else split off independent groups (product), else cluster the rows (sum). With
conditioning variables: a multi-leaf where they do not matter, else a split. The ``tables`` way of
modelling :math:`\Pr(H \mid W)` replaces the last two by nested factorize nodes with sparse tables;
``docs/learning.md`` tells why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from fspn.data import Slice
from fspn.dependence import Oracle
from fspn.leaf_fit import fit_multi_leaf, fit_network, fit_product, fit_univariate
from fspn.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, UniLeaf
from fspn.partition import Cluster, SplitMethod, row_features


@dataclass(frozen=True)
class Settings:
    """What Learn-FSPN is told.

    Arguments:
        tau_low: Below this dependence two variables count as independent.
        tau_high: From this dependence on they count as highly correlated; above 1 = never.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: The strength of smoothing; None = by leave-one-out where a family can.
        oracle: Measures dependence.
        cluster: Partitions rows for sum nodes.
        split: Partitions the conditioning space for split nodes.
        group: ``"tables"`` or ``"split"``: how a highly correlated group is modelled.
        multi_leaf: The family of multi-leaves.
        n_clusters: The number of children of a sum node.
        max_parents: At most so many parents per variable in tables.
        max_cells: At most so many cells in an intermediate result of a query on tables.
        offsets: Whether a table may be an integer combination of its parents plus noise.
    """

    tau_low: float
    tau_high: float
    min_rows: int
    alpha: float | None
    oracle: Oracle
    cluster: Cluster
    split: SplitMethod
    group: str
    multi_leaf: str
    n_clusters: int
    max_parents: int
    max_cells: int
    offsets: bool

    @property
    def leaf_alpha(self) -> float:
        return 0.1 if self.alpha is None else self.alpha


Report = Callable[[int], None]


class Learner:
    """Learn-FSPN on one table.

    Arguments:
        settings: What to do.
        rng: The only source of randomness; used in a fixed order.
        report: Called with the number of (row, variable) cells that have become leaves.
    """

    def __init__(
        self, settings: Settings, rng: np.random.Generator, report: Report = lambda _: None
    ):
        self.settings = settings
        self.rng = rng
        self.report = report

    def learn(self, data: Slice, scope: Sequence[int]) -> Node:
        r"""The FSPN of :math:`\Pr(X)` on a slice: the branches of the pseudocode, in its order."""
        if len(scope) == 1:
            return self._uni_leaf(data, scope[0])
        dependence = self._dependence(data, scope)
        group = self._highly_correlated(dependence)
        if group is not None:
            return self._factorize(data, scope, group, dependence)
        parts = self._independent_parts(dependence)
        if len(parts) > 1:
            return self._product(data, [[scope[i] for i in part] for part in parts])
        return self._sum(data, scope)

    def _dependence(self, data: Slice, scope: Sequence[int]) -> np.ndarray:
        if data.n_rows < 2:
            return np.zeros((len(scope), len(scope)))
        columns = [data.column(v) for v in scope]
        matrix = self.settings.oracle.matrix(columns, columns)
        matrix = np.maximum(matrix, matrix.T)
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def _highly_correlated(self, dependence: np.ndarray) -> np.ndarray | None:
        """H: the connected component, at tau_high, of the strongest pair; None where none is."""
        if self.settings.tau_high > 1 or not self._linked(dependence, "high").any():
            return None
        labels = connected_components(self._linked(dependence, "high"), directed=False)[1]
        strongest = np.unravel_index(np.argmax(dependence), dependence.shape)[0]
        return np.flatnonzero(labels == labels[strongest])

    def _linked(self, dependence: np.ndarray, which: str) -> np.ndarray:
        tau = self.settings.tau_high if which == "high" else self.settings.tau_low
        return (dependence >= tau) & (dependence > 0)

    def _independent_parts(self, dependence: np.ndarray) -> list[np.ndarray]:
        n_parts, labels = connected_components(self._linked(dependence, "low"), directed=False)
        return [np.flatnonzero(labels == part) for part in range(n_parts)]

    def _factorize(
        self, data: Slice, scope: Sequence[int], group: np.ndarray, dependence: np.ndarray
    ) -> Node:
        r""":math:`\Pr(X) = \Pr(W) \Pr(H \mid W)`."""
        others = np.setdiff1d(np.arange(len(scope)), group)
        high, rest = [scope[i] for i in group], [scope[i] for i in others]
        left = self.learn(data, rest) if rest else None
        if self.settings.group == "tables" and all(data.domain[v].is_coded for v in [*high, *rest]):
            return self._tables(data, high, rest, dependence[np.ix_(group, others)], left)
        right = self._conditional(data, high, rest)
        return right if left is None else Factorize(left, right)

    def _tables(
        self,
        data: Slice,
        high: list[int],
        rest: list[int],
        dependence: np.ndarray,
        left: Node | None,
    ) -> Node:
        """Nested factorize nodes for the group, on top of the FSPN of the others."""
        given = [rest[i] for i in np.flatnonzero(self._linked(dependence, "low").any(axis=0))]
        variables = [*high, *given]
        columns = [data.column(v) for v in variables]
        allowed = self._linked(self.settings.oracle.matrix(columns, columns), "low")
        allowed[len(high) :] = False
        node = fit_network(
            data,
            high,
            given,
            allowed,
            self.settings.max_parents,
            self.settings.max_cells,
            self.settings.alpha,
            self.rng,
            left if given else None,
            self.settings.offsets,
        )
        self.report(data.n_rows * len(high))
        return node if given or left is None else product_of([left, node])

    def _uni_leaf(self, data: Slice, variable: int) -> UniLeaf:
        seed = int(self.rng.integers(2**31))
        dist = fit_univariate(data, variable, self.settings.leaf_alpha, seed)
        self.report(data.n_rows)
        return UniLeaf(variable, dist)

    def _product(self, data: Slice, parts: list[list[int]]) -> Node:
        return product_of([self.learn(data, part) for part in parts])

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
        """Too few rows, or all alike: the variables as if they were independent."""
        self.report(data.n_rows * len(scope))
        return fit_product(data, scope, self.settings.leaf_alpha, self.rng)

    def _conditional(self, data: Slice, scope: list[int], given: list[int]) -> Node:
        r"""The right child, :math:`\Pr(H \mid W)`."""
        if data.n_rows < self.settings.min_rows or not self._depends(data, scope, given):
            return self._multi_leaf(data, scope)
        cut = self.settings.split(data, scope, given, self.settings.oracle, self.rng)
        if cut is None:
            return self._multi_leaf(data, scope)
        sides = [data.take(cut.first), data.take(~cut.first)]
        children = tuple(self._conditional(side, scope, given) for side in sides)
        return Split(tuple({cut.variable: cell} for cell in cut.cells), children)

    def _depends(self, data: Slice, scope: list[int], given: list[int]) -> bool:
        if not given or data.n_rows < 2:
            return False
        targets = [data.column(v) for v in scope]
        matrix = self.settings.oracle.matrix(targets, [data.column(v) for v in given])
        return bool(self._linked(matrix, "low").any())

    def _multi_leaf(self, data: Slice, scope: list[int]) -> MultiLeaf:
        self.report(data.n_rows * len(scope))
        return fit_multi_leaf(
            data, scope, self.settings.multi_leaf, self.settings.leaf_alpha, self.rng
        )


def product_of(parts: list[Node]) -> Node:
    """A product node; products among the parts are merged into it."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.children if isinstance(part, Product) else [part])
    return flat[0] if len(flat) == 1 else Product(tuple(flat))

r"""EM over networks: what stands under the sum node, and when two components are one.

.. math:: \Pr(x) = \sum_k w_k \Pr_k(x), \qquad
          r_{ik} = \frac{w_k \Pr_k(x_i)}{\sum_j w_j \Pr_j(x_i)}

A step draws the class of every row from its responsibilities :math:`r_{ik}`, learns structure and
tables of each class on its own rows, and scores all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from fspn.learn.leaves import NetworkSettings, coded_table, network_node
from fspn.learn.mixture.columns import Regions
from fspn.learn.mixture.trees import compact, draw_classes, normalised
from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.order_search import QUICK, Effort, Network, learn_network, topological_order
from fspn.learn.network.score import LocalScores
from fspn.learn.slices import Slice
from fspn.model.nodes import Node, TableSplit, walk
from fspn.model.score import row_scores

LEAST_ROWS = 100
"""A component of fewer rows is dropped."""
PARTNERS = 2
"""With how many of its nearest others a component is tried as one."""
MAX_FAILED = 12
"""So many failures one after the other end a pass through the pairs."""


@dataclass(frozen=True, eq=False)
class Component:
    """A network, the rows it was learned on, and their evidence under its structure."""

    node: Node
    rows: np.ndarray
    score: float


@dataclass(frozen=True)
class NetworkMixture:
    """Components with the weights of their rows."""

    components: tuple[Component, ...]

    @property
    def weights(self) -> np.ndarray:
        counts = np.array([len(c.rows) for c in self.components], dtype=np.float64)
        return counts / counts.sum()

    def logs(self, data: Slice, scope: Sequence[int]) -> np.ndarray:
        """The logarithm of w_k Pr_k(row), one row per row of the slice."""
        columns = {v: data.values(v) for v in scope}
        found = [row_scores(component.node, columns) for component in self.components]
        return np.stack(found, axis=1) + np.log(self.weights)


class NetworkSearch:
    """EM and merges on some rows; ``n_sharing`` networks share the bound on the query cost.

    Arguments:
        data: The rows.
        scope: The variables.
        limits: The bounds on a network.
        rng: The only source of randomness.
        effort: How long to search for each network.
    """

    def __init__(
        self,
        data: Slice,
        scope: Sequence[int],
        limits: NetworkSettings,
        rng: np.random.Generator,
        effort: Effort = QUICK,
    ) -> None:
        self.data, self.scope, self.limits, self.rng = data, list(scope), limits, rng
        self.effort = effort
        self.sizes = [data.domain[v].size for v in self.scope]
        self.n_sharing = 1
        self._tried: dict[tuple[Component, Component], tuple[float, Component]] = {}
        self._scores: dict[Component, np.ndarray] = {}

    def component(self, rows: np.ndarray) -> Component:
        """The network of some rows."""
        m = len(self.scope)
        table = self._coded(self.data.take(rows))
        scores = LocalScores(table, price=1.0 + np.log(m))
        network = learn_network(
            scores,
            np.ones((m, m)),
            self.limits.max_parents,
            self.limits.max_cells,
            self.rng,
            self.effort,
            self.limits.max_cost / self.n_sharing,
        )
        node = network_node(scores, network, self.scope, m, self.limits.alpha)
        total = sum(scores.score(v, own) for v, own in enumerate(network.parents))
        return Component(node, rows, float(total))

    def _coded(self, data: Slice) -> CodedTable:
        kinds = self.limits.offsets, self.limits.graded, self.limits.trees
        return coded_table(data, self.scope, *kinds)

    def refitted(self, root: Node) -> NetworkMixture:
        """The structure of a network with its tables refitted on the rows of the search."""
        place = {v: i for i, v in enumerate(self.scope)}
        tables = [part for part in walk(root) if isinstance(part, TableSplit)]
        given = {place[part.variable]: tuple(place[v] for v in part.given) for part in tables}
        parents = tuple(given.get(i, ()) for i in range(len(self.scope)))
        table = self._coded(self.data)
        network = Network(parents, tuple(topological_order(parents)))
        node = network_node(
            LocalScores(table), network, self.scope, len(self.scope), self.limits.alpha
        )
        return NetworkMixture((Component(node, np.arange(self.data.n_rows), 0.0),))

    def from_regions(self, regions: Regions) -> NetworkMixture:
        """One network per region of a column; they share the bounds on what a query costs."""
        whole, sharing, k = self.limits, self.n_sharing, len(regions)
        self.limits = replace(whole, max_cells=max(1, whole.max_cells // k))
        self.n_sharing = k
        found = self.from_classes(regions.classes(self.data))
        self.limits, self.n_sharing = whole, sharing
        return found

    def from_classes(self, classes: np.ndarray) -> NetworkMixture:
        """One network per class that has enough rows."""
        numbers = compact(classes, LEAST_ROWS)
        parts = [np.flatnonzero(numbers == k) for k in range(int(numbers.max()) + 1)]
        return NetworkMixture(tuple(self.component(rows) for rows in parts))

    def logs(self, mixture: NetworkMixture) -> np.ndarray:
        """The logarithm of w_k Pr_k(row) for the rows of the search; each network scores once."""
        columns = {v: self.data.values(v) for v in self.scope}
        known = self._scores
        self._scores = {
            part: known[part] if part in known else row_scores(part.node, columns)
            for part in mixture.components
        }
        return np.stack(list(self._scores.values()), axis=1) + np.log(mixture.weights)

    def step(self, mixture: NetworkMixture) -> NetworkMixture:
        """One step of stochastic EM."""
        logs = self.logs(mixture)
        return self.from_classes(draw_classes(normalised(logs), self.rng))

    def merged(self, mixture: NetworkMixture, wanted: int | None) -> NetworkMixture:
        r"""Merge pairs whose rows have more evidence as one component, the nearest ones first.

        .. math:: s(X_i \cup X_j) - s(X_i) - s(X_j)
                  + (n_i + n_j) \ln (n_i + n_j) - n_i \ln n_i - n_j \ln n_j > 0

        Arguments:
            mixture: What to merge.
            wanted: Merge down to so many components, whatever it costs; None = only what gains.
        """
        self._tried.clear()
        while len(mixture.components) > (wanted or 1):
            found = self._merge_near(mixture, wanted or 1)
            if len(found.components) == len(mixture.components):
                if wanted is None:
                    break
                found = self._merge_best(mixture)
            mixture = found
        return mixture

    def _merge_near(self, mixture: NetworkMixture, least: int) -> NetworkMixture:
        """Go once through the near pairs, nearest first, and merge what gains."""
        parts = mixture.components
        merged: list[Component] = []
        gone: set[int] = set()
        failed = 0
        for i, j in self._near_pairs(mixture):
            if failed == MAX_FAILED or len(parts) - len(merged) <= least:
                break
            if i in gone or j in gone:
                continue
            gain, union = self._try(parts[i], parts[j])
            failed = failed + 1 if gain <= 0 else 0
            if gain > 0:
                merged.append(union)
                gone |= {i, j}
        kept = [part for k, part in enumerate(parts) if k not in gone]
        return NetworkMixture((*kept, *merged))

    def _merge_best(self, mixture: NetworkMixture) -> NetworkMixture:
        """Merge the near pair that loses least."""
        parts = mixture.components
        tries = [(*self._try(parts[i], parts[j]), i, j) for i, j in self._near_pairs(mixture)]
        _, union, i, j = max(tries, key=lambda found: found[0])
        kept = [part for k, part in enumerate(parts) if k not in (i, j)]
        return NetworkMixture((*kept, union))

    def _try(self, one: Component, other: Component) -> tuple[float, Component]:
        """The gain of two components as one, and the one."""
        key = (one, other)
        if key not in self._tried:
            union = self.component(np.sort(np.concatenate([one.rows, other.rows])))
            mixing = _entropy(len(union.rows)) - _entropy(len(one.rows)) - _entropy(len(other.rows))
            self._tried[key] = union.score - one.score - other.score + mixing, union
        return self._tried[key]

    def without_least(self, mixture: NetworkMixture) -> NetworkMixture:
        r"""Without the component that the others stand in for best.

        Its absence costs :math:`\sum_i \ln \frac{p(x_i)}{p_{-k}(x_i)}`, the others' weights raised
        to sum to one.
        """
        logs = self.logs(mixture)
        everything = logsumexp(logs, axis=1).sum()
        spared = [logsumexp(np.delete(logs, k, axis=1), axis=1).sum() for k in range(logs.shape[1])]
        losses = everything - spared + len(logs) * np.log1p(-mixture.weights)
        least = int(np.argmin(losses))
        return NetworkMixture(tuple(c for k, c in enumerate(mixture.components) if k != least))

    def _near_pairs(self, mixture: NetworkMixture) -> list[tuple[int, int]]:
        """Pairs of components of which one explains the rows of the other nearly as well.

        The pair of the smallest loss per row comes first.
        """
        logs = self.logs(mixture) - np.log(mixture.weights)
        pairs: dict[tuple[int, int], float] = {}
        for i, component in enumerate(mixture.components):
            here = logs[component.rows]
            loss = (here[:, [i]] - here).mean(axis=0)
            loss[i] = np.inf
            for j in np.argsort(loss, kind="stable")[: min(PARTNERS, len(loss) - 1)].tolist():
                pair = (min(i, j), max(i, j))
                pairs[pair] = min(float(loss[j]), pairs.get(pair, np.inf))
        return sorted(pairs, key=lambda pair: (pairs[pair], pair))


def _entropy(n: int) -> float:
    return float(n * np.log(n))

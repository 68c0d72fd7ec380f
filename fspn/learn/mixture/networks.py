r"""EM over networks: what stands under the sum node, and when two components are one.

.. math:: \Pr(x) = \sum_k w_k \Pr_k(x), \qquad
          r_{ik} = \frac{w_k \Pr_k(x_i)}{\sum_j w_j \Pr_j(x_i)}

A step draws the class of every row from its responsibilities :math:`r_{ik}`, learns structure and
tables of each class on its own rows, and scores all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from fspn.learn.leaves import coded_table, network_node
from fspn.learn.mixture.trees import compact, draw_classes, normalised
from fspn.learn.network.order_search import QUICK, learn_network
from fspn.learn.network.score import LocalScores
from fspn.learn.slices import Slice
from fspn.model.nodes import Node, count_parameters
from fspn.model.score import row_scores

LEAST_ROWS = 100
"""A component of fewer rows is dropped."""
PARTNERS = 2
"""With how many of its nearest others a component is tried as one."""


@dataclass(frozen=True)
class Limits:
    """What a network of the search may have.

    Arguments:
        max_parents: At most so many parents per variable.
        max_cells: At most so many cells in an intermediate result of a query.
        alpha: The strength of the smoothing; None = by leave-one-out likelihood.
        offsets: Whether a table may be an integer combination of its parents plus noise.
    """

    max_parents: int
    max_cells: int
    alpha: float | None
    offsets: bool


@dataclass(frozen=True)
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
    """EM and merges on some rows.

    Arguments:
        data: The rows.
        scope: The variables.
        limits: What a network may have.
        rng: The only source of randomness.
    """

    def __init__(
        self, data: Slice, scope: Sequence[int], limits: Limits, rng: np.random.Generator
    ) -> None:
        self.data, self.scope, self.limits, self.rng = data, list(scope), limits, rng

    def component(self, rows: np.ndarray) -> Component:
        """The network of some rows, by a quick search."""
        m = len(self.scope)
        table = coded_table(self.data.take(rows), self.scope, self.limits.offsets)
        scores = LocalScores(table, price=1.0 + np.log(m))
        network = learn_network(
            scores, np.ones((m, m)), self.limits.max_parents, self.limits.max_cells, self.rng, QUICK
        )
        node = network_node(scores, network, self.scope, m, self.limits.alpha)
        total = sum(scores.score(v, own) for v, own in enumerate(network.parents))
        return Component(node, rows, float(total))

    def from_classes(self, classes: np.ndarray) -> NetworkMixture:
        """One network per class that has enough rows."""
        numbers = compact(classes, LEAST_ROWS)
        parts = [np.flatnonzero(numbers == k) for k in range(int(numbers.max()) + 1)]
        return NetworkMixture(tuple(self.component(rows) for rows in parts))

    def step(self, mixture: NetworkMixture) -> NetworkMixture:
        """One step of stochastic EM."""
        logs = mixture.logs(self.data, self.scope)
        return self.from_classes(draw_classes(normalised(logs), self.rng))

    def merged(self, mixture: NetworkMixture, wanted: int | None) -> NetworkMixture:
        r"""Merge pairs whose rows have more evidence as one component, the most gain first.

        .. math:: s(X_i \cup X_j) - s(X_i) - s(X_j)
                  + (n_i + n_j) \ln (n_i + n_j) - n_i \ln n_i - n_j \ln n_j > 0

        Arguments:
            mixture: What to merge.
            wanted: Merge down to so many components, whatever it costs; None = only what gains.
        """
        self._tried: dict[tuple[int, int], tuple[float, Component]] = {}
        while len(mixture.components) > (wanted or 1):
            parts = mixture.components
            tries = [(*self._try(parts[i], parts[j]), i, j) for i, j in self._near_pairs(mixture)]
            gain, union, i, j = max(tries, key=lambda found: found[0])
            if gain <= 0 and wanted is None:
                break
            kept = [part for k, part in enumerate(parts) if k not in (i, j)]
            mixture = NetworkMixture((*kept, union))
        return mixture

    def _try(self, one: Component, other: Component) -> tuple[float, Component]:
        """The gain of two components as one, and the one."""
        key = (id(one), id(other))
        if key not in self._tried:
            union = self.component(np.sort(np.concatenate([one.rows, other.rows])))
            mixing = _entropy(len(union.rows)) - _entropy(len(one.rows)) - _entropy(len(other.rows))
            self._tried[key] = union.score - one.score - other.score + mixing, union
        return self._tried[key]

    def pruned(self, mixture: NetworkMixture) -> NetworkMixture:
        r"""Without the components that bring less likelihood than their parameters cost (BIC).

        .. math:: \sum_i \ln \frac{\Pr(x_i)}{\Pr_{-k}(x_i)} < \frac{d_k}{2} \ln n
        """
        logs = mixture.logs(self.data, self.scope)
        parts: list[Component | None] = list(mixture.components)
        price = 0.5 * np.log(max(self.data.n_rows, 2))
        by_size = np.argsort([len(part.rows) for part in mixture.components], kind="stable")
        for k in by_size:
            others = [j for j in range(logs.shape[1]) if j != k and parts[j] is not None]
            if not others:
                break
            kept = np.logaddexp(logsumexp(logs[:, others], axis=1), logs[:, k])
            share = np.exp(logs[:, k] - kept).mean()
            loss = (kept - logsumexp(logs[:, others], axis=1) + np.log1p(-share)).sum()
            if loss < price * count_parameters(mixture.components[k].node):
                parts[k] = None
        return NetworkMixture(tuple(part for part in parts if part is not None))

    def _near_pairs(self, mixture: NetworkMixture) -> list[tuple[int, int]]:
        """Pairs of which one explains the other's rows nearly as well as the other itself."""
        logs = mixture.logs(self.data, self.scope) - np.log(mixture.weights)
        pairs: set[tuple[int, int]] = set()
        for i, component in enumerate(mixture.components):
            here = logs[component.rows]
            loss = (here[:, [i]] - here).sum(axis=0)
            loss[i] = np.inf
            for j in np.argsort(loss, kind="stable")[: min(PARTNERS, len(loss) - 1)]:
                pairs.add((min(i, int(j)), max(i, int(j))))
        return sorted(pairs)


def _entropy(n: int) -> float:
    return float(n * np.log(n))

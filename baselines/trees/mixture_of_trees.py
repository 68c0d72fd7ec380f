"""A mixture of trees by expectation maximisation (Meila, Jordan 2000)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from baselines.distinct import Distinct
from baselines.trees.counts import Indicators, PairCounts
from baselines.trees.mixture import Edges, TreeMixture, Trees

LEAST = 1e-4
"""Responsibilities below this count as none."""


@dataclass(frozen=True)
class Rows:
    """Distinct rows and how often each occurs.

    Arguments:
        codes: Small integers, shape (rows, columns).
        weights: Number of occurrences.
        indicators: The same rows for matrix products.
    """

    codes: np.ndarray
    weights: np.ndarray
    indicators: Indicators

    @classmethod
    def of(cls, codes: np.ndarray, cards: np.ndarray) -> Rows:
        """The distinct rows of a table."""
        rows = Distinct.of(codes)
        return cls(rows.codes, rows.weights, Indicators.of(rows.codes, cards))


class MixtureOfTrees(TreeMixture):
    r"""\(P(x) = \sum_k \pi_k T_k(x)\), each \(T_k\) a Chow-Liu tree of its share of the rows.

    The counts of a component get `strength` rows of the whole table's own (slightly smoothed)
    pairwise distribution, so that a component with few rows leans on all of them.

    Arguments:
        n_components: Number of trees.
        strength: Rows that the distribution of the whole table counts for in each component.
        iterations: Steps of expectation maximisation, at most.
        tree_steps: In the first so many steps the trees are learned anew; then their edges stay.
        tolerance: Stop when a step gains less than this, in nats per row, relative to the whole.
        alpha: Rows that the uniform distribution counts for in the whole table.
    """

    name: ClassVar[str] = "mixture_trees"

    def __init__(
        self,
        n_components: int = 10,
        strength: float = 10.0,
        iterations: int = 100,
        tree_steps: int = 8,
        tolerance: float = 2e-5,
        alpha: float = 1.0,
    ) -> None:
        if n_components < 1 or iterations < 1 or tree_steps < 1:
            raise ValueError("n_components, iterations and tree_steps must be at least 1")
        if strength <= 0 or alpha <= 0:
            raise ValueError(f"strength and alpha must be positive, got {strength}, {alpha}")
        self.n_components, self.strength = n_components, strength
        self.iterations, self.tree_steps = iterations, tree_steps
        self.tolerance, self.alpha = tolerance, alpha

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        rows = Rows.of(codes, self.encoder.cards)
        prior = self._prior(rows)
        shares = _start(rows, self.n_components, np.random.default_rng(seed))
        before = -np.inf
        for step in range(self.iterations):
            weights = np.where(shares < LEAST, 0.0, shares) * rows.weights[:, None]
            if step < self.tree_steps:
                found = (rows.indicators.counts(w).plus(prior) for w in weights.T)
                edges = Edges.best(found, self.encoder.cards)
                smoothing = self._smoothing(rows, edges)
            counts = edges.count(rows.codes, weights) + smoothing
            self.trees = Trees.fitted(edges, counts, _mixture_weights(weights))
            logs = self.trees.log_scores(rows.codes)
            whole = logsumexp(logs, axis=1)
            shares = np.exp(logs - whole[:, None])
            now = float(rows.weights @ whole) / len(codes)
            if now - before < self.tolerance * abs(now):
                break
            before = now

    def _prior(self, rows: Rows) -> PairCounts:
        """Pairwise counts of the whole table, scaled to `strength` rows."""
        seen = rows.indicators.counts(rows.weights)
        return seen.plus(seen.uniform(), self.alpha).times(self._scale(rows))

    def _smoothing(self, rows: Rows, edges: Edges) -> np.ndarray:
        """The scaled counts of the whole table on the edges of each tree."""
        weights = np.repeat(rows.weights[:, None], len(edges.parents), axis=1)
        counts = edges.count(rows.codes, weights) + self.alpha * edges.uniform()
        return counts * self._scale(rows)

    def _scale(self, rows: Rows) -> float:
        return self.strength / (float(rows.weights.sum()) + self.alpha)


def _start(rows: Rows, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Responsibilities to begin with: k-means clusters of the rows, slightly softened."""
    from sklearn.cluster import KMeans

    n = len(rows.codes)
    k = min(n_components, n)
    means = KMeans(k, n_init=1, max_iter=10, random_state=int(rng.integers(2**31)))
    labels = means.fit_predict(rows.indicators.matrix, sample_weight=rows.weights)
    shares = np.full((n, n_components), 0.1 / n_components)
    shares[np.arange(n), labels] += 0.9
    return shares


def _mixture_weights(weights: np.ndarray) -> np.ndarray:
    sums = weights.sum(axis=0) + 1.0
    return sums / sums.sum()

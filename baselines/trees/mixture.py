r"""Mixtures of trees over discrete columns: what one tree and many of them share.

.. math:: P(x) = \sum_k \pi_k \prod_i \theta_{ki}(x_i \mid x_{\mathrm{pa}_k(i)})
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from baselines.base import Footprint
from baselines.distinct import compact
from baselines.log_boxes import LogBoxes
from baselines.trees.counts import PairCounts
from baselines.trees.kernels import edge_counts, log_boxes, log_scores
from fspn.learn.spanning_tree import spanning_tree


@dataclass(frozen=True)
class Edges:
    """Structure of some trees, in the layout of `baselines.trees.kernels`.

    Arguments:
        parents: Parent of each column in each tree, -1 for the root.
        order: The columns of each tree, parents first.
        cards: Domain sizes of the columns.
    """

    parents: np.ndarray
    order: np.ndarray
    cards: np.ndarray

    @classmethod
    def best(cls, counts: Iterable[PairCounts], cards: np.ndarray) -> Edges:
        """The Chow-Liu tree of each of the counts."""
        found = [spanning_tree(c.mutual_information()) for c in counts]
        return cls(np.stack([p for p, _ in found]), np.stack([o for _, o in found]), cards)

    def count(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted counts of each column with its parent; one column of `weights` per tree."""
        counts = np.zeros((*self.parents.shape, self._size, self._size))
        edge_counts(codes, weights, self.parents, counts)
        return counts

    def uniform(self) -> np.ndarray:
        """One row, spread evenly over the cells of each table of `count`."""
        share = (np.arange(self._size) < self.cards[:, None]) / self.cards[:, None]
        above = share[self.parents]
        above[self.parents < 0] = np.arange(self._size) == 0
        return above[..., :, None] * share[:, None, :]

    @property
    def _size(self) -> int:
        return max(int(self.cards.max()), 2)


@dataclass(frozen=True)
class Trees:
    """Fitted trees.

    Arguments:
        edges: Their structure.
        tables: Pr(x | u), shape (trees, columns, largest domain, largest domain).
        weights: Mixture weights.
    """

    edges: Edges
    tables: np.ndarray
    weights: np.ndarray

    @classmethod
    def fitted(cls, edges: Edges, counts: np.ndarray, weights: np.ndarray) -> Trees:
        """Trees with the relative frequencies of `counts`; padding stays 0."""
        sums = counts.sum(axis=-1, keepdims=True)
        tables = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
        return cls(edges, tables, weights)

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Logarithm of weight times probability of each row under each tree."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.tables)
        return log_scores(codes, self.edges.parents, logs) + np.log(self.weights)

    def log_boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Logarithm of weight times probability of closed ranges of codes under each tree."""
        edges = self.edges
        found = log_boxes(first, last, edges.parents, edges.order, self.tables, edges.cards)
        return found + np.log(self.weights)


class TreeMixture(LogBoxes):
    """A model whose fit leaves `self.trees`; subclasses learn them."""

    engine = "numba tree messages"
    trees: Trees

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        return logsumexp(self.trees.log_scores(compact(codes)), axis=1)

    def _log_boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return logsumexp(self.trees.log_boxes(first, last), axis=1)

    def _footprint(self) -> Footprint:
        trees, cards = self.trees, self.encoder.cards
        tables = [
            tables[i, : cards[above] if above >= 0 else 1, : cards[i]]
            for parents, tables in zip(trees.edges.parents, trees.tables, strict=True)
            for i, above in enumerate(parents)
        ]
        arcs = int((trees.edges.parents >= 0).sum())
        if len(trees.weights) == 1:
            return Footprint.of(len(tables), tables, arcs)
        return Footprint.of(len(tables) + 1, [*tables, trees.weights], arcs + len(trees.weights))

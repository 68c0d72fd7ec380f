r"""One cutset network: what it is, how it is learned, and how it scores rows.

    learn(rows, columns):
        fewer than m rows or 4 columns -> Chow-Liu tree
        else cut at the column v of the largest information gain:
             P(x) = P(x_v) * learn(rows with x_v, columns without v)

The entropy of a slice is taken as the mean entropy of its columns, so the gain of a cut at v is
\(\frac{1}{|X|} \left( H(X_v) + \sum_{i \ne v} I(X_v; X_i) \right)\), and the matrix of mutual
information that chooses the cut is the one that chooses the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from baselines.base import Footprint
from baselines.spn.nodes import TreeLeaf, total
from baselines.trees.information import pair_information
from baselines.trees.to_fspn import tree_nodes
from fspn.model import nodes as fspn
from fspn.model.leaves.categorical import Categorical

SPREAD = 1.0


@dataclass(frozen=True, eq=False)
class Cut:
    """The OR node: one child per value of a column.

    Arguments:
        variable: The column.
        counts: Rows with each value.
        children: The network of the other columns given each value.
    """

    variable: int
    counts: np.ndarray
    children: tuple[CutsetNetwork, ...]

    def weights(self, alpha: float) -> np.ndarray:
        r"""\((N(x_v) + 2 \alpha / d) / (N + 2 \alpha)\): \(\alpha\) per value if there are two."""
        smoothed = self.counts + 2.0 * alpha / len(self.counts)
        return np.asarray(smoothed / smoothed.sum())


CutsetNetwork = Cut | TreeLeaf


@dataclass(frozen=True)
class Learner:
    """Cuts rows until few are left.

    Arguments:
        codes: Distinct rows.
        weights: Of the rows.
        cards: Domain sizes.
        min_rows: Slices of fewer rows become trees.
        min_features: Slices of fewer columns become trees.
        max_depth: Cuts on a path, at most.
        feature_share: Share of the columns that a cut may choose from, drawn anew each time.
    """

    codes: np.ndarray
    weights: np.ndarray
    cards: np.ndarray
    min_rows: float
    min_features: int
    max_depth: int
    feature_share: float

    def learn(self, rng: np.random.Generator) -> CutsetNetwork:
        """The network of all columns."""
        rows = np.flatnonzero(self.weights > 0)
        return self._grow(rows, np.arange(len(self.cards)), self.max_depth, rng)

    def _grow(
        self, rows: np.ndarray, columns: np.ndarray, depth: int, rng: np.random.Generator
    ) -> CutsetNetwork:
        codes, weights = self.codes[np.ix_(rows, columns)], self.weights[rows]
        small = weights.sum() < self.min_rows or len(columns) < self.min_features
        if small or depth == 0:
            return self._leaf(codes, weights, columns)
        at = self._choose(codes, weights, columns, rng)
        own, rest = codes[:, at], np.delete(np.arange(len(columns)), at)
        counts = np.bincount(own, weights, minlength=int(self.cards[columns[at]]))
        # A value that does not occur here says nothing about the others: they go by all rows.
        absent = None if (counts > 0).all() else self._leaf(codes[:, rest], weights, columns[rest])
        children = tuple(
            self._grow(rows[own == value], columns[rest], depth - 1, rng) if count > 0 else absent
            for value, count in enumerate(counts)
        )
        return Cut(int(columns[at]), counts, tuple(c for c in children if c is not None))

    def _leaf(self, codes: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> TreeLeaf:
        return TreeLeaf.of(codes, weights, columns, self.cards[columns])

    def _choose(
        self, codes: np.ndarray, weights: np.ndarray, columns: np.ndarray, rng: np.random.Generator
    ) -> int:
        """The position of the column to cut at."""
        cards = self.cards[columns]
        gains = pair_information(codes, weights, cards, SPREAD)
        np.fill_diagonal(gains, 0.0)
        gain = gains.sum(axis=1) + _entropies(codes, weights, int(cards.max()))
        if self.feature_share < 1.0:
            gain[rng.random(len(gain)) >= self.feature_share] = -1.0
        return int(np.argmax(gain))


@dataclass(frozen=True)
class Scored:
    """A network with its smoothed tables.

    Arguments:
        root: The network.
        alpha: Pseudo-count per cell of a binary table.
    """

    root: CutsetNetwork
    alpha: float

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities of rows; each goes down one path."""
        scores = np.zeros(len(codes))
        pending = [(self.root, np.arange(len(codes)))]
        while pending:
            node, rows = pending.pop()
            if isinstance(node, TreeLeaf):
                tables = node.log_tables(self.alpha)
                _add_tree_scores(
                    codes,
                    rows,
                    node.variables,
                    node.parents,
                    node.starts,
                    node.sizes,
                    tables,
                    scores,
                )
                continue
            own = codes[rows, node.variable]
            scores[rows] += np.log(node.weights(self.alpha))[own]
            for value, child in enumerate(node.children):
                below = rows[own == value]
                if len(below):
                    pending.append((child, below))
        return scores

    def fspn_root(self) -> fspn.Node:
        """The FSPN: a cut is a sum node over products with a leaf that allows one value."""
        return self._convert(self.root)

    def _convert(self, node: CutsetNetwork) -> fspn.Node:
        if isinstance(node, TreeLeaf):
            return tree_nodes(node.conditionals(self.alpha))
        one = np.eye(len(node.counts))
        children = [
            fspn.Product((fspn.UniLeaf(node.variable, Categorical(one[v])), self._convert(child)))
            for v, child in enumerate(node.children)
        ]
        return fspn.Sum(node.weights(self.alpha), tuple(children))

    def footprint(self) -> Footprint:
        """A node per cut and per table of a tree, as a network counts its variables."""
        return total(
            node.footprint()
            if isinstance(node, TreeLeaf)
            else Footprint.of(1, [node.counts[None, :]], len(node.children) + 1)
            for node in _walk(self.root)
        )


@njit(cache=True)
def _add_tree_scores(
    codes: Any, rows: Any, variables: Any, parents: Any, starts: Any, sizes: Any, tables: Any,
    scores: Any,
) -> None:  # fmt: skip
    """Adds the log-probabilities of some rows under a tree."""
    for r in rows:
        total = 0.0
        for e in range(len(variables)):
            u = codes[r, parents[e]] if parents[e] >= 0 else 0
            total += tables[starts[e] + u * sizes[e, 1] + codes[r, variables[e]]]
        scores[r] += total


@njit(cache=True)
def _entropies(codes: Any, weights: Any, most: int) -> Any:
    r"""\(N H(X_i)\) of every column."""
    n, m = codes.shape
    counts = np.zeros((m, most))
    for r in range(n):
        for i in range(m):
            counts[i, codes[r, i]] += weights[r]
    total = weights.sum()
    found = np.full(m, total * np.log(total))
    for i in range(m):
        for count in counts[i]:
            if count > 0.0:
                found[i] -= count * np.log(count)
    return found


def _walk(root: CutsetNetwork) -> Iterator[CutsetNetwork]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Cut):
            pending.extend(node.children)

r"""Greedy search for a network of decision trees (Chickering, Heckerman, Meek 1997).

Every column starts as a single leaf. Of all splits of all leaves that keep the graph acyclic, the
one that raises

.. math:: \ln P(D \mid G) + \kappa' \cdot \#\text{parameters}, \qquad \kappa' = \ln \kappa

the most is made, until none does. The number of splits that is kept is the one with the highest
likelihood of the validation rows: on binary columns that is a choice of \(\kappa\), since the
order of the splits does not depend on it.
"""

from __future__ import annotations

import heapq
import logging
import time
from dataclasses import dataclass, field

import numpy as np

from baselines.decision_trees.kernels import best_splits, split_counts, split_counts_binary

log = logging.getLogger(__name__)
REPORT_SECONDS = 20.0
PATIENCE = 1.5
"""The search ends once this many times the splits of the best validation likelihood are made."""


@dataclass
class TreeNode:
    """A node of one column's tree.

    Arguments:
        target: The column that the tree describes.
        counts: How often each value of the target occurs here.
        column: The column of the split, -1 for a leaf.
        cut: Codes up to this one go to the low child.
        low: The node of the low child.
        high: The node of the high child.
        step: The number of the split in the order in which they were made.
    """

    target: int
    counts: np.ndarray
    column: int = -1
    cut: int = -1
    low: int = -1
    high: int = -1
    step: int = -1


@dataclass
class Open:
    """What the search remembers of a leaf: its rows, its candidate splits and their counts."""

    rows: np.ndarray
    valid: np.ndarray
    counts: np.ndarray
    gains: np.ndarray = field(default_factory=lambda: np.empty(0))
    cuts: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))


@dataclass
class Search:
    """The state of the greedy search.

    Arguments:
        codes: Distinct training rows.
        weights: Of the rows.
        valid_codes: Distinct validation rows.
        valid_weights: Of those.
        cards: Domain sizes.
        kappa: Prior odds of one more parameter.
        alpha: Pseudo-count per value of a leaf.
        time_limit: Seconds after which no further split is made.
    """

    codes: np.ndarray
    weights: np.ndarray
    valid_codes: np.ndarray
    valid_weights: np.ndarray
    cards: np.ndarray
    kappa: float
    alpha: float
    time_limit: float | None

    def run(self) -> tuple[list[TreeNode], int]:
        """All nodes (the first one per column are the roots), and how many splits to keep."""
        m = len(self.cards)
        self.first = np.concatenate(([0], np.cumsum(self.cards)[:-1])).astype(np.int64)
        self.binary = bool((self.cards == 2).all())
        self.nodes: list[TreeNode] = []
        self.leaves: dict[int, Open] = {}
        self.heap: list[tuple[float, int, int]] = []
        self.ancestor = np.zeros((m, m), dtype=bool)
        for target in range(m):
            rows, valid = np.arange(len(self.codes)), np.arange(len(self.valid_codes))
            self._add(target, Open(rows, valid, self._counts(rows, target)))
        return self.nodes, self._grow()

    def _grow(self) -> int:
        """Makes splits; returns the number of them with the best validation likelihood."""
        started = reported = time.monotonic()
        gained, best, best_step, step = 0.0, 0.0, 0, 0
        while self.heap:
            now = time.monotonic()
            if self.time_limit is not None and now - started > self.time_limit:
                log.info("decision trees: stopped after %d splits by the time limit", step)
                break
            if now - reported > REPORT_SECONDS:
                reported = now
                log.info("decision trees: %d splits, the next gains %.1f", step, -self.heap[0][0])
            _, leaf, column = heapq.heappop(self.heap)
            if not self._allowed(self.nodes[leaf].target, column):
                self._offer(leaf)
                continue
            step += 1
            gained += self._split(leaf, column, step)
            if gained > best:
                best, best_step = gained, step
            if step > PATIENCE * best_step + len(self.cards):
                break
        return best_step

    def _add(self, target: int, leaf: Open) -> int:
        number = len(self.nodes)
        at = slice(self.first[target], self.first[target] + self.cards[target])
        self.nodes.append(TreeNode(target, leaf.counts[at].diagonal().astype(np.float64)))
        leaf.gains, leaf.cuts = best_splits(
            leaf.counts.astype(np.float64), self.first, self.cards, target, self.alpha
        )
        leaf.gains += (self.cards[target] - 1) * np.log(self.kappa)
        self.leaves[number] = leaf
        self._offer(number)
        return number

    def _offer(self, number: int) -> None:
        """Puts the best split of a leaf that keeps the graph acyclic on the heap."""
        leaf, target = self.leaves[number], self.nodes[number].target
        gains = np.where(self.ancestor[target], -np.inf, leaf.gains)
        column = int(np.argmax(gains))
        if gains[column] > 0:
            heapq.heappush(self.heap, (-float(gains[column]), number, column))
        else:
            # An arc that closes a cycle now does so for ever: the leaf is final.
            del self.leaves[number]

    def _allowed(self, target: int, column: int) -> bool:
        return not self.ancestor[target, column]

    def _split(self, number: int, column: int, step: int) -> float:
        """Splits a leaf; returns what that adds to the log-likelihood of the validation rows."""
        node, leaf = self.nodes[number], self.leaves.pop(number)
        target, cut = node.target, int(leaf.cuts[column])
        node.column, node.cut, node.step = column, cut, step
        self._connect(column, target)
        low_rows, high_rows = self._side(self.codes, leaf.rows, column, cut)
        low_valid, high_valid = self._side(self.valid_codes, leaf.valid, column, cut)
        small = min(low_rows, high_rows, key=len)
        counts = self._counts(small, target)
        other = leaf.counts - counts
        low_counts, high_counts = (counts, other) if small is low_rows else (other, counts)
        node.low = self._add(target, Open(low_rows, low_valid, low_counts))
        node.high = self._add(target, Open(high_rows, high_valid, high_counts))
        parts = ((low_valid, self.nodes[node.low]), (high_valid, self.nodes[node.high]))
        after = sum(self._likelihood(rows, child) for rows, child in parts)
        return after - self._likelihood(leaf.valid, node)

    def _connect(self, parent: int, child: int) -> None:
        if self.ancestor[parent, child]:
            return
        above, below = self.ancestor[:, parent].copy(), self.ancestor[child].copy()
        above[parent] = below[child] = True
        self.ancestor[np.ix_(above, below)] = True

    def _side(
        self, codes: np.ndarray, rows: np.ndarray, column: int, cut: int
    ) -> tuple[np.ndarray, np.ndarray]:
        low = codes[rows, column] <= cut
        return rows[low], rows[~low]

    def _counts(self, rows: np.ndarray, target: int) -> np.ndarray:
        counts = np.zeros((int(self.cards.sum()), int(self.cards[target])), dtype=np.float32)
        if self.binary:
            split_counts_binary(self.codes, self.weights, rows, target, counts)
        else:
            split_counts(self.codes, self.weights, rows, target, self.first, counts)
        return counts

    def _likelihood(self, valid: np.ndarray, node: TreeNode) -> float:
        seen = np.bincount(
            self.valid_codes[valid, node.target],
            self.valid_weights[valid],
            minlength=len(node.counts),
        )
        smoothed = node.counts + self.alpha
        return float(seen @ np.log(smoothed / smoothed.sum()))

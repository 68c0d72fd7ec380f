r"""What an SPGM is: variable nodes, product nodes and sum nodes in one acyclic graph.

A *variable node* of X stands for \(P(x \mid y) \prod_c c(x)\), Y being the variable node above it;
a sum node mixes alternatives, a product node multiplies them. All of them, and the weights of a sum
node, are functions of the value of the nearest variable node above, so a node may be shared by
every place below the same variable. The chain a - b - c - d with the edge a - c inserted, whose
loop is opened at a - b instead:

              a
              |
              +            w1(a) P(a) P(b|a) P(c|b) P(d|c)  +  w2(a) P(a) P(c|a) P(b|c) P(d|c)
            /   \
        b | a   c | a
          |      /  \
        c | b   /   b | c
            \  /
           d | c           one node, shared by both alternatives

Alternatives multiply: L loops that do not touch stand for \(2^L\) trees in O(L) nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

VARIABLE, PRODUCT, SUM = 0, 1, 2


@dataclass(frozen=True)
class Graph:
    """Nodes with children first; the root, a variable node, is the last.

    Arguments:
        kinds: `VARIABLE`, `PRODUCT` or `SUM`.
        variable: The column of a variable node.
        above: The column whose value the node depends on, -1 for none.
        table: The table of a variable node.
        bounds: Where the children of each node begin; one more than nodes.
        children: All children.
        choice: Where the weights of a sum node's child begin, one per value above; else -1.
        first_weights: All these weights to begin with.
        pairs: The columns (above, variable) of each table: tables are shared.
        place: Where the cells of each table begin; one more than tables.
        cards: Domain sizes.
    """

    kinds: np.ndarray
    variable: np.ndarray
    above: np.ndarray
    table: np.ndarray
    bounds: np.ndarray
    children: np.ndarray
    choice: np.ndarray
    first_weights: np.ndarray
    pairs: np.ndarray
    place: np.ndarray
    cards: np.ndarray

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return int(self.place[-1])

    @property
    def n_table_rows(self) -> int:
        """Rows of all tables."""
        above = self.pairs[:, 0]
        return int(np.where(above >= 0, self.cards[above], 1).sum())


@dataclass(frozen=True)
class Spgm:
    """A graph with its parameters.

    Arguments:
        graph: The structure.
        logs: Logarithms of the cells of all tables.
        log_weights: Logarithms of the weights of the sum nodes.
    """

    graph: Graph
    logs: np.ndarray
    log_weights: np.ndarray

    @cached_property
    def probabilities(self) -> np.ndarray:
        """The cells of all tables."""
        return np.exp(self.logs)

    @classmethod
    def fitted(cls, graph: Graph, counts: np.ndarray, weights: np.ndarray, prior: float) -> Spgm:
        r"""Tables \((N(u, x) + 4 \epsilon N / c) / \dots\) and weights from (expected) counts.

        c is the number of cells of the table and N the sum of its own counts, so that a rarely
        chosen path is not flattened.

        Arguments:
            graph: The structure.
            counts: Cells of all tables, flat.
            weights: Of the sum nodes; those of one node and one value are divided by their sum.
            prior: \(\epsilon\), the share of all rows that every cell of a binary pair gets.
        """
        logs = np.empty(len(counts))
        for t, (_, own) in enumerate(graph.pairs):
            cells = counts[graph.place[t] : graph.place[t + 1]].reshape(-1, graph.cards[own])
            cells = cells + (4.0 * prior * cells.sum() / cells.size + 1e-9)
            part = np.log(cells / cells.sum(axis=1, keepdims=True))
            logs[graph.place[t] : graph.place[t + 1]] = part.ravel()
        return cls(graph, logs, _normalised(graph, weights, prior))


def _normalised(graph: Graph, weights: np.ndarray, prior: float) -> np.ndarray:
    logs = np.empty(len(weights))
    for node in np.flatnonzero(graph.kinds == SUM):
        first = graph.choice[graph.bounds[node]]
        shape = (
            int(graph.bounds[node + 1] - graph.bounds[node]),
            int(graph.cards[graph.above[node]]),
        )
        own = weights[first : first + shape[0] * shape[1]].reshape(shape)
        # Values that are rare above lean on the choice of all values.
        share = own.sum(axis=1, keepdims=True) + 1e-9
        smoothed = own + (prior * share.sum() + 1e-9) * share / share.sum()
        logs[first : first + own.size] = np.log(smoothed / smoothed.sum(axis=0)).ravel()
    return logs

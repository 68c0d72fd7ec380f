r"""What an SPGM is: variable nodes, product nodes and sum nodes in one acyclic graph.

A *variable node* of X stands for \(P(x \mid y) \prod_c c(x)\), Y being the variable node above it;
a sum node mixes alternatives, a product node multiplies them. All of them are functions of the
value of the nearest variable node above, so a node may be shared by every place below the same
variable. The chain a - b - c with the edge a - c inserted, b - c being the strongest pair:

              a
              |
              +            w1 P(a) P(b|a) P(c|b) P(d|c)  +  w2 P(a) P(c|a) P(b|c) P(d|c)
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
        first_weights: Weight of each child of a sum node to begin with, 1 elsewhere.
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
        log_weights: Logarithms of the weights, one per child (0 where the parent is no sum).
    """

    graph: Graph
    logs: np.ndarray
    log_weights: np.ndarray

    @classmethod
    def fitted(cls, graph: Graph, counts: np.ndarray, weights: np.ndarray, prior: float) -> Spgm:
        r"""Tables \((N(u, x) + \epsilon N) / \dots\) and weights from (expected) counts.

        Arguments:
            graph: The structure.
            counts: Cells of all tables, flat.
            weights: One per child of a node; those of each sum node are divided by their sum.
            prior: \(\epsilon\), a share of all rows that every cell of a pair gets.
        """
        smoothed = counts + 0.0
        total = counts[graph.place[graph.table[-1]] : graph.place[graph.table[-1] + 1]].sum()
        smoothed += max(prior * total, 1e-9)
        logs = np.empty(len(counts))
        for t, (_, own) in enumerate(graph.pairs):
            cells = smoothed[graph.place[t] : graph.place[t + 1]].reshape(-1, graph.cards[own])
            part = np.log(cells / cells.sum(axis=1, keepdims=True))
            logs[graph.place[t] : graph.place[t + 1]] = part.ravel()
        return cls(graph, logs, _normalised(graph, weights))


def _normalised(graph: Graph, weights: np.ndarray) -> np.ndarray:
    logs = np.zeros(len(weights))
    parent = np.repeat(np.arange(len(graph.kinds)), np.diff(graph.bounds))
    mixed = graph.kinds[parent] == SUM
    smoothed = weights + 1e-6
    sums = np.bincount(parent, smoothed, minlength=len(graph.kinds))
    logs[mixed] = np.log(smoothed[mixed] / sums[parent[mixed]])
    return logs

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

from typing import NamedTuple

import numpy as np

VARIABLE, PRODUCT, SUM = 0, 1, 2


class Graph(NamedTuple):
    """Nodes with children first; the root, a variable node, is the last. Compiled code reads it.

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


class Spgm(NamedTuple):
    r"""A graph with its parameters. Compiled code reads it.

    Arguments:
        graph: The structure.
        logs: Logarithms of the cells of all tables.
        log_weights: Logarithms of the weights of the sum nodes.
        probabilities: The cells of all tables.
        weights: The weights of the sum nodes.
        ratios: Cells \(P(x \mid u) / b(x)\), relative to `base`.
        base: \(\ln b(x)\), one row per column: the mean of \(P(x \mid u)\) over its tables.
    """

    graph: Graph
    logs: np.ndarray
    log_weights: np.ndarray
    probabilities: np.ndarray
    weights: np.ndarray
    ratios: np.ndarray
    base: np.ndarray

    @classmethod
    def fitted(
        cls,
        graph: Graph,
        counts: np.ndarray,
        weights: np.ndarray,
        prior: float,
        more: np.ndarray | float = 0.0,
    ) -> Spgm:
        r"""Tables \((N(u, x) + 4 \epsilon N / c) / \dots\) and weights from (expected) counts.

        c is the number of cells of the table and N the sum of its own counts, so that a rarely
        chosen path is not flattened.

        Arguments:
            graph: The structure.
            counts: Cells of all tables, flat.
            weights: Of the sum nodes; those of one node and one value are divided by their sum.
            prior: \(\epsilon\), the share of all rows that every cell of a binary pair gets.
            more: Further counts of all cells.
        """
        sizes = np.diff(graph.place)
        widths = graph.cards[graph.pairs[:, 1]]
        spread = 4.0 * prior * np.add.reduceat(counts, graph.place[:-1]) / sizes + 1e-9
        cells = counts + more + np.repeat(spread, sizes)
        row_widths = np.repeat(widths, sizes // widths)
        sums = np.add.reduceat(cells, np.cumsum(row_widths) - row_widths)
        probabilities = cells / np.repeat(sums, row_widths)
        shares = _normalised(graph, weights, prior)
        # The column and the value of every cell.
        columns = np.repeat(graph.pairs[:, 1], sizes)
        values = np.arange(len(cells)) - np.repeat(np.cumsum(row_widths) - row_widths, row_widths)
        shape = (len(graph.cards), int(graph.cards.max()))
        place = columns * shape[1] + values
        sums_of_values = np.bincount(place, probabilities, shape[0] * shape[1])
        base = sums_of_values / np.maximum(np.bincount(place, minlength=sums_of_values.size), 1)
        ratios = probabilities / base[place]
        logs_of_base = np.log(np.where(base > 0, base, 1.0)).reshape(shape)
        return cls(
            graph, np.log(probabilities), np.log(shares), probabilities, shares, ratios,
            logs_of_base,
        )  # fmt: skip


def _normalised(graph: Graph, weights: np.ndarray, prior: float) -> np.ndarray:
    """Weights that sum to one for every sum node and value above it."""
    nodes = np.flatnonzero(graph.kinds == SUM)
    if not len(nodes):
        return np.empty(0)
    choices = graph.bounds[nodes + 1] - graph.bounds[nodes]
    states = graph.cards[graph.above[nodes]]
    # Weights follow each other by node, by choice, by value above.
    first_choice = np.cumsum(choices) - choices
    widths = np.repeat(states, choices)
    starts = np.cumsum(widths) - widths
    share = np.add.reduceat(weights, starts) + 1e-9
    total = np.add.reduceat(share, first_choice)
    # Values that are rare above lean on the choice of all values.
    lean = share * np.repeat((prior * total + 1e-9) / total, choices)
    smoothed = weights + np.repeat(lean, widths)
    value = np.arange(len(weights)) - np.repeat(starts, widths)
    first_value = np.repeat(np.cumsum(states) - states, choices)
    group = np.repeat(first_value, widths) + value
    return np.asarray(smoothed / np.bincount(group, smoothed)[group])

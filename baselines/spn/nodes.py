"""The three node types that LearnSPN makes here, and how it counts at the leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from baselines.trees.information import (
    NARROW,
    binary_information,
    pair_information,
    pairs_of_ones,
)
from fspn.learn.spanning_tree import spanning_tree

STRUCTURE_ROWS = 1.0
"""Rows that are spread evenly over the cells of a pair when a tree is chosen."""


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    r"""A Chow-Liu tree over some columns, as counts; with one column its histogram.

    Arguments:
        variables: The columns, parents before children.
        parents: The parent of each, -1 for the root.
        counts: \(N(u, x)\) of each column in turn, flat.
        starts: Where the counts of each column begin.
        sizes: Rows and columns of each table, shape (columns, 2).
    """

    variables: np.ndarray
    parents: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(
        cls, codes: np.ndarray, weights: np.ndarray, columns: np.ndarray, cards: np.ndarray
    ) -> TreeLeaf:
        """The best tree of a slice; `codes` holds the named columns only."""
        if len(columns) == 1:
            return cls.histogram(codes[:, 0], weights, int(columns[0]), int(cards[0]))
        if len(columns) > NARROW and (cards == 2).all():
            pairs, total = pairs_of_ones(codes, weights), float(weights.sum())
            parents, order = spanning_tree(binary_information(pairs, total, STRUCTURE_ROWS))
        else:
            pairs = None
            parents, order = spanning_tree(pair_information(codes, weights, cards, STRUCTURE_ROWS))
        above = parents[order]
        rows = np.where(above >= 0, cards[above], 1)
        sizes = np.stack([rows, cards[order]], axis=1).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes.prod(axis=1))[:-1])).astype(np.int64)
        counts = np.zeros(int(sizes.prod(axis=1).sum()))
        whole = order.astype(np.int64), above.astype(np.int64)
        if pairs is None:
            _count(codes, weights, *whole, starts, sizes, counts)
        else:
            _read_counts(pairs, total, *whole, starts, counts)
        named = np.where(above >= 0, columns[above], -1)
        return cls(columns[order], named, counts, starts, sizes)

    @classmethod
    def histogram(cls, codes: np.ndarray, weights: np.ndarray, column: int, card: int) -> TreeLeaf:
        """The tree of one column."""
        counts = np.bincount(codes, weights, minlength=card)
        start, size = np.zeros(1, dtype=np.int64), np.array([[1, card]])
        return cls(np.array([column]), np.array([-1]), counts, start, size)

    def log_tables(self, alpha: float) -> np.ndarray:
        r"""\(\ln \theta(x \mid u)\), with \(\alpha\) pseudo-counts per cell of a binary table.

        A tree gets \(4 \alpha\) rows, spread evenly over the cells of every pair; a single column
        \(2 \alpha\) rows.
        """
        rows = (4.0 if len(self.variables) > 1 else 2.0) * alpha
        return _log_tables(self.counts, self.starts, self.sizes, rows)

    def tables(self, alpha: float) -> Iterator[tuple[int, int, np.ndarray]]:
        """Column, parent and smoothed table of each column, parents first."""
        flat = np.split(np.exp(self.log_tables(alpha)), self.starts[1:])
        for column, parent, part, size in zip(
            self.variables, self.parents, flat, self.sizes, strict=True
        ):
            yield int(column), int(parent), part.reshape(size)

    @property
    def n_parameters(self) -> int:
        """Free parameters: all entries of a row but one."""
        return len(self.counts) - int(self.sizes[:, 0].sum())


@dataclass(frozen=True, eq=False)
class Product:
    """Independent parts."""

    children: tuple[SPN, ...]


@dataclass(frozen=True, eq=False)
class Sum:
    """A mixture."""

    weights: np.ndarray
    children: tuple[SPN, ...]


SPN = TreeLeaf | Product | Sum


def children_first(root: SPN) -> Iterator[SPN]:
    """All nodes, each after its children."""
    pending: list[tuple[SPN, bool]] = [(root, False)]
    while pending:
        node, opened = pending.pop()
        if opened or isinstance(node, TreeLeaf):
            yield node
        else:
            pending.append((node, True))
            pending.extend((child, False) for child in node.children)


@njit(cache=True)
def _count(
    codes: Any, weights: Any, order: Any, above: Any, starts: Any, sizes: Any, counts: Any
) -> None:
    for r in range(len(codes)):
        for e in range(len(order)):
            u = codes[r, above[e]] if above[e] >= 0 else 0
            counts[starts[e] + u * sizes[e, 1] + codes[r, order[e]]] += weights[r]


@njit(cache=True)
def _read_counts(
    pairs: Any, total: float, order: Any, above: Any, starts: Any, counts: Any
) -> None:
    """The tables of columns of two values from the counts of pairs of ones."""
    for e in range(len(order)):
        own, up, at = order[e], above[e], starts[e]
        ones = pairs[own, own]
        if up < 0:
            counts[at], counts[at + 1] = total - ones, ones
            continue
        both, ups = pairs[own, up], pairs[up, up]
        # Fractional weights in single precision may leave a cell just below nothing.
        counts[at] = max(total - ups - ones + both, 0.0)
        counts[at + 1] = max(ones - both, 0.0)
        counts[at + 2] = max(ups - both, 0.0)
        counts[at + 3] = both


@njit(cache=True)
def _log_tables(counts: Any, starts: Any, sizes: Any, rows: float) -> Any:
    logs = np.empty(len(counts))
    for e in range(len(starts)):
        a, b = sizes[e, 0], sizes[e, 1]
        more = rows / (a * b)
        for u in range(a):
            row = starts[e] + u * b
            total = more * b
            for x in range(b):
                total += counts[row + x]
            for x in range(b):
                logs[row + x] = np.log((counts[row + x] + more) / total)
    return logs

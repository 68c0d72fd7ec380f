"""The three node types that LearnSPN makes here, and how it counts at the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from baselines.base import INDEX_BYTES, Footprint
from baselines.trees.information import (
    NARROW,
    binary_information,
    pair_information,
    pairs_of_ones,
)
from fspn.learn.spanning_tree import spanning_tree
from fspn.model.cpt.backoff import BackoffTable, CountLevel

STRUCTURE_ROWS = 1.0
"""Rows that are spread evenly over the cells of a pair when a tree is chosen."""
FULL = 0.25
"""Counts of which a smaller share is filled are kept as their filled cells."""


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    r"""A Chow-Liu tree over some columns, as counts; with one column its histogram.

    Arguments:
        variables: The columns, parents before children.
        parents: The parent of each, -1 for the root.
        counts: \(N(u, x)\) of each column in turn, flat.
        filled: The cells that `counts` has, in order; None = all.
        starts: Where the cells of each column begin.
        sizes: Rows and columns of each table, shape (columns, 2).
    """

    variables: np.ndarray
    parents: np.ndarray
    counts: np.ndarray
    filled: np.ndarray | None
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
        return cls(columns[order], named, *_compact(counts), starts, sizes)

    @classmethod
    def histogram(cls, codes: np.ndarray, weights: np.ndarray, column: int, card: int) -> TreeLeaf:
        """The tree of one column."""
        counts = np.bincount(codes, weights, minlength=card)
        start, size = np.zeros(1, dtype=np.int64), np.array([[1, card]])
        return cls(np.array([column]), np.array([-1]), counts, None, start, size)

    @property
    def n_cells(self) -> int:
        """Cells of all tables, filled or not."""
        return int(self.sizes.prod(axis=1).sum())

    def cells(self) -> np.ndarray:
        """The counts of all cells."""
        if self.filled is None:
            return self.counts
        cells = np.zeros(self.n_cells)
        cells[self.filled] = self.counts
        return cells

    def rows(self, alpha: float) -> float:
        """How many rows the smoothing counts for: four times `alpha`, of a single column twice."""
        return (4.0 if len(self.variables) > 1 else 2.0) * alpha

    def log_tables(self, alpha: float) -> np.ndarray:
        r"""\(\ln \theta(x \mid u)\), with \(\alpha\) pseudo-counts per cell of a binary table.

        The `rows` of the smoothing are spread evenly over the cells of every table.
        """
        return _log_tables(self.cells(), self.starts, self.sizes, self.rows(alpha))

    def tables(self, alpha: float) -> Iterator[tuple[int, int, np.ndarray]]:
        """Column, parent and smoothed table of each column, parents first."""
        flat = np.split(np.exp(self.log_tables(alpha)), self.starts[1:])
        for column, parent, part, size in zip(
            self.variables, self.parents, flat, self.sizes, strict=True
        ):
            yield int(column), int(parent), part.reshape(size)

    def conditionals(self, alpha: float) -> Iterator[tuple[int, int, np.ndarray | BackoffTable]]:
        r"""The same, as back-off tables where most cells are empty.

        With \(r\) rows spread over a table of \(a\) rows and \(b\) columns,
        \((N(u, x) + \frac{r}{ab}) / (N(u) + \frac{r}{a})\) is smoothing towards the even law with
        the strength \(r / a\): nothing needs to be kept of a cell without rows.
        """
        if self.filled is None:
            yield from self.tables(alpha)
            return
        bounds = np.searchsorted(self.filled, np.append(self.starts, self.n_cells))
        for e, (column, parent) in enumerate(zip(self.variables, self.parents, strict=True)):
            part, (a, b) = slice(bounds[e], bounds[e + 1]), self.sizes[e].tolist()
            keys, codes = np.divmod(self.filled[part] - self.starts[e], b)
            counts, strength = self.counts[part], self.rows(alpha) / a
            if parent < 0:
                shares = np.full(b, strength / b)
                shares[codes] += counts
                yield int(column), -1, (shares / shares.sum())[None, :]
                continue
            level = CountLevel.from_cells(keys, codes, counts, (a,), strength)
            yield int(column), int(parent), BackoffTable(np.full(b, 1.0 / b), (level,))

    def footprint(self) -> Footprint:
        """A node per table, as a network counts its variables; of empty cells nothing is kept."""
        tables = len(self.variables)
        links = tables + int((self.parents >= 0).sum())
        rows = int(self.sizes[:, 0].sum())
        if self.filled is None:
            free, indices = len(self.counts) - rows, 0
        else:  # where each row begins, and the code of each cell
            free, indices = len(self.counts), len(self.counts) + rows
        size = 8 * len(self.counts) + INDEX_BYTES * (tables + links + indices)
        return Footprint(tables, free, size)


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


def footprint(root: SPN) -> Footprint:
    """Of a network: its leaves' tables, and its inner nodes with their links and weights."""
    return total(_own_footprint(node) for node in children_first(root))


def _own_footprint(node: SPN) -> Footprint:
    if isinstance(node, TreeLeaf):
        return node.footprint()
    weights = [] if isinstance(node, Product) else [node.weights[None, :]]
    return Footprint.of(1, weights, len(node.children))


def total(parts: Iterable[Footprint]) -> Footprint:
    """Of the parts together."""
    sizes = [(part.n_nodes, part.n_parameters, part.size_bytes) for part in parts]
    return Footprint(*(sum(column) for column in zip(*sizes, strict=True)))


def _compact(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The counts, and the cells they are of where most are empty."""
    if np.count_nonzero(counts) >= FULL * len(counts):
        return counts, None
    filled = np.flatnonzero(counts)
    return counts[filled], filled.astype(np.int32)


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

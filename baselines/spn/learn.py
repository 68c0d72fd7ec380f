r"""LearnSPN with binary splits of rows and Chow-Liu leaves (Vergari, Di Mauro, Esposito 2015).

    learn(rows, columns):
        at most m rows            -> Chow-Liu tree          one column -> histogram
        columns fall into groups  -> product of learn(rows, group)
        else                      -> sum of learn(cluster, columns) over two clusters of rows

The first split is always one of rows. Two columns are dependent iff
\(2 N I(X_i; X_j) \ge 2 g \, (d_i - 1)(d_j - 1) + 0.001\), d counting the values that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from baselines.spn.nodes import SPN, Product, Sum, TreeLeaf
from baselines.spn.row_split import split_rows
from baselines.trees.information import pair_information


@dataclass(frozen=True)
class Slice:
    """Some rows and some columns, and where their node goes: below a parent, as its n-th child."""

    rows: np.ndarray
    columns: np.ndarray
    parent: int
    position: int
    split_columns: bool = True


@dataclass(frozen=True)
class Learner:
    """One run of the recursion above.

    Arguments:
        codes: Distinct rows.
        weights: Of the rows.
        cards: Domain sizes.
        g: Strictness of the G-test.
        min_rows: m.
    """

    codes: np.ndarray
    weights: np.ndarray
    cards: np.ndarray
    g: float
    min_rows: float

    def learn(self, rng: np.random.Generator) -> SPN:
        """Worked off from a list, since clusters may be nested deeply."""
        everything = np.arange(len(self.cards))
        seen = np.flatnonzero(self.weights > 0)
        pending = [Slice(seen, everything, -1, 0, split_columns=False)]
        found: list[TreeLeaf | list[Slice]] = []
        cuts: list[Slice] = []
        while pending:
            piece = pending.pop()
            parts = self._parts(piece, len(found), rng)
            cuts.append(piece)
            found.append(parts)
            if isinstance(parts, list):
                pending.extend(parts)
        return self._assemble(cuts, found)

    def _parts(self, piece: Slice, own: int, rng: np.random.Generator) -> TreeLeaf | list[Slice]:
        """The leaf of a slice, or the slices that it is cut into."""
        weights, cards = self.weights[piece.rows], self.cards[piece.columns]
        if len(piece.columns) == 1:
            only = int(piece.columns[0])
            return TreeLeaf.histogram(self.codes[piece.rows, only], weights, only, int(cards[0]))
        codes = self.codes[np.ix_(piece.rows, piece.columns)]
        if len(piece.rows) > 1 and weights.sum() > self.min_rows:
            if piece.split_columns:
                groups = self._groups(codes, weights, cards)
                if len(groups) > 1:
                    return [
                        Slice(piece.rows, piece.columns[group], own, k)
                        for k, group in enumerate(groups)
                    ]
            second = split_rows(codes, weights, cards, rng)
            if second.any() and not second.all():
                return [
                    Slice(piece.rows[~second], piece.columns, own, 0),
                    Slice(piece.rows[second], piece.columns, own, 1),
                ]
        return TreeLeaf.of(codes, weights, piece.columns, cards)

    def _groups(
        self, codes: np.ndarray, weights: np.ndarray, cards: np.ndarray
    ) -> list[np.ndarray]:
        """The connected components of the graph of dependent columns."""
        label = _components(self._dependent(codes, weights, cards))
        order = np.argsort(label, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)

    def _dependent(self, codes: np.ndarray, weights: np.ndarray, cards: np.ndarray) -> np.ndarray:
        information = pair_information(codes, weights, cards)
        free = _levels(codes, cards) - 1.0
        return 2.0 * information >= 2.0 * self.g * np.outer(free, free) + 0.001

    def _assemble(self, cuts: list[Slice], found: list[TreeLeaf | list[Slice]]) -> SPN:
        """Nodes from the last slice to the first: children come after their parents in the list."""
        children: list[dict[int, SPN]] = [{} for _ in found]
        node: SPN | None = None
        for own in range(len(found) - 1, -1, -1):
            parts = found[own]
            node = parts if isinstance(parts, TreeLeaf) else self._inner(parts, children[own])
            if cuts[own].parent >= 0:
                children[cuts[own].parent][cuts[own].position] = node
        assert node is not None
        return node

    def _inner(self, parts: list[Slice], made: dict[int, SPN]) -> SPN:
        nodes = tuple(made[k] for k in range(len(parts)))
        if len(parts[0].rows) == len(parts[1].rows) and parts[0].rows is parts[1].rows:
            return Product(nodes)
        shares = np.array([self.weights[part.rows].sum() for part in parts])
        return Sum(shares / shares.sum(), nodes)


@njit(cache=True)
def _components(linked: Any) -> Any:
    """The number of each column's component in the graph of a symmetric matrix."""
    m = len(linked)
    label = np.full(m, -1, dtype=np.int64)
    waiting = np.empty(m, dtype=np.int64)
    found = 0
    for start in range(m):
        if label[start] >= 0:
            continue
        label[start] = found
        waiting[0], n = start, 1
        while n > 0:
            n -= 1
            i = waiting[n]
            for j in range(m):
                if linked[i, j] and label[j] < 0:
                    label[j] = found
                    waiting[n] = j
                    n += 1
        found += 1
    return label


@njit(cache=True)
def _levels(codes: Any, cards: Any) -> Any:
    """How many values of each column occur."""
    n, m = codes.shape
    found = np.zeros(m)
    seen = np.zeros((m, cards.max()), dtype=np.bool_)
    for r in range(n):
        for i in range(m):
            if not seen[i, codes[r, i]]:
                seen[i, codes[r, i]] = True
                found[i] += 1.0
    return found

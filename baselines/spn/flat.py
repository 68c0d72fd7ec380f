"""A sum-product network as arrays, and the log-probabilities of complete rows in one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from baselines.spn.nodes import SPN, Product, TreeLeaf, children_first

LEAF, PRODUCT, SUM = 0, 1, 2
BLOCK = 256
"""Rows that go through the nodes together, so that a table is read from near memory."""


@dataclass(frozen=True)
class Flat:
    """Nodes in an order with children first; the root is the last.

    Arguments:
        kinds: `LEAF`, `PRODUCT` or `SUM`.
        bounds: Where the entries of each node begin; one more than nodes.
        left: Per entry: a leaf's column, or a child.
        right: Per entry of a leaf: the parent's column, -1 for none.
        place: Per entry of a leaf: where its table begins.
        width: Per entry of a leaf: the number of codes of its column.
        logs: Per entry of a sum: the logarithm of the weight.
        tables: All logarithms of the leaves' tables.
    """

    kinds: np.ndarray
    bounds: np.ndarray
    left: np.ndarray
    right: np.ndarray
    place: np.ndarray
    width: np.ndarray
    logs: np.ndarray
    tables: np.ndarray

    @classmethod
    def of(cls, root: SPN, alpha: float) -> Flat:
        """The arrays of a network, its leaves smoothed by `alpha`."""
        writer = _Writer(alpha)
        for node in children_first(root):
            writer.add(node)
        return writer.flat()

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities of rows."""
        return _log_scores(
            np.ascontiguousarray(codes.T), self.kinds, self.bounds, self.left, self.right,
            self.place, self.width, self.logs, self.tables,
        )  # fmt: skip


class _Writer:
    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.number: dict[int, int] = {}
        self.kinds: list[int] = []
        self.entries: list[tuple[np.ndarray, ...]] = []
        self.tables: list[np.ndarray] = []
        self.used = 0

    def add(self, node: SPN) -> None:
        self.number[id(node)] = len(self.kinds)
        if isinstance(node, TreeLeaf):
            self.kinds.append(LEAF)
            self.tables.append(node.log_tables(self.alpha))
            starts = node.starts + self.used
            self.used += node.n_cells
            none = np.zeros(len(starts))
            self.entries.append((node.variables, node.parents, starts, node.sizes[:, 1], none))
            return
        children = np.array([self.number[id(child)] for child in node.children])
        none = np.zeros(len(children), dtype=np.int64)
        product = isinstance(node, Product)
        self.kinds.append(PRODUCT if product else SUM)
        logs = none.astype(float) if isinstance(node, Product) else np.log(node.weights)
        self.entries.append((children, none, none, none, logs))

    def flat(self) -> Flat:
        lengths = [len(entry[0]) for entry in self.entries]
        columns = [np.concatenate(column) for column in zip(*self.entries, strict=True)]
        whole = [column.astype(np.int64) for column in columns[:4]]
        bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        tables = np.concatenate(self.tables)
        left, right, place, width = whole
        kinds = np.array(self.kinds)
        return Flat(kinds, bounds, left, right, place, width, columns[4], tables)


@njit(cache=True)
def _log_scores(
    columns: Any, kinds: Any, bounds: Any, left: Any, right: Any, place: Any, width: Any,
    logs: Any, tables: Any,
) -> Any:  # fmt: skip
    n = columns.shape[1]
    scores = np.empty(n)
    values = np.empty((len(kinds), BLOCK))
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for node in range(len(kinds)):
            out = values[node]
            first, last = bounds[node], bounds[node + 1]
            if kinds[node] == LEAF:
                out[:] = 0.0
                for e in range(first, last):
                    own, at, d = columns[left[e]], place[e], width[e]
                    if right[e] < 0:
                        for r in range(size):
                            out[r] += tables[at + own[start + r]]
                    else:
                        above = columns[right[e]]
                        for r in range(size):
                            out[r] += tables[at + above[start + r] * d + own[start + r]]
            elif kinds[node] == PRODUCT:
                out[:] = 0.0
                for e in range(first, last):
                    child = values[left[e]]
                    for r in range(size):
                        out[r] += child[r]
            else:
                _mix(values, left[first:last], logs[first:last], out, size)
        scores[start : start + size] = values[len(kinds) - 1, :size]
    return scores


@njit(cache=True)
def _mix(values: Any, children: Any, logs: Any, out: Any, size: int) -> None:
    for r in range(size):
        top = -np.inf
        for e in range(len(children)):
            top = max(top, values[children[e], r] + logs[e])
        total = 0.0
        for e in range(len(children)):
            total += np.exp(values[children[e], r] + logs[e] - top)
        out[r] = top + np.log(total)

r"""The log-density of complete rows.

A complete row lies in exactly one region of every split, so the sum over regions of FSPN-Infer has
one term: :math:`\ln \Pr(x) = \ln \Pr(x_W) + \ln \Pr\nolimits_i(x_H)` with i the region of x. All
rows go down the nodes together; tables are read once per distinct configuration of the parents.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from fspn.model.dispatch import ByKind
from fspn.model.leaves.base import log_of
from fspn.model.nodes import (
    ONLY_RIGHT,
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
)
from fspn.model.sample import inside
from fspn.schema.events import CodeRange, Constraint, Events, RealPoint

Columns = Mapping[int, np.ndarray]


def row_scores(root: Node, columns: Columns) -> np.ndarray:
    """The log-density of rows: per variable its codes (integers) or reals (floats)."""
    n = len(next(iter(columns.values())))
    return _Scorer(columns).score(root, np.arange(n))


class _Scorer:
    def __init__(self, columns: Columns):
        self.columns = columns

    def score(self, root: Node, rows: np.ndarray) -> np.ndarray:
        """Score rows; a chain of thousands of nested factorize nodes is a loop, not a recursion."""
        total = np.zeros(len(rows))
        node = root
        while isinstance(node, Factorize):
            total += self._conditional(node.right, rows)
            node = node.left
        if isinstance(node, ONLY_RIGHT):
            raise TypeError(f"a {type(node).__name__} node has no density of its own")
        return total + self._DENSITIES.of(node)(self, node, rows)

    def _conditional(self, node: Node, rows: np.ndarray) -> np.ndarray:
        return self._DENSITIES.of(node)(self, node, rows)

    def _uni_leaf(self, node: UniLeaf, rows: np.ndarray) -> np.ndarray:
        return node.dist.log_probability(_point(self.columns[node.variable][rows]))

    def _product(self, node: Product, rows: np.ndarray) -> np.ndarray:
        return np.asarray(sum(self.score(child, rows) for child in node.children))

    def _mixture(self, node: Sum, rows: np.ndarray) -> np.ndarray:
        logs = np.stack([self.score(child, rows) for child in node.children], axis=1)
        return np.asarray(logsumexp(logs + log_of(node.weights), axis=1))

    def _split(self, node: Split, rows: np.ndarray) -> np.ndarray:
        total = np.full(len(rows), -np.inf)
        for region, child in zip(node.regions, node.children, strict=True):
            mine = np.flatnonzero(inside(region, rows, self.columns))
            if len(mine):
                total[mine] = self._conditional(child, rows[mine])
        return total

    def _multi_leaf(self, node: MultiLeaf, rows: np.ndarray) -> np.ndarray:
        if node.inner is not None:
            return self.score(node.inner, rows)
        points = {v: _point(self.columns[v][rows]) for v in node.variables}
        return node.dist.log_probability(Events(len(rows), points), node.variables)

    def _table(self, node: TableSplit, rows: np.ndarray) -> np.ndarray:
        key = np.zeros(len(rows), dtype=np.int64)
        for variable, size in zip(node.given, node.cpt.sizes, strict=True):
            key = key * size + self.columns[variable][rows]
        n_keys = prod(node.cpt.sizes)
        if n_keys <= len(rows):
            keys, which = np.arange(n_keys), key
        else:
            keys, which = np.unique(key, return_inverse=True)
        configurations = np.column_stack(np.unravel_index(keys, node.cpt.sizes))
        table = log_of(node.cpt.table(configurations))
        return table[which.ravel(), self.columns[node.variable][rows]]

    _DENSITIES: ClassVar[ByKind[np.ndarray]] = ByKind(
        "log-densities of rows",
        {
            UniLeaf: _uni_leaf,
            MultiLeaf: _multi_leaf,
            TableSplit: _table,
            Split: _split,
            Sum: _mixture,
            Product: _product,
            Factorize: score,
        },
    )


def _point(values: np.ndarray) -> Constraint:
    if values.dtype.kind == "f":
        return RealPoint(values)
    codes = values.astype(np.int64)  # Events calculate with codes; uint8 would overflow.
    return CodeRange(codes, codes)

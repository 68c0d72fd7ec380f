"""Ancestral sampling: each node fills the columns of its own variables, for some of the rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fspn.model.dispatch import ByKind
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
)
from fspn.schema.events import CodeRange, Interval, Region

Columns = dict[int, np.ndarray]


def sample_columns(root: Node, n: int, rng: np.random.Generator) -> Columns:
    """``n`` rows drawn from the model: per variable its codes or reals."""
    columns: Columns = {variable: np.zeros(n) for variable in root.scope}
    pending: list[tuple[Node, np.ndarray]] = [(root, np.arange(n))]
    while pending:
        node, rows = pending.pop()
        if len(rows):
            pending.extend(reversed(DRAW(node, rows, columns, rng)))
    return columns


Pending = list[tuple[Node, np.ndarray]]
"""The nodes that must be drawn next, in order, each for some of the rows."""


def _uni_leaf(
    node: UniLeaf, rows: np.ndarray, columns: Columns, rng: np.random.Generator
) -> Pending:
    columns[node.variable][rows] = node.dist.sample(len(rows), rng)
    return []


def _multi_leaf(
    node: MultiLeaf, rows: np.ndarray, columns: Columns, rng: np.random.Generator
) -> Pending:
    if node.inner is not None:
        return [(node.inner, rows)]
    drawn = node.dist.sample(len(rows), rng)
    for position, variable in enumerate(node.variables):
        columns[variable][rows] = drawn[:, position]
    return []


def _all_rows(node: Node, rows: np.ndarray, *_: object) -> Pending:
    return [(child, rows) for child in node.children]


def _mixture(node: Sum, rows: np.ndarray, _: Columns, rng: np.random.Generator) -> Pending:
    which = rng.choice(len(node.weights), size=len(rows), p=node.weights)
    return [(child, rows[which == i]) for i, child in enumerate(node.children)]


def _split(node: Split, rows: np.ndarray, columns: Columns, _: object) -> Pending:
    parts = zip(node.regions, node.children, strict=True)
    return [(child, rows[inside(region, rows, columns)]) for region, child in parts]


def inside(region: Region, rows: np.ndarray, columns: Mapping[int, np.ndarray]) -> np.ndarray:
    """Which of the rows lie in a region."""
    found = np.ones(len(rows), dtype=bool)
    for variable, side in region.items():
        values = columns[variable][rows]
        if isinstance(side, Interval):
            found &= (values > side.lower) & (values <= side.upper)
        else:
            found &= CodeRange(values, values).intersect(side).possible()
    return found


def _table(
    node: TableSplit, rows: np.ndarray, columns: Columns, rng: np.random.Generator
) -> Pending:
    given = np.column_stack([columns[variable][rows] for variable in node.given]).astype(np.int64)
    configurations, which = np.unique(given, axis=0, return_inverse=True)
    cumulative = np.cumsum(node.cpt.table(configurations), axis=1)
    cumulative /= cumulative[:, -1:]
    uniform = rng.random((len(rows), 1))
    columns[node.variable][rows] = (cumulative[which.ravel()] <= uniform).sum(axis=1)
    return []


DRAW: ByKind[Pending] = ByKind(
    "sampling",
    {
        UniLeaf: _uni_leaf,
        MultiLeaf: _multi_leaf,
        TableSplit: _table,
        Split: _split,
        Sum: _mixture,
        Product: _all_rows,
        Factorize: _all_rows,
    },
)
"""Fills in a leaf's columns, or says which nodes must be drawn for which rows."""

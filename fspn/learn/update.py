r"""New rows for a learned model: its parameters follow, its structure stays.

Counts add up. A distribution that was fitted to n rows is moved to

.. math:: p'(x) = \frac{n \, p(x) + \sum_r w_r [x_r = x]}{n + \sum_r w_r},

a level of a back-off table adds the new cells to the old ones, an integer-linear law adds its new
residuals. Graded laws and trees stay; a level of counts of the new rows is put on top of them,
smoothed as strongly as if the n old rows were spread evenly over all configurations. At a sum node
a row counts for each component by its responsibility, :math:`w_r \cdot \Pr(i \mid r)`, which is one
step of EM on the new rows with the old ones kept as they were assigned.

What a model keeps beyond counts (regions of a split node, a joint table, a mixture of densities)
has no such step: such models are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NoReturn

import numpy as np

from fspn.model.cpt.backoff import BackoffLevel, BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.rows import row_keys
from fspn.model.dispatch import ByKind
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, TableSplit, UniLeaf
from fspn.model.score import row_scores


class NotUpdatable(ValueError):
    """A model that new rows cannot be added to; the message says which part of it."""

    def __init__(self, part: str) -> None:
        super().__init__(f"{part} cannot take new rows one by one; fit the model anew on all rows")


@dataclass(frozen=True)
class NewRows:
    """New rows on their way down the model.

    Arguments:
        columns: Codes, one array per variable of the model.
        weights: How much each row counts here.
        before: How many rows the parameters here were fitted to.
    """

    columns: Sequence[np.ndarray]
    weights: np.ndarray
    before: float

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def weighed(self, weights: np.ndarray, before: float) -> NewRows:
        return NewRows(self.columns, weights, before)


def add_rows(root: Node, columns: Sequence[np.ndarray], before: float) -> Node:
    """The model with its parameters moved by new rows.

    Arguments:
        root: The learned model; all variables coded.
        columns: The new rows, a code for every cell.
        before: The number of rows that the model stands for.
    """
    new: dict[int, Node] = {}
    order: list[tuple[Node, NewRows]] = []
    pending = [(root, NewRows(columns, np.ones(len(columns[0])), before))]
    while pending:  # An own stack: chains of factorize nodes are deep.
        node, rows = pending.pop()
        order.append((node, rows))
        pending.extend(BELOW(node, rows))
    for node, rows in reversed(order):
        children = tuple(new[id(child)] for child in node.children)
        new[id(node)] = MOVED(node, rows, children)
    return new[id(root)]


def _all_rows(node: Node, rows: NewRows) -> list[tuple[Node, NewRows]]:
    return [(child, rows) for child in node.children]


def _shared_out(node: Sum, rows: NewRows) -> list[tuple[Node, NewRows]]:
    shares = _responsibilities(node, rows)
    return [
        (child, rows.weighed(rows.weights * share, rows.before * float(weight)))
        for child, share, weight in zip(node.children, shares, node.weights, strict=True)
    ]


def _responsibilities(node: Sum, rows: NewRows) -> np.ndarray:
    columns = {v: rows.columns[v] for v in node.scope}
    logs = np.array([row_scores(child, columns) for child in node.children])
    logs += np.log(np.maximum(node.weights, 1e-300))[:, None]
    top = logs.max(axis=0)
    shares = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = shares.sum(axis=0)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), node.weights[:, None])


def _table(node: TableSplit, rows: NewRows, _: tuple[Node, ...]) -> Node:
    if not isinstance(node.cpt, BackoffTable):
        raise NotUpdatable(f"a table of the kind {node.cpt.family!r}")
    return replace(node, cpt=_backoff(node.cpt, rows, node.variable, node.given))


def _mixture(node: Sum, rows: NewRows, children: tuple[Node, ...]) -> Node:
    counts = (_responsibilities(node, rows) * rows.weights).sum(axis=1)
    return Sum(_mixed(node.weights, counts, rows), children)


def _split(*_: object) -> NoReturn:
    raise NotUpdatable("a split node with regions")


def _mixed(old: np.ndarray, counts: np.ndarray, rows: NewRows) -> np.ndarray:
    r""":math:`(n p + c) / (n + \sum c)`."""
    total = rows.before + counts.sum()
    mixed: np.ndarray = (rows.before * old + counts) / total if total > 0 else old
    return mixed / mixed.sum()


def _counts(rows: NewRows, variable: int, size: int) -> np.ndarray:
    return np.bincount(rows.columns[variable], weights=rows.weights, minlength=size)


def _categorical(dist: object, rows: NewRows, variable: int) -> Categorical:
    if not isinstance(dist, Categorical):
        raise NotUpdatable(f"a leaf of the kind {getattr(dist, 'family', type(dist).__name__)!r}")
    return Categorical(_mixed(dist.p, _counts(rows, variable, len(dist.p)), rows))


def _uni_leaf(node: UniLeaf, rows: NewRows, _: tuple[Node, ...]) -> Node:
    return UniLeaf(node.variable, _categorical(node.dist, rows, node.variable))


def _multi_leaf(node: MultiLeaf, rows: NewRows, _: tuple[Node, ...]) -> Node:
    parts = node.dist.as_independent()
    if parts is None:
        raise NotUpdatable(f"a multi-leaf of the kind {node.dist.family!r}")
    pairs = zip(node.variables, parts, strict=True)
    moved = Independent(tuple(_categorical(part, rows, v) for v, part in pairs))
    return MultiLeaf(node.variables, moved)


def _backoff(cpt: BackoffTable, rows: NewRows, child: int, given: tuple[int, ...]) -> BackoffTable:
    base = _mixed(cpt.base, _counts(rows, child, len(cpt.base)), rows)
    codes, parents = rows.columns[child], [rows.columns[v] for v in given]
    levels = [_level(each, rows, codes, parents, len(base)) for each in cpt.levels]
    if type(levels[-1]) not in ADD:
        levels.append(_counted(levels[-1], rows, codes, parents, len(base)))
    return BackoffTable(base, tuple(levels))


def _level(
    level: BackoffLevel, rows: NewRows, codes: np.ndarray, parents: list[np.ndarray], size: int
) -> BackoffLevel:
    return ADD.get(type(level), _unchanged)(level, rows, codes, parents[: level.width], size)


def _unchanged(level: BackoffLevel, *_: object) -> BackoffLevel:
    return level


def _cells(
    level: CountLevel, rows: NewRows, codes: np.ndarray, parents: list[np.ndarray], size: int
) -> CountLevel:
    """The old cells and the new ones, counts added."""
    fresh = row_keys(parents, level.sizes).astype(np.int64) * size + codes
    old = np.repeat(level.keys.astype(np.int64), np.diff(level.start)) * size + level.codes
    cells, place = np.unique(np.concatenate([old, fresh]), return_inverse=True)
    weights = np.concatenate([level.counts.astype(np.float64), rows.weights])
    counts = np.bincount(place.ravel(), weights=weights, minlength=len(cells))
    kept = counts > 0
    whole = np.array_equal(counts, np.rint(counts))
    counts = counts[kept].astype(np.int64 if whole else np.float64)
    keys, child = np.divmod(cells[kept], size)
    return CountLevel.from_cells(keys, child, counts, level.sizes, level.alpha)


def _counted(
    law: BackoffLevel,
    rows: NewRows,
    codes: np.ndarray,
    parents: list[np.ndarray],
    size: int,
) -> CountLevel:
    """The new rows as counts on top of a law or a tree."""
    none, first = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int32)
    strength = max(rows.before / prod(law.sizes), 1.0)
    return _cells(
        CountLevel(law.sizes, none, first, none, none, strength), rows, codes, parents, size
    )


def _law(
    level: LinearLaw, rows: NewRows, codes: np.ndarray, parents: list[np.ndarray], size: int
) -> LinearLaw:
    """New residuals join the noise; those outside its support raise epsilon."""
    residual = level.child_values[codes] - level.centre(np.column_stack(parents))
    place = np.minimum(np.searchsorted(level.offsets, residual), len(level.offsets) - 1)
    hit = level.offsets[place] == residual
    counts = np.bincount(place[hit], weights=rows.weights[hit], minlength=len(level.noise))
    lost = float(rows.weights[~hit].sum())
    total = rows.before + rows.total
    epsilon = (rows.before * level.epsilon + lost) / total if total > 0 else level.epsilon
    return replace(level, noise=_mixed(level.noise, counts, rows), epsilon=float(epsilon))


ADD: dict[type, Callable[..., BackoffLevel]] = {
    CountLevel: _cells,
    LinearLaw: _law,
}
"""How the kinds of level take new rows; the others stay, with a level of counts on top of them."""


BELOW: ByKind[list[tuple[Node, NewRows]]] = ByKind(
    "new rows on their way down",
    {
        Sum: _shared_out,
        Split: _split,
        **dict.fromkeys((UniLeaf, MultiLeaf, TableSplit, Product, Factorize), _all_rows),
    },
)
"""The children of a node with the rows as they count there."""

MOVED: ByKind[Node] = ByKind(
    "new rows",
    {
        UniLeaf: _uni_leaf,
        MultiLeaf: _multi_leaf,
        TableSplit: _table,
        Split: _split,
        Sum: _mixture,
        Product: lambda node, _, children: Product(children),
        Factorize: lambda node, _, children: Factorize(*children),
    },
)
"""The node with new parameters and the given children."""

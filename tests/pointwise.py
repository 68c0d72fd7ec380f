"""The probability of whole rows, straight from the meaning of the nodes.

Written without the package's inference: a whole row lies in exactly one region of every split
node, so a factorize node is just the product of its children.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from fspn import FSPN
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, TableSplit, UniLeaf
from fspn.schema.events import Codes, Interval, Side


def row_mass(node: Node, rows: np.ndarray) -> np.ndarray:
    """Per row of codes, the probability of the node's variables (given the others, if any)."""
    if isinstance(node, UniLeaf):
        return _categorical(node.dist, rows[:, node.variable])
    if isinstance(node, Product | Factorize):
        return np.prod([row_mass(child, rows) for child in node.children], axis=0)
    if isinstance(node, Sum):
        return node.weights @ np.array([row_mass(child, rows) for child in node.children])
    if isinstance(node, TableSplit):
        table = node.cpt.table(rows[:, list(node.given)])
        return table[np.arange(len(rows)), rows[:, node.variable]]
    if isinstance(node, Split):
        return _split(node, rows)
    return _leaf(node, rows)


def _categorical(dist: object, codes: np.ndarray) -> np.ndarray:
    assert isinstance(dist, Categorical)
    return dist.p[codes]


def _split(node: Split, rows: np.ndarray) -> np.ndarray:
    total = np.zeros(len(rows))
    for region, child in zip(node.regions, node.children, strict=True):
        inside = np.ones(len(rows), dtype=bool)
        for variable, cell in region.items():
            inside &= _holds(cell, rows[:, variable])
        total += np.where(inside, row_mass(child, rows), 0.0)
    return total


def _holds(cell: Side, codes: np.ndarray) -> np.ndarray:
    assert not isinstance(cell, Interval)
    if isinstance(cell, Codes):
        return np.isin(codes, sorted(cell.codes))
    return (codes >= cell.lower) & (codes <= cell.upper)


def _leaf(node: MultiLeaf, rows: np.ndarray) -> np.ndarray:
    own = rows[:, list(node.variables)]
    dist = node.dist
    if isinstance(dist, Nested):
        return row_mass(dist.root, rows)
    if isinstance(dist, Independent):
        return np.prod(
            [_categorical(part, codes) for part, codes in zip(dist.parts, own.T, strict=True)],
            axis=0,
        )
    assert isinstance(dist, SparseJoint)
    seen = {
        tuple(row): weight for row, weight in zip(dist.rows.tolist(), dist.weights, strict=True)
    }
    share = np.array([seen.get(tuple(row), 0.0) for row in own.tolist()])
    spread = np.prod([m.p[codes] for m, codes in zip(dist.marginals, own.T, strict=True)], axis=0)
    return (1 - dist.epsilon) * share + dist.epsilon * spread


def joint_of(root: Node, sizes: Sequence[int]) -> np.ndarray:
    """The whole joint table of a discrete model, one axis per variable."""
    rows = np.array(list(product(*(range(size) for size in sizes))))
    return row_mass(root, rows).reshape(tuple(sizes))


def joint(model: FSPN) -> np.ndarray:
    """The whole joint table of a fitted discrete model, in the order of the sorted domains."""
    return joint_of(model.root_, [variable.size for variable in model.domain_.variables])

"""A learned mixture of binary networks as FSPN nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fspn.learn.binary.mixture import Mixture
from fspn.learn.binary.rows import BinaryRows
from fspn.learn.binary.structure import BinaryNetwork, Family
from fspn.model.cpt.backoff import BackoffTable, CountLevel
from fspn.model.cpt.rows import shrink
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, Product, Sum, TableSplit, UniLeaf

NOTHING = 1e-6


def mixture_node(mixture: Mixture, scope: Sequence[int]) -> Node:
    """A sum node over chains of factorize nodes; with one network, the chain alone.

    Arguments:
        mixture: What was learned; its columns are numbered from 0.
        scope: The variable of each column.
    """
    parts = [
        _chain(network, rows, scope)
        for network, rows in zip(mixture.networks, mixture.rows, strict=True)
    ]
    return parts[0] if len(parts) == 1 else Sum(mixture.weights, tuple(parts))


def _chain(network: BinaryNetwork, rows: BinaryRows, scope: Sequence[int]) -> Node:
    """Variables without parents side by side, then one factorize node per further variable."""
    roots = [v for v in network.order if not network.families[v].parents]
    leaves = [UniLeaf(scope[v], Categorical(_row(network.families[v].base))) for v in roots]
    node: Node = leaves[0] if len(leaves) == 1 else Product(tuple(leaves))
    for v in network.order:
        family = network.families[v]
        if family.parents:
            given = tuple(scope[p] for p in family.parents)
            node = Factorize(node, TableSplit(scope[v], given, _cpt(family, v, rows)))
    return node


def _cpt(family: Family, v: int, rows: BinaryRows) -> BackoffTable:
    """One level of counts per parent.

    Smoothing by s rows towards (1 - e) b + e / 2 is smoothing by (1 - e) s rows towards b, with
    e s / 2 more rows of each value.
    """
    place = np.zeros(len(rows.cells), dtype=np.int64)
    levels = []
    by_level = zip(family.parents, family.strengths, family.even, strict=True)
    for width, (parent, strength, even) in enumerate(by_level):
        place = 2 * place + rows.columns[parent]
        counts: np.ndarray = np.bincount(
            2 * place + rows.columns[v], weights=rows.weights, minlength=2 ** (width + 2)
        )
        if width == 0 and family.anchor is not None:
            counts = counts + strength * np.concatenate([_row(one) for one in family.anchor])
            strength = NOTHING
        if even > 0:
            counts, strength = counts + even * strength / 2, (1 - even) * strength
        cells = np.flatnonzero(counts > NOTHING)
        sizes = (2,) * (width + 1)
        level = CountLevel.from_cells(
            cells // 2, cells % 2, _compact(counts[cells]), sizes, strength
        )
        levels.append(level)
    return BackoffTable(_row(family.base), tuple(levels))


def _compact(counts: np.ndarray) -> np.ndarray:
    """Whole numbers of rows in the smallest type, shares of rows as float32."""
    whole = np.rint(counts)
    return shrink(whole.astype(np.int64)) if (whole == counts).all() else counts.astype(np.float32)


def _row(one: float) -> np.ndarray:
    return np.array([1 - one, one])

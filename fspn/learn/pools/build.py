"""A learned mixture of networks as FSPN nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from fspn.learn.pools.family import Family
from fspn.learn.pools.mixture import Mixture
from fspn.learn.pools.rows import Rows
from fspn.learn.pools.structure import PoolNetwork
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


def _chain(network: PoolNetwork, rows: Rows, scope: Sequence[int]) -> Node:
    """Variables without parents side by side, then one factorize node per further variable."""
    roots = [v for v in network.order if not network.families[v].parents]
    leaves = [UniLeaf(scope[v], Categorical(network.families[v].base)) for v in roots]
    node: Node = leaves[0] if len(leaves) == 1 else Product(tuple(leaves))
    for v in network.order:
        family = network.families[v]
        if family.parents:
            given = tuple(scope[p] for p in family.parents)
            node = Factorize(node, TableSplit(scope[v], given, _cpt(family, v, rows)))
    return node


def _cpt(family: Family, v: int, rows: Rows) -> BackoffTable:
    """One level of counts per parent.

    Smoothing by s rows towards (1 - e) b + e / k, k the number of values, is smoothing by
    (1 - e) s rows towards b, with e s / k more rows of each value.
    """
    place = np.zeros(len(rows.cells), dtype=np.int64)
    size, levels = int(rows.sizes[v]), []
    sizes = tuple(int(rows.sizes[p]) for p in family.parents)
    by_level = zip(family.parents, family.strengths, family.even, strict=True)
    for width, (parent, strength, even) in enumerate(by_level):
        place = sizes[width] * place + rows.columns[parent]
        counts: np.ndarray = np.bincount(
            size * place + rows.columns[v],
            weights=rows.weights,
            minlength=size * prod(sizes[: width + 1]),
        )
        if width == 0 and family.anchor is not None:
            counts = counts + strength * family.anchor.ravel()
            strength = NOTHING
        if even > 0:
            counts, strength = counts + even * strength / size, (1 - even) * strength
        cells = np.flatnonzero(counts > NOTHING)
        level = CountLevel.from_cells(
            cells // size, cells % size, _compact(counts[cells]), sizes[: width + 1], strength
        )
        levels.append(level)
    return BackoffTable(family.base, tuple(levels))


def _compact(counts: np.ndarray) -> np.ndarray:
    """Whole numbers of rows in the smallest type, shares of rows as float32."""
    whole = np.rint(counts)
    return shrink(whole.astype(np.int64)) if (whole == counts).all() else counts.astype(np.float32)

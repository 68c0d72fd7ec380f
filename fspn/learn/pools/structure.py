r"""The network under one child of the sum node, of bounded width, with parents from pools.

Variables enter one by one, always the one with the largest mutual information with any that has
entered (Prim's order). Each finds its parents inside one pool of the variables before it and forms
a new pool: itself, its parents, and as much of theirs as a pool may hold. Pools of p variables make
the network a partial k-tree with k < p, so that no exact query needs a product of more than p
columns; but variables of a pool need not share a table, and what a query needs is far
less. So large pools are tried first, and the width of the network that they lead to is measured by
its elimination order; pools of as many variables as the bound allows are narrow by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fspn.learn.pools.family import POOLS, Family, Limits, Prices, without_parents
from fspn.learn.pools.rows import Rows
from fspn.model.graph import elimination_order

BASE_STRENGTH = 10.0
PRICE, CAREFUL_PRICE = 1.0, 2.0
"""The evidence, in nats, that a further parent must bring, and that it must where rows are few."""
ANCHORED_PRICE = 6.0
"""The evidence asked of a first parent whose rows are known from the rest of the table."""
PAIR_STRENGTH = 10.0
"""Rows of the whole table that are added to a part's when its columns are compared."""
POOLS_TRIED = 5
BEST_MEMBER = 5.0
"""How much more the best member of a pool counts than the others when pools are compared."""
ROUNDING = 1e-6


@dataclass(frozen=True)
class PoolNetwork:
    """A family per variable, and the order in which the variables entered."""

    order: tuple[int, ...]
    families: tuple[Family, ...]


def learn_structure(
    rows: Rows, table: Rows, limits: Limits, largest_pool: int = POOLS[0]
) -> tuple[PoolNetwork, int]:
    """The network of some weighted rows, and the size of the pools that it was found with.

    Arguments:
        rows: The rows and how much each counts.
        table: The whole table that they are a part of; what few rows are smoothed towards.
        limits: The bounds on the network.
        largest_pool: Larger pools are not tried.
    """
    information = rows.information(table, 0.0 if table is rows else PAIR_STRENGTH)
    narrow = limits.narrow_pool(rows.sizes)
    for size in limits.pools(largest_pool, narrow):
        network = _network(rows, table, limits, size, information)
        if size <= narrow or _is_narrow(network, rows.sizes, limits.max_cells):
            break
    return network, size


def _is_narrow(network: PoolNetwork, sizes: np.ndarray, max_cells: int) -> bool:
    parents = [family.parents for family in network.families]
    cells = max_cells * (1 + ROUNDING)
    return elimination_order(parents, sizes.tolist(), cells)[1] <= cells


def _network(
    rows: Rows, table: Rows, limits: Limits, pool: int, information: np.ndarray
) -> PoolNetwork:
    """The network with pools of one size."""
    bases = rows.bases(table, BASE_STRENGTH)
    ceilings = rows.ceilings(bases)
    pools = _Pools(rows.n_columns, pool)
    families: dict[int, Family] = {}
    prices = _prices(rows, limits.careful and table is not rows)
    order = _prim_order(information)
    for v in order:
        worth = np.maximum(information[v] - prices.further, 0.0)
        options = [_sorted(members, worth) for members in pools.promising(worth)]
        families[v], best = without_parents(bases[v]), 0
        if ceilings[v].max() > min(prices.first, prices.anchored):
            families[v], best = rows.best_family(
                v, bases[v], table, ceilings[v], prices, options, limits
            )
        pools.add(v, families[v].parents, options[best])
    return PoolNetwork(tuple(order), tuple(families[v] for v in range(rows.n_columns)))


def _prices(rows: Rows, careful: bool) -> Prices:
    """What a first parent, one with an anchor, and a further one must gain.

    A first parent is picked among all columns, a further one among the few of its pool. Where there
    are few rows the best of many columns is easily the best by chance, so whoever is careful makes
    the first one cost the logarithm of their number.
    """
    if not careful:
        return Prices(PRICE, ANCHORED_PRICE, PRICE)
    return Prices(PRICE + float(np.log(rows.n_columns)), ANCHORED_PRICE, CAREFUL_PRICE)


def _prim_order(information: np.ndarray) -> list[int]:
    """Prim's order: always the variable closest to any that has entered."""
    m = len(information)
    order = [int(information.sum(axis=1).argmax())]
    closest = information[order[0]].copy()
    closest[order[0]] = -1.0
    for _ in range(m - 1):
        v = int(closest.argmax())
        closest = np.where(closest < 0, closest, np.maximum(closest, information[v]))
        closest[v] = -1.0
        order.append(v)
    return order


def _sorted(members: np.ndarray, worth: np.ndarray) -> np.ndarray:
    return members[np.argsort(-worth[members], kind="stable")]


class _Pools:
    """The pools so far, one row of members each."""

    def __init__(self, m: int, size: int):
        self._members = np.zeros((m, size), dtype=np.int64)
        self._sizes = np.zeros(m, dtype=np.int64)
        self._n = 0

    def promising(self, worth: np.ndarray) -> list[np.ndarray]:
        """The pools whose members have most mutual information with a variable."""
        if not self._n:
            return [np.zeros(0, dtype=np.int64)]
        total = _totals(self._members[: self._n], self._sizes, worth)
        best = np.argsort(-total, kind="stable")[:POOLS_TRIED]
        return [self._members[i, : self._sizes[i]] for i in best]

    def add(self, v: int, parents: tuple[int, ...], pool: np.ndarray) -> None:
        """Add a pool: the variable, its parents, and as many of theirs as it may hold."""
        rest = [u for u in pool.tolist() if u not in parents]
        members = [v, *parents, *rest][: self._members.shape[1]]
        self._members[self._n, : len(members)] = members
        self._sizes[self._n] = len(members)
        self._n += 1


@njit(cache=True, nogil=True)
def _totals(members: np.ndarray, sizes: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """What the members of each pool are worth together, the best of them several times."""
    totals = np.empty(len(members))
    for i in range(len(members)):
        total, best = 0.0, 0.0
        for u in members[i, : sizes[i]]:
            total += worth[u]
            best = max(best, worth[u])
        totals[i] = total + BEST_MEMBER * best
    return totals

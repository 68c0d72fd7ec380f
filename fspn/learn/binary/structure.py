r"""The network of two-valued variables under one child of the sum node, of bounded width.

Variables enter one by one, always the one with the largest mutual information with any that has
entered (Prim's order). Each finds its parents inside one pool of the variables before it and forms
a new pool: itself, its parents, and as much of theirs as a pool may hold. Pools of p variables make
the network a partial k-tree with k < p, so that no exact query needs a product of more than
:math:`2^p` cells; but variables of a pool need not share a table, and what a query needs is far
less. So large pools are tried first, and the width of the network that they lead to is measured by
its elimination order; pools of as many variables as the bound allows are narrow by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fspn.learn.binary.evidence import STRENGTHS, choose_parents
from fspn.learn.binary.rows import CERTAIN, BinaryRows
from fspn.model.graph import elimination_order

BASE_STRENGTH = 10.0
PRICE, CAREFUL_PRICE = 1.0, 2.0
"""The evidence, in nats, that a further parent must bring, and that it must where rows are few."""
ANCHORED_PRICE = 6.0
"""The evidence asked of a first parent whose rows are known from the rest of the table."""
PAIR_STRENGTH = 10.0
"""Rows of the whole table that are added to a part's when its columns are compared."""
POOLS = (64, 32, 20, 16)
POOLS_TRIED = 5
BEST_MEMBER = 5.0
"""How much more the best member of a pool counts than the others when pools are compared."""
ROUNDING = 1e-6
NO_ANCHORS = np.empty((0, 2))


@dataclass(frozen=True)
class Limits:
    """The bounds on a network.

    Arguments:
        max_parents: At most so many parents per variable.
        width: No product of an elimination has more than :math:`2^{width}` cells.
        strengths: The strengths of smoothing that a level may have.
        careful: Whether a parent that is found on a part of the rows must gain more.
    """

    max_parents: int
    width: int
    strengths: tuple[float, ...] = STRENGTHS
    careful: bool = True

    def pools(self, largest: int) -> list[int]:
        """The sizes of pools to try, the largest first."""
        return [*(size for size in POOLS if self.width < size <= largest), self.width]


@dataclass(frozen=True)
class Family:
    """One variable's table.

    Arguments:
        parents: In the order in which they were found.
        strengths: The strength of the smoothing of each level.
        even: The share of an even chance in what each level is smoothed towards.
        base: The probability of a one without parents.
        anchor: The probabilities that the two rows of the first level are smoothed towards; None =
            the base.
        ones: The probability of a one per configuration of the parents.
    """

    parents: tuple[int, ...]
    strengths: tuple[float, ...]
    even: tuple[float, ...]
    base: float
    anchor: tuple[float, float] | None
    ones: np.ndarray


@dataclass(frozen=True)
class BinaryNetwork:
    """A family per variable, and the order in which the variables entered."""

    order: tuple[int, ...]
    families: tuple[Family, ...]


def learn_structure(
    rows: BinaryRows, table: BinaryRows, limits: Limits, largest_pool: int = POOLS[0]
) -> tuple[BinaryNetwork, int]:
    """The network of some weighted rows, and the size of the pools that it was found with.

    Arguments:
        rows: The rows and how much each counts.
        table: The whole table that they are a part of; what few rows are smoothed towards.
        limits: The bounds on the network.
        largest_pool: Larger pools are not tried.
    """
    information = rows.information(table, 0.0 if table is rows else PAIR_STRENGTH)
    for size in limits.pools(largest_pool):
        network = _network(rows, table, limits, size, information)
        if size <= limits.width or _is_narrow(network, limits.width):
            break
    return network, size


def _is_narrow(network: BinaryNetwork, width: int) -> bool:
    parents = [family.parents for family in network.families]
    cells = 2.0**width * (1 + ROUNDING)
    return elimination_order(parents, [2] * len(parents), cells)[1] <= cells


def _network(
    rows: BinaryRows, table: BinaryRows, limits: Limits, pool: int, information: np.ndarray
) -> BinaryNetwork:
    """The network with pools of one size."""
    bases = (np.diag(rows.pairs) + BASE_STRENGTH * table.means) / (rows.total + BASE_STRENGTH)
    bases = np.clip(bases, CERTAIN, 1 - CERTAIN)
    ceilings = rows.ceilings(bases)
    pools = _Pools(rows.n_columns, pool)
    families: dict[int, Family] = {}
    prices = _prices(rows, limits.careful and table is not rows)
    order = _prim_order(information)
    for v in order:
        worth = np.maximum(information[v] - prices[2], 0.0)
        options = [_sorted(members, worth) for members in pools.promising(worth)]
        families[v], chosen = _without_parents(bases[v]), options[0]
        if ceilings[v].max() > min(prices[:2]):
            anchors = NO_ANCHORS if table is rows else table.without(rows, v)
            evidence = _Evidence(rows, v, bases[v], anchors, ceilings[v], prices)
            families[v], chosen = evidence.family(options, limits)
        pools.add(v, families[v].parents, chosen)
    return BinaryNetwork(tuple(order), tuple(families[v] for v in range(rows.n_columns)))


def _prices(rows: BinaryRows, careful: bool) -> tuple[float, float, float]:
    """What a first parent, one with an anchor, and a further one must gain.

    A first parent is picked among all columns, a further one among the few of its pool. Where there
    are few rows the best of many columns is easily the best by chance, so whoever is careful makes
    the first one cost the logarithm of their number.
    """
    if not careful:
        return PRICE, ANCHORED_PRICE, PRICE
    return PRICE + float(np.log(rows.n_columns)), ANCHORED_PRICE, CAREFUL_PRICE


def _without_parents(base: float) -> Family:
    return Family((), (), (), base, None, np.array([base]))


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


@dataclass(frozen=True)
class _Evidence:
    """What the search for a variable's parents goes by.

    Arguments:
        rows: The rows and how much each counts.
        v: The variable.
        base: The probability of a one without parents.
        anchors: That given each other column, among all other rows of the table.
        ceilings: What each column can gain as first parent at most.
        prices: What a first parent, one with an anchor, and a further one must gain.
    """

    rows: BinaryRows
    v: int
    base: float
    anchors: np.ndarray
    ceilings: np.ndarray
    prices: tuple[float, float, float]

    def family(self, options: list[np.ndarray], limits: Limits) -> tuple[Family, np.ndarray]:
        """The best parents out of one of some pools, and that pool."""
        rows, anchors = self.rows, self.anchors
        sizes = np.array([len(pool) for pool in options])
        pools = np.zeros((len(options), sizes.max()), dtype=np.int64)
        for row, pool in zip(pools, options, strict=True):
            row[: len(pool)] = pool
        best, _, anchored, parents, (strengths, even), table = choose_parents(
            rows.columns[self.v], rows.weights, pools, sizes, *rows.ones, self.base, anchors,
            self.ceilings, np.array(limits.strengths), self.prices,
            min(limits.max_parents, limits.width - 1),
        )  # fmt: skip
        anchor = tuple(anchors[parents[0]].tolist()) if anchored else None
        levels = (tuple(strengths.tolist()), tuple(even.tolist()))
        return Family(tuple(parents.tolist()), *levels, self.base, anchor, table), options[best]

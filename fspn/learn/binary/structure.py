r"""The network of two-valued variables under one child of the sum node, of bounded width.

Variables enter one by one, always the one with the largest mutual information with any that has
entered (Prim's order). Each finds its parents inside one clique of the variables before it and
forms a new clique with them, so the network stays a partial k-tree: no intermediate result of an
exact query has more than :math:`2^{width}` cells, however many parents a variable has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fspn.learn.binary.evidence import STRENGTHS, choose_parents
from fspn.learn.binary.rows import CERTAIN, BinaryRows

BASE_STRENGTH = 10.0
PRICE_OF_ALL, PRICE_OF_PART = 1.0, 2.0
"""The evidence, in nats, that a further parent must bring: of all rows, of a part of them."""
ANCHORED_PRICE = 6.0
"""The evidence asked of a first parent whose rows are known from the rest of the table."""
PAIR_STRENGTH = 10.0
"""Rows of the whole table that are added to a part's when its columns are compared."""
CLIQUES_TRIED = 5
BEST_MEMBER = 5.0
"""How much more the best member of a clique counts than the others when cliques are compared."""
NO_ANCHORS = np.empty((0, 2))


@dataclass(frozen=True)
class Limits:
    """The bounds on a network.

    Arguments:
        max_parents: At most so many parents per variable.
        width: At most so many variables in a clique.
        strengths: The strengths of smoothing that a level may have.
    """

    max_parents: int
    width: int
    strengths: tuple[float, ...] = STRENGTHS


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


def learn_structure(rows: BinaryRows, table: BinaryRows, limits: Limits) -> BinaryNetwork:
    """The network of some weighted rows.

    Arguments:
        rows: The rows and how much each counts.
        table: The whole table that they are a part of; what few rows are smoothed towards.
        limits: The bounds on the network.
    """
    information = rows.information(table, 0.0 if table is rows else PAIR_STRENGTH)
    bases = (np.diag(rows.pairs) + BASE_STRENGTH * table.means) / (rows.total + BASE_STRENGTH)
    bases = np.clip(bases, CERTAIN, 1 - CERTAIN)
    cliques = _Cliques(rows.n_columns, limits.width)
    families: dict[int, Family] = {}
    price = PRICE_OF_ALL if table is rows else PRICE_OF_PART
    order = _prim_order(information)
    for v in order:
        worth = np.maximum(information[v] - price, 0.0)
        options = cliques.promising(worth)
        anchors = NO_ANCHORS if table is rows else table.without(rows, v)
        found = [
            _family(rows, v, _sorted(clique, worth), bases[v], anchors, limits)
            for clique in options
        ]
        best = max(range(len(found)), key=lambda i: found[i][1])
        families[v] = found[best][0]
        cliques.add(v, families[v].parents, _sorted(options[best], worth))
    return BinaryNetwork(tuple(order), tuple(families[v] for v in range(rows.n_columns)))


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


def _sorted(clique: np.ndarray, worth: np.ndarray) -> np.ndarray:
    return clique[np.argsort(-worth[clique], kind="stable")]


class _Cliques:
    """The cliques so far, as lists and as rows of a membership matrix."""

    def __init__(self, m: int, width: int):
        self._width = width
        self._members: list[np.ndarray] = []
        self._matrix = np.zeros((m, m), dtype=np.float32)

    def promising(self, worth: np.ndarray) -> list[np.ndarray]:
        """The cliques whose members have most mutual information with a variable."""
        if not self._members:
            return [np.zeros(0, dtype=np.int64)]
        each = self._matrix[: len(self._members)] * worth.astype(np.float32)
        total = each.sum(axis=1) + BEST_MEMBER * each.max(axis=1)
        best = np.argsort(-total, kind="stable")[:CLIQUES_TRIED]
        return [self._members[i] for i in best]

    def add(self, v: int, parents: tuple[int, ...], clique: np.ndarray) -> None:
        """Add a clique: the variable, its parents, and as much of theirs as the width allows."""
        rest = [u for u in clique.tolist() if u not in parents]
        members = np.array([v, *parents, *rest][: self._width])
        self._matrix[len(self._members), members] = 1.0
        self._members.append(members)


def _family(
    rows: BinaryRows,
    v: int,
    candidates: np.ndarray,
    base: float,
    anchors: np.ndarray,
    limits: Limits,
) -> tuple[Family, float]:
    """The best parents among the candidates, and the evidence that they gain.

    A first parent is picked among all columns, a further one among the few of its clique. Under a
    sum node there are few rows, and the best of many columns is easily the best by chance, so there
    the first one costs the logarithm of their number.
    """
    start, ones = rows.ones
    most = min(limits.max_parents, limits.width - 1)
    parents, (strengths, even) = np.empty(most, dtype=np.int64), np.empty((2, most))
    prices = (PRICE_OF_ALL, ANCHORED_PRICE, PRICE_OF_ALL)
    if len(anchors):
        prices = (1.0 + float(np.log(rows.n_columns)), ANCHORED_PRICE, PRICE_OF_PART)
    width, gain, anchored, table = choose_parents(
        rows.columns[v], rows.weights, candidates, start, ones, base, anchors,
        np.array(limits.strengths), prices, parents, strengths, even,
    )  # fmt: skip
    chosen = tuple(parents[:width].tolist())
    anchor = (float(anchors[chosen[0], 0]), float(anchors[chosen[0], 1])) if anchored else None
    levels = (tuple(strengths[:width].tolist()), tuple(even[:width].tolist()))
    return Family(chosen, *levels, base, anchor, table), float(gain)

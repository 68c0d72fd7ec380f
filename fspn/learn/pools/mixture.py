r"""The children of a sum node by expectation-maximisation, each a network of bounded width.

.. math:: \Pr(x) = \sum_k w_k \Pr_k(x), \qquad
          r_{ik} = \frac{w_k \Pr_k(x_i)}{\sum_j w_j \Pr_j(x_i)}

Every child is learned, structure and tables, on all rows weighted by their responsibilities
:math:`r_{ik}`. The start is a mixture of independent columns, which is cheap to run to its end, so
two rounds with networks are enough: further rounds change the held-out likelihood by less than
0.01 on the benchmark tables.

With many columns responsibilities are all but 0 or 1, so that K components have a K-th of the rows
each. In the last round components may overlap: a row belongs wholly to the component that explains
it best and in part to others,

.. math:: s_{ik} = \Big( \frac{w_k \Pr_k(x_i)}{\max_j w_j \Pr_j(x_i)} \Big)^\beta,

with :math:`\beta \le 1` such that a row counts for :math:`1 + \sqrt{K m / n}` components on average
for n rows of m columns, at most ``MOST_OVERLAP``. The fewer rows a component has per column, the
more it gains by lower variance: it is what bags of models gain by, inside one model. Where rows do
fall into classes it loses, so rows that the first round did not see decide. Where components
overlap as much by themselves (:math:`\beta = 1`), it is responsibilities in any case.

Many components may come from several starts, ``PER_START`` or so from each, so that every row is
explained once per start: the same number of networks, each learned on more rows. Rows that the
first round did not see decide between this and one start, too, and whether parents that are found
on a part of the rows must gain more than those of all rows (:class:`Limits`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from scipy.special import logsumexp

from fspn.jit import patient
from fspn.learn.pools.family import POOLS, Limits
from fspn.learn.pools.rows import Rows
from fspn.learn.pools.structure import PoolNetwork, learn_structure

START_ROUNDS = 20
MOST_OVERLAP = 3.0
HALVINGS = 25
HELD_OUT, FEWEST_HELD_OUT = 0.1, 30.0
"""The share of the rows that decides whether components overlap, and the rows that it takes."""
LEAST_SHARE = 0.01
PER_START, MOST_OF_ONE_START = 12, 16


@dataclass(frozen=True)
class Mixture:
    """A weighted sum of networks, with the rows that each was learned on."""

    weights: np.ndarray
    networks: tuple[PoolNetwork, ...]
    rows: tuple[Rows, ...]

    def log_likelihood(self, cells: np.ndarray) -> np.ndarray:
        """One number per row of codes."""
        parts = [log_likelihood(network, cells) for network in self.networks]
        return np.asarray(logsumexp(np.stack(parts, axis=1) + np.log(self.weights), axis=1))

    def total(self, rows: Rows) -> float:
        """The log-likelihood of weighted rows."""
        return float(rows.weights @ self.log_likelihood(rows.cells))


Shares = Callable[[np.ndarray, Rows], np.ndarray]


def learn_mixture(
    rows: Rows,
    n_components: int,
    limits: Limits,
    rng: np.random.Generator,
) -> Mixture:
    """EM from one start or several, each treating the columns as independent.

    Arguments:
        rows: The distinct rows of the table, with how often each occurs.
        n_components: The number of networks; those that lose all rows are dropped.
        limits: The bounds on a network.
        rng: The source of randomness.
    """
    if n_components == 1:
        return _networks(rows.weights[:, None], rows, limits)
    seen, unseen = rows.split(HELD_OUT, rng)
    if unseen.total < FEWEST_HELD_OUT:
        first = _networks(_start(rows, n_components, rng), rows, limits)
        return _reweighted(_networks(_normalised(_joint(first, rows), rows), rows, limits), rows)
    held_out = _HeldOut(seen, unseen, limits)
    tried = [[held_out.first(size, rng) for size in sizes] for sizes in _starts(n_components)]
    best = max(tried, key=lambda firsts: _together(firsts).total(unseen))
    ends = [held_out.last(first, rows) for first in best]
    return _reweighted(_together(ends), rows)


def _starts(n_components: int) -> list[list[int]]:
    """The components of each start: of several where they are many, or all of one start."""
    several = round(n_components / PER_START)
    if n_components <= MOST_OF_ONE_START:
        return [[n_components]]
    return [[len(part) for part in np.array_split(range(n_components), several)], [n_components]]


class _HeldOut:
    """Rounds of EM, and what rows that they did not see say about them.

    Arguments:
        seen: The rows that a first round sees.
        unseen: The others.
        limits: The bounds on a network.
    """

    def __init__(self, seen: Rows, unseen: Rows, limits: Limits) -> None:
        self.seen, self.unseen, self.limits = seen, unseen, limits
        self._prices_are_known = False

    def first(self, n_components: int, rng: np.random.Generator) -> Mixture:
        """The networks of the first round; the first time the prices of parents are chosen."""
        shares = _start(self.seen, n_components, rng)
        found = _networks(shares, self.seen, self.limits)
        if self._prices_are_known:
            return found
        self._prices_are_known = True
        careless = replace(self.limits, careful=not self.limits.careful)
        other = _networks(shares, self.seen, careless)
        if other.total(self.unseen) <= found.total(self.unseen):
            return found
        self.limits = careless
        return other

    def last(self, first: Mixture, rows: Rows) -> Mixture:
        """A further round on all rows, in which components overlap if that is better."""
        seen, limits = self.seen, self.limits
        shares = _overlapping(_joint(first, seen), seen)
        overlapping = _reweighted(_networks(shares, seen, limits), seen)
        is_better = overlapping.total(self.unseen) > first.total(self.unseen)
        shares_of: Shares = _overlapping if is_better else _normalised
        return _networks(shares_of(_joint(first, rows), rows), rows, limits)


def _together(mixtures: list[Mixture]) -> Mixture:
    """The even mixture of some mixtures."""
    return Mixture(
        np.concatenate([mixture.weights / len(mixtures) for mixture in mixtures]),
        tuple(network for mixture in mixtures for network in mixture.networks),
        tuple(rows for mixture in mixtures for rows in mixture.rows),
    )


def _networks(shares: np.ndarray, rows: Rows, limits: Limits) -> Mixture:
    """The M-step: structure and tables of every component that has a row.

    Where pools of one size made a component too wide, the next one begins with smaller ones.
    """
    sizes = shares.sum(axis=0)
    shares = shares[:, sizes >= min(1.0, sizes.max())]
    alone = shares.shape[1] == 1
    parts = [rows] if alone else [rows.weighted(share, LEAST_SHARE) for share in shares.T]
    networks, pool = [], POOLS[0]
    for part in parts:
        network, pool = learn_structure(part, rows, limits, pool)
        networks.append(network)
    return Mixture(_weights(shares), tuple(networks), tuple(parts))


def _reweighted(mixture: Mixture, rows: Rows) -> Mixture:
    """The same components with the weights of a step of EM."""
    if len(mixture.networks) == 1:
        return mixture
    return replace(mixture, weights=_weights(_normalised(_joint(mixture, rows), rows)))


def _weights(shares: np.ndarray) -> np.ndarray:
    """The weights of the components, one row added to each."""
    sizes = shares.sum(axis=0) + 1.0
    return np.asarray(sizes / sizes.sum())


def _joint(mixture: Mixture, rows: Rows) -> np.ndarray:
    """Logarithm of weight times probability, per row and component."""
    parts = [log_likelihood(network, rows.cells) for network in mixture.networks]
    return np.asarray(np.stack(parts, axis=1) + np.log(mixture.weights))


def _overlapping(logs: np.ndarray, rows: Rows) -> np.ndarray:
    """The shares of each row, 1 for the component that explains it best; see above.

    Where components overlap as much by themselves, these are the responsibilities.
    """
    weights, behind = rows.weights, logs - logs.max(axis=1, keepdims=True)
    overlap = 1.0 + float(np.sqrt(logs.shape[1] * rows.n_columns / rows.total))
    overlap = min(overlap, MOST_OVERLAP)

    def is_enough(beta: float) -> bool:
        return bool(weights @ np.exp(beta * behind).sum(axis=1) >= overlap * rows.total)

    if is_enough(1.0):
        return _normalised(logs, rows)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        beta = (low + high) / 2
        low, high = (beta, high) if is_enough(beta) else (low, beta)
    return np.asarray(np.exp(low * behind) * weights[:, None])


def _normalised(logs: np.ndarray, rows: Rows) -> np.ndarray:
    """The responsibilities of the components for each row, times its weight."""
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return np.asarray(shares * rows.weights[:, None])


def _start(rows: Rows, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Responsibilities under a mixture of independent columns, from random ones."""
    shares = rng.dirichlet(np.full(n_components, 0.3), size=len(rows.cells)) * rows.weights[:, None]
    for _ in range(START_ROUNDS):
        shares = _normalised(rows.independent_logs(shares), rows)
    return shares


def log_likelihood(network: PoolNetwork, cells: np.ndarray) -> np.ndarray:
    """The log-likelihood of every row under one network."""
    families = network.families
    parent_start = np.concatenate([[0], np.cumsum([len(f.parents) for f in families])])
    table_start = np.concatenate([[0], np.cumsum([f.table.size for f in families])])
    parents = np.array([p for f in families for p in f.parents], dtype=np.int64)
    sizes = np.array([len(f.base) for f in families])
    logs = np.concatenate([_log(f.table).ravel() for f in families])
    out = np.empty(len(cells))
    _sum_rows(np.ascontiguousarray(cells), sizes, parent_start, parents, table_start, logs, out)
    return out


def _log(table: np.ndarray) -> np.ndarray:
    """The logarithm; of two values that of the first one keeps its digits near 1."""
    logs = np.log(table)
    if table.shape[1] == 2:
        logs[:, 0] = np.log1p(-table[:, 1])
    return np.asarray(logs)


@patient
@njit(cache=True, nogil=True)
def _sum_rows(
    cells: np.ndarray,
    sizes: np.ndarray,
    parent_start: np.ndarray,
    parents: np.ndarray,
    table_start: np.ndarray,
    logs: np.ndarray,
    out: np.ndarray,
) -> None:
    for row in range(cells.shape[0]):
        total = 0.0
        for v in range(cells.shape[1]):
            place = 0
            for j in range(parent_start[v], parent_start[v + 1]):
                place = place * sizes[parents[j]] + cells[row, parents[j]]
            total += logs[table_start[v] + place * sizes[v] + cells[row, v]]
        out[row] = total

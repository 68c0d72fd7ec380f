r"""Growing the decision tree of a conditional table (:class:`fspn.model.cpt.tree.TreeLevel`).

A leaf with counts n and smoothed distribution B is split by the test of most evidence,

.. math:: \Delta = \sum_{s} \ln DM(n_s; \alpha B) - \sum_x n_x \ln B(x),

s its two sides, as long as that is more than the price of a test, the logarithm of how many there
are and a constant. Parents of ordered codes are tested by "at most c" and by "equal to c", others
by "equal to c" alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, prod

import numpy as np
from numba import njit

from fspn.jit import patient
from fspn.model.cpt.rows import shrink
from fspn.model.cpt.tree import TreeLevel

MAX_CELLS = 400_000
MAX_LEAVES = 256
STRENGTH = 2.0
PRICE = 3.0
STRENGTHS = np.geomspace(0.1, 100.0, 7)


@dataclass(frozen=True)
class Filled:
    """The filled cells of a child under its parents.

    Arguments:
        parents: The parents' codes, shape (cells, number of parents).
        codes: The child's code.
        counts: The rows in the cell.
    """

    parents: np.ndarray
    codes: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class TreeFit:
    """A grown tree, the leave-one-out likelihood of the rows, and the price of its tests."""

    level: TreeLevel
    likelihood: float
    price: float

    @property
    def left_out(self) -> float:
        return self.likelihood - self.price


def may_be_tree(size: int, sizes: tuple[int, ...]) -> bool:
    """Whether there are several parents, and the tree is small enough to be written out."""
    return len(sizes) > 1 and size * prod(sizes) <= MAX_CELLS


def fit_tree_level(
    cells: Filled, sizes: tuple[int, ...], ordered: tuple[bool, ...], below: np.ndarray
) -> TreeFit:
    """The tree of a child, with the strength of best leave-one-out likelihood.

    Arguments:
        cells: The filled cells.
        sizes: The numbers of codes of the parents.
        ordered: Which parents' codes are in order.
        below: The left-out probability of each of the child's codes at the level below.
    """
    grown = _grow(cells, sizes, ordered, len(below))
    counts = grown.counts
    fits = [(float(_left_out(grown.above, counts, below, a)), float(a)) for a in STRENGTHS]
    likelihood, alpha = max(fits)
    leaves = np.flatnonzero(grown.tests[:, 0] < 0)
    leaf, codes = np.nonzero(counts[leaves])
    start = np.searchsorted(leaf, np.arange(len(leaves) + 1)).astype(np.int32)
    kept = shrink(counts[leaves][leaf, codes])
    level = TreeLevel(sizes, grown.tests, start, shrink(codes), kept, alpha)
    return TreeFit(level, likelihood, grown.price * (len(leaves) - 1))


@dataclass(frozen=True)
class _Grown:
    tests: np.ndarray
    above: np.ndarray
    counts: np.ndarray
    price: float


def _grow(cells: Filled, sizes: tuple[int, ...], ordered: tuple[bool, ...], size: int) -> _Grown:
    """Split leaf after leaf, the first one first, until none pays or there are enough."""
    first = np.cumsum([0, *sizes])
    flags = np.array(ordered)
    price = PRICE + log(sum(n + (n - 2) * own for n, own in zip(sizes, ordered, strict=True)))
    parents = np.ascontiguousarray(cells.parents, dtype=np.int64)
    members = [np.arange(len(cells.codes))]
    tests, above, counts = [[-1, 0, 0, 0, 0]], [-1], list[np.ndarray]()
    node = 0
    while node < len(tests):
        own = members[node]
        tables = _count(parents, cells.codes, cells.counts, own, first, size)
        counts.append(tables[: first[1]].sum(axis=0))
        if len(tests) + 2 <= 2 * MAX_LEAVES:
            gain, parent, code, equal = _best_test(tables, first, flags, STRENGTH)
            if gain > price:
                value = parents[own, parent]
                yes = value == code if equal else value <= code
                tests[node] = [parent, code, equal, len(tests), len(tests) + 1]
                members += [own[yes], own[~yes]]
                tests += [[-1, 0, 0, 0, 0], [-1, 0, 0, 0, 0]]
                above += [node, node]
        members[node] = own[:0]
        node += 1
    return _Grown(np.array(tests, dtype=np.int32), np.array(above), np.array(counts), price)


@patient
@njit(cache=True, nogil=True)
def _count(
    parents: np.ndarray,
    codes: np.ndarray,
    counts: np.ndarray,
    members: np.ndarray,
    first: np.ndarray,
    size: int,
) -> np.ndarray:
    """Counts of (code of a parent, code of the child), the parents one after the other."""
    tables = np.zeros((first[-1], size), dtype=np.int64)
    for i in members:
        for j in range(parents.shape[1]):
            tables[first[j] + parents[i, j], codes[i]] += counts[i]
    return tables


@patient
@njit(cache=True, nogil=True)
def _best_test(
    tables: np.ndarray, first: np.ndarray, ordered: np.ndarray, alpha: float
) -> tuple[float, int, int, int]:
    """The gain of the best test: its parent, its code, and whether it asks for equality."""
    size = tables.shape[1]
    whole = np.zeros(size, dtype=np.int64)
    for u in range(first[1]):
        whole += tables[u]
    total = whole.sum()
    base = (whole + 0.5) / (total + 0.5 * size)
    nothing = 0.0
    for x in range(size):
        nothing += whole[x] * log(base[x])
    best, parent, code, equal = -np.inf, -1, -1, 0
    low = np.zeros(size, dtype=np.int64)
    for j in range(len(ordered)):
        low[:] = 0
        for c in range(first[j + 1] - first[j]):
            own = tables[first[j] + c]
            if own.sum() == 0:
                continue
            low += own
            for kind in range(2):
                side = own if kind == 1 else low
                if kind == 0 and (not ordered[j] or c == 0):
                    continue
                if side.sum() == total:
                    continue
                gain = _evidence(side, base, alpha) + _evidence(whole - side, base, alpha) - nothing
                if gain > best:
                    best, parent, code, equal = gain, j, c, kind
    return best, parent, code, equal


@njit(cache=True, nogil=True)
def _evidence(counts: np.ndarray, base: np.ndarray, alpha: float) -> float:
    r""":math:`\ln DM(n; \alpha B)`."""
    value = lgamma(alpha) - lgamma(counts.sum() + alpha)
    for x in range(len(counts)):
        if counts[x] > 0:
            value += lgamma(counts[x] + alpha * base[x]) - lgamma(alpha * base[x])
    return value


@patient
@njit(cache=True, nogil=True)
def _left_out(above: np.ndarray, counts: np.ndarray, below: np.ndarray, alpha: float) -> float:
    """The leave-one-out likelihood of the leaves: one row less in every node on the way."""
    n_nodes, size = counts.shape
    left_out = np.empty((n_nodes, size))
    inner = np.zeros(n_nodes, dtype=np.bool_)
    likelihood = 0.0
    for node in range(n_nodes):
        total = counts[node].sum()
        if above[node] >= 0:
            inner[above[node]] = True
        for x in range(size):
            prior = below[x] if above[node] < 0 else left_out[above[node], x]
            mass = max(counts[node, x] - 1, 0) + alpha * prior
            left_out[node, x] = mass / (max(total - 1, 0) + alpha)
    for node in range(n_nodes):
        if not inner[node]:
            for x in range(size):
                if counts[node, x] > 0:
                    likelihood += counts[node, x] * log(left_out[node, x])
    return likelihood

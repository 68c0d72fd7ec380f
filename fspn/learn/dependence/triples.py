r"""Columns that depend on each other three at a time although no pair does, as c = a xor b do.

The interaction of three columns is the same seen from each of them,

.. math:: I(a; b; c) = I(c; a, b) - I(c; a) - I(c; b),

and :math:`2 n I` of independent columns follows a chi-squared distribution of
:math:`(|a| - 1)(|b| - 1)(|c| - 1)` degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numba import njit
from scipy.stats import chi2

LEVEL = 1e-3
"""The chance of any false triple in a table of independent columns."""
MOST_VALUES = 8
"""Columns of more values are left out: their triples fill too many cells for a test."""
ROWS_PER_CELL = 5
WORK = 50_000_000
"""Rows that are read over all triples, at most: about a fifth of a second."""
LEAST_ROWS = 2_000
FAINT = 1e-6
"""The dependence that a pair of a found triple counts as: an edge is possible, not favoured."""


def with_triples(
    dependence: np.ndarray, codes: Sequence[np.ndarray], sizes: Sequence[int]
) -> np.ndarray:
    """The dependence of pairs, with a trace between the columns of every triple that interacts.

    Arguments:
        dependence: Of all pairs; 0 = none.
        codes: The columns.
        sizes: How many codes each has.
    """
    small = [v for v, size in enumerate(sizes) if 2 <= size <= MOST_VALUES]
    triples = _unseen(dependence[np.ix_(small, small)])
    if not triples or not len(codes[0]):
        return dependence
    n_rows = min(len(codes[0]), WORK // len(triples))
    if n_rows < LEAST_ROWS:
        return dependence
    rows = np.linspace(0, len(codes[0]) - 1, n_rows).astype(np.int64)
    table = np.stack([np.asarray(codes[v])[rows].astype(np.uint8) for v in small])
    at = np.array(triples)
    own = np.array([sizes[v] for v in small])
    tested = own[at].prod(axis=1) * ROWS_PER_CELL <= n_rows
    statistics = _statistics(table, own, at[tested])
    freedom = (own[at[tested]] - 1).prod(axis=1)
    found = at[tested][chi2.sf(statistics, freedom) < LEVEL / len(triples)]
    raised = dependence.copy()
    for triple in found.tolist():
        for i, j in combinations([small[k] for k in triple], 2):
            raised[i, j] = raised[j, i] = max(raised[i, j], FAINT)
    return raised


def _unseen(dependence: np.ndarray) -> list[tuple[int, ...]]:
    """The triples of which at most one pair shows any dependence; none where they are too many.

    Such a triple has a column, or three, that depends on neither of the others. They are listed
    by these columns, so that the work is that of the triples found, not of all there are.
    """
    apart = dependence <= 0
    np.fill_diagonal(apart, False)
    degrees = apart.sum(axis=0)
    most = WORK // LEAST_ROWS
    if (degrees * (degrees - 1) // 2).sum() > 3 * most:
        return []
    others = [np.flatnonzero(row).tolist() for row in apart]
    found = {
        tuple(sorted((v, i, j))) for v, own in enumerate(others) for i, j in combinations(own, 2)
    }
    return sorted(found)


@njit(cache=True, nogil=True)
def _statistics(table: np.ndarray, sizes: np.ndarray, triples: np.ndarray) -> np.ndarray:
    r""":math:`2 n I(a; b; c)` of every triple, from the entropies of its counts."""
    n = table.shape[1]
    found = np.empty(len(triples))
    for t in range(len(triples)):
        a, b, c = triples[t]
        counts = np.zeros((sizes[a], sizes[b], sizes[c]), dtype=np.int64)
        for i in range(n):
            counts[table[a, i], table[b, i], table[c, i]] += 1
        ab, ac, bc = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=0)
        singles = _sum(ab.sum(axis=1)) + _sum(ab.sum(axis=0)) + _sum(ac.sum(axis=0))
        pairs = _sum(ab.ravel()) + _sum(ac.ravel()) + _sum(bc.ravel())
        found[t] = 2 * (_sum(counts.ravel()) - pairs + singles - n * np.log(n))
    return found


@njit(cache=True, nogil=True)
def _sum(counts: np.ndarray) -> float:
    r""":math:`\sum_i n_i \ln n_i`."""
    total = 0.0
    for count in counts:
        if count > 0:
            total += count * np.log(count)
    return total

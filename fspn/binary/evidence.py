r"""Which parents of a two-valued variable, and how strongly to smooth: by the evidence of the data.

A row of a table over one more parent is drawn around what the table below says, so its evidence is
that of a beta-binomial; b is the probability of a one below:

.. math:: \Delta(u) = \ln \frac{B(\alpha b + n_1, \alpha (1-b) + n_0)}{B(\alpha b, \alpha (1-b))}
          - n_1 \ln b - n_0 \ln (1 - b)

The strength :math:`\alpha` of every rung is the one of most evidence, and a parent must bring more
than a fixed price. Counts may be fractions of rows.
"""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

STRENGTHS = (1.0, 8.0, 64.0)
NOTHING = 1e-9


@njit(cache=True, nogil=True, inline="always")
def _log_gamma(x: float) -> float:
    """Stirling's series above 7 and the recurrence below; several times faster than lgamma."""
    shift = 1.0
    while x < 7.0:
        shift *= x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (1 / 12.0 - square * (1 / 360.0 - square * (1 / 1260.0)))
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + series - log(shift)


@njit(cache=True, nogil=True, inline="always")
def _row_evidence(n: float, ones: float, below: float, strength: float) -> float:
    """One row of the formula above."""
    if n <= NOTHING:
        return 0.0
    zeros = max(n - ones, 0.0)
    found = _log_gamma(strength) - _log_gamma(strength + n)
    if ones > NOTHING:
        prior = strength * below
        found += _log_gamma(prior + ones) - _log_gamma(prior) - ones * log(below)
    if zeros > NOTHING:
        prior = strength * (1 - below)
        found += _log_gamma(prior + zeros) - _log_gamma(prior) - zeros * log(1 - below)
    return found


@njit(cache=True, nogil=True)
def _count(
    child: np.ndarray, weights: np.ndarray, place: np.ndarray, total: np.ndarray, ones: np.ndarray
) -> None:
    total[:] = 0.0
    ones[:] = 0.0
    for row in range(len(child)):
        total[place[row]] += weights[row]
        if child[row]:
            ones[place[row]] += weights[row]


@njit(cache=True, nogil=True)
def _gain(
    rows: np.ndarray,
    child: np.ndarray,
    weights: np.ndarray,
    place: np.ndarray,
    total: np.ndarray,
    ones: np.ndarray,
    below: np.ndarray,
    strengths: np.ndarray,
    n_in: np.ndarray,
    ones_in: np.ndarray,
) -> tuple[float, float]:
    """The evidence that one more parent brings, at its best strength.

    Only the rows in which the parent is 1 are visited; the others are what is left of the totals.
    """
    n_in[:] = 0.0
    ones_in[:] = 0.0
    for row in rows:
        n_in[place[row]] += weights[row]
        if child[row]:
            ones_in[place[row]] += weights[row]
    best, best_strength = -np.inf, strengths[0]
    for strength in strengths:
        gain = 0.0
        for i in range(len(total)):
            if total[i] > NOTHING:
                gain += _row_evidence(n_in[i], ones_in[i], below[i], strength)
                gain += _row_evidence(total[i] - n_in[i], ones[i] - ones_in[i], below[i], strength)
        if gain > best:
            best, best_strength = gain, strength
    return best, best_strength


@njit(cache=True, nogil=True)
def choose_parents(
    child: np.ndarray,
    weights: np.ndarray,
    candidates: np.ndarray,
    start: np.ndarray,
    rows: np.ndarray,
    base: float,
    strengths: np.ndarray,
    price: float,
    parents: np.ndarray,
    chosen: np.ndarray,
) -> tuple[int, float, np.ndarray]:
    """Add the parent of the largest gain, as long as it is worth its price.

    Arguments:
        child: The child's column.
        weights: Of the rows.
        candidates: The columns that may become parents.
        start: Where each column begins in ``rows``.
        rows: The rows in which each column is 1.
        base: The probability of a one without parents.
        strengths: The strengths of smoothing to choose from.
        price: What a parent must bring.
        parents: Filled with the parents.
        chosen: Filled with the strengths of their rungs.

    Returns the number of parents, the evidence they bring less their price, and the probability
    of a one for every configuration of the parents (the first parent is the highest digit).
    """
    place = np.zeros(len(child), dtype=np.int32)
    total, ones = np.empty(1), np.empty(1)
    _count(child, weights, place, total, ones)
    below = np.full(1, base)
    used = np.zeros(len(candidates), dtype=np.bool_)
    found, width = 0.0, 0
    while width < len(parents):
        n_in, ones_in = np.empty(len(total)), np.empty(len(total))
        best, winner, winner_strength = price, -1, 0.0
        for j in range(len(candidates)):
            if not used[j]:
                own = rows[start[candidates[j]] : start[candidates[j] + 1]]
                gain, strength = _gain(
                    own, child, weights, place, total, ones, below, strengths, n_in, ones_in
                )
                if gain > best:
                    best, winner, winner_strength = gain, j, strength
        if winner < 0:
            break
        used[winner] = True
        parent = candidates[winner]
        parents[width], chosen[width] = parent, winner_strength
        place *= 2
        for row in rows[start[parent] : start[parent + 1]]:
            place[row] += 1
        total, ones = np.empty(2 * len(below)), np.empty(2 * len(below))
        _count(child, weights, place, total, ones)
        refined = np.empty(len(total))
        for i in range(len(total)):
            refined[i] = (ones[i] + winner_strength * below[i // 2]) / (total[i] + winner_strength)
        below = refined
        found += best - price
        width += 1
    return width, found, below

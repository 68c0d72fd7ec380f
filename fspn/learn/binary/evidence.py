r"""Which parents of a two-valued variable, and how strongly to smooth: by the evidence of the data.

A row of a table with one more parent has a beta prior centred on b, the probability of a one in the
table below, so its evidence is that of a beta-binomial:

.. math:: \Delta(u) = \ln \frac{B(\alpha b + n_1, \alpha (1-b) + n_0)}{B(\alpha b, \alpha (1-b))}
          - n_1 \ln b - n_0 \ln (1 - b)

The strength :math:`\alpha` of every level maximises the evidence, and a parent must gain more than
a fixed price. Counts may be fractions of rows.

Where ones are rare, b is close to 0, and few rows of a strong dependence cannot lift the estimate
far enough; so a level may be smoothed towards :math:`(1 - \epsilon) b + \epsilon / 2` as well.
"""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

STRENGTHS = (0.1, 1.0, 8.0, 64.0)
EVEN_SHARES = (0.0, 0.1)
"""How much of what a level is smoothed towards may be an even chance."""
NOTHING = 1e-9
NEVER = 1e-15
"""The smallest probability of either value: the evidence of a certain row has no finite limit."""


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
    """The evidence of one row, by the formula above."""
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


@njit(cache=True, nogil=True, inline="always")
def _log_ratio(n: float, ones: float, first: float, second: float) -> float:
    """The log-likelihood ratio of the counts between two probabilities of a one."""
    return ones * log(first / second) + max(n - ones, 0.0) * log((1 - first) / (1 - second))


@njit(cache=True, nogil=True)
def _gain(
    counts: np.ndarray, inside: np.ndarray, below: np.ndarray, prior: np.ndarray, strength: float
) -> float:
    """The evidence that one more parent gains.

    Arguments:
        counts: Rows and ones per configuration of the parents so far.
        inside: Rows and ones per configuration, among the rows in which the new parent is 1.
        below: The probability of a one per configuration.
        prior: What the new rows are smoothed towards, the new parent being 0 and 1.
        strength: The strength of that smoothing.
    """
    gain = 0.0
    for i in range(counts.shape[1]):
        if counts[0, i] <= NOTHING:
            continue
        for value in range(2):
            n, ones = inside[0, i], inside[1, i]
            if value == 0:
                n, ones = counts[0, i] - n, max(counts[1, i] - ones, 0.0)
            if n > NOTHING:
                gain += _row_evidence(n, ones, prior[value, i], strength)
                if prior[value, i] != below[i]:
                    gain += _log_ratio(n, ones, prior[value, i], below[i])
    return gain


@njit(cache=True, nogil=True)
def _best_smoothing(
    counts: np.ndarray,
    inside: np.ndarray,
    below: np.ndarray,
    prior: np.ndarray,
    strengths: np.ndarray,
) -> tuple[float, float, float]:
    """The largest gain of a parent, with the strength and the even share that have it."""
    best, best_strength, best_share = -np.inf, strengths[0], 0.0
    for share in EVEN_SHARES:
        towards = (1 - share) * prior + share / 2
        for strength in strengths:
            gain = _gain(counts, inside, below, towards, strength)
            if gain > best:
                best, best_strength, best_share = gain, strength, share
    return best, best_strength, best_share


@njit(cache=True, nogil=True)
def _count(
    child: np.ndarray, weights: np.ndarray, place: np.ndarray, rows: np.ndarray, counts: np.ndarray
) -> None:
    """Rows and ones per configuration, over some rows."""
    counts[:] = 0.0
    for row in rows:
        counts[0, place[row]] += weights[row]
        if child[row]:
            counts[1, place[row]] += weights[row]


@njit(cache=True, nogil=True)
def choose_parents(
    child: np.ndarray,
    weights: np.ndarray,
    candidates: np.ndarray,
    start: np.ndarray,
    rows: np.ndarray,
    base: float,
    anchors: np.ndarray,
    ceilings: np.ndarray,
    strengths: np.ndarray,
    prices: tuple[float, float, float],
    parents: np.ndarray,
    chosen: np.ndarray,
    even: np.ndarray,
) -> tuple[int, float, bool, np.ndarray]:
    """Add the parent of the largest gain, while the gain exceeds its price.

    Arguments:
        child: The child's column.
        weights: The weights of the rows.
        candidates: The columns that may become parents.
        start: Where each column begins in ``rows``.
        rows: The rows in which each column is 1.
        base: The probability of a one without parents.
        anchors: The probability of a one given that a column is 0 or 1 among all other rows of
            the table, one row per column; no rows = there are no others.
        ceilings: What each column can gain as first parent at most, before its price.
        strengths: The strengths of smoothing to choose from.
        prices: What a first parent, one with an anchor, and a further one must gain.
        parents: Filled with the parents.
        chosen: Filled with the strengths of their levels.
        even: Filled with the share of an even chance in what each level is smoothed towards.

    Returns the number of parents, the evidence they bring less their price, whether the first level
    is smoothed towards its anchor, and the probability of a one for every configuration of the
    parents (the first parent is the highest digit).
    """
    everything = np.arange(len(child))
    place = np.zeros(len(child), dtype=np.int32)
    counts, below = np.empty((2, 1)), np.full(1, base)
    _count(child, weights, place, everything, counts)
    used = np.zeros(len(candidates), dtype=np.bool_)
    found, width, anchored = 0.0, 0, False
    while width < len(parents):
        price = prices[0] if width == 0 else prices[2]
        inside, prior_rows = np.empty_like(counts), np.empty_like(counts)
        prior_rows[0], prior_rows[1] = below, below
        best, winner, winner_strength, winner_prior = 0.0, -1, 0.0, prior_rows
        by_anchor, winner_even = False, 0.0
        for j in range(len(candidates)):
            hopeless = width == 0 and ceilings[candidates[j]] - min(prices[0], prices[1]) <= best
            if used[j] or hopeless:
                continue
            own = rows[start[candidates[j]] : start[candidates[j] + 1]]
            _count(child, weights, place, own, inside)
            gain, strength, share = _best_smoothing(counts, inside, below, prior_rows, strengths)
            if gain - price > best:
                best, winner, winner_strength, winner_even = gain - price, j, strength, share
                winner_prior, by_anchor = (1 - share) * prior_rows + share / 2, False
            if width == 0 and len(anchors) > 0:
                anchor = anchors[candidates[j]].copy().reshape(2, 1)
                for strength in strengths:
                    gain = _gain(counts, inside, below, anchor, strength) - prices[1]
                    if gain > best:
                        best, winner, winner_strength, winner_prior = gain, j, strength, anchor
                        by_anchor, winner_even = True, 0.0
        if winner < 0:
            break
        used[winner] = True
        if width == 0:
            anchored = by_anchor
        parent = candidates[winner]
        parents[width], chosen[width], even[width] = parent, winner_strength, winner_even
        place *= 2
        for row in rows[start[parent] : start[parent + 1]]:
            place[row] += 1
        counts = np.empty((2, 2 * len(below)))
        _count(child, weights, place, everything, counts)
        below = winner_prior.T.copy().ravel()
        for i in range(len(below)):
            ones = counts[1, i] + winner_strength * below[i]
            below[i] = min(max(ones / (counts[0, i] + winner_strength), NEVER), 1 - NEVER)
        found += best
        width += 1
    return width, found, anchored, below

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

from fspn.learn.pools.family import EVEN_SHARES

NOTHING = 1e-9
NEVER = 1e-15
"""The smallest probability of either value: the evidence of a certain row has no finite limit."""


@njit(cache=True, nogil=True, inline="always")
def _stirling(x: float) -> tuple[float, float]:
    r"""Two numbers g and s with :math:`\ln \Gamma(x) = g - \ln s`.

    Stirling's series above 7 and the recurrence below it; several times faster than lgamma. The
    logarithm is left to the caller, who takes one for the quotient of several s.
    """
    shift = 1.0
    while x < 7.0:
        shift *= x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (1 / 12.0 - square * (1 / 360.0 - square * (1 / 1260.0)))
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + series, shift


@njit(cache=True, nogil=True, inline="always")
def _row_evidence(n: float, ones: float, below: float, strength: float) -> float:
    """The evidence of one row, by the formula above."""
    if n <= NOTHING:
        return 0.0
    zeros = max(n - ones, 0.0)
    found, over = _stirling(strength)
    total, under = _stirling(strength + n)
    found -= total
    if ones > NOTHING:
        prior = strength * below
        (more, up), (less, down) = _stirling(prior + ones), _stirling(prior)
        found += more - less - ones * log(below)
        over, under = over * up, under * down
    if zeros > NOTHING:
        prior = strength * (1 - below)
        (more, up), (less, down) = _stirling(prior + zeros), _stirling(prior)
        found += more - less - zeros * log(1 - below)
        over, under = over * up, under * down
    return found - log(over / under)


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
def _best_first(
    counts: np.ndarray,
    inside: np.ndarray,
    below: np.ndarray,
    anchor: np.ndarray,
    strengths: np.ndarray,
    prices: tuple[float, float, float],
) -> tuple[float, float, float, bool]:
    """The largest gain of a first parent less its price, and its strength and even share.

    The last of the four says whether its rows are smoothed towards the anchor.
    """
    prior = np.empty_like(inside)
    prior[0], prior[1] = below, below
    best, best_strength, share = _best_smoothing(counts, inside, below, prior, strengths)
    best, anchored = best - prices[0], False
    for strength in strengths if len(anchor) > 0 else strengths[:0]:
        gain = _gain(counts, inside, below, anchor.copy().reshape(2, 1), strength) - prices[1]
        if gain > best:
            best, best_strength, share, anchored = gain, strength, 0.0, True
    return best, best_strength, share, anchored


@njit(cache=True, nogil=True)
def _add_level(
    child: np.ndarray,
    weights: np.ndarray,
    place: np.ndarray,
    own: np.ndarray,
    prior: np.ndarray,
    strength: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Counts and probabilities of a one per configuration, with one more parent.

    Arguments:
        child: The child's column.
        weights: The weights of the rows.
        place: The configuration of each row; changed to that with the new parent.
        own: The rows in which the new parent is 1.
        prior: What the new rows are smoothed towards, the new parent being 0 and 1.
        strength: The strength of that smoothing.
    """
    place *= 2
    for row in own:
        place[row] += 1
    below = prior.T.copy().ravel()
    counts = np.empty((2, len(below)))
    _count(child, weights, place, np.arange(len(child)), counts)
    for i in range(len(below)):
        ones = counts[1, i] + strength * below[i]
        below[i] = min(max(ones / (counts[0, i] + strength), NEVER), 1 - NEVER)
    return counts, below


@njit(cache=True, nogil=True)
def choose_parents(
    child: np.ndarray,
    weights: np.ndarray,
    pools: np.ndarray,
    sizes: np.ndarray,
    start: np.ndarray,
    rows: np.ndarray,
    base: float,
    anchors: np.ndarray,
    ceilings: np.ndarray,
    strengths: np.ndarray,
    prices: tuple[float, float, float],
    most: int,
) -> tuple[int, float, bool, np.ndarray, np.ndarray, np.ndarray]:
    """The parents out of one of several pools, always that of the largest gain, while it pays.

    Pools have most members in common, and so have the searches in them: what a column gains beside
    some parents is computed once and kept in a trie of the parents so far.

    Arguments:
        child: The child's column.
        weights: The weights of the rows.
        pools: The columns that may be parents together, one row per pool.
        sizes: The number of columns of each pool.
        start: Where each column begins in ``rows``.
        rows: The rows in which each column is 1.
        base: The probability of a one without parents.
        anchors: The probability of a one given that a column is 0 or 1 among all other rows of
            the table, one row per column; no rows = there are no others.
        ceilings: What each column can gain as first parent at most, before its price.
        strengths: The strengths of smoothing to choose from.
        prices: What a first parent, one with an anchor, and a further one must gain.
        most: At most so many parents.

    Returns the pool whose parents bring most, the evidence they bring less their price, whether the
    first level is smoothed towards its anchor, the parents, the strength and the share of an even
    chance of each level (two rows), and the probability of a one for every configuration of the
    parents (the first parent is the highest digit).
    """
    n_nodes = len(pools) * most + 1
    next_node = np.zeros((n_nodes, len(ceilings)), dtype=np.int32)
    gains = np.full((n_nodes, len(ceilings)), np.nan)
    smoothing, by_anchor = np.empty((2, n_nodes, len(ceilings))), np.zeros(len(ceilings), np.bool_)
    n_used, best_found, best_pool, best_table = 1, -1.0, 0, np.full(1, base)
    parents, levels = np.empty((len(pools), most), dtype=np.int64), np.empty((len(pools), 2, most))
    widths = np.zeros(len(pools), dtype=np.int64)
    for pool in range(len(pools)):
        place, counts, below = np.zeros(len(child), np.int32), np.empty((2, 1)), np.full(1, base)
        _count(child, weights, place, np.arange(len(child)), counts)
        node, found = 0, 0.0
        for width in range(most):
            inside, prior = np.empty_like(counts), np.empty_like(counts)
            prior[0], prior[1] = below, below
            best, winner = 0.0, -1
            for u in pools[pool, : sizes[pool]]:
                hopeless = width == 0 and ceilings[u] - min(prices[0], prices[1]) <= best
                if hopeless or (parents[pool, :width] == u).any():
                    continue
                if np.isnan(gains[node, u]):
                    _count(child, weights, place, rows[start[u] : start[u + 1]], inside)
                    if width == 0:
                        anchor = anchors[u] if len(anchors) > 0 else below[:0]
                        gain, strength, share, by_anchor[u] = _best_first(
                            counts, inside, below, anchor, strengths, prices
                        )
                    else:
                        gain, strength, share = _best_smoothing(
                            counts, inside, below, prior, strengths
                        )
                        gain -= prices[2]
                    gains[node, u] = gain
                    smoothing[0, node, u], smoothing[1, node, u] = strength, share
                if gains[node, u] > best:
                    best, winner = gains[node, u], u
            if winner < 0:
                break
            strength, share = smoothing[0, node, winner], smoothing[1, node, winner]
            parents[pool, width], widths[pool] = winner, width + 1
            levels[pool, 0, width], levels[pool, 1, width] = strength, share
            prior = (1 - share) * prior + share / 2
            if width == 0 and by_anchor[winner]:
                prior = anchors[winner].copy().reshape(2, 1)
            if next_node[node, winner] == 0:
                next_node[node, winner] = n_used
                n_used += 1
            node = next_node[node, winner]
            own_rows = rows[start[winner] : start[winner + 1]]
            counts, below = _add_level(child, weights, place, own_rows, prior, strength)
            found += best
        if found > best_found:
            best_found, best_pool, best_table = found, pool, below
    width = widths[best_pool]
    chosen, best_levels = parents[best_pool, :width], levels[best_pool, :, :width]
    anchored = width > 0 and by_anchor[chosen[0]]
    return best_pool, best_found, anchored, chosen, best_levels, best_table

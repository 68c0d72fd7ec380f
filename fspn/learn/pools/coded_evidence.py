r"""Which parents of a column of any values, and how strongly to smooth: by evidence.

A row of a table with one more parent has a Dirichlet prior centred on b, the distribution in the
table below, so what it gains is

.. math:: \Delta(u) = \ln \frac{\Gamma(\alpha)}{\Gamma(\alpha + n)}
          + \sum_x \ln \frac{\Gamma(\alpha b_x + n_x)}{\Gamma(\alpha b_x)} - \sum_x n_x \ln b_x

which for two values is the evidence of a beta-binomial (:mod:`fspn.learn.pools.binary_evidence`).
The strength :math:`\alpha` of every level maximises it, and a parent must gain more than a fixed
price. Counts may be fractions of rows.
"""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

from fspn.learn.pools.binary_evidence import NEVER, NOTHING, _stirling
from fspn.learn.pools.family import EVEN_SHARES


@njit(cache=True, nogil=True)
def _counted(
    child: np.ndarray,
    weights: np.ndarray,
    place: np.ndarray,
    parent: np.ndarray,
    size: int,
    below: np.ndarray,
) -> np.ndarray:
    """Rows per configuration (the new parent is the lowest digit) and value of the child."""
    counts = np.zeros((len(below) * size, below.shape[1]))
    for row in range(len(child)):
        counts[place[row] * size + parent[row], child[row]] += weights[row]
    return counts


@njit(cache=True, nogil=True)
def _filled(counts: np.ndarray) -> np.ndarray:
    """The configurations that occur."""
    found = np.empty(len(counts), dtype=np.int64)
    n = 0
    for i in range(len(counts)):
        for x in range(counts.shape[1]):
            if counts[i, x] > NOTHING:
                found[n] = i
                n += 1
                break
    return found[:n]


@njit(cache=True, nogil=True)
def _log_likelihood(
    counts: np.ndarray, filled: np.ndarray, below: np.ndarray, size: int
) -> tuple[float, float]:
    """The log-likelihood of the counts, at their own shares and under the table below."""
    own, under = 0.0, 0.0
    for i in filled:
        n = 0.0
        for x in range(counts.shape[1]):
            c = counts[i, x]
            if c > NOTHING:
                n += c
                own += c * log(c)
                under += c * log(below[i // size, x])
        own -= n * log(n)
    return own, under


@njit(cache=True, nogil=True)
def _evidence(
    counts: np.ndarray, filled: np.ndarray, prior: np.ndarray, size: int, share: float, s: float
) -> float:
    """The evidence of all rows around a prior, of which a share is an even chance.

    Arguments:
        counts: Rows per configuration and value.
        filled: The configurations that occur.
        prior: The distributions that ``size`` configurations each are smoothed towards.
        size: The number of configurations that share one.
        share: How much of the prior is an even chance of all values.
        s: The strength.
    """
    k = counts.shape[1]
    at_s, over_s = _stirling(s)
    found = 0.0
    for i in filled:
        n = 0.0
        for x in range(k):
            c = counts[i, x]
            if c > NOTHING:
                n += c
                a = s * ((1 - share) * prior[i // size, x] + share / k)
                (more, up), (less, down) = _stirling(a + c), _stirling(a)
                found += more - less - log(up / down)
        total, under = _stirling(s + n)
        found += at_s - total - log(over_s / under)
    return found


@njit(cache=True, nogil=True)
def _best_smoothing(
    counts: np.ndarray,
    filled: np.ndarray,
    prior: np.ndarray,
    size: int,
    strengths: np.ndarray,
    shares: np.ndarray,
) -> tuple[float, float, float]:
    """The largest evidence, with the strength and the even share that have it."""
    best, best_strength, best_share = -np.inf, strengths[0], 0.0
    for share in shares:
        for strength in strengths:
            found = _evidence(counts, filled, prior, size, share, strength)
            if found > best:
                best, best_strength, best_share = found, strength, share
    return best, best_strength, best_share


@njit(cache=True, nogil=True)
def _gain(
    counts: np.ndarray,
    below: np.ndarray,
    size: int,
    anchor: np.ndarray,
    strengths: np.ndarray,
    prices: tuple[float, float, float],
    is_first: bool,
    best: float,
) -> tuple[float, float, float, bool]:
    """What a parent gains less its price, its strength and even share, and whether by its anchor.

    Not a number where its likelihood, which bounds its evidence, shows that it is not the best.
    """
    filled = _filled(counts)
    own, under = _log_likelihood(counts, filled, below, size)
    if own - under - min(prices[0], prices[2]) <= best:
        return np.nan, strengths[0], 0.0, False
    found, strength, share = _best_smoothing(
        counts, filled, below, size, strengths, np.array(EVEN_SHARES)
    )
    gain, anchored = found - under - (prices[0] if is_first else prices[2]), False
    if len(anchor) > 0:
        found, alone, _ = _best_smoothing(counts, filled, anchor, 1, strengths, np.zeros(1))
        if found - under - prices[1] > gain:
            gain, strength, share, anchored = found - under - prices[1], alone, 0.0, True
    return gain, strength, share, anchored


@njit(cache=True, nogil=True)
def _level(
    counts: np.ndarray, prior: np.ndarray, size: int, share: float, strength: float
) -> np.ndarray:
    """The distribution of every configuration, smoothed."""
    k = counts.shape[1]
    found = np.empty_like(counts)
    for i in range(len(counts)):
        total = counts[i].sum() + strength
        for x in range(k):
            towards = (1 - share) * prior[i // size, x] + share / k
            found[i, x] = max((counts[i, x] + strength * towards) / total, NEVER)
    return found


@njit(cache=True, nogil=True)
def choose_parents(
    columns: np.ndarray,
    sizes: np.ndarray,
    offsets: np.ndarray,
    v: int,
    weights: np.ndarray,
    pools: np.ndarray,
    pool_sizes: np.ndarray,
    base: np.ndarray,
    anchors: np.ndarray,
    ceilings: np.ndarray,
    strengths: np.ndarray,
    prices: tuple[float, float, float],
    most: int,
    max_cells: int,
) -> tuple[int, float, bool, np.ndarray, np.ndarray, np.ndarray]:
    """The parents out of one of several pools, always that of the largest gain, while it pays.

    What a column gains beside some parents is computed once for all pools and kept in a trie of the
    parents so far.

    Arguments:
        columns: The codes, one row per column.
        sizes: The number of values of each column.
        offsets: Where the values of each column begin in ``anchors``.
        v: The child.
        weights: The weights of the rows.
        pools: The columns that may be parents together, one row per pool.
        pool_sizes: The number of columns of each pool.
        base: The distribution of the child without parents.
        anchors: Its distribution given each value of each column among all other rows of the
            table; no rows = there are no others.
        ceilings: What each column can gain as first parent at most, before its price.
        strengths: The strengths of smoothing to choose from.
        prices: What a first parent, one with an anchor, and a further one must gain.
        most: At most so many parents.
        max_cells: At most so many cells in the table.

    Returns the pool whose parents bring most, the evidence they bring less their price, whether the
    first level is smoothed towards its anchor, the parents, the strength and the share of an even
    chance of each level (two rows), and the distribution per configuration of the parents.
    """
    child, k = columns[v], sizes[v]
    n_nodes, m = len(pools) * most + 1, len(sizes)
    next_node = np.zeros((n_nodes, m), dtype=np.int32)
    gains = np.full((n_nodes, m), np.nan)
    smoothing, by_anchor = np.empty((2, n_nodes, m)), np.zeros(m, np.bool_)
    n_used, best_found, best_pool = 1, -1.0, 0
    best_table = base.copy().reshape(1, k)
    parents, levels = np.empty((len(pools), most), dtype=np.int64), np.empty((len(pools), 2, most))
    widths = np.zeros(len(pools), dtype=np.int64)
    for pool in range(len(pools)):
        place, below = np.zeros(len(child), np.int64), base.copy().reshape(1, k)
        node, found = 0, 0.0
        for width in range(most):
            best, winner = 0.0, -1
            for u in pools[pool, : pool_sizes[pool]]:
                size = sizes[u]
                hopeless = width == 0 and ceilings[u] - min(prices[0], prices[1]) <= best
                if hopeless or len(below) * size * k > max_cells:
                    continue
                if (parents[pool, :width] == u).any():
                    continue
                if np.isnan(gains[node, u]):
                    inside = _counted(child, weights, place, columns[u], size, below)
                    anchor = anchors[offsets[u] : offsets[u] + size] if width == 0 else anchors[:0]
                    gains[node, u], strength, share, anchored = _gain(
                        inside, below, size, anchor, strengths, prices, width == 0, best
                    )
                    smoothing[0, node, u], smoothing[1, node, u] = strength, share
                    by_anchor[u] |= anchored
                if gains[node, u] > best:
                    best, winner = gains[node, u], u
            if winner < 0:
                break
            strength, share = smoothing[0, node, winner], smoothing[1, node, winner]
            parents[pool, width], widths[pool] = winner, width + 1
            levels[pool, 0, width], levels[pool, 1, width] = strength, share
            if next_node[node, winner] == 0:
                next_node[node, winner] = n_used
                n_used += 1
            node = next_node[node, winner]
            size = sizes[winner]
            inside = _counted(child, weights, place, columns[winner], size, below)
            if width == 0 and by_anchor[winner]:
                anchor = anchors[offsets[winner] : offsets[winner] + size]
                below = _level(inside, anchor, 1, 0.0, strength)
            else:
                below = _level(inside, below, size, share, strength)
            place = place * size + columns[winner]
            found += best
        if found > best_found:
            best_found, best_pool, best_table = found, pool, below
    width = widths[best_pool]
    chosen, best_levels = parents[best_pool, :width], levels[best_pool, :, :width]
    anchored = width > 0 and by_anchor[chosen[0]]
    return best_pool, best_found, anchored, chosen, best_levels, best_table

r"""Mixtures of trees by stochastic EM, in a few passes over the rows for all components at once.

.. math:: \Pr(x) = \sum_k w_k \prod_v \Pr_k(x_v \mid x_{\pi_k(v)})

Per step: every row's class is drawn from its responsibilities; all pairs of columns are counted per
class; each class takes the spanning forest of most information, less what its cells cost; all rows
are scored. The start is random and *sharp* (Dirichlet of 0.3): a start from independent columns
ends in a worse optimum, because its classes explain what edges explain better.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numba import njit

from fspn.learn.mixture.coarse import CoarseRows
from fspn.learn.spanning_tree import spanning_tree

START_CONCENTRATION = 0.3
STRENGTH = 2.0
MARGINAL_STRENGTH = 0.5
LEAST_ROWS = 40
"""A class of fewer rows is dropped."""


@dataclass(frozen=True)
class TreeMixture:
    """The trees of all components, and where each table is.

    Arguments:
        weights: The weights of the components.
        parents: The parent of each variable per component; -1 = none.
        start: Where each variable's table begins in ``logs``, per component.
        logs: The log-probabilities, the parent's code the higher digit.
    """

    weights: np.ndarray
    parents: np.ndarray
    start: np.ndarray
    logs: np.ndarray

    def scores(self, rows: CoarseRows) -> np.ndarray:
        """The logarithm of w_k Pr_k(row), one row per row of the table."""
        out = np.empty((rows.n_rows, len(self.weights)))
        _score(rows.codes, rows.sizes, self.parents, self.start, self.logs, self.weights, out)
        return out


def sharp_start(n_rows: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Random classes, drawn from responsibilities of a Dirichlet distribution."""
    shares = rng.dirichlet(np.full(n_components, START_CONCENTRATION), size=n_rows)
    return draw_classes(shares, rng)


def draw_classes(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One class per row, from its responsibilities (rows of any positive sum)."""
    upper = np.cumsum(shares, axis=1)
    drawn = (upper < rng.random(len(shares))[:, None] * upper[:, -1:]).sum(axis=1)
    return np.minimum(drawn, shares.shape[1] - 1)


def normalised(logs: np.ndarray) -> np.ndarray:
    """Responsibilities from ln (w_k Pr_k(row))."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def run_trees(
    rows: CoarseRows, classes: np.ndarray, steps: int, rng: np.random.Generator
) -> tuple[TreeMixture, np.ndarray]:
    """So many steps from given classes: the last mixture, and its scores of all rows."""
    for _ in range(steps):
        mixture = fit_trees(rows, compact(classes, LEAST_ROWS))
        logs = mixture.scores(rows)
        classes = draw_classes(normalised(logs), rng)
    return mixture, logs


def compact(classes: np.ndarray, least: int) -> np.ndarray:
    """Classes numbered without gaps; -1 for the rows of a class of fewer than ``least`` rows."""
    counts = np.bincount(classes[classes >= 0])
    kept = counts >= min(least, counts.max())
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    return np.where(classes >= 0, numbers[classes], -1)


def fit_trees(rows: CoarseRows, classes: np.ndarray) -> TreeMixture:
    """One tree per class; classes are numbered from 0, rows of class -1 count nowhere."""
    n_classes, m = int(classes.max()) + 1, len(rows.sizes)
    pairs, joint, single = pair_counts(rows, classes, n_classes)
    parents = np.empty((n_classes, m), dtype=np.int64)
    for k in range(n_classes):
        parents[k] = _forest(_worth(joint[k], single[k], rows.sizes, pairs))
    above = np.where(parents >= 0, rows.sizes[parents], 1)
    lengths = above * rows.sizes
    start = (np.cumsum(lengths) - lengths.ravel()).reshape(lengths.shape)
    logs = np.empty(int(lengths.sum()))
    _tables(joint, single, rows.sizes, pairs, parents, start, logs)
    totals = single[:, 0].sum(axis=1)
    return TreeMixture(totals / totals.sum(), parents, start, logs)


def pair_counts(
    rows: CoarseRows, classes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the table of each pair (i < j) begins, those tables, and those of single columns."""
    m = len(rows.sizes)
    pairs = np.zeros((m, m), dtype=np.int64)
    upper = np.triu_indices(m, 1)
    cells = rows.sizes[upper[0]] * rows.sizes[upper[1]]
    pairs[upper] = np.cumsum(cells) - cells
    joint = np.zeros((n_classes, int(cells.sum())), dtype=np.int32)
    single = np.zeros((n_classes, m, int(rows.sizes.max())), dtype=np.int32)
    _count(rows.codes, rows.sizes, classes, pairs, joint, single)
    return pairs, joint, single


@njit(cache=True, nogil=True)
def _count(
    codes: np.ndarray,
    sizes: np.ndarray,
    classes: np.ndarray,
    pairs: np.ndarray,
    joint: np.ndarray,
    single: np.ndarray,
) -> None:
    """The tables of all columns and all pairs of columns, per class."""
    m = codes.shape[1]
    for row in range(len(codes)):
        k = classes[row]
        if k < 0:
            continue
        table = joint[k]
        for i in range(m):
            x = np.int64(codes[row, i])
            single[k, i, x] += 1
            for j in range(i + 1, m):
                table[pairs[i, j] + x * sizes[j] + codes[row, j]] += 1


@njit(cache=True, nogil=True)
def _worth(
    joint: np.ndarray, single: np.ndarray, sizes: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """The mutual information of every pair in nats, less half a logarithm per filled cell (BIC)."""
    m = len(sizes)
    n = single[0].sum()
    own, filled = np.zeros(m), np.zeros(m)
    for i in range(m):
        for x in range(sizes[i]):
            c = single[i, x]
            if c > 0:
                own[i] += c * log(c)
                filled[i] += 1
    worth = np.zeros((m, m))
    price = 0.5 * log(max(n, 2))
    for i in range(m):
        for j in range(i + 1, m):
            found, cells = 0.0, 0.0
            for place in range(pairs[i, j], pairs[i, j] + sizes[i] * sizes[j]):
                c = joint[place]
                if c > 0:
                    found += c * log(c)
                    cells += 1
            information = found - own[i] - own[j] + n * log(max(n, 1))
            free = max(cells - filled[i] - filled[j] + 1, 1.0)
            worth[i, j] = information - price * free
            worth[j, i] = worth[i, j]
    return worth


def _forest(worth: np.ndarray) -> np.ndarray:
    """The parents in the spanning tree of the largest worth; an edge of no worth is left out."""
    parents, _ = spanning_tree(worth)
    return np.where(worth[np.arange(len(worth)), parents] <= 0, -1, parents)


@njit(cache=True, nogil=True)
def _tables(
    joint: np.ndarray,
    single: np.ndarray,
    sizes: np.ndarray,
    pairs: np.ndarray,
    parents: np.ndarray,
    start: np.ndarray,
    logs: np.ndarray,
) -> None:
    """The tables of all trees, each row smoothed towards the variable's own distribution."""
    n_classes, m = parents.shape
    for k in range(n_classes):
        n = single[k, 0].sum()
        for v in range(m):
            size, p, first = sizes[v], parents[k, v], start[k, v]
            total = n + MARGINAL_STRENGTH * size
            for u in range(1 if p < 0 else sizes[p]):
                for x in range(size):
                    own = (single[k, v, x] + MARGINAL_STRENGTH) / total
                    if p >= 0:
                        place = (
                            pairs[p, v] + u * size + x if p < v else pairs[v, p] + x * sizes[p] + u
                        )
                        own = (joint[k, place] + STRENGTH * own) / (single[k, p, u] + STRENGTH)
                    logs[first + u * size + x] = log(own)


@njit(cache=True, nogil=True)
def _score(
    codes: np.ndarray,
    sizes: np.ndarray,
    parents: np.ndarray,
    start: np.ndarray,
    logs: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    n_classes, m = parents.shape
    for k in range(n_classes):
        prior = log(weights[k])
        for row in range(len(codes)):
            total = prior
            for v in range(m):
                p = parents[k, v]
                u = np.int64(0) if p < 0 else np.int64(codes[row, p])
                total += logs[start[k, v] + u * sizes[v] + codes[row, v]]
            out[row, k] = total

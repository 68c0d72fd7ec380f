"""Our own Chow-Liu structure: mutual information, then a maximum spanning tree (Chow, Liu 1968)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from baselines.contingency import pairwise_mutual_information

Parents = tuple[tuple[int, ...], ...]
"""Parents of every variable, by position."""


def chow_liu(codes: np.ndarray, cards: np.ndarray, penalty: float = 0.0) -> Parents:
    r"""Parents of each column in the best tree, or in the best forest when edges cost something.

    The weight of an edge is \(N I(X_i; X_j) - \lambda \frac{\ln N}{2} (d_i - 1)(d_j - 1)\): with
    \(\lambda = 0\) this is Chow-Liu, with \(\lambda = 1\) the forest of the highest BIC.

    Arguments:
        codes: Table of codes, shape (rows, columns).
        cards: Domain sizes.
        penalty: \(\lambda\); edges whose weight is not positive are left out.
    """
    n = len(codes)
    free = np.outer(cards - 1, cards - 1)
    weights = n * pairwise_mutual_information(codes, cards) - penalty * 0.5 * np.log(n) * free
    if penalty == 0.0:
        # A constant column carries no information; the tree spans it all the same.
        weights = np.maximum(weights, 1e-12)
    return _maximum_forest(weights)


def _maximum_forest(weights: np.ndarray) -> Parents:
    kept = np.triu(np.where(weights > 0, weights, 0.0), k=1)
    # scipy minimises and reads 0 as "no edge": subtract from a bound that no weight reaches.
    costs = np.where(kept > 0, kept.max() * 2 + 1 - kept, 0.0)
    forest = minimum_spanning_tree(csr_array(costs))
    return _rooted(forest + forest.T)


def _rooted(forest: csr_array) -> Parents:
    parents: list[tuple[int, ...]] = [()] * forest.shape[0]
    seen: set[int] = set()
    for root in range(forest.shape[0]):
        if root in seen:
            continue
        order, before = breadth_first_order(forest, root, directed=False)
        seen.update(int(v) for v in order)
        for v in order[1:]:
            parents[v] = (int(before[v]),)
    return tuple(parents)

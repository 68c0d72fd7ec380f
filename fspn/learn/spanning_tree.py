"""The maximum spanning tree of a dense matrix of weights, as Chow and Liu's trees need it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def spanning_tree(weights: Any) -> Any:
    """Parents and a top-down order of the maximum spanning tree (Prim); column 0 is the root."""
    m = len(weights)
    parents = np.full(m, -1, dtype=np.int32)
    order = np.zeros(m, dtype=np.int32)
    best = weights[0].copy()
    nearest = np.zeros(m, dtype=np.int32)
    inside = np.zeros(m, dtype=np.bool_)
    inside[0] = True
    for step in range(1, m):
        new = -1
        for i in range(m):
            if not inside[i] and (new < 0 or best[i] > best[new]):
                new = i
        inside[new] = True
        parents[new] = nearest[new]
        order[step] = new
        for i in range(m):
            if not inside[i] and weights[new, i] > best[i]:
                best[i] = weights[new, i]
                nearest[i] = new
    return parents, order

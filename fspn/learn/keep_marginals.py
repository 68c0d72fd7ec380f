r"""Keeping the marginals of single columns.

A table that is smoothed, or whose parents depend on each other in ways the network does not hold,
gives its column another marginal than the rows have; long tails suffer most. Every column's tables
are tilted,

.. math:: P'(x \mid u) \propto P(x \mid u) \, \frac{\hat P(x)}{P(x)}

until the marginals :math:`P` of the model are those of the rows, :math:`\hat P`.
"""

from __future__ import annotations

import numpy as np

from fspn.learn.slices import Slice
from fspn.model.marginals import NoMarginals, marginals, tilted
from fspn.model.nodes import Node

ROUNDS = 30
TOLERANCE = 0.005
STEEPEST = 20.0
PRIOR, MAX_PRIOR = 0.1, 0.002
"""The pseudo-count of every code, and what share of the rows they may come to together."""


def keep_marginals(root: Node, data: Slice) -> Node:
    """The model, tilted; as it is where it is no sum or product of narrow networks."""
    wanted = {v: _share(data, v) for v in range(len(data.domain))}
    for _ in range(ROUNDS):
        try:
            found = marginals(root)
        except NoMarginals:
            return root
        factors = {}
        for v, row in found.items():
            ratio = wanted[v] / np.maximum(row, 1e-300)
            if np.abs(ratio - 1.0)[wanted[v] * data.n_rows >= 0.5].max(initial=0.0) > TOLERANCE:
                factors[v] = np.clip(ratio, 1.0 / STEEPEST, STEEPEST)
        if not factors:
            break
        root = tilted(root, factors)
    return root


def _share(data: Slice, variable: int) -> np.ndarray:
    size = data.domain[variable].size
    prior = min(PRIOR, MAX_PRIOR * data.n_rows / size)
    counts = np.bincount(data.values(variable), minlength=size) + prior
    return counts / counts.sum()

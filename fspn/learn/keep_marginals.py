r"""Keeping the marginals of single columns.

Smoothing a table, or dependence between its parents that the network lacks, changes the marginal of
its column; long tails suffer most. So every column's tables are tilted,

.. math:: P'(x \mid u) \propto P(x \mid u) \left[ \frac{\hat P(x)}{P(x)} \right]^s

until the marginals :math:`P` of the model equal those of the data, :math:`\hat P`. Where the rows
of a table are nearly deterministic a tilt of power s = 1 changes little, so s grows while the
largest error falls and is reset to 1 when it does not. The best round is kept.
"""

from __future__ import annotations

import numpy as np

from fspn.learn.slices import Slice
from fspn.model.marginals import NoMarginals, marginals, settled_tables, tilted
from fspn.model.nodes import Node
from fspn.model.query_cost import query_cost

MOST_ROUNDS = 100
FEWEST_ROUNDS, MAX_CELLS = 30, 1 << 25
"""Large models get fewer rounds: as many as touch so many cells, but not fewer than the first."""
GROWTH, LARGEST_POWER = 1.15, 3.0
TOLERANCE = 0.005
STEEPEST = 20.0
PRIOR, MAX_PRIOR = 0.1, 0.002
"""The pseudo-count of every code, and what share of the rows they may come to together."""


def keep_marginals(root: Node, data: Slice) -> Node:
    """The tilted model; unchanged where it is no sum or product of narrow networks."""
    return settled_tables(_tilted_until_kept(root, data))


def _tilted_until_kept(root: Node, data: Slice) -> Node:
    wanted = {v: _share(data, v) for v in range(len(data.domain))}
    best, least, power = root, np.inf, 1.0
    for _ in range(_rounds(root, data)):
        try:
            found = marginals(root)
        except NoMarginals:
            return best
        ratios = {v: wanted[v] / np.maximum(row, 1e-300) for v, row in found.items()}
        errors = {v: _error(ratio, wanted[v] * data.n_rows) for v, ratio in ratios.items()}
        worst = max(errors.values())
        power = min(power * GROWTH, LARGEST_POWER) if worst < least else 1.0
        if worst < least:
            best, least = root, worst
        if worst <= TOLERANCE:
            break
        steps = {v: ratios[v] ** power for v, error in errors.items() if error > TOLERANCE}
        root = tilted(root, {v: np.clip(f, 1 / STEEPEST, STEEPEST) for v, f in steps.items()})
    return best


def _rounds(root: Node, data: Slice) -> int:
    cost = query_cost(root, [variable.size for variable in data.domain])
    return int(np.clip(MAX_CELLS / max(cost, 1.0), FEWEST_ROUNDS, MOST_ROUNDS))


def _error(ratio: np.ndarray, counts: np.ndarray) -> float:
    """The largest relative error of a marginal, over codes of at least half a row."""
    return float(np.abs(ratio - 1.0)[counts >= 0.5].max(initial=0.0))


def _share(data: Slice, variable: int) -> np.ndarray:
    size = data.domain[variable].size
    prior = min(PRIOR, MAX_PRIOR * data.n_rows / size)
    counts = np.bincount(data.values(variable), minlength=size) + prior
    return counts / counts.sum()

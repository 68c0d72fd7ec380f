r"""A mixture of cutset networks by expectation maximisation.

.. math:: P(x) = \sum_k \pi_k P_k(x), \qquad
          w_{ki} = n_i \left( r_{ki} + s / N \right), \quad r_{ki} = \pi_k P_k(x_i) / P(x_i)

Each step learns every network anew from the rows weighted by \(w_k\): its responsibilities, and s
rows of the whole table, towards which a component of few rows shrinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from baselines.base import Footprint
from baselines.clusters import soft_clusters
from baselines.cutset.network import Scored
from baselines.distinct import Distinct
from fspn.model import nodes as fspn

LEAST = 1e-3
"""Responsibilities below this count as none."""


@dataclass(frozen=True)
class Mixture:
    """Networks and their weights."""

    parts: tuple[Scored, ...]
    weights: np.ndarray

    def joint_scores(self, codes: np.ndarray) -> np.ndarray:
        """Logarithm of weight times probability of each row under each network."""
        logs = [part.log_scores(codes) for part in self.parts]
        return np.stack(logs, axis=1) + np.log(self.weights)

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities of rows."""
        return np.asarray(logsumexp(self.joint_scores(codes), axis=1))

    def fspn_root(self) -> fspn.Node:
        """The FSPN: one sum node over the networks."""
        return fspn.Sum(self.weights, tuple(part.fspn_root() for part in self.parts))

    def footprint(self) -> Footprint:
        """The networks and the sum node over them."""
        return Footprint.mixture([part.footprint() for part in self.parts])


def by_em(
    rows: Distinct,
    points: np.ndarray,
    learn: Callable[[np.ndarray], Scored],
    n_components: int,
    steps: int,
    strength: float,
    rng: np.random.Generator,
) -> Mixture:
    """The mixture after some steps of EM from random clusters of the rows.

    Arguments:
        rows: The training rows.
        points: Their indicators, by which they are clustered.
        learn: A network from the weights of the rows.
        n_components: Number of networks.
        steps: How often all networks are learned.
        strength: Rows of the whole table that every network gets besides its own.
        rng: Draws the first centres.
    """
    shares = soft_clusters(points, rows.weights, min(n_components, len(points)), rng)
    whole = rows.weights * (strength / rows.weights.sum())
    for step in range(steps):
        own = np.where(shares < LEAST, 0.0, shares) * rows.weights[:, None]
        sizes = own.sum(axis=0) + 1.0
        parts = tuple(learn(column + whole) for column in own.T)
        mixture = Mixture(parts, sizes / sizes.sum())
        if step + 1 < steps:
            logs = mixture.joint_scores(rows.codes)
            shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return mixture

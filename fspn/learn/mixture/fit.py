"""A sum node over networks on any coded table, or one network where that is enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fspn.learn.mixture.networks import LEAST_ROWS, Limits
from fspn.learn.mixture.screen import is_network, needs_classes
from fspn.learn.mixture.search import Found, find_components
from fspn.learn.mixture.trees import compact, draw_classes, normalised
from fspn.learn.slices import Slice
from fspn.model.nodes import Node, Sum
from fspn.model.score import row_scores

LEAST_GAIN = 0.01
"""Nats per held-out row that a sum node must bring: a row's share of what its queries cost."""
DEVIATIONS = 2.0
FULL_STEPS = 2


@dataclass(frozen=True)
class MixtureSettings:
    """What the learner of sum nodes is told.

    Arguments:
        n_components: The number of components; None = as many as held-out rows pay for.
        limits: What the networks of the search may have.
    """

    n_components: int | None
    limits: Limits


def learn_mixture(
    data: Slice,
    scope: Sequence[int],
    settings: MixtureSettings,
    learn_one: Callable[[Slice], Node],
    rng: np.random.Generator,
) -> Node:
    """One network, or a sum node over several where the rows are of several kinds.

    Arguments:
        data: The rows.
        scope: The variables.
        settings: What to do.
        learn_one: Learns the model of some rows; on all of them it gives the model of one
            component.
        rng: For the search of components; ``learn_one`` has its own.
    """
    one = learn_one(data)
    if settings.n_components == 1 or not is_network(one):
        return one
    if settings.n_components is None and not needs_classes(one, data, rng):
        return one
    try:
        found = find_components(data, scope, settings.limits, settings.n_components, rng)
        if len(found.mixture.components) == 1 or not _pays(found, settings):
            return one
        return _on_all_rows(data, scope, found, learn_one, rng)
    except KeyboardInterrupt:
        warnings.warn(
            "interrupted while looking for components: the model is a single network", stacklevel=2
        )
        return one


def _pays(found: Found, settings: MixtureSettings) -> bool:
    if settings.n_components is not None:
        return True
    return found.gain > max(LEAST_GAIN, DEVIATIONS * found.error)


def _on_all_rows(
    data: Slice,
    scope: Sequence[int],
    found: Found,
    learn_one: Callable[[Slice], Node],
    rng: np.random.Generator,
) -> Node:
    """Steps of EM with the full learner on all rows, from the components of the sample."""
    columns = {v: data.values(v) for v in scope}
    weights = found.mixture.weights
    nodes = [component.node for component in found.mixture.components]
    for _ in range(FULL_STEPS):
        logs = np.stack([row_scores(node, columns) for node in nodes], axis=1) + np.log(weights)
        classes = compact(draw_classes(normalised(logs), rng), LEAST_ROWS)
        parts = [data.take(classes == k) for k in range(int(classes.max()) + 1)]
        nodes = [learn_one(part) for part in parts]
        counts = np.array([part.n_rows for part in parts], dtype=np.float64)
        weights = counts / counts.sum()
    return nodes[0] if len(nodes) == 1 else Sum(weights, tuple(nodes))

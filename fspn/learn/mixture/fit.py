"""A sum node over networks on any coded table, or one network where that is enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np

from fspn.learn.gains import Gains
from fspn.learn.interrupt import Interrupt
from fspn.learn.leaves import NetworkSettings
from fspn.learn.mixture.columns import Regions
from fspn.learn.mixture.networks import LEAST_ROWS, NetworkMixture
from fspn.learn.mixture.screen import is_network, needs_classes
from fspn.learn.mixture.search import find_components
from fspn.learn.mixture.split import best_regions
from fspn.learn.mixture.trees import compact, draw_classes, normalised
from fspn.learn.paper import Learner, Settings, product_of
from fspn.learn.slices import Slice
from fspn.model.nodes import Node, Product, Sum
from fspn.model.query_cost import query_cost
from fspn.model.score import row_scores

FULL_STEPS = 2
LEAST_GRADED = 0.01
"""Nats a row that graded laws must have gained in the one network to be tried in regions of it."""


@dataclass(frozen=True)
class MixtureSettings:
    """The settings of the learner of sum nodes.

    Arguments:
        n_components: The number of components; None = chosen on held-out rows.
        limits: The bounds on the networks of the search.
        interrupt: Told where the keyboard ends the search; nothing is searched after that.
    """

    n_components: int | None
    limits: NetworkSettings
    interrupt: Interrupt = field(default_factory=Interrupt, compare=False)


def learn_mixture(
    data: Slice,
    scope: Sequence[int],
    settings: MixtureSettings,
    branches: Settings,
    rng: np.random.Generator,
    report: Callable[[int], None] = lambda _: None,
    gains: Gains | None = None,
) -> Node:
    """One network, or a sum node over several where the rows are of several kinds.

    Classes that no column records are looked for first, then the regions of a column.

    If interrupted from the keyboard after the network of all rows is learned, that is the model.

    Arguments:
        data: The rows.
        scope: The variables.
        settings: How to learn.
        branches: The settings of the learner of the children.
        rng: The only source of randomness.
        report: Called with the number of (row, variable) cells that are done, each one twice.
        gains: Filled with what tables and sum nodes gained.
    """
    own_gains = Gains()
    root = _learned(data, scope, settings, branches, rng, report, own_gains)
    if gains is not None:
        _add(gains, own_gains)
    return root


def _add(gains: Gains, found: Gains) -> None:
    """Add the gains of one part of the rows to those of others."""
    for variable, tables in found.tables.items():
        gains.tables.setdefault(variable, []).extend(tables)
    for scope, nats in found.sums.items():
        gains.sums[scope] = gains.sums.get(scope, 0.0) + nats


def _learned(
    data: Slice,
    scope: Sequence[int],
    settings: MixtureSettings,
    branches: Settings,
    rng: np.random.Generator,
    report: Callable[[int], None],
    gains: Gains,
) -> Node:
    one = Learner(branches, rng, report, gains).learn(data, scope)
    if settings.interrupt.asked:
        return one
    try:
        by_parts = _mixed_parts(data, settings, one, branches, rng, gains)
        if by_parts is not None:
            report(data.n_rows * len(scope))
            return by_parts
        found = _components(data, scope, settings, one, rng, report)
        if found is not None:
            return _on_all_rows(data, scope, found, branches, rng, one, gains)
        if branches.trees and settings.n_components is None:
            (own,) = deepcopy(rng).spawn(1)  # Where none pays, all is as if none had been tried.
            # Graded laws take half of the time of a search: they are tried where they gained.
            gained = gains.per_row(data.n_rows).get("graded", 0.0)
            inner = replace(branches, graded=branches.graded and gained > LEAST_GRADED)
            limits = inner.network(branches.max_cost)
            regions = best_regions(data, scope, limits, one, own)
            if regions is not None:
                return _by_regions(data, scope, regions, inner, own, one, gains)
        return one
    except KeyboardInterrupt:
        settings.interrupt.asked = True
        warnings.warn(
            "interrupted while looking for components: the model is a single network", stacklevel=2
        )
        return one


def _mixed_parts(
    data: Slice,
    settings: MixtureSettings,
    one: Node,
    branches: Settings,
    rng: np.random.Generator,
    gains: Gains,
) -> Node | None:
    """A product node whose children have sum nodes of their own; None where none pays.

    Columns of different children are independent: classes of one say nothing about another, and a
    sum node above the product would need a component for every combination of them.
    """
    parts = one.children if isinstance(one, Product) else ()
    mixed = [i for i, part in enumerate(parts) if len(part.scope) > 2]
    if len(mixed) < 2 or settings.n_components is not None:
        return None
    (rng,) = deepcopy(rng).spawn(1)  # Where no part pays, all goes on as if none had been tried.
    found = list(parts)
    sizes = [v.size for v in data.domain.variables]
    left = branches.max_cost - query_cost(one, sizes)
    for i in mixed:
        own, cost = sorted(parts[i].scope), query_cost(parts[i], sizes)
        share = cost + left / len(mixed)
        limits = replace(settings.limits, max_cost=share)
        mixture = _components(
            data, own, replace(settings, limits=limits), parts[i], rng, lambda _: None
        )
        if mixture is not None:
            inner = replace(branches, max_cost=share)
            found[i] = _on_all_rows(data, own, mixture, inner, rng, parts[i], gains)
    gained = any(new is not old for new, old in zip(found, parts, strict=True))
    return product_of(found) if gained else None


def _components(
    data: Slice,
    scope: Sequence[int],
    settings: MixtureSettings,
    one: Node,
    rng: np.random.Generator,
    report: Callable[[int], None],
) -> NetworkMixture | None:
    """The components on a sample of the rows; None where one network is enough."""
    cells = data.n_rows * len(scope)
    if settings.n_components == 1 or len(scope) < 2 or not is_network(one):
        report(cells)
        return None
    if settings.n_components is None and not needs_classes(one, data, rng):
        report(cells)
        return None
    done = 0

    def share(part: float) -> None:
        nonlocal done
        report(int(part * cells) - done)
        done = int(part * cells)

    found = find_components(data, scope, settings.limits, settings.n_components, one, rng, share)
    pays = settings.n_components is not None or found.pays
    return found.mixture if pays and len(found.mixture.components) > 1 else None


def _on_all_rows(
    data: Slice,
    scope: Sequence[int],
    mixture: NetworkMixture,
    branches: Settings,
    rng: np.random.Generator,
    one: Node,
    gains: Gains,
) -> Node:
    """Steps of EM with the full learner on all rows, from the components of the sample."""
    columns = {v: data.values(v) for v in scope}
    weights = mixture.weights
    nodes = [component.node for component in mixture.components]
    share = branches.max_cost / len(nodes)
    learner = Learner(replace(branches, max_cost=share), rng, lambda _: None)
    for _ in range(FULL_STEPS):
        learner.gains = Gains()
        logs = np.stack([row_scores(node, columns) for node in nodes], axis=1) + np.log(weights)
        classes = compact(draw_classes(normalised(logs), rng), LEAST_ROWS)
        parts = [data.take(classes == k) for k in range(int(classes.max()) + 1)]
        nodes = [learner.learn(part, scope) for part in parts]
        counts = np.array([part.n_rows for part in parts], dtype=np.float64)
        weights = counts / counts.sum()
    gains.replace(scope, learner.gains)
    if len(nodes) == 1:
        return nodes[0]
    root = Sum(weights, tuple(nodes))
    gains.add_sum(scope, root, one, data)
    return root


def _by_regions(
    data: Slice,
    scope: Sequence[int],
    regions: Regions,
    branches: Settings,
    rng: np.random.Generator,
    one: Node,
    gains: Gains,
) -> Node:
    """One network per region of a column; they share the bounds on what a query costs."""
    k, classes = len(regions), regions.classes(data)
    cells = max(1, branches.max_cells // k)
    narrow = replace(branches, max_cells=cells, max_cost=branches.max_cost / k)
    learner = Learner(narrow, rng, lambda _: None, Gains())
    parts = [data.take(classes == region) for region in range(k)]
    nodes = [learner.learn(part, scope) for part in parts]
    gains.replace(scope, learner.gains)
    root = Sum(np.array([part.n_rows for part in parts]) / data.n_rows, tuple(nodes))
    gains.add_sum(scope, root, one, data)
    return root

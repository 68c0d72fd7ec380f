"""From the estimator's parameters to the settings of each learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fspn.learn.dependence.rdc import ORACLES, RDC, Oracle
from fspn.learn.leaves import LeafSettings, NetworkSettings
from fspn.learn.mixture.fit import MixtureSettings
from fspn.learn.paper import Settings
from fspn.learn.parameters import Parameters
from fspn.learn.partition import CLUSTERS, SPLITS
from fspn.learn.pools.family import STRENGTHS, Limits
from fspn.learn.pools.fit import PoolSettings
from fspn.learn.presets import FitReals
from fspn.model.leaves.continuous import fit_continuous, fit_family
from fspn.model.leaves.registry import learned_from_reals
from fspn.schema.domain import Domain

MAX_PARENTS, MAX_CELLS = 4, 300_000
POOL_MAX_PARENTS, POOL_MAX_CELLS = 16, 2**16


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` of any of scikit-learn's forms stands for."""
    try:
        return int(check_random_state(random_state).randint(2**31))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} must be None, a whole number of at least 0 and below "
            "2^32, or a numpy RandomState"
        ) from error


def resolve(params: Parameters, n_rows: int, seed: int) -> Settings:
    """The settings of Learn-FSPN; None is the preset's own value."""
    tau_low, tau_high = params.thresholds
    return Settings(
        tau_low=tau_low,
        tau_high=tau_high,
        min_rows=_whole_or(params.min_rows, max(50, n_rows // 100)),
        alpha=None if params.alpha is None else float(params.alpha),
        oracle=_oracle(params, seed),
        cluster=_by_name(params.cluster, CLUSTERS),
        split=_by_name(params.split, SPLITS),
        group=params.group_or_own,
        leaves=_leaves(params),
        n_clusters=int(params.n_clusters),
        max_parents=_whole_or(params.max_parents, MAX_PARENTS),
        max_cells=_max_cells(params, MAX_CELLS),
        max_cost=_max_cost(params),
        offsets=params.own.tables and bool(params.offsets),
        graded=params.own.tables and bool(params.graded),
        trees=params.own.tables and bool(params.trees),
        triples=params.by_score,
    )


def resolve_pools(params: Parameters) -> PoolSettings | None:
    """Settings of sums over networks of pools; None where the parameters exclude them.

    They have no thresholds, no oracle and no split nodes, so they are of the default recipe only.
    """
    if not params.by_score:
        return None
    limits = Limits(
        max_parents=_whole_or(params.max_parents, POOL_MAX_PARENTS),
        max_cells=_max_cells(params, POOL_MAX_CELLS),
        strengths=STRENGTHS if params.alpha is None else (float(params.alpha),),
    )
    return PoolSettings(params.n_components, limits, _max_cost(params))


def resolve_mixture(params: Parameters, settings: Settings) -> MixtureSettings | None:
    """Settings of the sum nodes by EM; None where thresholds or an oracle rule the branches."""
    if not params.by_score:
        return None
    limits = NetworkSettings(
        max_parents=min(settings.max_parents, 2),
        max_cells=settings.max_cells,
        max_cost=settings.max_cost,
        alpha=settings.alpha,
        offsets=settings.offsets,
    )
    return MixtureSettings(params.n_components, limits)


def share_cost(
    settings: Settings, mixture: MixtureSettings | None, domain: Domain, n_parts: int
) -> tuple[Settings, MixtureSettings | None]:
    """The settings of each of several parts that share the bound on the query cost.

    Raises:
        ValueError: where even independent columns cost more.
    """
    if settings.max_cost == np.inf or mixture is None:
        return settings, mixture
    least = n_parts * (mixture.n_components or 1) * sum(v.size for v in domain)
    if least > settings.max_cost:
        raise ValueError(
            f"max_query_cost={settings.max_cost:.0f} is too little: the columns alone have {least} "
            "cells (times the components, and the patterns of missing values); allow more, or "
            "choose a smaller max_bins or n_components"
        )
    share = settings.max_cost / n_parts
    limits = replace(mixture.limits, max_cost=share)
    return replace(settings, max_cost=share), replace(mixture, limits=limits)


def _max_cells(params: Parameters, own: int) -> int:
    """The bound on one intermediate result; where only their sum is bounded, that bound."""
    if params.max_cells is None and params.max_query_cost is not None:
        return int(params.max_query_cost)
    return _whole_or(params.max_cells, own)


def _max_cost(params: Parameters) -> float:
    return np.inf if params.max_query_cost is None else float(params.max_query_cost)


def _leaves(params: Parameters) -> LeafSettings:
    wanted = params.multi_leaf
    return LeafSettings(
        multi_leaf=params.own.multi_leaf if wanted == "auto" else wanted,
        alpha=0.1 if params.alpha is None else float(params.alpha),
        reals=_reals(params),
        offsets=params.own.tables and bool(params.offsets),
    )


def _reals(params: Parameters) -> FitReals:
    """How a column of reals is fitted: by the preset, by BIC over all families, or by one."""
    if params.uni_leaf is None:
        return params.own.reals
    if params.uni_leaf == "auto":
        return fit_continuous
    families = {family.family: family for family in learned_from_reals()}
    return partial(fit_family, families[params.uni_leaf])


def _oracle(params: Parameters, seed: int) -> Oracle:
    oracle = _by_name(params.own.oracle if params.oracle is None else params.oracle, ORACLES)
    if oracle is RDC:
        return RDC(seed=seed)
    return oracle() if isinstance(oracle, type) else oracle


def _by_name(plugin: Any, known: Mapping[str, Any]) -> Any:
    """A plug-in by name, or the object itself."""
    return known[plugin] if isinstance(plugin, str) else plugin


def _whole_or(value: int | None, own: int) -> int:
    return own if value is None else int(value)

"""The two recipes: the project's default learner, and the paper's, literally."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fspn.learn.binary.evidence import STRENGTHS
from fspn.learn.binary.fit import BinarySettings
from fspn.learn.binary.structure import Limits
from fspn.learn.dependence.rdc import ORACLES, RDC, Oracle
from fspn.learn.leaves import LeafSettings, multi_leaf_names
from fspn.learn.mixture.fit import MixtureSettings
from fspn.learn.mixture.networks import Limits as NetworkLimits
from fspn.learn.paper import Settings
from fspn.learn.partition import CLUSTERS, SPLITS
from fspn.model.leaves.base import Univariate
from fspn.model.leaves.continuous import fit_continuous, fit_family, fit_gaussians
from fspn.model.leaves.registry import learned_from_reals

MAX_PARENTS, MAX_CELLS = 4, 300_000
BINARY_MAX_PARENTS, BINARY_MAX_CELLS = 8, 2**12


@dataclass(frozen=True)
class Preset:
    """What an option that the user left at None stands for.

    Arguments:
        tau_low: Below it, independent.
        tau_high: From it on, highly correlated.
        oracle: The independence oracle.
        group: How a highly correlated group is modelled.
        multi_leaf: What ``"auto"`` stands for among multi-leaves.
        reals: Fits the density of a column of reals.
        bins: Whether reals and columns of many values are handled in cells.
        offsets: Whether laws of integers exist at all.
        graded: Whether laws of ordered codes do.
        trees: Whether decision trees do.
        foreign: The parameters that are not the preset's, each with what it is there for.
    """

    tau_low: float
    tau_high: float
    oracle: str
    group: str
    multi_leaf: str
    reals: Callable[[np.ndarray, float, int], Univariate]
    bins: bool
    offsets: bool
    graded: bool
    trees: bool
    foreign: Mapping[str, str]


# The paper's multi-leaves: a multi-dimensional Dirichlet; a Gaussian mixture where there are reals.
PRESETS = {
    "default": Preset(
        tau_low=0.0,
        tau_high=0.0,
        oracle="corrected",
        group="tables",
        multi_leaf="auto",
        reals=fit_continuous,
        bins=True,
        offsets=True,
        graded=True,
        trees=True,
        foreign={},
    ),
    "paper": Preset(
        tau_low=0.3,
        tau_high=0.7,
        oracle="rdc",
        group="split",
        multi_leaf="joint",
        reals=fit_gaussians,
        bins=False,
        offsets=False,
        graded=False,
        trees=False,
        foreign={
            "max_parents": "bounds the tables",
            "max_cells": "bounds the width of the tables",
            "n_components": "is the number of networks under the root",
        },
    ),
}


def preset_of(name: str) -> Preset:
    """A preset by name."""
    _check_choice("preset", name, tuple(sorted(PRESETS)))
    return PRESETS[name]


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` of any of scikit-learn's forms stands for."""
    try:
        return int(check_random_state(random_state).randint(2**31))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} must be None, a whole number of at least 0 and below "
            "2^32, or a numpy RandomState"
        ) from error


def check_params(params: Mapping[str, Any]) -> None:
    """Refuse what :func:`resolve` does not look at."""
    if not isinstance(params["kinds"], Mapping | None):
        raise ValueError(
            f"kinds={params['kinds']!r} must be a dictionary {{column: kind}} (or None)"
        )
    for name in ("offsets", "graded", "trees", "verbose"):
        if not isinstance(params[name], bool | np.bool_ | int):
            raise ValueError(f"{name}={params[name]!r} must be True or False")
    _whole("n_jobs", params["n_jobs"], 1)
    if params["max_bins"] is not None:
        _whole("max_bins", params["max_bins"], 2)
    if params["n_components"] is not None:
        _whole("n_components", params["n_components"], 1)


def resolve(params: Mapping[str, Any], n_rows: int, seed: int) -> Settings:
    """Checked settings from the estimator's parameters; None is the preset's own value."""
    preset = preset_of(params["preset"])
    _refuse_foreign(params, preset)
    tau_low, tau_high = thresholds_of(params, preset)
    wanted = params["oracle"]
    oracle = _plugin("oracle", preset.oracle if wanted is None else wanted, ORACLES)
    if not hasattr(oracle, "matrix"):
        raise ValueError(f"oracle={wanted!r} must be a name or an object with a method matrix")
    group = preset.group if params["group"] is None else params["group"]
    _check_choice("group", group, ("tables", "split"))
    _check_choice("multi_leaf", params["multi_leaf"], multi_leaf_names())
    alpha = params["alpha"]
    if alpha is not None and not (_is_number(alpha) and alpha > 0):
        raise ValueError(f"alpha={alpha!r} must be a positive number (or None)")
    return Settings(
        tau_low=tau_low,
        tau_high=tau_high,
        min_rows=_min_rows(params["min_rows"], n_rows),
        alpha=None if alpha is None else float(alpha),
        oracle=_instance(oracle, seed),
        cluster=_function("cluster", params["cluster"], CLUSTERS),
        split=_function("split", params["split"], SPLITS),
        group=group,
        leaves=_leaves(params, preset),
        n_clusters=_whole("n_clusters", params["n_clusters"], 1),
        max_parents=_whole_or("max_parents", params["max_parents"], MAX_PARENTS),
        max_cells=_whole_or("max_cells", params["max_cells"], MAX_CELLS),
        offsets=preset.offsets and bool(params["offsets"]),
        graded=preset.graded and bool(params["graded"]),
        trees=preset.trees and bool(params["trees"]),
    )


def _leaves(params: Mapping[str, Any], preset: Preset) -> LeafSettings:
    wanted, alpha = params["multi_leaf"], params["alpha"]
    return LeafSettings(
        multi_leaf=preset.multi_leaf if wanted == "auto" else wanted,
        alpha=0.1 if alpha is None else float(alpha),
        reals=_reals(params["uni_leaf"], preset),
        offsets=preset.offsets and bool(params["offsets"]),
    )


def _reals(wanted: str | None, preset: Preset) -> Callable[[np.ndarray, float, int], Univariate]:
    """How a column of reals is fitted: by the preset, by BIC over all families, or by one."""
    if wanted is None:
        return preset.reals
    if preset.bins:
        raise ValueError(
            f"uni_leaf={wanted!r} is for preset='paper': the default one has cells for reals"
        )
    families = {family.family: family for family in learned_from_reals()}
    _check_choice("uni_leaf", wanted, ("auto", *sorted(families)))
    if wanted == "auto":
        return fit_continuous
    return partial(fit_family, families[wanted])


def _refuse_foreign(params: Mapping[str, Any], preset: Preset) -> None:
    """Refuse parameters that would do nothing, or bring in what the preset does without."""
    name = params["preset"]
    for key, purpose in preset.foreign.items():
        if params[key] not in (None, 1 if key == "n_components" else None):
            raise ValueError(
                f"{key}={params[key]!r} is no parameter of preset={name!r}: it {purpose} of "
                f"preset='default'; leave it at None, or choose that preset"
            )
    if preset.foreign and params["group"] == "tables":
        raise ValueError(
            f"group='tables' is not for preset={name!r}, whose groups are split nodes over "
            "multi-leaves; choose preset='default' for tables"
        )


def resolve_binary(params: Mapping[str, Any]) -> BinarySettings | None:
    """Settings of the learner of two-valued columns; None where the parameters exclude it.

    It has no thresholds, no oracle and no split nodes, so it stands in for the default recipe only.
    """
    if not _by_score(params):
        return None
    max_cells = _whole_or("max_cells", params["max_cells"], BINARY_MAX_CELLS)
    limits = Limits(
        max_parents=_whole_or("max_parents", params["max_parents"], BINARY_MAX_PARENTS),
        width=max(2, max_cells.bit_length() - 1),
        strengths=STRENGTHS if params["alpha"] is None else (float(params["alpha"]),),
    )
    return BinarySettings(params["n_components"], limits)


def resolve_mixture(params: Mapping[str, Any], settings: Settings) -> MixtureSettings | None:
    """Settings of the sum nodes by EM; None where thresholds or an oracle rule the branches."""
    if not _by_score(params):
        return None
    limits = NetworkLimits(
        max_parents=min(settings.max_parents, 2),
        max_cells=settings.max_cells,
        alpha=settings.alpha,
        offsets=settings.offsets,
    )
    return MixtureSettings(params["n_components"], limits)


def _by_score(params: Mapping[str, Any]) -> bool:
    """Whether no threshold, oracle or split node is asked for, so that scores choose branches."""
    preset = preset_of(params["preset"])
    group = preset.group if params["group"] is None else params["group"]
    plain = group == "tables" and params["oracle"] is None
    return plain and thresholds_of(params, preset) == (0, 0)


def thresholds_of(params: Mapping[str, Any], preset: Preset) -> tuple[float, float]:
    """tau_low and tau_high, the preset's own where they are None."""
    for name in ("tau_low", "tau_high"):
        value = params[name]
        if value is not None and not (_is_number(value) and value >= 0):
            raise ValueError(f"{name}={value!r} must be a finite number of at least 0 (or None)")
    low, high = params["tau_low"], params["tau_high"]
    if low is not None and high is not None and low > high:
        raise ValueError(
            f"tau_low={low} is above tau_high={high}: variables would be independent and highly "
            "correlated at once; choose tau_low <= tau_high"
        )
    # One threshold alone moves the other's default out of its way.
    tau_low = (
        low if low is not None else min(preset.tau_low, preset.tau_low if high is None else high)
    )
    tau_high = high if high is not None else max(preset.tau_high, tau_low)
    return float(tau_low), float(tau_high)


def _min_rows(wanted: int | None, n_rows: int) -> int:
    """By default 1% of the rows, and at least 50."""
    return max(50, n_rows // 100) if wanted is None else _whole("min_rows", wanted, 1)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number of at least {least}")
    return int(value)


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float | np.integer | np.floating)
    return real and not isinstance(value, bool) and bool(np.isfinite(value))


def _whole_or(name: str, value: Any, preset: int) -> int:
    return preset if value is None else _whole(name, value, 1)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name}={value!r} is not one of {choices}")


def _plugin(name: str, value: Any, known: Mapping[str, Any]) -> Any:
    """A plug-in by name, or the object itself."""
    if isinstance(value, str):
        _check_choice(name, value, tuple(known))
        return known[value]
    return value


def _function(name: str, value: Any, known: Mapping[str, Any]) -> Any:
    found = _plugin(name, value, known)
    if not callable(found):
        raise ValueError(f"{name}={value!r} must be one of {tuple(known)} or a function")
    return found


def _instance(oracle: Any, seed: int) -> Oracle:
    if oracle is RDC:
        return RDC(seed=seed)
    return oracle() if isinstance(oracle, type) else oracle

"""The two recipes: the project's default learner, and the paper's, literally."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fspn.dependence import ORACLES, RDC, Oracle
from fspn.leaf_fit import MULTI_LEAVES
from fspn.learn import Settings
from fspn.partition import CLUSTERS, SPLITS


@dataclass(frozen=True)
class Preset:
    """What an option that the user left at None stands for.

    Arguments:
        tau_low: Below it, independent.
        tau_high: From it on, highly correlated.
        oracle: The independence oracle.
        group: How a highly correlated group is modelled.
        bins: Whether continuous variables are handled in cells.
    """

    tau_low: float
    tau_high: float
    oracle: str
    group: str
    bins: bool


PRESETS = {
    "default": Preset(0.0, 0.0, "corrected", "tables", bins=True),
    "paper": Preset(0.3, 0.7, "rdc", "split", bins=False),
}


def preset_of(name: str) -> Preset:
    """A preset by name."""
    if name not in PRESETS:
        raise ValueError(f"preset={name!r} is not one of {sorted(PRESETS)}")
    return PRESETS[name]


def resolve(params: Mapping[str, Any], n_rows: int, seed: int) -> Settings:
    """Checked settings from the estimator's parameters; None is the preset's own value."""
    preset = preset_of(params["preset"])
    tau_low, tau_high = _thresholds(params, preset)
    oracle = _plugin("oracle", params["oracle"] or preset.oracle, ORACLES)
    group = params["group"] or preset.group
    _check_choice("group", group, ("tables", "split"))
    _check_choice("multi_leaf", params["multi_leaf"], MULTI_LEAVES)
    alpha = params["alpha"]
    if alpha is not None and not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha={alpha!r} must be a positive number (or None)")
    return Settings(
        tau_low=tau_low,
        tau_high=tau_high,
        min_rows=_min_rows(params["min_rows"], n_rows),
        alpha=alpha,
        oracle=_instance(oracle, seed),
        cluster=_plugin("cluster", params["cluster"], CLUSTERS),
        split=_plugin("split", params["split"], SPLITS),
        group=group,
        multi_leaf=params["multi_leaf"],
        n_clusters=_whole("n_clusters", params["n_clusters"], 1),
        max_parents=_whole("max_parents", params["max_parents"], 1),
        max_cells=_whole("max_cells", params["max_cells"], 1),
        offsets=bool(params["offsets"]),
    )


def _thresholds(params: Mapping[str, Any], preset: Preset) -> tuple[float, float]:
    for name in ("tau_low", "tau_high"):
        value = params[name]
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name}={value!r} must be a finite number of at least 0")
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


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not one of {choices}")


def _plugin(name: str, value: Any, known: Mapping[str, Any]) -> Any:
    """A plug-in by name, or the object itself."""
    if isinstance(value, str):
        _check_choice(name, value, tuple(known))
        return known[value]
    return value


def _instance(oracle: Any, seed: int) -> Oracle:
    if oracle is RDC:
        return RDC(seed=seed)
    return oracle() if isinstance(oracle, type) else oracle

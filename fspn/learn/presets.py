"""The two recipes: the project's default learner, and the paper's, literally."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fspn.model.leaves.base import Univariate
from fspn.model.leaves.continuous import fit_continuous, fit_gaussians

FitReals = Callable[[np.ndarray, float, int], Univariate]


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
        tables: Whether tables, integer-linear laws and the root sum node by EM exist at all.
    """

    tau_low: float
    tau_high: float
    oracle: str
    group: str
    multi_leaf: str
    reals: FitReals
    bins: bool
    tables: bool


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
        tables=True,
    ),
    "paper": Preset(
        tau_low=0.3,
        tau_high=0.7,
        oracle="rdc",
        group="split",
        multi_leaf="joint",
        reals=fit_gaussians,
        bins=False,
        tables=False,
    ),
}

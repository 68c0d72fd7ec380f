"""The estimator's parameters: checked one by one, and refused where they would do nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fspn.learn.dependence.rdc import ORACLES
from fspn.learn.leaves import multi_leaf_names
from fspn.learn.partition import CLUSTERS, SPLITS
from fspn.learn.presets import PRESETS, Preset
from fspn.model.leaves.registry import learned_from_reals

AT_LEAST = {
    "n_jobs": 1,
    "n_clusters": 1,
    "min_rows": 1,
    "max_parents": 1,
    "max_cells": 1,
    "max_query_cost": 1,
    "n_components": 1,
    "max_bins": 2,
}
"""The parameters that are whole numbers, each with the smallest."""

NO_SUM_NODE = {"n_clusters": 1, "n_components": 1}
"""Never refused: they ask for what is so anyway, and scikit-learn's own checks set them."""


@dataclass(frozen=True)
class Parameters:
    """The estimator's parameters; see :class:`fspn.FSPN` for each. None = the preset's own.

    Making one checks it: a ValueError names the parameter and says what it may be, or, where it
    would do nothing, which preset or other setting uses it.
    """

    tau_low: float | None = None
    tau_high: float | None = None
    preset: str = "default"
    min_rows: int | None = None
    alpha: float | None = None
    oracle: Any = None
    cluster: Any = "kmeans"
    split: Any = "greedy"
    group: str | None = None
    multi_leaf: str = "auto"
    uni_leaf: str | None = None
    n_clusters: int = 2
    max_parents: int | None = None
    max_cells: int | None = None
    max_query_cost: int | None = None
    max_bins: int | None = None
    n_components: int | None = None
    offsets: bool = True
    graded: bool = True
    trees: bool = True
    kinds: Mapping[Hashable, Any] | None = None
    n_jobs: int = 1
    random_state: Any = 0
    verbose: bool = False

    @classmethod
    def of(cls, estimator: Any) -> Parameters:
        """The parameters of an estimator that has them as attributes."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_numbers()
        thresholds_of(self.preset, self.tau_low, self.tau_high)
        if not isinstance(self.kinds, Mapping | None):
            raise ValueError(
                f"kinds={self.kinds!r} must be a dictionary {{column: kind}} (or None)"
            )
        self._refuse_idle()

    @property
    def own(self) -> Preset:
        """The preset."""
        return PRESETS[self.preset]

    @property
    def thresholds(self) -> tuple[float, float]:
        """tau_low and tau_high, the preset's own where they are None."""
        return thresholds_of(self.preset, self.tau_low, self.tau_high)

    @property
    def group_or_own(self) -> str:
        """How a highly correlated group is modelled."""
        return self.own.group if self.group is None else self.group

    @property
    def by_score(self) -> bool:
        """Whether scores choose the branches: no threshold, oracle or split node is asked for."""
        tables = self.group_or_own == "tables"
        return tables and self.oracle is None and self.thresholds == (0, 0)

    def _check_choices(self) -> None:
        check_choice("preset", self.preset, tuple(sorted(PRESETS)))
        check_choice("multi_leaf", self.multi_leaf, multi_leaf_names())
        if self.group is not None:
            check_choice("group", self.group, ("tables", "split"))
        if self.uni_leaf is not None:
            families = sorted(family.family for family in learned_from_reals())
            check_choice("uni_leaf", self.uni_leaf, ("auto", *families))
        if isinstance(self.oracle, str):
            check_choice("oracle", self.oracle, tuple(ORACLES))
        elif self.oracle is not None and not hasattr(self.oracle, "matrix"):
            raise ValueError(
                f"oracle={self.oracle!r} must be a name or an object with a method matrix"
            )
        for name, value, known in (
            ("cluster", self.cluster, tuple(CLUSTERS)),
            ("split", self.split, tuple(SPLITS)),
        ):
            if isinstance(value, str):
                check_choice(name, value, known)
            elif not callable(value):
                raise ValueError(f"{name}={value!r} must be one of {known} or a function")

    def _check_numbers(self) -> None:
        for name, least in AT_LEAST.items():
            value = getattr(self, name)
            if value is None and _default(name) is None:
                continue
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number of at least {least}")
        if self.alpha is not None and not (is_number(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha={self.alpha!r} must be a positive number (or None)")
        for name in ("offsets", "graded", "trees", "verbose"):
            if not isinstance(getattr(self, name), bool | np.bool_ | int):
                raise ValueError(f"{name}={getattr(self, name)!r} must be True or False")

    def _refuse_idle(self) -> None:
        """Refuse what was given and would do nothing, or bring in what the preset does without."""
        if self.group == "tables" and not self.own.tables:
            raise ValueError(
                f"group='tables' is not for preset={self.preset!r}, whose groups are split nodes "
                "over multi-leaves; choose preset='default' for tables"
            )
        for name, users in self._idle():
            value, default = getattr(self, name), _default(name)
            if value not in (default, NO_SUM_NODE.get(name, default)):
                raise ValueError(
                    f"{name}={value!r} does nothing here (preset={self.preset!r}): it is for "
                    f"{users}; leave it at {default!r}, or choose these"
                )

    def _idle(self) -> Iterator[tuple[str, str]]:
        """The parameters that do nothing, each with what would use it.

        Where tau_low = tau_high <= 1, dependent variables are a group at once: no rows are
        clustered, and what a group leaves does not matter to it, so that nothing is split.
        """
        low, high = self.thresholds
        groups = high <= 1
        splits = groups and self.group_or_own == "split"
        if groups and low == high:
            users = "sum nodes by clusters (tau_low < tau_high, as in preset='paper')"
            yield from ((name, users) for name in ("min_rows", "cluster", "n_clusters"))
        if not splits or low == high:
            users = "split nodes (group='split' and tau_low < tau_high <= 1, as in preset='paper')"
            yield "split", users
        if not splits:
            users = "multi-leaves (group='split' and tau_high <= 1, as in preset='paper')"
            yield "multi_leaf", users
        if not groups:
            yield "group", "highly correlated groups (tau_high <= 1)"
        if not (groups and self.own.tables and self.group_or_own == "tables"):
            users = "tables (preset='default', group='tables' and tau_high <= 1)"
            yield from ((name, users) for name in ("max_parents", "max_cells"))
        if not self.by_score:
            users = "preset='default' with its own thresholds, oracle and group"
            yield from ((name, users) for name in ("n_components", "max_query_cost"))
        if not self.own.tables:
            yield "offsets", "laws of integers (preset='default')"
            yield "graded", "laws of ordered codes (preset='default')"
            yield "trees", "tables that are decision trees (preset='default')"
        if self.own.bins:
            yield "uni_leaf", "columns of reals without cells (preset='paper')"


def thresholds_of(
    preset: str, low: float | None = None, high: float | None = None
) -> tuple[float, float]:
    """tau_low and tau_high, the preset's own where they are None."""
    for name, value in (("tau_low", low), ("tau_high", high)):
        if value is not None and not (is_number(value) and value >= 0):
            raise ValueError(f"{name}={value!r} must be a finite number of at least 0 (or None)")
    if low is not None and high is not None and low > high:
        raise ValueError(
            f"tau_low={low} is above tau_high={high}: variables would be independent and highly "
            "correlated at once; choose tau_low <= tau_high"
        )
    own = PRESETS[preset]
    # One threshold alone moves the other's default out of its way.
    tau_low = low if low is not None else own.tau_low if high is None else min(own.tau_low, high)
    tau_high = high if high is not None else max(own.tau_high, tau_low)
    return float(tau_low), float(tau_high)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is no name among the choices."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name}={value!r} is not one of {choices}")


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number."""
    real = isinstance(value, int | float | np.integer | np.floating)
    return real and not isinstance(value, bool) and bool(np.isfinite(value))


def _default(name: str) -> Any:
    return getattr(Parameters, name)

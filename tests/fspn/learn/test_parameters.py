"""Parameters that would do nothing are refused, with what would use them."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fspn import FSPN
from fspn.learn.parameters import Parameters

TABLE = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (60, 3)), columns=list("abc"))
OWN = {"min_rows": 20, "cluster": lambda *_: None, "n_clusters": 3}
SPLIT = {"split": "kmeans_grid"}
LEAF = {"multi_leaf": "tree"}
TABLES = {"max_parents": 2, "max_cells": 500}
IDLE = [
    ({}, OWN | SPLIT | LEAF, "preset='paper'"),
    ({"oracle": "rdc"}, OWN | SPLIT | LEAF | {"n_components": 2}, "preset="),
    ({"tau_low": 0.4, "tau_high": 0.4}, OWN | SPLIT | LEAF, "preset='paper'"),
    ({"group": "split"}, OWN | SPLIT, "tau_low < tau_high"),
    ({"group": "split"}, TABLES | {"n_components": 2}, "preset='default'"),
    ({"tau_low": 0.1, "tau_high": 0.5}, SPLIT | LEAF, "group='split'"),
    ({"tau_low": 0.1, "tau_high": 0.5}, {"n_components": 2}, "its own thresholds"),
    ({"tau_low": 0.1, "tau_high": 1.1}, SPLIT | LEAF | TABLES, "tau_high <= 1"),
    ({"tau_low": 0.1, "tau_high": 1.1}, {"group": "split"}, "tau_high <= 1"),
    ({"preset": "paper"}, TABLES | {"n_components": 3, "offsets": False}, "preset='default'"),
    ({"preset": "paper", "tau_high": 1.1}, SPLIT | LEAF, "tau_high <= 1"),
    ({"uni_leaf": None}, {"uni_leaf": "auto"}, "preset='paper'"),
]
IN_USE = [
    ({"tau_low": 0.1, "tau_high": 0.5}, OWN | TABLES),
    ({"tau_low": 0.1, "tau_high": 0.5, "group": "split"}, OWN | SPLIT | LEAF),
    ({"tau_low": 0.1, "tau_high": 1.1}, OWN),
    ({"group": "split"}, LEAF),
    ({"preset": "paper"}, OWN | SPLIT | LEAF | {"uni_leaf": "auto"}),
    ({}, TABLES | {"n_components": 2, "offsets": False}),
    ({}, {"n_clusters": 1}),
    ({"preset": "paper"}, {"n_components": 1}),
]


@pytest.mark.parametrize(
    ("given", "name", "value", "users"),
    [(given, name, value, users) for given, idle, users in IDLE for name, value in idle.items()],
)
def test_what_would_do_nothing_is_refused(
    given: dict[str, Any], name: str, value: Any, users: str
) -> None:
    with pytest.raises(ValueError, match=rf"{name}=.* does nothing here.*{users}"):
        FSPN(**{**given, name: value}).fit(TABLE)


@pytest.mark.parametrize(("given", "used"), IN_USE)
def test_what_is_used_is_taken(given: dict[str, Any], used: dict[str, Any]) -> None:
    assert Parameters(**given, **used).preset == given.get("preset", "default")


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_defaults_may_be_spelled_out(preset: str) -> None:
    """A clone, and a model that was saved and loaded, name every parameter."""
    spelled = {**FSPN().get_params(), "preset": preset}
    model = clone(FSPN(**spelled)).fit(TABLE)
    assert model.get_params() == spelled


def test_names_and_defaults_are_those_of_the_estimator() -> None:
    signature = inspect.signature(FSPN.__init__).parameters
    own = {name: each.default for name, each in signature.items() if name != "self"}
    assert own == {field.name: field.default for field in fields(Parameters)}


def test_nothing_changes_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        Parameters().alpha = 1.0  # type: ignore[misc]

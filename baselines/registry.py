"""From a model's settings (a YAML of conf/model) to the model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from baselines.base import DensityModel


def build_model(settings: Mapping[str, Any]) -> DensityModel:
    """Builds the class named by `_target_`; the keys beside `name` are its hyper-parameters."""
    if "_target_" not in settings:
        raise ValueError(f"model settings need a `_target_`, got the keys {sorted(settings)}")
    module, _, attribute = str(settings["_target_"]).rpartition(".")
    factory = getattr(import_module(module), attribute)
    arguments = {k: v for k, v in settings.items() if k not in ("name", "_target_")}
    allowed = signature(factory).parameters
    unknown = sorted(set(arguments) - set(allowed))
    if unknown:
        raise ValueError(f"{attribute} has no hyper-parameter {unknown}; it has {list(allowed)}")
    model: DensityModel = factory(**arguments)
    return model

"""The small table on which every model must keep the protocol.

A model joins the contract by having a file in conf/model; nothing here names one, except the ways
of running it that differ from its defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from baselines.base import DensityModel
from baselines.registry import build_model

CONF = Path(__file__).parents[2] / "conf" / "model"
VARIANTS: dict[str, dict[str, Any]] = {
    "bn_tree": {"engine": "pomegranate"},
    "bn_dag": {"engine": "pomegranate"},
}
DOMAINS = {
    "a": np.array([0, 1]),
    "b": np.array([-3, 0, 7]),
    "c": np.array([1, 2, 3, 5]),
    "d": np.array([10, 20, 30]),
}


@dataclass(frozen=True)
class FakeTruth:
    structure: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class FakeDataset:
    name: str
    truth: FakeTruth


@dataclass(frozen=True)
class Case:
    """A model's settings, and whether its inference is exact."""

    label: str
    settings: dict[str, Any]

    @property
    def tolerance(self) -> float:
        return 1e-5 if self.settings.get("engine") == "pomegranate" else 1e-9


def cases() -> list[Case]:
    found = []
    for path in sorted(CONF.glob("*.yaml")):
        settings = yaml.safe_load(path.read_text())
        found.append(Case(path.stem, settings))
        if path.stem in VARIANTS:
            change = VARIANTS[path.stem]
            label = "-".join((path.stem, *change.values()))
            found.append(Case(label, settings | change))
    return found


def training_table() -> pd.DataFrame:
    """2,000 rows: a chain a -> b -> c with d tied to b; value 5 of c is never seen."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 2000)
    b = np.where(rng.random(2000) < 0.8, a, rng.integers(0, 3, 2000))
    c = np.where(rng.random(2000) < 0.7, b, rng.integers(0, 3, 2000))
    d = np.where(rng.random(2000) < 0.9, b, rng.integers(0, 3, 2000))
    codes = {"a": a, "b": b, "c": c, "d": d}
    return pd.DataFrame({k: DOMAINS[k][v] for k, v in codes.items()})


def fitted(case: Case, seed: int = 3) -> DensityModel:
    model = build_model(case.settings)
    structure = {"a": (), "b": ("a",), "c": ("b",), "d": ("b",)}
    model.bind(FakeDataset("contract", FakeTruth(structure)))
    return model.fit(training_table(), DOMAINS, seed)

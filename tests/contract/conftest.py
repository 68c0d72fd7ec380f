"""Fixtures of the contract: one fitted model per case, and its joint table."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from baselines.base import DensityModel
from tests.contract.cases import DOMAINS, Case, cases, fitted


@pytest.fixture(scope="session", params=cases(), ids=lambda case: case.label)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture(scope="session")
def model(case: Case) -> DensityModel:
    return fitted(case)


@pytest.fixture(scope="session")
def states() -> pd.DataFrame:
    """Every complete assignment, in the order of a C-contiguous joint table."""
    return pd.DataFrame(list(itertools.product(*DOMAINS.values())), columns=list(DOMAINS))


@pytest.fixture(scope="session")
def joint(model: DensityModel, states: pd.DataFrame) -> np.ndarray:
    """The model's joint table, by scoring every state."""
    shape = [len(d) for d in DOMAINS.values()]
    return np.exp(model.score_samples(states)).reshape(shape)

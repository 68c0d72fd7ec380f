"""FSPN on binary tables is a distribution: all states sum to 1, marginals are sums of states."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from tests.benchmarks import benchmark, made_up

PRESETS = ("default", "paper")


def all_states(columns: list[str]) -> pd.DataFrame:
    bits = np.arange(2 ** len(columns))[:, None] >> np.arange(len(columns))[::-1] & 1
    return pd.DataFrame(bits.astype(np.uint8), columns=columns)


def fitted(table: pd.DataFrame, preset: str) -> FSPN:
    domains = {c: [0, 1] for c in table.columns}
    return FSPN(preset=preset, random_state=0).fit(table, domains=domains)


def check(model: FSPN, columns: list[str]) -> None:
    states = all_states(columns)
    joint = np.exp(model.score_samples(states))
    assert (joint > 0).all()
    assert joint.sum() == pytest.approx(1.0, abs=1e-6)
    values = states.to_numpy()
    for i, j in itertools.combinations(range(0, len(columns), 3), 2):
        for a, b in itertools.product((0, 1), repeat=2):
            expected = joint[(values[:, i] == a) & (values[:, j] == b)].sum()
            found = model.probability({columns[i]: a, columns[j]: b})
            assert found == pytest.approx(expected, abs=1e-8)
    given = (values[:, -1] == 1) & (values[:, -2] == 0)
    expected = joint[given & (values[:, 0] == 1)].sum() / joint[given].sum()
    found = model.conditional({columns[0]: 1}, {columns[-1]: 1, columns[-2]: 0})
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("preset", PRESETS)
def test_all_states_of_nltcs_sum_to_one(preset: str) -> None:
    train = benchmark("nltcs").train
    check(fitted(train, preset), list(train.columns))


@pytest.mark.parametrize("preset", PRESETS)
def test_all_states_of_a_made_up_table_sum_to_one(preset: str) -> None:
    train = made_up(3_000, 10)
    check(fitted(train, preset), list(train.columns))

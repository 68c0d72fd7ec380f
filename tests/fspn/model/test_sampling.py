"""Samples follow the model's own probabilities: chi-square and Kolmogorov-Smirnov, fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare, kstest

from experiments import appendix_b as paper_example
from fspn import FSPN
from tests.fspn.sample_tables import chain, discrete, mixed
from tests.pointwise import joint

N = 20_000
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"preset": "paper"},
    "split": {"tau_low": 0.1, "tau_high": 0.75, "group": "split", "oracle": "rdc", "min_rows": 60},
    "tree": {"tau_low": 0.1, "tau_high": 1.1},
    "joint": {"preset": "paper", "multi_leaf": "joint"},
}


def p_value(counts: np.ndarray, expected: np.ndarray) -> float:
    """Of a chi-square test, with the cells of fewer than five expected rows put together."""
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    kept = wanted > 0
    assert observed[~kept].sum() == 0
    return float(chisquare(observed[kept], wanted[kept] * observed.sum() / wanted.sum()).pvalue)


def counts_of(model: FSPN, drawn: pd.DataFrame) -> np.ndarray:
    codes = [np.searchsorted(v.values, drawn[v.name]) for v in model.domain_.variables]
    table = np.zeros([v.size for v in model.domain_.variables])
    np.add.at(table, tuple(codes), 1)
    return table


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("table", [discrete(), chain(900, 4, keep=0.8)], ids=["discrete", "chain"])
def test_rows_follow_the_joint(setting: str, table: pd.DataFrame) -> None:
    model = FSPN(**SETTINGS[setting]).fit(table)
    drawn = model.sample(N, random_state=1)
    assert len(drawn) == N
    truth = joint(model).ravel()
    assert p_value(counts_of(model, drawn).ravel(), truth * N) > 1e-3


def test_a_wrong_model_is_noticed() -> None:
    """The test above can fail: samples of one model do not follow another one."""
    model, other = FSPN().fit(discrete()), FSPN(tau_low=1.0, tau_high=1.0).fit(discrete())
    drawn = other.sample(N, random_state=1)
    assert p_value(counts_of(model, drawn).ravel(), joint(model).ravel() * N) < 1e-9


def test_the_papers_model() -> None:
    model = FSPN.from_root(paper_example.domain(), paper_example.root())
    drawn = model.sample(N, random_state=0)
    share = (drawn["X1"].between(1, 7) & drawn["X3"].between(3, 6)).mean()
    assert share == pytest.approx(0.171, abs=4 * np.sqrt(0.171 * 0.829 / N))


@pytest.mark.parametrize("setting", ["default", "paper", "split", "tree"])
def test_mixed_tables(setting: str) -> None:
    table = mixed(500)
    model = FSPN(**SETTINGS[setting]).fit(table)
    drawn = model.sample(N, random_state=2)
    assert list(drawn.columns) == list(table.columns)
    for name in ("int", "text", "cat", "bool"):
        values = model.domain_[model.domain_.index(name)].values.tolist()
        found = drawn[name].value_counts().reindex(values, fill_value=0).to_numpy()
        assert p_value(found, model.conditional_table([name]) * N) > 1e-3
    cuts = np.linspace(-2, 5, 15)
    below = model.probability([{"real": (None, cut)} for cut in cuts])
    found = [(drawn["real"] <= cut).mean() for cut in cuts]
    assert np.abs(found - below).max() < 1.95 / np.sqrt(N)
    event = {"int": {2, 3}, "bool": True, "real": (1.5, 3.0)}
    share = (drawn["int"].isin([2, 3]) & drawn["bool"] & drawn["real"].between(1.5, 3.0)).mean()
    p = model.probability(event)
    assert share == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / N))


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_reals_follow_the_distribution_function(preset: str) -> None:
    values = np.random.default_rng(0).gamma(2.0, size=(1000, 1))
    model = FSPN(preset=preset).fit(values)
    drawn = model.sample(4000, random_state=0)[:, 0]

    def below(x: np.ndarray) -> np.ndarray:
        return model.probability(np.full((len(x), 1), -np.inf), x[:, None])

    assert kstest(drawn, below).pvalue > 1e-3
    assert kstest(drawn + 0.3, below).pvalue < 1e-9


def test_types_of_samples() -> None:
    drawn = FSPN().fit(mixed(200)).sample(50, random_state=0)
    assert drawn["int"].dtype.kind == "i"
    assert drawn["real"].dtype.kind == "f"
    assert set(drawn["text"]) <= {"u", "v", "w", "z"}
    assert {type(x) for x in drawn["bool"].tolist()} == {bool}


def test_no_rows_and_one_row() -> None:
    model = FSPN().fit(discrete(100))
    assert model.sample(0).shape == (0, 4)
    assert model.sample().shape == (1, 4)

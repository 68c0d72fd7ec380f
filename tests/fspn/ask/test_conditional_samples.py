"""Samples given evidence: rows in the right proportions, values inside the ranges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from fspn import FSPN, bn_to_fspn
from fspn.convert import read_bif
from tests.chi_square import is_likely
from tests.fspn.networks import shipped
from tests.fspn.sample_tables import PRESETS, discrete, mixed
from tests.pointwise import joint

N = 4000
LIKELY = 1e-5


@pytest.fixture(scope="module", params=PRESETS)
def model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(discrete())


@pytest.fixture(scope="module", params=PRESETS)
def mixed_model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(mixed())


@pytest.mark.parametrize(
    "given", [{}, {"a": 3}, {"a": (3, 9)}, {"b": {3, 9, 10}, "d": 1}, {"c": 2, "a": {2, 5}}]
)
def test_proportions(model: FSPN, given: dict[str, object]) -> None:
    drawn = model.sample(N, given=given, random_state=0)
    table = joint(model)
    for v, variable in enumerate(model.domain_.variables):
        allowed = [model.conditional({variable.name: int(x)}, given) > 0 for x in variable.values]
        table = table * np.array(allowed).reshape([-1 if a == v else 1 for a in range(4)])
    codes = [np.searchsorted(v.values, drawn[v.name].to_numpy()) for v in model.domain_.variables]
    counts = np.zeros(table.shape)
    np.add.at(counts, tuple(codes), 1)
    assert is_likely(counts.ravel(), N * (table / table.sum()).ravel())


def test_values_stay_inside_the_evidence(mixed_model: FSPN) -> None:
    given = {"real": (0.2, 0.9), "text": {"u", "v"}, "near": (None, 0.8)}
    drawn = mixed_model.sample(500, given=given, random_state=0)
    assert drawn["real"].between(0.2, 0.9).all()
    assert set(drawn["text"]) <= {"u", "v"}
    assert (drawn["near"] <= 0.8).all()
    assert list(drawn.columns) == list(mixed().columns)
    assert drawn["near"].nunique() > 400


def test_reals_follow_their_distribution_function(mixed_model: FSPN) -> None:
    given = {"real": (0.2, 1.7), "int": {0, 1}}
    drawn = mixed_model.sample(2000, given=given, random_state=1)["real"].to_numpy()

    def cdf(values: np.ndarray) -> np.ndarray:
        return np.array(mixed_model.conditional([{"real": (0.2, x)} for x in values], [given]))

    assert kstest(drawn, cdf).pvalue > LIKELY


def test_a_given_value_is_handed_back(mixed_model: FSPN) -> None:
    drawn = mixed_model.sample(20, given={"real": 0.25, "bool": True}, random_state=0)
    assert (drawn["real"] == 0.25).all()
    assert drawn["bool"].all()


def test_the_seed_decides(model: FSPN) -> None:
    first, second = (model.sample(50, given={"d": 1}, random_state=7) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert not first.equals(model.sample(50, given={"d": 1}, random_state=8))


def test_forms(model: FSPN) -> None:
    tables = model.sample(5, given=[{"a": 3}, {"a": 5}], random_state=0)
    assert [table["a"].unique().tolist() for table in tables] == [[3], [5]]
    low, high = np.full(4, np.nan), np.full(4, np.nan)
    low[0], high[0] = 3, 5
    assert model.sample(50, given=(low, high), random_state=0)["a"].isin([3, 5]).all()
    assert model.sample(0, given={"a": 3}).shape == (0, 4)
    array = FSPN().fit(discrete().to_numpy()).sample(5, given={0: 3}, random_state=0)
    assert isinstance(array, np.ndarray)
    assert (array[:, 0] == 3).all()


def test_impossible_evidence(model: FSPN) -> None:
    with pytest.raises(ValueError, match="probability zero, so nothing can be drawn"):
        model.sample(5, given={"a": 4})
    with pytest.raises(KeyError, match="unknown column 'z'"):
        model.sample(5, given={"z": 4})


def test_a_published_network() -> None:
    model = bn_to_fspn(read_bif(shipped("alarm")))
    given = {"HRBP": "HIGH", "PRESS": {"LOW", "NORMAL"}}
    drawn = model.sample(N, given=given, random_state=0)
    assert (drawn["HRBP"] == "HIGH").all()
    for column in ("HR", "VENTTUBE", "CO"):
        values = model.domain_[model.domain_.index(column)].values
        expected = N * model.conditional_table([column], given)
        counts = drawn[column].value_counts().reindex(values, fill_value=0).to_numpy()
        assert is_likely(counts, expected)

"""Every kind of column: ordered, strings, categories, booleans, reals, and all of them mixed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN, NOT_MISSING
from tests.fspn.sample_tables import PRESETS, mixed

TABLE = mixed(800)
DISCRETE = {
    "int": [0, 1, 2, 3],
    "text": ["u", "v", "w", "z"],
    "cat": ["hi", "lo", "no"],
    "bool": [False, True],
}


@pytest.fixture(scope="module", params=[*PRESETS, "grid", "mixture"])
def model(request: pytest.FixtureRequest) -> FSPN:
    settings = {
        "grid": FSPN(preset="paper", split="kmeans_grid", min_rows=100),
        "mixture": FSPN(0.2, 0.5, group="split", multi_leaf="mixture"),
    }
    wanted = settings.get(request.param, FSPN(preset=request.param))
    return wanted.fit(TABLE)


def test_kinds_of_columns(model: FSPN) -> None:
    kinds = [variable.kind for variable in model.domain_.variables]
    expected = ["ordered", "unordered", "unordered", "boolean", "continuous", "continuous"]
    assert sorted(kinds) == sorted(expected)
    for name, values in DISCRETE.items():
        assert model.domain_[model.domain_.index(name)].values.tolist() == values


@pytest.mark.parametrize("name", DISCRETE)
def test_values_and_sets_sum_to_one(model: FSPN, name: str) -> None:
    values = DISCRETE[name]
    points = model.probability([{name: value} for value in values])
    assert points.sum() == pytest.approx(1.0, abs=1e-9)
    assert points.min() > 0, "a category that was never seen is possible"
    assert model.probability({name: set(values)}) == pytest.approx(1.0, abs=1e-9)
    assert model.probability({name: set(values[1:])}) == pytest.approx(points[1:].sum(), abs=1e-9)
    np.testing.assert_allclose(model.conditional_table([name]), points, atol=1e-9)


@pytest.mark.parametrize("name", DISCRETE)
def test_marginals_follow_the_data(model: FSPN, name: str) -> None:
    shares = TABLE[name].value_counts(normalize=True)
    for value in DISCRETE[name]:
        assert model.probability({name: value}) == pytest.approx(shares.get(value, 0.0), abs=0.02)


def test_a_box_may_name_a_value_of_an_unordered_column(model: FSPN) -> None:
    low, high = np.full(6, np.nan), np.full(6, np.nan)
    low[3] = high[3] = 1
    low[0] = 2
    expected = model.probability({"bool": True, "int": (2, np.inf)})
    assert model.probability(low, high) == pytest.approx(expected, abs=1e-14)


def test_intervals_of_reals_add_up(model: FSPN) -> None:
    cuts = [-np.inf, -1.3, 0.0, 0.71, 0.72, 2.5, np.inf]
    parts = model.probability([{"real": ends, "int": 1} for ends in pairwise(cuts)])
    assert parts.min() >= 0
    assert parts.sum() == pytest.approx(model.probability({"int": 1}), abs=1e-9)


def test_open_and_closed_sides_of_reals_are_the_same(model: FSPN) -> None:
    answers = [
        model.probability({"real": pd.Interval(0.2, 1.7, closed=closed), "bool": True})
        for closed in ("left", "right", "both", "neither")
    ]
    assert answers == pytest.approx([model.probability({"real": (0.2, 1.7), "bool": True})] * 4)


def test_a_point_of_a_real_has_no_probability(model: FSPN) -> None:
    assert model.probability({"real": 0.5}) == 0.0
    assert model.probability({"real": {0.5, 1.0}}) == 0.0
    assert model.probability({"real": (0.5, 0.5)}) == 0.0


def test_marginals_of_reals_follow_the_data(model: FSPN) -> None:
    for low, high in [(-1, 0.5), (0.5, 1.5), (1.0, 3.0)]:
        share = TABLE["real"].between(low, high).mean()
        assert model.probability({"real": (low, high)}) == pytest.approx(share, abs=0.04)


def rows(**cells: Any) -> pd.DataFrame:
    """One row, missing where nothing is said."""
    table = pd.DataFrame({name: [cells.get(name)] for name in TABLE.columns})
    return table.astype({"int": float, "real": float, "near": float})


def density(model: FSPN, **cells: Any) -> float:
    return float(np.exp(model.score_samples(rows(**cells))[0]))


def test_missing_cells_of_discrete_columns_are_summed_out(model: FSPN) -> None:
    known = {"int": 1, "real": 1.2, "near": 1.3}
    whole = sum(
        density(model, **known, text=text, cat=cat, bool=flag)
        for text in DISCRETE["text"]
        for cat in DISCRETE["cat"]
        for flag in DISCRETE["bool"]
    )
    assert density(model, **known) == pytest.approx(whole, rel=1e-9)
    assert density(model) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("low", "high"), [(0.4, 1.6), (-9.0, 12.0)])
def test_the_density_integrates_to_the_probability(model: FSPN, low: float, high: float) -> None:
    grid = np.linspace(low, high, 20_001)
    table = pd.concat([rows(int=1)] * len(grid), ignore_index=True).assign(real=grid)
    values = np.exp(model.score_samples(table))
    integral = float(np.sum((values[1:] + values[:-1]) / 2) * (grid[1] - grid[0]))
    assert integral == pytest.approx(model.probability({"int": 1, "real": (low, high)}), rel=5e-3)


def test_a_real_as_evidence_counts_by_its_density(model: FSPN) -> None:
    for x in (-0.4, 0.9, 2.6):
        answers = model.conditional([{"int": a} for a in range(4)], {"real": x})
        expected = [density(model, int=a, real=x) / density(model, real=x) for a in range(4)]
        np.testing.assert_allclose(answers, expected, atol=1e-9)
        np.testing.assert_allclose(
            model.conditional_table(["int"], {"real": x}), expected, atol=1e-9
        )
    batch = model.conditional({"int": 1}, [{"real": -0.4}, {"real": 0.9}])
    assert batch[0] == pytest.approx(model.conditional({"int": 1}, {"real": -0.4}))


def test_a_range_as_evidence(model: FSPN) -> None:
    given = {"real": (0.3, 1.1), "text": {"u", "v"}}
    table = model.conditional_table(["int", "bool"], given)
    assert table.sum() == pytest.approx(1.0)
    whole = model.probability(given)
    for a in range(4):
        for flag in (False, True):
            both = model.probability({"int": a, "bool": flag, **given})
            assert table[a, int(flag)] == pytest.approx(both / whole, abs=1e-9)


@pytest.mark.parametrize(
    ("query", "given", "common"),
    [
        ((0.2, 0.9), (0.2, 0.9), (0.2, 0.9)),
        ((0.2, 0.9), (0.5, 3.0), (0.5, 0.9)),
        ((0.4, 0.45), (0.41, 0.46), (0.41, 0.45)),
        ((-1.0, 0.0), (0.5, 1.0), (1.0, 0.0)),
    ],
)
def test_ranges_of_one_real_on_both_sides(
    model: FSPN, query: tuple, given: tuple, common: tuple
) -> None:
    expected = model.probability({"real": common}) / model.probability({"real": given})
    answer = model.conditional({"real": query}, {"real": given})
    assert answer == pytest.approx(expected, abs=1e-9)


def test_a_range_given_a_point_is_sure_or_impossible(model: FSPN) -> None:
    assert model.conditional({"real": (0.0, 0.5)}, {"real": 0.2}) == pytest.approx(1.0)
    assert model.conditional({"real": (0.3, 0.5)}, {"real": 0.2}) == 0.0


def test_dependence_is_learned_across_kinds() -> None:
    model = FSPN().fit(TABLE)
    assert model.conditional({"int": 3}, {"real": (3.0, 5.0)}) > 0.6
    assert model.conditional({"bool": True}, {"int": 3}) > 0.8
    assert model.conditional({"text": "v"}, {"int": 1}) > 0.7


def test_whole_floats_are_integers() -> None:
    model = FSPN().fit(pd.DataFrame({"a": [1.0, 2.0, 2.0, 4.0]}))
    assert model.domain_[0].kind == "ordered"
    assert model.probability({"a": (1, 3)}) == pytest.approx(3.2 / 4.3)
    forced = FSPN(kinds={"a": "continuous"}).fit(pd.DataFrame({"a": [1.0, 2.0, 2.0, 4.0]}))
    assert forced.domain_[0].kind == "continuous"


def test_numbers_may_be_labels() -> None:
    table = pd.DataFrame({"zip": [10, 20, 10, 30]})
    model = FSPN(kinds={"zip": "unordered"}).fit(table)
    assert model.probability({"zip": {10, 20}}) == pytest.approx(3.2 / 4.3)
    with pytest.raises(ValueError, match="'zip' is unordered"):
        model.probability({"zip": (10, 20)})


@pytest.mark.parametrize("dtype", ["Int64", "int8", "uint16", "Float64", "float32"])
def test_number_types(dtype: str) -> None:
    values = pd.Series([1, 2, 2, 5] * 30)
    plain = FSPN().fit(pd.DataFrame({"a": values, "b": values % 2}))
    typed = pd.DataFrame({"a": values.astype(dtype), "b": values % 2})
    model = FSPN().fit(typed)
    assert model.probability({"a": (1, 2)}) == plain.probability({"a": (1, 2)})
    np.testing.assert_array_equal(model.score_samples(typed), plain.score_samples(typed))


def test_nullable_missing_cells_are_summed_out() -> None:
    table = pd.DataFrame({"a": [1, 2, 2, 5] * 30, "s": ["x", "y", "x", "x"] * 30})
    model = FSPN().fit(table)
    row = pd.DataFrame(
        {"a": pd.array([pd.NA, 1], dtype="Int64"), "s": pd.array(["x", pd.NA], dtype="string")}
    )
    expected = [model.probability({"s": "x"}), model.probability({"a": 1})]
    np.testing.assert_allclose(np.exp(model.score_samples(row)), expected)
    assert model.probability({"a": NOT_MISSING, "s": "x"}) == pytest.approx(expected[0])
    assert model.probability({"a": pd.NA, "s": "x"}) == 0.0

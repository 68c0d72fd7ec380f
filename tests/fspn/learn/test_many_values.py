"""Columns with many values: dependence is found, and tables too wide for the bound are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN


@pytest.mark.parametrize(("size", "n_rows"), [(250, 5_000), (2_000, 40_000)])
def test_copies_of_a_column_depend_on_each_other(size: int, n_rows: int) -> None:
    x = np.random.default_rng(0).integers(0, size, n_rows)
    model = FSPN(max_bins=size).fit(pd.DataFrame({"a": x, "b": x}))
    assert model.conditional({"a": 5}, {"b": 5}) > 0.9


def test_values_that_another_column_tells_apart_keep_their_cells_by_default() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 250, 5_000)
    labels = pd.Series(x).map(lambda v: f"shop {v}")
    model = FSPN().fit(pd.DataFrame({"a": x, "b": labels, "c": rng.integers(0, 250, 5_000)}))
    assert [variable.size for variable in model.domain_][:2] == [250, 250]
    assert model.domain_[2].size <= 64
    assert model.conditional({"a": 5}, {"b": "shop 5"}) > 0.99
    assert model.conditional({"a": 5}, {"c": 5}) == pytest.approx(np.mean(x == 5), rel=0.05)


def test_what_a_column_of_thousands_of_values_fixes_is_known_by_default() -> None:
    day = pd.date_range("2000-01-01", periods=3_000)
    table = pd.DataFrame({"date": np.tile(day, 10)})
    table["month"], table["day"] = table["date"].dt.month, table["date"].dt.day
    model = FSPN().fit(table)
    asked = {"date": pd.Timestamp("2004-05-17"), "month": 5, "day": 17}
    assert model.probability(asked) == pytest.approx(1 / 3_000, rel=0.1)
    assert model.probability({**asked, "day": 16}) < 0.1 / 3_000
    ends = (pd.Timestamp("2004-05-01"), pd.Timestamp("2004-05-31"))
    assert model.probability({"date": ends, "day": 17}) == pytest.approx(1 / 3_000, rel=0.1)


def test_numbers_that_are_names_share_a_thousand_cells_beside_columns_of_many_values() -> None:
    rng = np.random.default_rng(6)
    route, minute = rng.integers(0, 100, 3_000), rng.integers(0, 300, 3_000)
    name = rng.integers(0, 3_000, 100_000)
    columns = {"flight": name + 1, "route": route[name], "minute": minute[name]}
    model = FSPN().fit(pd.DataFrame(columns))
    assert 128 < model.domain_[0].size <= 1_024
    asked = {"flight": 41, "route": int(route[40]), "minute": int(minute[40])}
    assert model.probability(asked) == pytest.approx(np.mean(name == 40), rel=0.9)


def test_shuffled_values_depend_on_each_other() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 400, 8_000)
    model = FSPN(max_bins=400).fit(pd.DataFrame({"a": x, "b": rng.permutation(400)[x]}))
    assert model.n_parameters_ > 2 * 399


def test_independent_columns_of_many_values_stay_independent() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.integers(0, 500, (5_000, 6)))
    assert FSPN().fit(table).n_nodes_ == 7


def test_single_parents_count_in_the_bound_on_the_width() -> None:
    x = np.random.default_rng(3).integers(0, 16, 2000)
    big = pd.DataFrame({"a": x, "b": x})
    assert FSPN(max_cells=4).fit(big).conditional({"a": 3}, {"b": 3}) > 0.9
    assert FSPN(max_cells=3).fit(big).conditional({"a": 3}, {"b": 3}) < 0.4

"""Answers about columns whose cells hold several values, dates, atoms or the missing state."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN, NOT_MISSING

N = 3000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, N)
    amount = np.where(rng.random(N) < 0.4, 0.0, rng.gamma(2.0, 10.0, N) + 20 * group)
    count = rng.poisson(60 + 200 * group)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N) + 60 * group, "D")
    score = rng.normal(5 * group, 1.0)
    score[rng.random(N) < 0.3] = np.nan
    return pd.DataFrame(
        {"group": group, "amount": amount, "count": count, "day": day, "score": score}
    )


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> FSPN:
    return FSPN(random_state=0).fit(table)


def test_a_completion_has_values_of_the_columns(model: FSPN, table: pd.DataFrame) -> None:
    assignment, probability = model.map({"group": 0, "score": NOT_MISSING})
    assert assignment["amount"] == 0.0
    assert assignment["count"] == int(assignment["count"])
    assert 30 < assignment["count"] < 100
    assert isinstance(assignment["day"], pd.Timestamp)
    assert -3 < assignment["score"] < 3
    assert 0 < probability < 1


def test_missing_is_none(model: FSPN) -> None:
    assert model.map({"score": None})[0]["score"] is None
    drawn = model.sample(50, given={"score": None}, random_state=0)
    assert drawn["score"].isna().all()
    assert model.sample(50, given={"score": NOT_MISSING}, random_state=0)["score"].notna().all()


def test_ranges_cut_cells(model: FSPN) -> None:
    given = {"count": {61, (250, 253)}, "amount": (1.0, 2.5), "day": ("2024-02-01", "2024-02-03")}
    drawn = model.sample(400, given=given, random_state=0)
    assert set(drawn["count"]) <= {61, 250, 251, 252, 253}
    assert drawn["amount"].between(1.0, 2.5).all()
    assert drawn["day"].between("2024-02-01", "2024-02-03").all()
    shares = drawn["count"].between(250, 253).mean()
    expected = model.conditional({"count": (250, 253)}, given)
    assert shares == pytest.approx(expected, abs=0.12)
    assignment, _ = model.map(given)
    assert assignment["count"] in (61, 250, 251, 252, 253)
    assert 1.0 <= assignment["amount"] <= 2.5


def test_moments_follow_the_table(model: FSPN, table: pd.DataFrame) -> None:
    for column in ("amount", "count", "score"):
        known = table[table["group"] == 1][column]
        assert model.mean(column, {"group": 1}) == pytest.approx(known.mean(), rel=0.05)
        if column != "count":  # One of its cells reaches over the gap between the groups.
            assert model.variance(column, {"group": 1}) == pytest.approx(known.var(), rel=0.3)
    middle = model.mean("day", {"group": 0})
    assert abs(middle - table[table["group"] == 0]["day"].mean()) < pd.Timedelta("8D")
    days = table[table["group"] == 0]["day"]
    expected = (days - days.mean()).dt.total_seconds().var()
    assert model.variance("day", {"group": 0}) == pytest.approx(expected, rel=0.1)


def test_moments_of_drawn_rows(model: FSPN) -> None:
    given = {"group": 1, "count": (230, 262), "amount": (5.0, 60.0)}
    drawn = model.sample(20_000, given=given, random_state=0)
    for column in ("count", "amount"):
        assert model.mean(column, given) == pytest.approx(drawn[column].mean(), rel=0.01)
        assert model.variance(column, given) == pytest.approx(drawn[column].var(), rel=0.05)


@pytest.mark.parametrize("column", ["amount", "count", "day", "score"])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.8, 1.0])
def test_quantiles_are_reached(model: FSPN, column: str, q: float) -> None:
    given = {"group": 0, column: NOT_MISSING}
    x = model.quantile(column, q, given)
    assert model.conditional({column: (None, x)}, given) >= q - 1e-5
    if column == "count" and q < 1:
        assert model.conditional({column: (None, x - 1)}, given) < q + 1e-9


def test_quantiles_of_an_atom(model: FSPN) -> None:
    assert model.quantile("amount", 0.2) == 0.0
    assert isinstance(model.quantile("day", 0.5), pd.Timestamp)


def test_entropies_count_what_is_inside() -> None:
    """Against the mean log-density of rows that were drawn from the model."""
    rng = np.random.default_rng(1)
    size = rng.poisson(300, 2000)
    table = pd.DataFrame({"size": size, "real": rng.gamma(2.0, size / 100)})
    model = FSPN(random_state=0).fit(table)
    drawn = model.sample(20_000, random_state=0)
    for columns in (["size"], ["real"], ["size", "real"]):
        rows = drawn.astype(float)
        rows[[name for name in rows.columns if name not in columns]] = np.nan
        expected = -model.score_samples(rows).mean()
        assert model.entropy(columns) == pytest.approx(expected, abs=0.03)
    given = {"size": (290, 310)}
    table = model.conditional_table(["size"])
    values = np.array(model.domain_[0].axis)
    inside = table[(values >= 290) & (values <= 310)]
    inside = inside[inside > 0] / inside.sum()
    assert model.entropy("size", given) == pytest.approx(-(inside * np.log(inside)).sum())


def test_information_between_reals(model: FSPN) -> None:
    assert model.mutual_information("count", "group") == pytest.approx(np.log(2), abs=0.1)
    assert model.mutual_information("day", "amount", {"group": 0}) < 0.1


def test_missing_cells_are_filled_with_values(model: FSPN, table: pd.DataFrame) -> None:
    rows = table.head(50).copy()
    rows.loc[rows.index[:10], "day"] = pd.NaT
    filled = model.predict(rows)
    assert not filled.isna().any().any()
    assert (filled.dtypes == rows.dtypes).all()
    known = rows["score"].notna()
    pd.testing.assert_series_equal(filled.loc[known, "score"], rows.loc[known, "score"])

"""Real tables: missing values, datetimes, names, odd types, and what is wrong with them."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN, MISSING, NOT_MISSING

N = 600
RNG = np.random.default_rng(0)
HIDDEN = RNG.integers(0, 3, N)
TABLE = pd.DataFrame(
    {
        "delay": pd.Series(np.where(HIDDEN == 2, np.nan, HIDDEN * 60 + RNG.geometric(0.02, N))),
        "time": pd.Timestamp("2024-01-01", tz="Europe/Berlin")
        + pd.to_timedelta(RNG.integers(0, 86_400 * 30, N), unit="s"),
        "day": pd.Series([datetime.date(2024, 1, 1 + int(k)) for k in HIDDEN]),
        "name": pd.Series([f"plane {k}" for k in RNG.integers(0, 400, N)]),
        "size": pd.Categorical.from_codes(HIDDEN, ["small", "middle", "large"], ordered=True),
        "void": np.nan,
        "price": np.where(HIDDEN == 0, 0.0, RNG.gamma(2.0, size=N)),
    }
)


@pytest.fixture(scope="module")
def model() -> FSPN:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return FSPN(n_components=1).fit(TABLE)


def test_kinds(model: FSPN) -> None:
    kinds = {variable.name: variable.kind for variable in model.domain_}
    assert kinds == {
        "delay": "ordered",
        "time": "datetime",
        "day": "datetime",
        "name": "unordered",
        "size": "ordered",
        "void": "ordered",
        "price": "mixed",
    }


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, MISSING])
def test_missing_is_a_state(model: FSPN, missing: Any) -> None:
    share = TABLE["delay"].isna().mean()
    assert model.probability({"delay": missing}) == pytest.approx(share, rel=1e-2)
    assert model.probability({"delay": NOT_MISSING}) == pytest.approx(1 - share, rel=1e-2)
    assert model.probability({"delay": (None, None)}) == pytest.approx(1 - share, rel=1e-2)
    assert model.probability({"delay": missing, "size": "large"}) == pytest.approx(share, rel=0.02)
    assert model.probability({"size": missing}) == 0.0
    assert model.probability({"void": missing}) == pytest.approx(1.0)
    assert model.probability({"void": NOT_MISSING}) == 0.0


def test_how_a_missing_cell_is_scored(model: FSPN) -> None:
    row = TABLE.iloc[[0]].assign(delay=np.nan)
    state, auto, unknown = (
        model.score_samples(row, missing=how)[0] for how in ("state", "auto", "sum_out")
    )
    assert state == auto < unknown
    gone = row.assign(size=pd.Categorical([None], TABLE["size"].cat.categories, ordered=True))
    assert model.score_samples(gone, missing="state")[0] == -np.inf
    assert np.isfinite(model.score_samples(gone)[0])
    with pytest.raises(ValueError, match="missing='drop' is not one of"):
        model.score_samples(row, missing="drop")


def test_datetimes_are_asked_with_timestamps_and_texts(model: FSPN) -> None:
    low, high = pd.Timestamp("2024-01-05", tz="Europe/Berlin"), "2024-01-09 12:00"
    truth = ((TABLE["time"] >= low) & (TABLE["time"] <= pd.Timestamp(high, tz=low.tz))).mean()
    asked = [(low, high), (low.tz_convert("UTC"), pd.Timestamp(high, tz=low.tz))]
    for ends in asked:
        assert model.probability({"time": ends}) == pytest.approx(truth, abs=5e-3)
    first = (TABLE["day"] == datetime.date(2024, 1, 1)).mean()
    for value in (datetime.date(2024, 1, 1), "2024-01-01", np.datetime64("2024-01-01")):
        assert model.probability({"day": value}) == pytest.approx(first, rel=0.01)


def test_ordered_categories_have_ranges(model: FSPN) -> None:
    share = (TABLE["size"] <= "middle").mean()
    assert model.probability({"size": ("small", "middle")}) == pytest.approx(share, rel=0.01)
    assert model.probability({"size": (None, "middle")}) == pytest.approx(share, rel=0.01)
    with pytest.raises(ValueError, match="'size' has no category 'huge'"):
        model.probability({"size": ("small", "huge")})


def test_sets_hold_values_ranges_and_missing(model: FSPN) -> None:
    parts = [{"delay": (0, 50)}, {"delay": (61, 100)}, {"delay": None}]
    whole = model.probability({"delay": {(0, 50), (61, 100), None}})
    assert whole == pytest.approx(sum(model.probability(part) for part in parts), abs=1e-12)
    overlap = model.probability({"delay": {(0, 50), (20, 40), 30}})
    assert overlap == pytest.approx(model.probability(parts[0]), abs=1e-12)


def test_tables_name_their_axes(model: FSPN) -> None:
    table = model.conditional_table(["delay", "size"])
    axes = [model.domain_[model.domain_.index(name)].axis for name in ("delay", "size")]
    assert table.shape == tuple(len(axis) for axis in axes)
    assert axes[0][-1] is None
    assert axes[1] == ["small", "middle", "large"]
    place = axes[0].index(TABLE["delay"].dropna().iloc[0])
    single = model.probability({"delay": axes[0][place], "size": "small"})
    assert table[place, 0] == pytest.approx(single, abs=1e-12)


def test_model_and_domain_can_be_read(model: FSPN) -> None:
    text = str(model.domain_)
    assert all(name in text for name in TABLE.columns)
    assert f"{100 * TABLE['delay'].isna().mean():.2g}%" in text
    assert "100%" in text
    described = model.describe()
    assert "FSPN of 7 columns" in str(described)
    assert len(described.dependences) > 0
    assert "<table" in described._repr_html_()
    assert "<table" in model.domain_._repr_html_()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"time": pd.Timestamp("2024-01-05")}, "'time' has a time zone"),
        ({"day": pd.Timestamp("2024-01-01", tz="UTC")}, "'day' has no time zone"),
        ({"time": 5}, "'time' holds datetimes"),
        ({"time": "yesterday or so"}, "'time': 'yesterday or so' is no datetime"),
        ({"delay": "late"}, "'delay' holds numbers"),
        ({"delay": ("a", "b")}, "'delay': the ends of an interval are numbers"),
        ({"name": ("a", "b")}, "'name' is unordered"),
        ({"delay": [1, 2]}, "'delay'.*neither a value nor an event"),
    ],
)
def test_bad_questions_name_the_column(model: FSPN, event: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.probability(event)


@pytest.mark.parametrize(
    ("table", "kinds", "message"),
    [
        ({"a": [1.0, np.inf, 2.0]}, {}, "'a' has infinite values"),
        ({"a": ["x", "y"]}, {"a": "boolean"}, "'a' of type str is not boolean"),
        ({"a": ["x", "y"]}, {"a": "datetime"}, "'a' must hold datetimes"),
        ({"a": [1, 2]}, {"a": "datetime"}, "'a' must hold datetimes: numbers are no datetimes"),
        ({"a": pd.date_range("2020", periods=2)}, {"a": "ordered"}, "'a' holds datetimes"),
        ({"a": ["x", "y"]}, {"a": "continuous"}, "'a' must be numeric"),
        ({"a": pd.Categorical(["x", "y"])}, {"a": "ordered"}, "'a' is an unordered category"),
        ({"a": pd.Categorical(["x", "y"])}, {"a": "mixed"}, "'a' is a category"),
    ],
)
def test_bad_tables_name_the_column(table: Any, kinds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FSPN(kinds=kinds).fit(pd.DataFrame(table))


def test_bad_rows_name_the_column(model: FSPN) -> None:
    naive = TABLE.iloc[:3].assign(time=TABLE["time"].dt.tz_localize(None).iloc[:3])
    with pytest.raises(ValueError, match="'time' has a time zone"):
        model.score_samples(naive)
    with pytest.raises(ValueError, match="max_bins=1 must be a whole number of at least 2"):
        FSPN(max_bins=1).fit(TABLE)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_columns_without_information_are_learned_quietly(preset: str) -> None:
    rng = np.random.default_rng(0)
    n = 150
    table = pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "number": np.arange(n) * 7,
            "same": "x",
            "void": pd.Series([None] * n, dtype=object),
            "level": 0.25,
            "real": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FSPN(preset=preset).fit(table)
        assert model.probability({}) == pytest.approx(1.0)
        assert model.sample(20, random_state=0).dtypes.equals(table.dtypes)
        assert np.isfinite(model.score_samples(table)).all()


def test_names_are_grouped_by_what_they_tell() -> None:
    """A number that is a name: its neighbours tell nothing, its group does."""
    rng = np.random.default_rng(3)
    home = rng.integers(0, 12, 700)
    number = rng.integers(0, 700, 30_000)
    table = pd.DataFrame({"number": number, "home": home[number]})
    model = FSPN(n_components=1).fit(table)
    asked = [{"home": int(home[k])} for k in range(40)]
    answers = model.conditional(asked, [{"number": k} for k in range(40)])
    assert np.median(answers) > 0.95
    low = model.probability({"number": (0, 349)})
    assert low == pytest.approx((number < 350).mean(), rel=0.01)

"""Columns of types that pandas and Arrow have beside the common ones, through the whole model."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fspn import FSPN, NOT_MISSING

N = 240
CLASS = np.arange(N) % 3
TIMES = pd.Series(pd.Timestamp("2024-03-01") + pd.to_timedelta(CLASS * 7 + 1, unit="h"))
DECIMALS = [Decimal(int(k)) / 4 for k in CLASS]


def arrow(values: list[Any], kind: Any) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, kind)))


def python_times(zone: str | None) -> pd.Series:
    return pd.Series([t.to_pydatetime() for t in TIMES.dt.tz_localize(zone)], dtype=object)


COLUMNS = {
    "time spans of Arrow": ((TIMES - TIMES[0]).astype(pd.ArrowDtype(pa.duration("us"))), True),
    "decimals of Arrow": (arrow(DECIMALS, pa.decimal128(10, 2)), True),
    "decimals": (pd.Series(DECIMALS, dtype=object), True),
    "times in UTC": (python_times("UTC"), True),
    "times in a zone": (python_times("Europe/Berlin"), True),
    "intervals": (pd.Series(pd.cut(CLASS, 3)), True),
    "category of times": (pd.Series(pd.Categorical(TIMES.dt.tz_localize("UTC"))), True),
    "category of dates": (pd.Series(pd.Categorical(TIMES.dt.date)), True),
    "nothing known": (arrow([None] * N, pa.null()), False),
}
COLUMNS["dictionary of Arrow"] = (
    pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array([f"k{k}" for k in CLASS]).dictionary_encode())
    ),
    True,
)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_goes_through_the_whole_model(name: str, tmp_path: Path) -> None:
    column, may_lack = COLUMNS[name]
    if may_lack:
        column = column.mask(pd.Series(np.arange(N) % 12 == 0))
    table = pd.DataFrame({"x": column, "class": CLASS})
    model = FSPN(n_components=1).fit(table)
    missing = float(column.isna().mean())
    assert model.probability({"x": None}) == pytest.approx(missing, abs=2e-3)
    assert model.probability({"x": NOT_MISSING}) == pytest.approx(1 - missing, abs=2e-3)
    for value, count in column.value_counts().items():
        assert model.probability({"x": value}) == pytest.approx(count / N, rel=0.02)
    model.save(tmp_path / "model.fspn")
    loaded = FSPN.load(tmp_path / "model.fspn")
    rows = loaded.sample(30, random_state=0)
    assert rows.dtypes.equals(table.dtypes)
    assert rows.equals(model.sample(30, random_state=0))
    assert np.isfinite(loaded.score_samples(rows)).all()
    known = rows["x"].dropna()
    assert all(isinstance(value, tuple(set(column.dropna().map(type)))) for value in known)
    assert set(known) <= set(column.dropna())


def test_floats_beyond_exact_integers_are_reals() -> None:
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=N) * 1e300, "class": CLASS})
    model = FSPN(n_components=1).fit(table)
    assert model.domain_[0].kind == "continuous"
    below = float((table["x"] <= 0).mean())
    assert model.probability({"x": (None, 0.0)}) == pytest.approx(below, abs=0.02)


def test_a_decimal_that_is_no_number_is_missing() -> None:
    table = pd.DataFrame({"x": pd.Series([Decimal("NaN"), Decimal(1)] * 60, dtype=object)})
    model = FSPN(n_components=1).fit(table)
    assert model.probability({"x": Decimal("NaN")}) == pytest.approx(0.5, abs=1e-3)


MIXED_ZONES = [
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
]


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        (["a", "b"], "ordered", "'x' must be numeric to be ordered, but holds texts; convert"),
        ([True, False], "continuous", "'x' is boolean: its kind cannot be 'continuous'; convert"),
        (pd.Series(["a", 1], dtype=object), None, "'x'.*different types .*'a' and 1"),
        (pd.Series(MIXED_ZONES, dtype=object), None, "'x' must hold datetimes.*utc=True"),
    ],
)
def test_contradictions_name_the_column(column: Any, kind: Any, message: str) -> None:
    table = pd.DataFrame({"x": column, "class": [0, 1]})
    with pytest.raises(ValueError, match=message):
        FSPN(kinds=None if kind is None else {"x": kind}).fit(table)


def test_any_objects_may_be_labels_where_that_is_said() -> None:
    table = pd.DataFrame({"x": pd.Series(["a", 1] * 40, dtype=object)})
    model = FSPN(kinds={"x": "unordered"}).fit(table)
    assert model.probability({"x": 1}) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ([1, 2], ["a"], "'x' has 'a', which is not a number"),
        (["a", "b"], [3], "'x' has 3, which is not a text"),
        (["a", "b"], [None], "'x' has None, which is not a text"),
        ([True, False], ["no"], "'x' has 'no', which is not a truth value"),
        (pd.Categorical(["a", "b"]), [None], "'x' has None, which is not a value"),
    ],
)
def test_domains_of_a_wrong_type_name_the_column(column: Any, values: Any, message: str) -> None:
    table = pd.DataFrame({"x": column, "class": [0, 1]})
    with pytest.raises(ValueError, match=message):
        FSPN().fit(table, domains={"x": values})


@pytest.fixture(scope="module")
def spans() -> FSPN:
    reals = np.random.default_rng(1).normal(size=N)
    return FSPN(n_components=1).fit(pd.DataFrame({"span": TIMES - TIMES[0], "real": reals}))


@pytest.mark.parametrize(
    "wrong", [pd.Series([3.5]), pd.Series(["soon"]), pd.Series([pd.Timestamp("2024-01-01")])]
)
def test_rows_without_time_spans_name_the_column(spans: FSPN, wrong: pd.Series) -> None:
    rows = pd.DataFrame({"span": wrong, "real": [0.0]})
    for take in (spans.score_samples, spans.update):
        with pytest.raises(ValueError, match=r"'span' must hold time spans.*pandas\.to_timedelta"):
            take(rows)


def test_questions_about_time_spans_say_what_to_write(spans: FSPN) -> None:
    assert spans.probability({"span": ("1 hour", "8 hours")}) == pytest.approx(1 / 3, rel=0.02)
    with pytest.raises(ValueError, match="'span' holds time spans: ask with a Timedelta"):
        spans.probability({"span": 5})


def test_infinities_are_no_new_rows(spans: FSPN) -> None:
    rows = pd.DataFrame({"span": [pd.Timedelta("7h")], "real": [np.inf]})
    with pytest.raises(ValueError, match="'real' has infinite values; clip or drop"):
        spans.update(rows)

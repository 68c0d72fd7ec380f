"""Questions that would be answered silently wrong are refused, with what to do."""

from __future__ import annotations

import ast
import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.records.fingerprint import HARMLESS
from fspn import FSPN
from fspn.schema import refusals


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 2_000
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "plan": rng.choice(["basic", "pro", "team"], n),
            "active": rng.random(n) < 0.5,
            "day": day,
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "income": rng.lognormal(10, 1, n),
            "empty": np.full(n, np.nan),
        }
    )


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> FSPN:
    return FSPN(random_state=0).fit(table)


def test_open_and_equal_ends_are_fine(model: FSPN) -> None:
    for question in ({"age": (None, 30)}, {"age": (30, np.inf)}, {"age": (30, 30)}):
        assert 0 < model.probability(question) < 1
    assert model.probability({"day": (None, "2024-12-31")}) == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["2024-03", "2024", "01/03/2024", "now", "March 2024"])
def test_dates_that_are_no_instant(model: FSPN, text: str) -> None:
    with pytest.raises(ValueError, match="no full ISO date"):
        model.probability({"day": text})
    with pytest.raises(ValueError, match="no full ISO date"):
        model.probability({"day": (text, "2025-01-01")})


def test_whole_months_are_intervals(model: FSPN, table: pd.DataFrame) -> None:
    share = table["day"].between("2024-03-01", "2024-03-31").mean()
    asked = {"day": ("2024-03-01", "2024-03-31")}
    assert model.probability(asked) == pytest.approx(share, abs=0.02)
    assert model.probability({"day": ("20240301", "2024-03-31T00:00")}) == pytest.approx(
        model.probability(asked)
    )


def test_texts_of_truth_values(model: FSPN) -> None:
    for wanted in ("True", {"yes", True}):
        with pytest.raises(ValueError, match="ask for True or False"):
            model.probability({"active": wanted})


def test_labels_that_never_were(model: FSPN) -> None:
    with pytest.warns(RuntimeWarning, match=r"'Pro'.*nearest: 'pro'"):
        assert model.probability({"plan": "Pro"}) == 0.0
    with pytest.warns(RuntimeWarning, match="'prro'"):
        model.probability({"plan": {"prro", "basic"}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.probability({"plan": {"pro", "basic"}})


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("age = '30'", "without quotes"),
        ("age IN ('30', '31')", "without quotes"),
        ("NOT age = '30'", "without quotes"),
        ("active = 1", "active = TRUE"),
        ("active = 'true'", "active = TRUE"),
        ("plan = 3", "in quotes"),
        ("day = '2024-01-01'", "with a dictionary"),
    ],
)
def test_sql_of_another_kind(model: FSPN, sql: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        model.probability(sql)


def test_sql_of_the_same_kind(model: FSPN, table: pd.DataFrame) -> None:
    for sql, rows in {
        "age BETWEEN 40 AND 20": table["age"] > 1000,
        "active AND plan <> 'pro'": table["active"] & (table["plan"] != "pro"),
        "NOT active": ~table["active"],
        "age <> 30": table["age"] != 30,
    }.items():
        assert model.probability(sql) == pytest.approx(rows.mean(), abs=0.03)


def test_missing_dates_are_asked_for_in_sql() -> None:
    """`IS NULL` compares with nothing: it was refused with the comparisons of dates."""
    days = pd.Series(pd.date_range("2024-01-01", periods=200)).where(np.arange(200) % 4 > 0)
    model = FSPN(random_state=0).fit(pd.DataFrame({"day": days, "n": np.arange(200) % 3}))
    assert model.probability("day IS NULL") == pytest.approx(0.25, abs=0.01)
    assert model.probability("day IS NOT NULL") == pytest.approx(0.75, abs=0.01)
    with pytest.raises(ValueError, match="with a dictionary"):
        model.probability("day = '2024-01-02'")


def test_arguments(model: FSPN, table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="'empty' has no values"):
        model.mean("empty")
    with pytest.raises(ValueError, match=r"lacks \['age'\]"):
        model.score_samples(table.drop(columns="age"))
    with pytest.raises(ValueError, match=r"does not know \['new'\]"):
        model.score_samples(table.assign(new=1))
    with pytest.raises(TypeError, match=r"write \['plan'\]"):
        model.conditional_table("plan")
    with pytest.raises(TypeError, match=r"conditional\(query, evidence\)"):
        model.probability({"plan": "pro"}, {"age": 30})
    for n in (-5, 5.5, True):
        with pytest.raises(ValueError, match="whole number of rows"):
            model.sample(n)


@pytest.mark.parametrize(
    ("data", "told"),
    [("my.csv", "read_csv"), ({"a": [1]}, "pd.DataFrame"), (pd.Series([1.0]), "to_frame")],
    ids=["path", "dictionary", "series"],
)
def test_what_is_no_table(data: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        FSPN().fit(data)


def test_refusals_do_nothing_else() -> None:
    """Code versions leave calls of them out: they return nothing and change no argument."""
    tree = ast.parse(inspect.getsource(refusals))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    named = [node for node in functions if not node.name.startswith("_")]
    assert named
    for function in named:
        assert function.name.startswith(HARMLESS)
        for node in ast.walk(function):
            assert not (isinstance(node, ast.Return) and node.value is not None)
            stored = isinstance(node, ast.Attribute | ast.Subscript)
            assert not (stored and not isinstance(node.ctx, ast.Load)), "changes an argument"

"""Questions by the short way and by the long one are the same events."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fspn
from fspn import FSPN
from fspn.ask.parse import dict_events, intersect_events
from fspn.ask.quick import Columns, QuestionList


def table() -> pd.DataFrame:
    """Integers, labels, booleans, floats with repeated values, reals, long runs, gaps."""
    rng = np.random.default_rng(0)
    n = 600
    base = rng.integers(0, 4, n)
    reals = rng.normal(size=n) + base
    mixed = np.where(rng.random(n) < 0.4, 0.0, rng.exponential(size=n))
    return pd.DataFrame(
        {
            "few": base,
            "label": np.array(["a", "b", "c", "d"])[(base + rng.integers(0, 2, n)) % 4],
            "flag": base > 1,
            "half": base / 2 + rng.integers(0, 2, n),
            "real": reals,
            "mixed": mixed,
            "many": rng.integers(0, 900, n),
            "name": np.array([f"n{k}" for k in rng.integers(0, 300, n)]),
            "gaps": pd.Series(base).where(rng.random(n) < 0.8),
        }
    )


@cache
def model() -> FSPN:
    return FSPN(random_state=0).fit(table())


NUMBERS = st.one_of(
    st.integers(-2, 6), st.floats(-2, 6), st.sampled_from([0.0, 0.5, 899, 450, -np.inf, np.inf])
)
ENDS = st.one_of(st.none(), NUMBERS)
RANGES = st.tuples(ENDS, ENDS)
FORMS = {
    "few": st.one_of(st.integers(-1, 5), RANGES, st.sets(st.integers(0, 3))),
    "label": st.one_of(st.sampled_from("abcd"), st.frozensets(st.sampled_from("abcd"))),
    "flag": st.one_of(st.booleans(), st.sets(st.booleans())),
    "half": st.one_of(
        st.sampled_from([0.0, 0.5, 1, 2.5, 7]), RANGES, st.sets(st.sampled_from([0.5, 1]))
    ),
    "real": st.one_of(NUMBERS, RANGES),
    "mixed": st.one_of(NUMBERS, RANGES, st.sets(st.sampled_from([0.0, 0.25]))),
    "many": st.one_of(st.integers(-1, 901), RANGES, st.sets(st.integers(0, 899), max_size=5)),
    "name": st.one_of(st.sampled_from(["n1", "n2"]), st.sets(st.sampled_from(["n1", "n3", "n7"]))),
    "gaps": st.one_of(st.none(), st.just(fspn.NOT_MISSING), st.integers(0, 3), RANGES),
}


@st.composite
def questions(draw: Any) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(FORMS)), unique=True, max_size=4))
    return {name: draw(FORMS[name]) for name in names}


def the_long_way(asked: dict[str, Any], given: dict[str, Any]) -> float:
    domain = model().domain_
    evidence = dict_events(domain, [given], points=True)
    both = intersect_events(dict_events(domain, [asked]), evidence)
    log = model()._log_probability
    whole = float(log(evidence)[0])
    return float(np.exp(log(both)[0] - whole)) if whole > -np.inf else float("nan")


@given(questions())
def test_a_question_is_read_alike_in_both_ways(question: dict[str, Any]) -> None:
    expected = the_long_way(question, {})
    assert model().probability(question) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.filterwarnings("ignore:the evidence has probability zero")
@given(questions(), questions())
def test_evidence_is_read_alike_in_both_ways(asked: dict[str, Any], given: dict[str, Any]) -> None:
    expected = the_long_way(asked, given)
    found = model().conditional(asked, given)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@given(st.lists(questions(), min_size=1, max_size=4))
def test_a_list_is_answered_one_by_one(several: list[dict[str, Any]]) -> None:
    expected = [model().probability(each) for each in several]
    np.testing.assert_allclose(model().probability(several), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "question",
    [
        {"few": 2, "label": "a", "flag": True},
        {"few": (1, None), "half": (0.5, 2)},
        {"label": {"a", "c"}, "many": {3, 5}},
        {"real": (0.0, 1.5), "mixed": 0.0, "name": "n1"},
        {"gaps": None, "many": (10, 500)},
    ],
)
def test_what_is_asked_most_goes_the_short_way(question: dict[str, Any]) -> None:
    assert QuestionList(Columns(model().domain_)).add(question, {})


@pytest.mark.parametrize("question", [{"few": pd.Interval(0, 2)}, {"nothing": 1}, {"few": (1,)}])
def test_the_rest_is_left_to_the_long_way(question: dict[str, Any]) -> None:
    assert not QuestionList(Columns(model().domain_)).add(question, {})

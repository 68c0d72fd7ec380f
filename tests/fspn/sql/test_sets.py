"""Sets of values, checked by membership of sample points."""

from itertools import pairwise
from math import inf

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from fspn.sql.sets import ColumnSet, Interval, any_of

ENDS = st.sampled_from([-inf, 0.0, 1.0, 2.0, 3.0, inf])
POINTS = [x / 2 for x in range(-2, 9)]


@st.composite
def intervals(draw):
    low, high = sorted((draw(ENDS), draw(ENDS)))
    return Interval(
        low, low > -inf and draw(st.booleans()), high, high < inf and draw(st.booleans())
    )


@st.composite
def sets(draw):
    parts = [ColumnSet((i,)) for i in draw(st.lists(intervals(), max_size=3)) if not i.empty]
    labels = draw(st.frozensets(st.sampled_from("abc")))
    other = ColumnSet(labels=labels, but=draw(st.booleans()), missing=draw(st.booleans()))
    return any_of([*parts, other])


def members(each):
    """Which sample numbers, labels and the missing state a set holds."""
    numbers = pd.Series([*POINTS, np.nan])
    labels = pd.Series([*"abcd", None], dtype="object")
    return [*each.mask(numbers), *each.mask(labels)]


@given(sets(), sets())
def test_union_meet_and_complement_are_those_of_the_members(first, second):
    a, b = np.array(members(first)), np.array(members(second))
    assert members(first.union(second)) == list(a | b)
    assert members(first.meet(second)) == list(a & b)
    assert members(first.complement()) == list(~a)


@given(sets())
def test_intervals_stay_disjoint_and_in_order(each):
    for left, right in pairwise(each.numbers):
        assert left.high <= right.low
        assert left.meet(right).empty


def test_entries_of_a_question_become_sets():
    assert members(ColumnSet.of(1))[: len(POINTS)] == [x == 1 for x in POINTS]
    assert members(ColumnSet.of((1, None)))[: len(POINTS)] == [x >= 1 for x in POINTS]
    half_open = pd.Interval(1, 2, closed="left")
    assert members(ColumnSet.of(half_open))[: len(POINTS)] == [1 <= x < 2 for x in POINTS]
    assert ColumnSet.of({"a", "b"}).labels == {"a", "b"}
    assert ColumnSet.of(None).missing
    assert not ColumnSet.of("a").missing

"""Events and regions: intersections against plain sets."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn.schema.events import (
    CodeRange,
    Codes,
    CodeWeights,
    Events,
    Interval,
    RealPoint,
    RealRange,
    Side,
    Span,
    meet,
    narrow,
)

SIZE = 5
spans = st.builds(Span, st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
sets = st.builds(Codes, st.frozensets(st.integers(0, SIZE - 1)))
cells = spans | sets
weights = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=SIZE, max_size=SIZE).map(
    lambda row: CodeWeights(np.array([row]))
)
ranges = spans.map(lambda s: CodeRange(np.array([s.lower]), np.array([s.upper])))


def held(cell: Side) -> set[int]:
    assert not isinstance(cell, Interval)
    return set(np.flatnonzero(cell.mask(SIZE)).tolist())


@given(cells, cells)
def test_meet_is_the_intersection(first: Side, second: Side) -> None:
    assert held(meet(first, second)) == held(first) & held(second)


@given(ranges | weights, cells)
def test_constraints_cut_to_a_cell(constraint: CodeRange | CodeWeights, cell: Side) -> None:
    before = constraint.weights(SIZE)[0]
    after = constraint.intersect(cell)
    expected = [w if k in held(cell) else 0.0 for k, w in enumerate(before)]
    np.testing.assert_array_equal(after.weights(SIZE)[0], expected)
    assert after.possible()[0] == any(expected)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(-6, 6))
def test_intervals_are_open_below_and_closed_above(ends: list[float], x: float) -> None:
    a, b, c, d = ends
    both = meet(Interval(a, b), Interval(c, d))
    assert isinstance(both, Interval)
    assert (both.lower < x <= both.upper) == (a < x <= b and c < x <= d)
    point = RealPoint(np.array([x])).intersect(Interval(a, b))
    assert point.possible()[0] == (a < x <= b)
    cut = RealRange(np.array([c]), np.array([d])).intersect(Interval(a, b))
    assert cut.possible()[0] == (max(a, c) < min(b, d))


def test_narrow_keeps_what_only_one_side_names() -> None:
    inner = narrow({0: Span(0, 3), 1: Span(2, 2)}, {0: Span(2, 4), 2: Interval(0, 1)})
    assert inner == {0: Span(2, 3), 1: Span(2, 2), 2: Interval(0, 1)}


def test_codes_and_reals_do_not_mix() -> None:
    with pytest.raises(TypeError):
        meet(Span(0, 1), Interval(0, 1))
    with pytest.raises(TypeError):
        CodeRange(np.zeros(1), np.ones(1)).intersect(Interval(0, 1))
    with pytest.raises(TypeError):
        RealRange(np.zeros(1), np.ones(1)).intersect(Span(0, 1))
    with pytest.raises(TypeError):
        RealPoint(np.zeros(1)).intersect(Codes(frozenset([0])))


class TestBatches:
    events = Events(
        3,
        {
            0: CodeRange(np.array([0, 1, 2]), np.array([4, 1, 1])),
            1: CodeWeights(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]])),
            2: RealRange(np.array([0.0, -np.inf, 1.0]), np.array([1.0, np.inf, 1.0])),
            3: RealPoint(np.array([0.5, 1.5, 2.5])),
        },
    )
    region: ClassVar[dict[int, Side]] = {
        0: Span(1, 4),
        1: Codes(frozenset([0])),
        2: Interval(0.5, 2),
        3: Interval(1, 3),
    }

    def test_intersect_and_possible(self) -> None:
        inside = self.events.intersect(self.region)
        for v, expected in {
            0: [True, True, False],
            1: [True, True, False],
            2: [True, True, False],
            3: [False, True, True],
        }.items():
            assert inside.constraints[v].possible().tolist() == expected, v
        assert inside.possible(self.region).tolist() == [False, True, False]

    def test_a_region_constrains_free_variables(self) -> None:
        free = Events(2, {}).intersect(self.region)
        assert free.possible(self.region).all()
        np.testing.assert_array_equal(
            free.constraints[0].weights(5),  # type: ignore[union-attr]
            [[0, 1, 1, 1, 1]] * 2,
        )
        np.testing.assert_array_equal(
            free.constraints[1].weights(3),  # type: ignore[union-attr]
            [[1, 0, 0]] * 2,
        )

    def test_take_and_restrict(self) -> None:
        some = self.events.take(np.array([2, 0]))
        assert some.n == 2
        assert all(len(c) == 2 for c in some.constraints.values())
        assert some.constraints[3].values.tolist() == [2.5, 0.5]  # type: ignore[union-attr]
        assert set(self.events.restrict({0, 3, 9}).constraints) == {0, 3}

    def test_with_constraint_leaves_the_original(self) -> None:
        changed = self.events.with_constraint(0, RealPoint(np.zeros(3)))
        assert isinstance(changed.constraints[0], RealPoint)
        assert isinstance(self.events.constraints[0], CodeRange)

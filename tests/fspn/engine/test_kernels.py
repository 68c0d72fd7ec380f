"""The small kernels against what they stand for, written with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from fspn.engine.code_kernels import codes_of_box
from fspn.engine.engine import coding
from fspn.engine.vector_kernels import (
    LANES,
    eight_products,
    eight_sums,
    eight_sums_of_two,
    lowest_bit,
    no_unroll,
)

SIDES = st.one_of(
    st.sampled_from([np.nan, np.inf, -np.inf, 1e-30, -1e-30]),
    st.integers(-4, 12),
    st.floats(-3, 11),
)
DOMAINS = st.one_of(
    st.integers(1, 9).map(lambda n: np.arange(n)),
    st.integers(1, 9).map(lambda n: np.arange(n) - 3),
    st.integers(1, 9).map(lambda n: np.arange(n) + 0.5),
    st.sets(st.integers(-3, 11), min_size=1, max_size=6).map(sorted),
    st.sets(st.floats(-3, 11), min_size=1, max_size=6).map(sorted),
)


@given(st.lists(DOMAINS, min_size=1, max_size=4), st.data())
def test_boxes_hold_the_values_between_their_sides(domains, data):
    """Codes low .. high are the values in [a, b], for runs of integers and for other domains."""
    columns = [np.asarray(values, dtype=np.float64) for values in domains]
    m = len(columns)
    box = st.lists(SIDES, min_size=m, max_size=m)
    lower, upper = (np.array([data.draw(box) for _ in range(3)], dtype=float) for _ in range(2))
    low, high = np.empty((2, 3, m), dtype=np.int64)
    for q in range(3):
        codes_of_box(lower, upper, q, *coding(columns), low[q], high[q])
    for q in range(3):
        for v, column in enumerate(columns):
            a = -np.inf if np.isnan(lower[q, v]) else lower[q, v]
            b = np.inf if np.isnan(upper[q, v]) else upper[q, v]
            inside = np.flatnonzero((column >= a) & (column <= b))
            found = np.arange(low[q, v], high[q, v] + 1)
            assert found.tolist() == inside.tolist()


@njit
def _sums(buffer, b, step, extent, p, down, target):
    eight_sums(buffer, b, step, extent, p, down, target)


@njit
def _sums_of_two(buffer, b, step, extent, p, down, q, fall, target):
    eight_sums_of_two(buffer, b, step, extent, p, down, q, fall, target)


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize("extent", [0, 1, 2, 3, 8, 31])
def test_eight_sums_are_a_vector_times_a_matrix(extent, step):
    """The compiled form writes b @ A, and b @ (A * C), and nothing else."""
    rng = np.random.default_rng(extent)
    buffer = rng.random(2000)
    b = buffer[3 + step * np.arange(extent)]
    first = buffer[100 : 100 + 11 * extent].reshape(extent, 11)[:, :LANES]
    second = buffer[700 : 700 + 9 * extent].reshape(extent, 9)[:, :LANES]
    expected = buffer.copy()
    expected[1900:1908], expected[1950:1958] = b @ first, b @ (first * second)
    plain = buffer.copy()
    for one, two, array in ((_sums, _sums_of_two, buffer), (eight_sums, eight_sums_of_two, plain)):
        one(array, 3, step, extent, 100, 11, 1900)
        two(array, 3, step, extent, 100, 11, 700, 9, 1950)
        np.testing.assert_allclose(array, expected, rtol=1e-14)


@njit
def _products(buffer, p, q, target):
    eight_products(buffer, p, q, target)


@pytest.mark.parametrize("target", [3, 20, 60])
def test_eight_products(target):
    """Compiled and plain, also in the place of a factor; nothing else is written."""
    buffer = np.random.default_rng(0).random(80)
    expected = buffer.copy()
    expected[target : target + LANES] = buffer[3 : 3 + LANES] * buffer[20 : 20 + LANES]
    plain = buffer.copy()
    _products(buffer, 3, 20, target)
    eight_products(plain, 3, 20, target)
    np.testing.assert_array_equal(buffer, expected)
    np.testing.assert_array_equal(plain, expected)


@njit
def _bit(bits):
    return lowest_bit(bits)


@given(st.integers(1, 2**62 - 1))
def test_lowest_bit(bits):
    """Compiled and plain: the number of zeros at the end."""
    text = f"{bits:b}"
    zeros = len(text) - len(text.rstrip("0"))
    assert _bit(bits) == lowest_bit(bits) == zeros


@njit
def _double(x):
    total = 0
    for _ in range(x):
        no_unroll()
        total += 2
    return total


def test_a_short_loop_is_a_loop():
    """The hint to the compiler changes no answer."""
    assert _double(300) == _double.py_func(300) == 600

"""Cells: shares of ranges, densities and draws against a brute-force reading of the pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fspn.schema.binning import MAX_POINTS, Counted, cut, discrete_cells, label_cells, real_cells
from fspn.schema.cells import OUTSIDE, Cells
from fspn.schema.scattered import ScatteredCells, cells_from_state

MIXED = Cells(
    np.array([-np.inf, -1.0, 0.0, 0.0, 1.0]),
    np.array([-1.0, 0.0, 0.0, 1.0, np.inf]),
    np.array([1.0, 5.0, 40.0, 7.0, 1.0]),
    np.array([0, 2, 3]),
    scale=0.5,
)


def drawn_cells(seed: int) -> tuple[Cells, np.ndarray]:
    """Cells of one of the kinds, and the values they were made of."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 400)), int(rng.integers(2, 20))
    kind = rng.integers(4)
    if kind == 0:
        values = np.round(rng.normal(size=n), int(rng.integers(0, 3)))
        return real_cells(Counted.of(values), k, atoms=bool(rng.integers(2))), values
    values = rng.geometric(0.02, n).astype(np.float64)
    counted = Counted.of(values)
    if kind == 1:
        return discrete_cells(counted, k), values
    if kind == 2:
        group = np.unique(rng.integers(0, k, len(counted.values)), return_inverse=True)[1]
        return ScatteredCells.of(counted.values, counted.rows, group), values
    left, right = np.array([0.0, 3.0, 9.0]), np.array([0.0, 6.0, 30.0])
    lattice = Cells(left, right, np.array([4.0, 6.0, 8.0]), np.array([0, 1]), step=3.0)
    return lattice, rng.choice([0.0, 3.0, 6.0, 9.0, 30.0], n)


cases = st.integers(0, 2**32 - 1).map(drawn_cells)


@given(cases, st.floats(-4, 60), st.floats(-4, 60))
@settings(max_examples=150, deadline=None)
def test_shares_add_up_over_neighbouring_ranges(
    case: tuple[Cells, np.ndarray], a: float, b: float
) -> None:
    cells, _ = case
    assert cells.faults() == []
    low, high = min(a, b), max(a, b)
    lower = np.array([-np.inf, low, np.nextafter(high, np.inf)])
    upper = np.array([np.nextafter(low, -np.inf), high, np.inf])
    shares = cells.range_weights(lower, upper)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-9)
    for i in range(3):
        found = cells.cells_in_range(float(lower[i]), float(upper[i]))
        if found is not None:
            first, last, one, other = found
            expected = np.zeros(cells.size)
            if first <= last:
                expected[first : last + 1] = 1.0
                expected[first], expected[last] = one, other
            np.testing.assert_allclose(shares[i], expected, atol=1e-9)


@given(cases)
@settings(max_examples=60, deadline=None)
def test_values_lie_in_their_cells_and_come_back(case: tuple[Cells, np.ndarray]) -> None:
    cells, values = case
    codes = cells.codes(values)
    assert (codes >= 0).all()
    assert np.isfinite(cells.log_density(values)).all()
    drawn = cells.sample(np.repeat(np.arange(cells.size), 20), np.random.default_rng(0))
    assert cells.codes(drawn).tolist() == np.repeat(np.arange(cells.size), 20).tolist()
    again = cells_from_state(cells.state())
    np.testing.assert_array_equal(again.codes(values), codes)
    if cells.is_discrete:
        cell, share = cells.support_shares
        np.testing.assert_allclose(np.bincount(cell, share), 1.0)
        np.testing.assert_allclose(np.exp(cells.log_density(cells.support)), share)


def test_a_cell_of_points_and_stretches_by_hand() -> None:
    values = np.array([-9.0, -1.0, -0.5, 0.0, 1e-9, 1.0, 7.0])
    assert MIXED.codes(values).tolist() == [0, 0, 0, 1, 2, 2, 2]
    weights = MIXED.range_weights(np.array([-0.5, 0.0, 1e-12]), np.array([0.5, 0.0, np.inf]))
    np.testing.assert_allclose(weights[0], [2.5 / 6, 1.0, 3.5 / 8])
    np.testing.assert_allclose(weights[1], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(weights[2], [0.0, 0.0, 1.0])
    beyond = MIXED.range_weights(np.array([1.5]), np.array([np.inf]))[0]
    np.testing.assert_allclose(beyond, [0.0, 0.0, 0.5 / 8])
    np.testing.assert_allclose(np.exp(MIXED.log_density(np.array([0.0, 0.5]))), [1.0, 7 / 8])
    grid = np.linspace(-60, 60, 2_400_001)
    inside = np.exp(MIXED.log_density(grid[MIXED.codes(grid) == 2])).sum() * (grid[1] - grid[0])
    assert inside == pytest.approx(1.0 - 0.5 / 59.5 / 8, abs=1e-3)


def test_heavy_values_are_cells_of_their_own() -> None:
    rows = np.array([40.0, 40, 40, 300, 60, 60, 200, 50, 50, 50, 300, 1, 400])
    starts = cut(rows, 9, rows.sum() / 9).tolist()
    assert len(starts) <= 9
    assert {3, 4, 6, 7, 10} <= set(starts)
    assert 12 not in starts  # One row in front of a heavy value is no cell.
    values = np.concatenate([np.zeros(500), np.random.default_rng(0).normal(size=500)])
    cells = real_cells(Counted.of(values), 10, atoms=True)
    zero = int(cells.codes(np.array([0.0]))[0])
    assert np.exp(cells.log_density(np.array([0.0])))[0] == pytest.approx(1.0, abs=1e-3)
    assert (cells.codes(values) == zero).sum() == 500


def test_columns_of_very_many_values_are_pooled_on_a_lattice() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.integers(0, 10**7, 40_000) * 10, np.full(900, 70)]).astype(float)
    cells = discrete_cells(Counted.of(values), 32)
    assert len(np.unique(values)) > MAX_POINTS > len(cells.left)
    assert (cells.codes(values) >= 0).all()
    assert cells.step == 10.0
    assert cells.codes(np.array([5.0]))[0] == OUTSIDE
    share = cells.range_weights(np.array([70.0]), np.array([70.0])) @ cells.cell_rows
    assert share[0] == pytest.approx((values == 70).sum(), rel=0.01)
    tail = np.sort(values)[-40]
    rows = cells.range_weights(np.array([tail]), np.array([np.inf])) @ cells.cell_rows
    assert 40 / 1.5 < rows[0] < 40 * 1.5


def test_rare_labels_share_a_cell() -> None:
    order, cells = label_cells(np.array([1.0, 9.0, 0.0, 5.0, 2.0]), 3)
    assert order.tolist() == [1, 3, 4, 0, 2]
    assert cells.size == 3
    np.testing.assert_allclose(cells.support_shares[1], [1, 1, 2 / 3.1, 1 / 3.1, 0.1 / 3.1])

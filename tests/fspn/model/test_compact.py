"""Back-off tables in few numbers: nothing is left out that does not come back to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fspn.model.cpt.backoff import BackoffTable, CountLevel
from fspn.model.cpt.compact import (
    TILT_BITS,
    base_of_counts,
    cells_state,
    few_bits,
    follows_from,
    level_of_cells,
    pseudo_count_of,
    settled,
    with_fewer_parents,
)
from fspn.model.cpt.rows import shrink

SIZES, SIZE = (3, 4), 5


def counted(rows: np.ndarray, width: int, alpha: float) -> CountLevel:
    """The level that a learner counts on rows of (parents, child)."""
    key = np.ravel_multi_index(tuple(rows.T[:width]), SIZES[:width])
    cells, counts = np.unique(key * SIZE + rows[:, -1], return_counts=True)
    keys, codes = np.divmod(cells, SIZE)
    return CountLevel.from_cells(keys, codes, shrink(counts), SIZES[:width], alpha)


def some_rows(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, [*SIZES, SIZE], size=(n, 3))


def equal(one: CountLevel, other: CountLevel) -> bool:
    mine, its = one.state(), other.state()
    return mine.keys() == its.keys() and all(
        mine[key].dtype == its[key].dtype and np.array_equal(mine[key], its[key]) for key in mine
    )


@given(st.integers(0, 1000), st.integers(1, 400))
def test_a_level_comes_back_from_its_cells(seed: int, n: int) -> None:
    level = counted(some_rows(seed, n), 2, 0.7)
    tilted = level.tilted(np.linspace(0.5, 2, SIZE))
    for each in (level, tilted):
        state = cells_state(each, SIZE)
        assert state is not None
        assert equal(level_of_cells(state, SIZE), each)


@given(st.integers(0, 1000), st.integers(1, 400))
def test_a_lower_level_follows_from_the_one_above(seed: int, n: int) -> None:
    rows = some_rows(seed, n)
    top, low = counted(rows, 2, 0.7), counted(rows, 1, 3.0)
    assert follows_from(low, top, SIZE)
    assert equal(with_fewer_parents(top, SIZE, low.alpha), low)
    tilt = np.linspace(0.5, 2, SIZE)
    assert follows_from(low.tilted(tilt), top.tilted(tilt), SIZE)
    assert not follows_from(low, top.tilted(tilt), SIZE)


def test_what_was_counted_on_other_rows_does_not_follow() -> None:
    top = counted(some_rows(1, 300), 2, 0.7)
    assert not follows_from(counted(some_rows(2, 300), 1, 3.0), top, SIZE)
    weighed = replace(top, counts=top.counts * 0.5)
    assert not follows_from(counted(some_rows(1, 300), 1, 3.0), weighed, SIZE)


def test_a_level_of_other_types_keeps_its_arrays() -> None:
    level = counted(some_rows(1, 300), 2, 0.7)
    assert cells_state(replace(level, start=level.start.astype(np.int32)), SIZE) is None


def table_of(rows: np.ndarray) -> BackoffTable:
    counts = np.bincount(rows[:, -1], minlength=SIZE)
    base = (counts + 0.1) / (counts.sum() + 0.1 * SIZE)
    return BackoffTable(base, (counted(rows, 1, 3.0), counted(rows, 2, 0.7)))


def test_a_settled_table_has_a_base_of_its_counts_and_hardly_changes() -> None:
    cpt = table_of(some_rows(3, 300))
    assert pseudo_count_of(cpt) == 0.1
    rng = np.random.default_rng(0)
    for _ in range(20):
        cpt = cpt.tilted(rng.uniform(0.8, 1.25, SIZE))
    found = settled(cpt)
    assert pseudo_count_of(found) == 0.1
    top = found.levels[-1]
    assert isinstance(top, CountLevel)
    assert np.array_equal(base_of_counts(top, SIZE, 0.1), found.base)
    parents = np.array([[0, 0], [2, 3]])
    near = 2.0 ** (1 - TILT_BITS)
    np.testing.assert_allclose(found.table(parents), cpt.table(parents), rtol=near)
    np.testing.assert_allclose(found.table(parents).sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(settled(found).base, found.base)


def test_a_base_of_its_own_is_kept() -> None:
    cpt = table_of(some_rows(3, 300))
    other = BackoffTable(np.full(SIZE, 1 / SIZE), cpt.levels)
    assert pseudo_count_of(other) is None
    assert np.array_equal(settled(other).base, other.base)


@given(st.lists(st.floats(1e-30, 1e30), min_size=1))
def test_factors_of_few_bits_are_close(factors: list[float]) -> None:
    exact = np.array(factors)
    found = few_bits(exact).astype(np.float64)
    np.testing.assert_allclose(found, exact, rtol=2.0**-TILT_BITS)
    assert np.array_equal(few_bits(found), found)


def test_factors_beyond_float32_stay_positive_and_finite() -> None:
    found = few_bits(np.array([1e-300, 1e-40, 1.0, 3.4e38, 1e300]))
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert (found > 0).all()
    assert found[2] == 1
    assert np.array_equal(few_bits(found), found)

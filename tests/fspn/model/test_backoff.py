"""Ladders: formulas against plain loops, rows against refine, both against sums to 1."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn.io.model_file import TABLES
from fspn.model.cpt.backoff import BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.full import FullTable
from fspn.model.cpt.rows import Rows, row_keys, shrink
from fspn.model.nodes import TableSplit, expand

D = 4
BASE = np.array([0.1, 0.2, 0.3, 0.4])


def configurations(sizes: tuple[int, ...]) -> np.ndarray:
    return np.array(list(product(*(range(size) for size in sizes)))).reshape(-1, len(sizes))


def dense(rows: Rows, n_keys: int, below: np.ndarray) -> np.ndarray:
    """The rows written out, with what they hand down to the row below."""
    table = below.copy()
    for place, key in enumerate(rows.keys):
        cells = slice(rows.start[place], rows.start[place + 1])
        table[key] *= rows.tail[place]
        table[key, rows.codes[cells]] += rows.share[cells]
    return table


@st.composite
def counts(draw: st.DrawFn) -> tuple[np.ndarray, tuple[int, ...], float]:
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    n = int(np.prod(sizes))
    flat = draw(st.lists(st.integers(0, 5), min_size=n * D, max_size=n * D).filter(any))
    return np.array(flat).reshape(n, D), sizes, draw(st.sampled_from([0.0, 0.25, 30.0]))


def level_of(table: np.ndarray, sizes: tuple[int, ...], alpha: float) -> CountLevel:
    keys, codes = np.nonzero(table)
    return CountLevel.from_cells(keys, codes, shrink(table[keys, codes]), sizes, alpha)


@given(counts())
def test_count_level_formula(case: tuple[np.ndarray, tuple[int, ...], float]) -> None:
    table, sizes, alpha = case
    level = level_of(table, sizes, alpha)
    below = np.tile(BASE, (len(table), 1))
    answer = level.refine(below, configurations(sizes))
    for key, row in enumerate(table):
        total = row.sum() + alpha
        expected = (row + alpha * BASE) / total if row.any() else BASE
        np.testing.assert_allclose(answer[key], expected, atol=1e-15)
    np.testing.assert_allclose(dense(level.rows, len(table), below), answer, atol=1e-15)


@given(counts())
def test_counts_are_kept_in_small_types(case: tuple[np.ndarray, tuple[int, ...], float]) -> None:
    level = level_of(*case)
    assert {level.keys.dtype, level.codes.dtype, level.counts.dtype} == {np.dtype(np.uint8)}
    again = CountLevel.from_state(level.state())
    assert again.sizes == level.sizes
    assert again.alpha == level.alpha


def offset_level(epsilon: float = 0.1) -> LinearLaw:
    """x = a - 2 b + noise, on values that are not the codes."""
    return LinearLaw(
        (np.array([0, 5, 7]), np.array([-1, 2])),
        np.array([-4, 3, 7, 9]),
        np.array([1, -2]),
        np.array([-1, 0, 2]),
        np.array([0.25, 0.5, 0.25]),
        epsilon,
    )


def test_offset_level_formula() -> None:
    level = offset_level()
    cells = configurations(level.sizes)
    below = np.tile(BASE, (len(cells), 1))
    answer = level.refine(below, cells)
    law = dict(zip([-1, 0, 2], [0.25, 0.5, 0.25], strict=True))
    hit = 0
    for row, (a, b) in zip(answer, cells, strict=True):
        centre = level.parent_values[0][a] - 2 * level.parent_values[1][b]
        noise = np.array([law.get(int(x - centre), 0.0) for x in level.child_values])
        expected = 0.9 * noise / noise.sum() + 0.1 * BASE if noise.any() else BASE
        hit += bool(noise.any())
        np.testing.assert_allclose(row, expected, atol=1e-15)
    assert 0 < hit < len(cells)
    np.testing.assert_allclose(dense(level.rows, len(cells), below), answer, atol=1e-15)


def test_offset_state() -> None:
    again = TABLES["offset"].from_state(offset_level().state())
    np.testing.assert_array_equal(again.child_values, offset_level().child_values)
    assert again.sizes == (3, 2)
    assert again.epsilon == 0.1


@given(counts(), st.sampled_from([0.5, 4.0]))
def test_cpts_sum_to_one_and_back_off(
    case: tuple[np.ndarray, tuple[int, ...], float], alpha: float
) -> None:
    table, sizes, _ = case
    first = table.reshape(sizes[0], -1, D).sum(axis=1)
    cpt = BackoffTable(BASE, (level_of(first, sizes[:1], alpha), level_of(table, sizes, alpha)))
    cells = configurations(sizes)
    answer = cpt.table(cells)
    np.testing.assert_allclose(answer.sum(axis=1), 1.0, atol=1e-12)
    for key, cell in enumerate(cells):
        one = first[cell[0]]
        below = (one + alpha * BASE) / (one.sum() + alpha)
        expected = (table[key] + alpha * below) / (table[key].sum() + alpha)
        np.testing.assert_allclose(answer[key], expected, atol=1e-14)
    assert cpt.sizes == sizes


@given(counts())
def test_full_tables_are_exact(case: tuple[np.ndarray, tuple[int, ...], float]) -> None:
    table, sizes, _ = case
    table = np.where(table.any(axis=1, keepdims=True), table, 1)
    rows = table / table.sum(axis=1, keepdims=True)
    full = FullTable.from_probabilities(rows.reshape(*sizes, D))
    cells = configurations(sizes)
    np.testing.assert_allclose(full.table(cells), rows, atol=2e-16 * D)
    assert ((full.table(cells) == 0) == (rows == 0)).all()
    np.testing.assert_array_equal(
        dense(full.rows, len(rows), np.zeros_like(rows)), full.table(cells)
    )
    assert full.n_parameters == len(rows) * (D - 1)
    again = FullTable.from_state(full.state())
    np.testing.assert_array_equal(again.probabilities, full.probabilities)


def test_a_table_written_out_is_the_same() -> None:
    cpt = BackoffTable(BASE, (offset_level(),))
    split = expand(TableSplit(2, (0, 1), cpt))
    assert len(split.children) == 6
    for region, leaf in zip(split.regions, split.children, strict=True):
        cell = np.array([[region[0].lower, region[1].lower]])  # type: ignore[union-attr]
        np.testing.assert_array_equal(leaf.dist.parts[0].p, cpt.table(cell)[0])  # type: ignore[union-attr]


def test_keys_and_small_types() -> None:
    keys = row_keys([np.array([0, 1, 2]), np.array([1, 0, 1])], (3, 2))
    assert keys.tolist() == [1, 2, 5]
    assert shrink(np.array([255])).dtype == np.uint8
    assert shrink(np.array([256])).dtype == np.uint16
    assert shrink(np.array([2**33])).dtype == np.int64
    assert shrink(np.array([], dtype=np.int64)).dtype == np.uint8


@pytest.mark.parametrize("alpha", [1e-12, 1e12])
def test_extreme_smoothing(alpha: float) -> None:
    level = level_of(np.array([[3, 1, 0, 0]]), (1,), alpha)
    row = level.refine(BASE[None, :], np.array([[0]]))[0]
    expected = [0.75, 0.25, 0, 0] if alpha < 1 else BASE
    np.testing.assert_allclose(row, expected, atol=1e-9)

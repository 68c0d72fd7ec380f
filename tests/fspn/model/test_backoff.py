"""Ladders: formulas against plain loops, rows against refine, both against sums to 1."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn.io.model_file import FAMILIES
from fspn.model.cpt.backoff import CountRung, Ladder, OffsetRung, Rows, row_keys, shrink
from fspn.model.cpt.full import FullTable
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


def rung_of(table: np.ndarray, sizes: tuple[int, ...], alpha: float) -> CountRung:
    keys, codes = np.nonzero(table)
    return CountRung.from_cells(keys, codes, shrink(table[keys, codes]), sizes, alpha)


@given(counts())
def test_count_rung_formula(case: tuple[np.ndarray, tuple[int, ...], float]) -> None:
    table, sizes, alpha = case
    rung = rung_of(table, sizes, alpha)
    below = np.tile(BASE, (len(table), 1))
    answer = rung.refine(below, configurations(sizes))
    for key, row in enumerate(table):
        total = row.sum() + alpha
        expected = (row + alpha * BASE) / total if row.any() else BASE
        np.testing.assert_allclose(answer[key], expected, atol=1e-15)
    np.testing.assert_allclose(dense(rung.rows, len(table), below), answer, atol=1e-15)


@given(counts())
def test_counts_are_kept_in_small_types(case: tuple[np.ndarray, tuple[int, ...], float]) -> None:
    rung = rung_of(*case)
    assert {rung.keys.dtype, rung.codes.dtype, rung.counts.dtype} == {np.dtype(np.uint8)}
    again = CountRung.from_state(rung.state())
    assert again.sizes == rung.sizes
    assert again.alpha == rung.alpha


def offset_rung(epsilon: float = 0.1) -> OffsetRung:
    """x = a - 2 b + noise, on values that are not the codes."""
    return OffsetRung(
        (np.array([0, 5, 7]), np.array([-1, 2])),
        np.array([-4, 3, 7, 9]),
        np.array([1, -2]),
        np.array([-1, 0, 2]),
        np.array([0.25, 0.5, 0.25]),
        epsilon,
    )


def test_offset_rung_formula() -> None:
    rung = offset_rung()
    cells = configurations(rung.sizes)
    below = np.tile(BASE, (len(cells), 1))
    answer = rung.refine(below, cells)
    law = dict(zip([-1, 0, 2], [0.25, 0.5, 0.25], strict=True))
    hit = 0
    for row, (a, b) in zip(answer, cells, strict=True):
        centre = rung.parent_values[0][a] - 2 * rung.parent_values[1][b]
        noise = np.array([law.get(int(x - centre), 0.0) for x in rung.child_values])
        expected = 0.9 * noise / noise.sum() + 0.1 * BASE if noise.any() else BASE
        hit += bool(noise.any())
        np.testing.assert_allclose(row, expected, atol=1e-15)
    assert 0 < hit < len(cells)
    np.testing.assert_allclose(dense(rung.rows, len(cells), below), answer, atol=1e-15)


def test_offset_state() -> None:
    again = FAMILIES["offset"].from_state(offset_rung().state())
    np.testing.assert_array_equal(again.child_values, offset_rung().child_values)
    assert again.sizes == (3, 2)
    assert again.epsilon == 0.1


@given(counts(), st.sampled_from([0.5, 4.0]))
def test_ladders_sum_to_one_and_back_off(
    case: tuple[np.ndarray, tuple[int, ...], float], alpha: float
) -> None:
    table, sizes, _ = case
    first = table.reshape(sizes[0], -1, D).sum(axis=1)
    ladder = Ladder(BASE, (rung_of(first, sizes[:1], alpha), rung_of(table, sizes, alpha)))
    cells = configurations(sizes)
    answer = ladder.table(cells)
    np.testing.assert_allclose(answer.sum(axis=1), 1.0, atol=1e-12)
    for key, cell in enumerate(cells):
        one = first[cell[0]]
        below = (one + alpha * BASE) / (one.sum() + alpha)
        expected = (table[key] + alpha * below) / (table[key].sum() + alpha)
        np.testing.assert_allclose(answer[key], expected, atol=1e-14)
    assert ladder.sizes == sizes


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
    ladder = Ladder(BASE, (offset_rung(),))
    split = expand(TableSplit(2, (0, 1), ladder))
    assert len(split.children) == 6
    for region, leaf in zip(split.regions, split.children, strict=True):
        cell = np.array([[region[0].lower, region[1].lower]])  # type: ignore[union-attr]
        np.testing.assert_array_equal(leaf.dist.parts[0].p, ladder.table(cell)[0])  # type: ignore[union-attr]


def test_keys_and_small_types() -> None:
    keys = row_keys([np.array([0, 1, 2]), np.array([1, 0, 1])], (3, 2))
    assert keys.tolist() == [1, 2, 5]
    assert shrink(np.array([255])).dtype == np.uint8
    assert shrink(np.array([256])).dtype == np.uint16
    assert shrink(np.array([2**33])).dtype == np.int64
    assert shrink(np.array([], dtype=np.int64)).dtype == np.uint8


@pytest.mark.parametrize("alpha", [1e-12, 1e12])
def test_extreme_smoothing(alpha: float) -> None:
    rung = rung_of(np.array([[3, 1, 0, 0]]), (1,), alpha)
    row = rung.refine(BASE[None, :], np.array([[0]]))[0]
    expected = [0.75, 0.25, 0, 0] if alpha < 1 else BASE
    np.testing.assert_allclose(row, expected, atol=1e-9)

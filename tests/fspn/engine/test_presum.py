"""Tables with parents summed out beforehand are what summing the joint table gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fspn.engine.presum
from fspn.engine.presum import PresummedTable, Presummer
from fspn.engine.program import PRESUMS

SIZES = (2, 3, 4, 2, 3, 2, 5)


def network(
    parents: list[tuple[int, ...]], seed: int = 0
) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Random tables; parents come before children."""
    rng = np.random.default_rng(seed)
    tables = []
    for variable, given_ in enumerate(parents):
        cells = rng.random([SIZES[v] for v in (*given_, variable)]) + 0.01
        tables.append(((*given_, variable), cells / cells.sum(axis=-1, keepdims=True)))
    return tables


def summed(tables: list[tuple[tuple[int, ...], np.ndarray]], table: PresummedTable) -> np.ndarray:
    """The product of a variable's table and those of the merged ones, summed over the latter."""
    operands: list[object] = []
    for variable in (table.dims[-1], *table.merged):
        dims, cells = tables[variable]
        operands += [cells, list(dims)]
    return np.einsum(*operands, list(table.dims))


def all_of(presummer: Presummer, n: int) -> list[PresummedTable]:
    return [table for variable in range(n) for table in presummer.tables_of(variable)]


def test_a_chain_becomes_a_marginal() -> None:
    tables = network([(), (0,), (1,), (2,)])
    found = Presummer(tables, 1000).tables_of(3)
    assert [(t.dims, sorted(t.merged)) for t in found] == [
        ((2, 3), []), ((1, 3), [2]), ((0, 3), [1, 2]), ((3,), [0, 1, 2]),
    ]  # fmt: skip
    first, second, third, fourth = (cells for _, cells in tables)
    np.testing.assert_allclose(found[-1].cells, first @ second @ third @ fourth, rtol=1e-14)
    assert found[0].presums == [(2, found[1])]
    assert found[-1].presums == []


def test_a_parent_stays_while_another_of_its_children_is_between() -> None:
    """0 is above 1 and 2, both above 3: it can only go when both are gone."""
    tables = network([(), (0,), (0,), (1, 2)])
    merged = {t.merged for t in Presummer(tables, 10_000).tables_of(3)}
    assert merged == {frozenset(s) for s in ((), (1,), (2,), (1, 2), (0, 1, 2))}


networks = st.lists(
    st.lists(st.integers(0, 5), max_size=3), min_size=len(SIZES), max_size=len(SIZES)
).map(lambda rows: [tuple(sorted({p for p in row if p < v})) for v, row in enumerate(rows)])


@given(networks, st.integers(0, 2**32 - 1))
def test_every_table_is_a_sum_and_a_law(parents: list[tuple[int, ...]], seed: int) -> None:
    tables = network(parents, seed)
    for table in all_of(Presummer(tables, 10**6), len(SIZES)):
        if table.cells is not None:
            np.testing.assert_allclose(table.cells, summed(tables, table), rtol=1e-12)
            np.testing.assert_allclose(table.cells.sum(axis=-1), 1.0, rtol=1e-12)
        assert len(table.presums) <= PRESUMS
        for parent, shorter in table.presums:
            assert shorter.merged == table.merged | {parent}


def test_a_large_table_is_skipped_on_the_way_to_a_small_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0 and 1 are above 2, both above 3, which is all that is asked for."""
    monkeypatch.setattr(fspn.engine.presum, "SMALL", 1)
    monkeypatch.setattr(fspn.engine.presum, "MAX_SIZE", 2)
    tables = network([(), (0,), (0, 1), (1, 2)])
    found = Presummer(tables, 1000).tables_of(3)
    assert [(sorted(t.merged), t.cells is not None) for t in found] == [
        ([], True), ([2], False), ([1, 2], False), ([0, 1, 2], True),
    ]  # fmt: skip
    np.testing.assert_allclose(found[-1].cells, summed(tables, found[-1]), rtol=1e-14)


def test_a_large_table_that_leads_nowhere_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fspn.engine.presum, "MAX_SIZE", 1)
    monkeypatch.setattr(fspn.engine.presum, "SMALL", 1)
    assert len(Presummer(network([(), (0,), (1,)]), 1000).tables_of(2)) == 1


@pytest.mark.parametrize("room", [0, 5, 20, 100])
def test_no_more_cells_than_there_is_room_for(room: int) -> None:
    tables = network([(), (0,), (1,), (2,), (3,), (3, 4), (2, 5)])
    found = all_of(Presummer(tables, room), 7)
    added = sum(table.size for table in found if table.merged and table.cells is not None)
    assert added <= room
    assert (added > 0) == (room >= 5)
    assert sum(not table.merged for table in found) == 7


def test_the_number_of_tables_of_a_variable_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fspn.engine.presum, "MAX_TABLES", 2)
    tables = network([(), (0,), (1,), (2,)])
    found = Presummer(tables, 1000).tables_of(3)
    assert [sorted(t.merged) for t in found] == [[], [2]]
    assert found[1].presums == []
    assert found[1].size == SIZES[1] * SIZES[3]

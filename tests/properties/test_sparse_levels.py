"""Large tables with few entries: sums over the last level's entries equal sums over all cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fspn.engine.compile_dense
from fspn.engine.compile import Program, compile_fspn
from fspn.engine.engine import Engine
from fspn.engine.orders import cost, sparse_order
from fspn.engine.program import (
    BLOCK,
    DENSE,
    DENSE_VARIABLE_SIZE,
    BlockRecord,
    DenseRecord,
    DenseTableRecord,
    DenseVariableRecord,
    read,
)
from fspn.model.cpt.backoff import BackoffTable, CountLevel
from fspn.model.eliminate.elimination import Elimination
from fspn.model.eliminate.tables import Tables
from fspn.model.nodes import Factorize, Node, Product, TableSplit, UniLeaf
from tests.random_models import ModelMaker


class SparseMaker(ModelMaker):
    """Draws networks of four or five variables whose last tables have three parents."""

    def __init__(self, seed: int):
        super().__init__(seed, 4 + seed % 2)
        self.sizes = self.rng.integers(12, 17, size=len(self.sizes)).tolist()

    def network(self) -> Node:
        node: Node = Product(tuple(UniLeaf(v, self.categorical(v)) for v in range(2)))
        for v in range(2, len(self.sizes)):
            given = [int(u) for u in self.rng.permutation(v)[:3]]
            node = Factorize(node, self.table(v, given))
        return node

    def table(self, variable: int, given: list[int]) -> TableSplit:
        sizes = tuple(self.sizes[v] for v in given)
        first = int(self.rng.integers(1, len(given) + 1))
        levels = [self.few(variable, sizes[:width]) for width in sorted({first, len(given)})]
        base = self.rng.dirichlet(np.ones(self.sizes[variable]))
        return TableSplit(variable, tuple(given), BackoffTable(base, tuple(levels)))

    def few(self, variable: int, sizes: tuple[int, ...]) -> CountLevel:
        """A level of 200 rows at most."""
        cells = int(np.prod(sizes)) * self.sizes[variable]
        chosen = np.sort(self.rng.choice(cells, size=min(200, cells // 9), replace=False))
        keys, codes = np.divmod(chosen, self.sizes[variable])
        counts = self.rng.integers(1, 9, size=len(chosen))
        return CountLevel.from_cells(keys, codes, counts, sizes, 1.0)


def sparse_tables(program: Program) -> int:
    """How many of a dense block's tables know their last level."""
    ints, root = program.pools.ints, read(BlockRecord, program.pools.ints, program.root)
    assert root.kind == BLOCK
    n = read(DenseRecord, ints, root.dense).n_variables
    places = root.dense + DENSE.first_variable + DENSE_VARIABLE_SIZE * np.arange(n)
    owned = [read(DenseVariableRecord, ints, int(place)).table for place in places]
    return sum(read(DenseTableRecord, ints, table).level >= 0 for table in owned)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_entries_of_the_last_level_sum_to_the_whole_table(seed: int) -> None:
    maker = SparseMaker(seed)
    root, events = maker.network(), maker.events(6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fspn.engine.compile_dense, "MIN_SPARSE", 1 << 14)
        program = compile_fspn(root, maker.sizes)
    assert sparse_tables(program) > 0
    expected = Elimination(Tables(maker.sizes)).logs(root, events)
    found = Engine(program, maker.domain()).log_probability(events)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-12)
    some = expected > -np.inf
    np.testing.assert_allclose(found[some], expected[some], atol=1e-9)


def test_tables_are_summed_cell_by_cell_where_entries_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maker = SparseMaker(3)
    root, events = maker.network(), maker.events(6)
    monkeypatch.setattr(fspn.engine.compile_dense, "MIN_SPARSE", 1 << 14)
    sparse = compile_fspn(root, maker.sizes)
    monkeypatch.setattr(fspn.engine.compile_dense, "SPARSER", 1 << 40)
    whole = compile_fspn(root, maker.sizes)
    assert sparse_tables(sparse) > sparse_tables(whole) == 0
    np.testing.assert_allclose(
        np.exp(Engine(sparse, maker.domain()).log_probability(events)),
        np.exp(Engine(whole, maker.domain()).log_probability(events)),
        atol=1e-12,
    )


def test_the_child_of_a_sparse_table_is_summed_out_before_its_parents() -> None:
    """Of 0 -> 2 <- 1 with a large sparse table, and 1 -> 3."""
    parents, sizes = [(), (), (0, 1), (1,)], [50, 60, 70, 2]
    order = sparse_order(parents, sizes, {2})
    assert order.index(2) < min(order.index(0), order.index(1))
    assert cost(order, parents, sizes, {2}) <= cost([0, 1, 2, 3], parents, sizes, {2})
    assert cost([2, 3, 0, 1], parents, sizes, {2}) == 50 * 60 + 2 * 60 + 60 * 50 + 60

"""Nested factorize nodes: what regions have in common is shared, and no answer changes by it."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn.engine import context_kernels, memo_kernels, projection_kernels, region_program
from fspn.engine.compile import Program, compile_fspn
from fspn.engine.engine import Engine
from fspn.engine.program import MEMO, NEEDS
from fspn.model.infer import log_probability
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    walk,
)
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import CodeRange, Events, Span
from tests.random_models import ModelMaker

seeds = st.integers(0, 2**32 - 1)


class NestedMaker(ModelMaker):
    """Draws models with at least three factorize nodes inside each other, sums between them."""

    def __init__(self, seed: int, n_variables: int):
        super().__init__(seed, n_variables)
        self.with_tables = seed % 3 == 0

    def node(self, scope: list[int], depth: int) -> Node:
        while True:
            drawn = super().node(scope, depth)
            if self.with_tables or not any(isinstance(n, TableSplit) for n in walk(drawn)):
                return drawn

    def model(self) -> Node:
        return self.nested([int(v) for v in self.rng.permutation(len(self.sizes))], depth=3)

    def nested(self, scope: list[int], depth: int) -> Node:
        if depth == 0:
            return self.node(scope, 2)
        n_high = int(self.rng.integers(1, len(scope) - depth))
        high, rest = scope[:n_high], scope[n_high:]
        if self.rng.random() < 0.3:
            left: Node = Sum(
                self.rng.dirichlet(np.ones(2)),
                tuple(self.nested(rest, depth - 1) for _ in range(2)),
            )
        else:
            left = self.nested(rest, depth - 1)
        return Factorize(left, self.right(high, rest, 3))


def make(seed: int, width: int) -> tuple[NestedMaker, Node, Engine]:
    """A model and its engine.

    Every other one packs its events into several short words, and most leave contexts implicit
    that have two sub-events or more.
    """
    maker = NestedMaker(seed, width)
    root = maker.model()
    word_bits = 9 if seed % 2 else region_program.WORD_BITS
    many = region_program.MANY if seed % 5 == 0 else 1
    with patch.multiple(region_program, WORD_BITS=word_bits, MANY=many):
        program = compile_fspn(root, maker.sizes)
    return maker, root, Engine(program, maker.domain())


def by_the_tree(program: Program, domain: Domain, events: Events) -> np.ndarray:
    """The answers of the tree kernels, which stand in where the others find no room."""
    needs = program.needs.copy()
    needs[NEEDS.regions], needs[NEEDS.n_region_answers] = -1, 0
    return Engine(replace(program, needs=needs), domain).log_probability(events)


@given(seeds, st.integers(5, 9))
def test_three_and_more_nested_ones_equal_the_reference(seed: int, width: int) -> None:
    maker, root, engine = make(seed, width)
    events = maker.events(6)
    found, expected = engine.log_probability(events), log_probability(root, events)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), rtol=1e-12, atol=1e-15)
    tree = by_the_tree(engine.program, maker.domain(), events)
    np.testing.assert_allclose(np.exp(tree), np.exp(expected), rtol=1e-12, atol=1e-15)


def test_random_models_have_instructions() -> None:
    """Tables among the nodes leave the answer to the tree kernels; enough models have none."""
    programs = [make(seed, 7)[2].program for seed in range(60)]
    n_words = [
        int(p.pools.ints[p.needs[NEEDS.regions] + region_program.PLAN.n_words])
        for p in programs
        if p.needs[NEEDS.regions] > 0
    ]
    assert len(n_words) >= 15
    assert 1 in n_words
    assert max(n_words) >= 3


@given(seeds, st.integers(5, 8))
def test_without_room_to_remember_the_answers_stay(seed: int, width: int) -> None:
    maker, root, engine = make(seed, width)
    events = maker.events(4)
    lower, upper, places, weights = engine.pack(events)
    expected = engine.run(lower, upper, places, weights)
    few = compile_fspn(root, maker.sizes)
    few.needs[NEEDS.n_heads] = min(int(few.needs[NEEDS.n_heads]), 1)
    few.needs[NEEDS.regions], few.needs[NEEDS.n_region_answers] = -1, 0
    crowded = Engine(few, maker.domain()).run(lower, upper, places, weights)
    np.testing.assert_allclose(np.exp(crowded), np.exp(expected), rtol=1e-12, atol=1e-15)


@given(seeds, st.integers(5, 7))
def test_whole_tables(seed: int, width: int) -> None:
    maker, root, engine = make(seed, width)
    table = engine.joint_table([0, 1], Events(1, {}))
    cells = np.indices((maker.sizes[0], maker.sizes[1])).reshape(2, -1)
    events = Events(cells.shape[1], {v: CodeRange(c, c) for v, c in enumerate(cells)})
    expected = np.exp(log_probability(root, events)).reshape(table.shape)
    np.testing.assert_allclose(table / table.sum(), expected / expected.sum(), atol=1e-12)


def markov_chain(n: int, size: int, rng: np.random.Generator) -> tuple[Node, list[np.ndarray]]:
    """X0 -> X1 -> ... as nested factorize nodes, one region per value of the variable before."""
    steps = [rng.dirichlet(np.ones(size), size=size) for _ in range(n - 1)]
    start = rng.dirichlet(np.ones(size))
    # A product at the bottom, so that there is something to share from the start.
    node: Node = Product((UniLeaf(0, Categorical(start)), UniLeaf(n, Categorical(start))))
    for v, step in enumerate(steps, start=1):
        regions = tuple({v - 1: Span(c, c)} for c in range(size))
        leaves = tuple(MultiLeaf((v,), Independent((Categorical(row),))) for row in step)
        node = Factorize(node, Split(regions, leaves))
    return node, [start, *steps]


def test_a_chain_that_could_not_be_answered_region_by_region() -> None:
    """Thirty nested factorize nodes with four regions each: 4 to the power of 30 questions."""
    n, size = 31, 4
    root, (start, *steps) = markov_chain(n, size, np.random.default_rng(0))
    domain = Domain(tuple(Variable(f"x{v}", "ordered", np.arange(size)) for v in range(n + 1)))
    program = compile_fspn(root, [size] * (n + 1))
    assert (program.pools.ints == MEMO).any()
    assert program.needs[NEEDS.regions] > 0, "instructions for regions"
    last = np.arange(size)
    events = Events(size, {n - 1: CodeRange(last, last)})
    expected = start
    for step in steps:
        expected = expected @ step
    np.testing.assert_allclose(
        np.exp(Engine(program, domain).log_probability(events)), expected, rtol=1e-12
    )
    np.testing.assert_allclose(np.exp(by_the_tree(program, domain, events)), expected, rtol=1e-12)


def test_projections_that_find_no_room_say_so() -> None:
    """Two sub-events that differ in one word of two, seen from the other word."""
    n_words = 2
    sub_events = [[1, 5], [2, 5]]
    head = region_program.ContextRecord(2, -1, -1, 0, 0, -1, 0, 0, 0, 0)[:-1]
    context = [*head, 3, 0, 3, 0, *sub_events[0], *sub_events[1]]
    mask = np.array([0, 7], dtype=np.int64)
    links = np.zeros(8, dtype=np.int64)
    for room, expected in ((0, -1), (40, len(context))):
        arena = np.array([*context, *[0] * room], dtype=np.int64)
        found, _, n_links = projection_kernels.project(
            0, mask, n_words, 0, len(context), arena, links, 0
        )
        assert found == expected
    assert arena[found + region_program.CONTEXT.size] == 1
    assert links[:n_links].tolist() == [0, 0]
    again, *_ = projection_kernels.project(
        0, mask, n_words, 0, len(arena) - 20, arena, links, n_links
    )
    assert again == found, "made once and kept"


@pytest.mark.parametrize("n_values", [3, 40, 70])
def test_projections_of_many_sub_events(n_values: int) -> None:
    """Nine to thousands differ, in the high bits of two words: a table of rows that grows."""
    rng, n, n_words = np.random.default_rng(0), 20_000, 2
    codes = rng.integers(0, n_values, (n, 3))
    rows = np.column_stack([codes[:, 0] << 50, (codes[:, 1] << 40) | codes[:, 2]])
    varies = [int(np.bitwise_or.reduce(column)) for column in rows.T]
    head = region_program.ContextRecord(n, -1, -1, 0, 0, -1, 0, 0, 0, 0)[:-1]
    context = np.array([*head, *varies, *varies, *rows.ravel()], dtype=np.int64)
    arena = np.concatenate([context, np.zeros(1 << 17, dtype=np.int64)])
    links, mask = np.zeros(n, dtype=np.int64), np.array([127 << 50, 127 << 40], dtype=np.int64)
    found, top, n_links = projection_kernels.project(
        0, mask, n_words, 0, len(context), arena, links, 0
    )
    assert (found, n_links) == (len(context), n)
    first = context_kernels.rows_of(found, n_words)
    distinct = arena[first:top].reshape(-1, n_words)
    expected = len(np.unique(rows & mask, axis=0))
    assert len(distinct) == arena[found + region_program.CONTEXT.size] == expected
    np.testing.assert_array_equal(distinct[links] & mask, rows & mask)


def test_a_full_memory_goes_on_without_remembering() -> None:
    heads, arena, values = memo_kernels.new_memory(4)
    assert len(heads) == 4
    record = np.array([MEMO, 1, 0, 9, 1, 0], dtype=np.int64)
    low, high = np.array([2]), np.array([5])
    arena[memo_kernels.USED] = len(arena) - 2
    memo_kernels.remember(0, -1.5, record, low, high, heads, arena, values)
    assert memo_kernels.recall(0, record, low, high, heads, arena) == -1
    memo_kernels.forget(heads, arena)
    memo_kernels.remember(0, -1.5, record, low, high, heads, arena, values)
    number = memo_kernels.recall(0, record, low, high, heads, arena)
    assert values[number] == -1.5
    assert memo_kernels.recall(0, record, low, high + 1, heads, arena) == -1

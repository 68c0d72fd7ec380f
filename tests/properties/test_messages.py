"""Tables over a base of other nodes: one tensor per node gives what one question per cell gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fspn.engine import tensor_kernels
from fspn.engine.compile import Program, compile_fspn
from fspn.engine.engine import Engine
from fspn.engine.program import NEEDS
from fspn.model.infer import log_probability
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, Product, Sum, UniLeaf
from fspn.schema.domain import Domain
from fspn.schema.events import CodeRange, Events
from tests.random_models import ModelMaker

seeds = st.integers(0, 2**32 - 1)


class TabledMaker(ModelMaker):
    """Draws tables over products and sums that have tables over others below them."""

    def model(self) -> Node:
        return self.tabled([int(v) for v in self.rng.permutation(len(self.sizes))], depth=3)

    def tabled(self, scope: list[int], depth: int) -> Node:
        if depth == 0 or len(scope) < 3:
            return self.mixed(scope)
        n_tables = int(self.rng.integers(1, min(3, len(scope) - 1)))
        base = scope[n_tables:]
        node = self.between(base, depth - 1)
        known = list(base)
        for v in scope[:n_tables]:
            n_given = int(self.rng.integers(1, min(3, len(known)) + 1))
            given = self.rng.permutation(known)[:n_given]
            node = Factorize(node, self.table(v, [int(u) for u in given]))
            known.append(v)
        return node

    def between(self, scope: list[int], depth: int) -> Node:
        """A sum or a product over models with tables of their own."""
        if len(scope) > 1 and self.rng.random() < 0.5:
            cut = int(self.rng.integers(1, len(scope)))
            return Product((self.tabled(scope[:cut], depth), self.tabled(scope[cut:], depth)))
        return self.sum_of([self.tabled(self.shuffled(scope), depth) for _ in range(2)])

    def mixed(self, scope: list[int]) -> Node:
        """A sum of products of leaves, in different orders."""
        if len(scope) == 1:
            return UniLeaf(scope[0], self.categorical(scope[0]))
        orders = [self.shuffled(scope) for _ in range(2)]
        return self.sum_of(
            [Product(tuple(UniLeaf(v, self.categorical(v)) for v in order)) for order in orders]
        )

    def shuffled(self, scope: list[int]) -> list[int]:
        return [int(v) for v in self.rng.permutation(scope)]

    def sum_of(self, children: list[Node]) -> Node:
        return Sum(self.rng.dirichlet(np.ones(len(children))), tuple(children))


def by_cells(program: Program, domain: Domain, events: Events) -> np.ndarray:
    """The answers of the tree kernels, which ask the base cell by cell."""
    needs = program.needs.copy()
    needs[NEEDS.messages] = -1
    return Engine(replace(program, needs=needs), domain).log_probability(events)


@given(seeds, st.integers(4, 9))
def test_tables_over_other_nodes_equal_the_reference(seed: int, width: int) -> None:
    maker = TabledMaker(seed, width)
    root = maker.model()
    program = compile_fspn(root, maker.sizes)
    events = maker.events(6)
    expected = log_probability(root, events)
    found = Engine(program, maker.domain()).log_probability(events)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), rtol=1e-12, atol=1e-15)
    cells = by_cells(program, maker.domain(), events)
    np.testing.assert_allclose(np.exp(cells), np.exp(expected), rtol=1e-12, atol=1e-15)


def test_random_models_have_messages() -> None:
    programs = []
    for seed in range(40):
        maker = TabledMaker(seed, 7)
        programs.append(compile_fspn(maker.model(), maker.sizes))
    assert sum(int(program.needs[NEEDS.messages] > 0) for program in programs) >= 30


def test_numbers_that_are_too_small_are_left_to_the_tree_kernels() -> None:
    """Where the message has mass, the base has next to none: both are right in logarithms."""
    maker = TabledMaker(0, 3)
    maker.sizes = [3, 3, 3]
    tiny = np.array([1.0, 1e-170, 1e-250])
    tiny /= tiny.sum()
    parts = tuple(UniLeaf(v, Categorical(tiny)) for v in (1, 2))
    base = maker.sum_of([Product(parts), Product(parts)])
    root = Factorize(base, maker.table(0, [1, 2]))
    program = compile_fspn(root, maker.sizes)
    assert program.needs[NEEDS.messages] > 0
    last = CodeRange(np.array([2]), np.array([2]))
    events = Events(1, {0: last, 1: CodeRange(np.array([1]), np.array([2])), 2: last})
    found = Engine(program, maker.domain()).log_probability(events)
    np.testing.assert_allclose(found, log_probability(root, events), rtol=1e-12)
    assert np.exp(found[0]) < tensor_kernels.LEAST_SCALE

"""Counting nodes without writing them out is counting them written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fspn.model.counting import Census, census
from fspn.model.cpt.full import FullTable
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, TableSplit, UniLeaf, expand
from tests.random_models import ModelMaker


def by_recursion(node: Node) -> Census:
    """The definition: tables written out, every node visited."""
    if isinstance(node, TableSplit):
        node = expand(node)
    inner = [node.inner] if isinstance(node, MultiLeaf) and node.inner is not None else []
    below = [by_recursion(child) for child in [*node.children, *inner]]
    return Census(
        1 + sum(c.n_nodes for c in below),
        isinstance(node, Factorize) + sum(c.n_factorize for c in below),
        isinstance(node, MultiLeaf) + sum(c.n_multi_leaves for c in below),
        1 + max((c.depth for c in below), default=0),
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_census_is_that_of_the_nodes_written_out(seed: int, width: int) -> None:
    root = ModelMaker(seed, width).model()
    assert census(root) == by_recursion(root)


def test_a_table_counts_its_regions_and_a_nested_model_its_nodes() -> None:
    rng = np.random.default_rng(0)
    table = FullTable.from_probabilities(rng.dirichlet(np.ones(3), size=(4, 5)))
    leaves = tuple(UniLeaf(v, Categorical(np.full(k, 1 / k))) for v, k in ((0, 4), (1, 5)))
    root = Factorize(Product(leaves), TableSplit(2, (0, 1), table))
    assert census(root) == Census(n_nodes=1 + 3 + 1 + 20, n_factorize=1, n_multi_leaves=20, depth=3)
    nested = MultiLeaf((0, 1, 2), Nested(root))
    assert census(nested) == Census(26, 1, 21, 4)
    wide = FullTable.from_probabilities(np.full((100, 100, 2), 0.5))
    assert census(TableSplit(2, (0, 1), wide)).n_nodes == 10_001

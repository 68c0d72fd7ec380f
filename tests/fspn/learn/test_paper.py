"""Learn-FSPN: the branches of the paper, in its order; known truths are found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN, validate
from fspn.learn.dependence.rdc import Column
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
from tests.fspn.sample_tables import PRESETS, chain, mixed


def kinds_of(model: FSPN) -> set[type]:
    return {type(node) for node in walk(model.root_)}


def names_of(model: FSPN, node: Node) -> set[object]:
    return {model.domain_.names[v] for v in node.scope}


class Fixed:
    """An oracle that knows the answer: a coefficient per pair of columns, told by their marks."""

    def __init__(self, known: dict[frozenset[int], float]):
        self.known = known

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        # The size of the domain marks the column.
        return np.array(
            [[self.known.get(frozenset([x.size, y.size]), 0.0) for y in second] for x in first]
        )


def marked(n: int = 400, sizes: Sequence[int] = (2, 3, 4, 5)) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({f"x{size}": rng.permutation(np.arange(n) % size) for size in sizes})


class TestBranches:
    @pytest.mark.parametrize("preset", PRESETS)
    def test_independent_columns_are_one_product_of_uni_leaves(self, preset: str) -> None:
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.integers(0, 10, (5000, 20)))
        model = FSPN(preset=preset).fit(table)
        assert isinstance(model.root_, Product)
        assert all(isinstance(child, UniLeaf) for child in model.root_.children)
        assert model.n_nodes_ == 21

    def test_a_highly_correlated_group_is_factored_out_first(self) -> None:
        rng = np.random.default_rng(1)
        weak, n = rng.integers(0, 4, 3000), 3000
        strong = rng.integers(0, 6, n)
        table = pd.DataFrame(
            {
                "w1": weak,
                "h1": strong,
                "w2": np.where(rng.random(n) < 0.6, weak, rng.integers(0, 4, n)),
                "h2": strong + (rng.random(n) < 0.05),
            }
        )
        model = FSPN(preset="paper").fit(table)
        root = model.root_
        assert isinstance(root, Factorize)
        assert names_of(model, root.right) == {"h1", "h2"}
        assert names_of(model, root.left) == {"w1", "w2"}
        assert isinstance(root.right, MultiLeaf), "the group does not depend on the others"
        assert isinstance(root.left, Sum), "neither independent nor highly correlated: clusters"

    def test_groups_are_connected_components(self) -> None:
        """x2 - x3 - x4 hang together by two edges; x5 - x6 is a weaker group of its own."""
        strong = {frozenset(p): 0.9 for p in [(2, 3), (3, 4)]} | {frozenset((5, 6)): 0.8}
        model = FSPN(0.3, 0.7, oracle=Fixed(strong), group="split").fit(
            marked(sizes=(2, 3, 4, 5, 6))
        )
        root = model.root_
        assert isinstance(root, Factorize)
        assert names_of(model, root.right) == {"x2", "x3", "x4"}
        assert isinstance(root.left, MultiLeaf)
        assert names_of(model, root.left) == {"x5", "x6"}

    def test_the_order_of_the_branches(self) -> None:
        """A group at tau_high wins over independence, and independence over clusters."""
        known = {frozenset((2, 3)): 0.9, frozenset((4, 5)): 0.5}
        model = FSPN(0.3, 0.7, oracle=Fixed(known), group="split", min_rows=200).fit(marked())
        assert isinstance(model.root_, Factorize)
        assert isinstance(model.root_.left, Sum)
        without = FSPN(0.3, 2.0, oracle=Fixed(known), min_rows=200).fit(marked())
        assert isinstance(without.root_, Product)
        assert all(isinstance(child, Sum) for child in without.root_.children)

    def test_thresholds_include_themselves(self) -> None:
        """From tau_high on highly correlated; below tau_low independent."""
        at = FSPN(0.3, 0.7, oracle=Fixed({frozenset((2, 3)): 0.7}), group="split")
        assert isinstance(at.fit(marked(sizes=(2, 3))).root_, MultiLeaf)
        low = FSPN(0.3, 0.7, oracle=Fixed({frozenset((2, 3)): 0.3}), group="split")
        assert isinstance(low.fit(marked(sizes=(2, 3))).root_, Sum)
        below = FSPN(0.3, 0.7, oracle=Fixed({frozenset((2, 3)): 0.29}), group="split")
        assert isinstance(below.fit(marked(sizes=(2, 3))).root_, Product)

    def test_the_conditional_side_is_split_where_it_depends(self) -> None:
        known = {frozenset((2, 3)): 0.9, frozenset((2, 5)): 0.4, frozenset((3, 4)): 0.5}
        model = FSPN(0.3, 0.7, oracle=Fixed(known), group="split", min_rows=200).fit(marked())
        assert isinstance(model.root_, Factorize)
        right = model.root_.right
        assert isinstance(right, Split)
        cut = {model.domain_.names[v] for region in right.regions for v in region}
        assert cut == {"x4"}, "the largest dependence of the group is on x4"
        validate(model.root_, model.domain_)

    @pytest.mark.parametrize("preset", PRESETS)
    @pytest.mark.parametrize("table", [chain(600, 5), mixed(400)], ids=["chain", "mixed"])
    def test_above_one_there_is_no_factorize(self, preset: str, table: pd.DataFrame) -> None:
        model = FSPN(tau_high=1.1, preset=preset).fit(table)
        assert kinds_of(model) <= {Sum, Product, UniLeaf}
        assert Sum in kinds_of(model)

    def test_few_rows_are_not_clustered(self) -> None:
        table = chain(300, 4)
        assert Sum in kinds_of(FSPN(0.1, 1.1, min_rows=300).fit(table))
        model = FSPN(0.1, 1.1, min_rows=301).fit(table)
        assert isinstance(model.root_, Product)
        assert model.n_nodes_ == 5

    def test_one_cluster_is_no_sum(self) -> None:
        assert Sum not in kinds_of(FSPN(0.1, 1.1, n_clusters=1).fit(chain(300, 4)))

    def test_more_clusters(self) -> None:
        root = FSPN(0.1, 1.1, n_clusters=4).fit(chain(600, 4)).root_
        assert isinstance(root, Sum)
        assert len(root.children) == 4
        assert root.weights.sum() == pytest.approx(1.0)

    @pytest.mark.parametrize("family", ["auto", "joint", "tree", "mixture"])
    def test_multi_leaf_families(self, family: str) -> None:
        table = chain(500, 4, keep=0.95)
        model = FSPN(preset="paper", multi_leaf=family).fit(table)
        assert isinstance(model.root_, MultiLeaf)
        assert model.probability({}) == pytest.approx(1.0, abs=1e-9)
        assert model.conditional({"x0": 1}, {"x3": 1}) > 0.6

    @pytest.mark.parametrize("split", ["greedy", "kmeans_grid"])
    @pytest.mark.parametrize("table", [chain(900, 5, keep=0.8), mixed(600)], ids=["chain", "mixed"])
    def test_split_models_are_proper(self, split: str, table: pd.DataFrame) -> None:
        model = FSPN(0.1, 0.75, group="split", split=split, oracle="rdc", min_rows=60).fit(table)
        validate(model.root_, model.domain_)
        assert model.probability({}) == pytest.approx(1.0, abs=1e-9)

    def test_max_parents(self) -> None:
        table = chain(2000, 4).assign(y=lambda t: (t.x0 + t.x1 + t.x2) % 3)
        for most in (1, 2, 3):
            tables = [
                n
                for n in walk(FSPN(max_parents=most).fit(table).root_)
                if isinstance(n, TableSplit)
            ]
            assert tables
            assert max(len(node.given) for node in tables) <= most


class TestAgainstTheTruth:
    def test_a_chain_on_many_rows(self) -> None:
        """On 200,000 rows the model's joint is the chain's own, cell by cell."""
        model = FSPN().fit(chain(200_000, 4))
        step = np.full((3, 3), 0.4 / 3) + 0.6 * np.eye(3)
        truth = np.einsum("a,ab,bc,cd->abcd", np.full(3, 1 / 3), step, step, step)
        found = model.conditional_table(["x0", "x1", "x2", "x3"])
        assert 0.5 * np.abs(found - truth).sum() < 0.01
        assert float((truth * np.log(truth / found)).sum()) < 2e-4

    def test_the_paper_preset_beats_independence(self) -> None:
        table = chain(4000, 4, keep=0.9)
        fresh = chain(4000, 4, keep=0.9, seed=1)
        joint = FSPN(preset="paper").fit(table).score(fresh)
        alone = sum(FSPN().fit(table[[name]]).score(fresh[[name]]) for name in table.columns)
        entropy = -(np.log(1 / 3) + 3 * (0.9 + 0.1 / 3) * np.log(0.9 + 0.1 / 3))
        entropy -= 3 * 2 * (0.1 / 3) * np.log(0.1 / 3)
        assert alone < -4.3
        assert joint == pytest.approx(-entropy, abs=0.05)

    def test_parity_of_two_columns(self) -> None:
        """No pair of the three depends on each other; three of them do, with noise."""
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 2, (2, 4000))
        c = a ^ b ^ (rng.random(4000) < 0.1)
        hint = (a * 2 + b) ^ (rng.random(4000) < 0.05)
        table = pd.DataFrame({"a": a, "b": b, "c": c, "hint": hint})
        model = FSPN().fit(table)
        assert model.conditional({"c": 1}, {"a": 1, "b": 0}) == pytest.approx(0.9, abs=0.03)
        assert model.conditional({"c": 1}, {"a": 1, "b": 1}) == pytest.approx(0.1, abs=0.03)

    def test_a_sum_of_columns_is_found_exactly(self) -> None:
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 15, (2, 4000))
        table = pd.DataFrame({"a": a, "b": b, "c": a + b + (rng.random(4000) < 0.2)})
        model = FSPN().fit(table)
        answers = model.conditional_table(["c"], {"a": 7, "b": 3})
        assert answers[10] == pytest.approx(0.8, abs=0.04)
        assert answers[11] == pytest.approx(0.2, abs=0.04)

    def test_reals_that_depend_on_each_other(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=4000)
        table = pd.DataFrame({"x": x, "y": 0.9 * x + np.sqrt(0.19) * rng.normal(size=4000)})
        for preset in PRESETS:
            model = FSPN(preset=preset).fit(table)
            # For two normals of correlation r, P(both > 0) = 1/4 + arcsin(r) / (2 pi).
            both = model.probability({"x": (0, None), "y": (0, None)})
            assert both == pytest.approx(0.25 + np.arcsin(0.9) / (2 * np.pi), abs=0.04)

"""preset="paper" is the paper's recipe to the letter: nothing of this project's own enters it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fspn.learn.leaves
from fspn import FSPN
from fspn.learn.dependence.corrected import Corrected
from fspn.learn.gaussian_leaf import fit_mixture
from fspn.learn.slices import Slice
from fspn.model.leaves.continuous import fit_gaussians
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import MultiLeaf, Node, Product, Sum, TableSplit, UniLeaf, walk
from fspn.schema.infer import infer_domain
from tests.fspn.sample_tables import chain, mixed


def sums_of_integers(n: int = 1500) -> pd.DataFrame:
    """Columns that are integer combinations of others: where a law would be found if it could."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 12, (2, n))
    return pd.DataFrame({"a": a, "b": b, "c": a + b + (rng.random(n) < 0.1), "d": 2 * a + 1})


TABLES = {
    "chain": chain(900, 5, keep=0.9),
    "binary": (chain(900, 6, keep=0.8) > 0).astype(int),
    "integers": sums_of_integers(),
    "mixed": mixed(500),
}
OF_THE_PAPER = {"categorical", "gaussian_mixture", "sparse_joint", "independent", "nested"}


def all_nodes(root: Node) -> Iterator[Node]:
    """All nodes, those inside multi-leaves among them."""
    for node in walk(root):
        yield node
        if isinstance(node, MultiLeaf) and node.inner is not None:
            yield from all_nodes(node.inner)


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("this is none of the recipe's steps")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("params", [{}, {"offsets": True}, {"tau_low": 0.05, "tau_high": 0.4}])
def test_no_law_no_tree_no_other_oracle(
    name: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fspn.learn.leaves, "fit_network", refuse)
    monkeypatch.setattr(Corrected, "matrix", refuse)
    root = FSPN(preset="paper", min_rows=60, **params).fit(TABLES[name]).root_
    nodes = list(all_nodes(root))
    assert not any(isinstance(node, TableSplit) for node in nodes)
    leaves = [node for node in nodes if isinstance(node, MultiLeaf | UniLeaf)]
    assert {leaf.dist.family for leaf in leaves} <= OF_THE_PAPER


def test_the_recipes_tools_are_those_of_the_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above forbids is what the plug-ins use: it can fail."""
    monkeypatch.setattr(fspn.learn.leaves, "fit_network", refuse)
    monkeypatch.setattr(Corrected, "matrix", refuse)
    for plugin in ({"multi_leaf": "tree"}, {"oracle": "corrected"}):
        with pytest.raises(AssertionError, match="none of the recipe's"):
            FSPN(preset="paper", **plugin).fit(TABLES["chain"])


def test_a_tree_as_a_plug_in_holds_no_law() -> None:
    model = FSPN(0.1, 0.3, preset="paper", multi_leaf="tree").fit(TABLES["integers"])
    tables = [node for node in all_nodes(model.root_) if isinstance(node, TableSplit)]
    assert tables
    families = {level.family for node in tables for level in node.cpt.levels}
    assert families == {"counts"}
    with_laws = FSPN(0.1, 0.3, oracle="rdc", group="split", multi_leaf="tree")
    found = all_nodes(with_laws.fit(TABLES["integers"]).root_)
    levels = [level for n in found if isinstance(n, TableSplit) for level in n.cpt.levels]
    assert {level.family for level in levels} != {"counts"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_parents": 2}, r"max_parents=2 does nothing here \(preset='paper'\).*'default'"),
        ({"max_cells": 100}, r"max_cells=100 does nothing here \(preset='paper'\).*'default'"),
        ({"n_components": 3}, r"n_components=3 does nothing here \(preset='paper'\).*'default'"),
        ({"group": "tables"}, r"group='tables' is not for preset='paper'.*'default'"),
    ],
)
def test_parameters_of_the_default_learner_are_refused(
    params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FSPN(preset="paper", **params).fit(TABLES["chain"])


def slice_of(table: pd.DataFrame) -> Slice:
    return Slice.of_table(infer_domain(table, {}, None), table)


def test_reals_are_gaussian_mixtures() -> None:
    """A uniform column, which a histogram would fit better, is a mixture of normals."""
    rng = np.random.default_rng(0)
    found = fit_gaussians(rng.uniform(size=3_000), 0.1, 0)
    assert found.family == "gaussian_mixture"
    x = rng.normal(size=2000)
    table = pd.DataFrame({"x": x, "y": 2 * x + 0.1 * rng.normal(size=2000)})
    leaf = FSPN(preset="paper").fit(table).root_
    assert isinstance(leaf, MultiLeaf)
    assert isinstance(leaf.dist, Nested)
    assert isinstance(leaf.inner, Sum)
    assert all(isinstance(child, Product) for child in leaf.inner.children)
    parts = [n.dist for n in walk(leaf.inner) if isinstance(n, UniLeaf)]
    assert all(len(part.weights) == 1 for part in parts), "normals, one per component"


def test_the_mixture_of_a_mixed_group_knows_its_components() -> None:
    """Two far-off clusters of a real and a code are two components with the right weights."""
    rng = np.random.default_rng(0)
    first = rng.random(3000) < 0.25
    table = pd.DataFrame(
        {"x": np.where(first, -5, 5) + rng.normal(size=3000), "k": np.where(first, "a", "b")}
    )
    root = fit_mixture(slice_of(table), [0, 1], 0.1, np.random.default_rng(0))
    assert isinstance(root, Sum)
    assert len(root.children) == 2
    np.testing.assert_allclose(np.sort(root.weights), [0.25, 0.75], atol=0.03)
    normals = [n.dist for n in walk(root) if isinstance(n, UniLeaf) and n.variable == 0]
    np.testing.assert_allclose(sorted(float(n.means[0]) for n in normals), [-5, 5], atol=0.1)
    np.testing.assert_allclose([float(n.scales[0]) for n in normals], 1.0, atol=0.06)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_the_number_of_clusters_acts_between_the_thresholds(n_clusters: int) -> None:
    """Pairs from 0.3 to 0.7, none above: the recipe's own thresholds reach a sum node."""
    table = chain(1200, 3, keep=0.6)
    root = FSPN(preset="paper", n_clusters=n_clusters, random_state=0).fit(table).root_
    assert isinstance(root, Sum)
    assert len(root.children) == n_clusters


def test_the_number_of_clusters_does_nothing_where_all_that_depends_is_in_groups() -> None:
    rng = np.random.default_rng(0)
    table = pd.concat([chain(1200, 3, keep=0.97), pd.Series(rng.integers(0, 4, 1200))], axis=1)
    table.columns = pd.Index(list("abcd"))
    models = [FSPN(preset="paper", n_clusters=k, random_state=0).fit(table) for k in (2, 4)]
    assert not any(isinstance(node, Sum) for model in models for node in walk(model.root_))
    assert models[0].n_nodes_ == models[1].n_nodes_

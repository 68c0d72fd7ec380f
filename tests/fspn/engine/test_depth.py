"""Models nested 1,600 deep: nothing recurses, nothing underflows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fspn.draw import draw
from fspn.engine.compile import compile_fspn
from fspn.engine.engine import Engine
from fspn.io.model_file import load_model, save_model
from fspn.model.counting import census
from fspn.model.cpt.full import FullTable
from fspn.model.infer import log_probability
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    TableSplit,
    UniLeaf,
    count_parameters,
)
from fspn.model.sample import sample_columns
from fspn.model.size import size_bytes
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import CodeRange, Events, Span
from fspn.validate import validate

N = 1_600
DOMAIN = Domain(tuple(Variable(i, "ordered", np.arange(2)) for i in range(N)))
RNG = np.random.default_rng(0)
FIRST = np.array([0.3, 0.7])
TABLES = RNG.dirichlet([1.0, 1.0], size=(N, 2))


def _as_table(v: int) -> Node:
    return TableSplit(v, (v - 1,), FullTable.from_probabilities(TABLES[v]))


def _as_split(v: int) -> Node:
    leaves = tuple(MultiLeaf((v,), Independent((Categorical(row),))) for row in TABLES[v])
    return Split(({v - 1: Span(0, 0)}, {v - 1: Span(1, 1)}), leaves)


def chain(kind: str) -> Node:
    """A Markov chain as nested factorize nodes."""
    node: Node = UniLeaf(0, Categorical(FIRST))
    for v in range(1, N):
        node = Factorize(node, _as_table(v) if kind == "tables" else _as_split(v))
    return node


def chain_log_probability(row: np.ndarray) -> float:
    steps = TABLES[np.arange(1, N), row[:-1], row[1:]]
    return float(np.log(FIRST[row[0]]) + np.log(steps).sum())


def event(row: np.ndarray) -> Events:
    return Events(1, {v: CodeRange(np.array([x]), np.array([x])) for v, x in enumerate(row)})


@pytest.fixture(scope="module", params=["tables", "splits"])
def root(request: pytest.FixtureRequest) -> Node:
    return chain(request.param)


@pytest.fixture(autouse=True)
def usual_recursion_limit() -> Iterator[None]:
    """Some peers raise the limit when they are imported; these tests must not profit from it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


def test_the_chains_are_deeper_than_python_may_recurse() -> None:
    assert sys.getrecursionlimit() < N


def test_scope_and_sizes(root: Node) -> None:
    assert root.scope == frozenset(range(N))
    assert census(root).n_nodes >= 2 * N
    assert count_parameters(root) == 2 * N - 1
    assert size_bytes(root) > 8 * 2 * (N - 1)


def test_samples_and_engine_agree_with_the_chain_rule(root: Node) -> None:
    columns = sample_columns(root, 3, np.random.default_rng(1))
    rows = np.column_stack([columns[v] for v in range(N)]).astype(int)
    engine = Engine(compile_fspn(root, [2] * N), DOMAIN)
    for row in rows:
        expected = chain_log_probability(row)
        assert expected < -700
        assert engine.log_probability(event(row))[0] == pytest.approx(expected, rel=1e-12)


def test_reference_agrees_with_the_chain_rule() -> None:
    row = np.random.default_rng(2).integers(0, 2, N)
    answer = log_probability(chain("splits"), event(row))[0]
    assert answer == pytest.approx(chain_log_probability(row), rel=1e-12)


def test_storage_and_validation(root: Node, tmp_path: Path) -> None:
    validate(root, DOMAIN)
    save_model(tmp_path / "m", DOMAIN, root, {})
    _, loaded, _ = load_model(tmp_path / "m")
    row = np.zeros(N, dtype=int)
    engine = Engine(compile_fspn(loaded, [2] * N), DOMAIN)
    assert engine.log_probability(event(row))[0] == pytest.approx(chain_log_probability(row))


def test_it_can_be_drawn(root: Node) -> None:
    assert draw(root).get_size_inches().max() < 60


def test_many_side_by_side() -> None:
    wide = Product(tuple(UniLeaf(v, Categorical(TABLES[v, 0])) for v in range(N)))
    engine = Engine(compile_fspn(wide, [2] * N), DOMAIN)
    expected = np.log(TABLES[:, 0, 1]).sum()
    assert engine.log_probability(event(np.ones(N, dtype=int)))[0] == pytest.approx(expected)

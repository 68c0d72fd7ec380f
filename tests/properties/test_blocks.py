"""Networks of tables: every way through the engine equals the sum over the whole joint table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fspn.engine.compile_dense
import fspn.engine.engine
import fspn.engine.factor_kernels
import fspn.engine.joint_table
import fspn.engine.presum
from fspn.engine.compile import compile_fspn
from fspn.engine.engine import Engine
from fspn.estimator import FSPN
from fspn.model.cpt.dense import dense_table
from fspn.model.nodes import Factorize, Node, Product, Sum, TableSplit, UniLeaf
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import CodeRange, CodeWeights, Events
from tests.random_models import ModelMaker

seeds = st.integers(0, 2**32 - 1)
MAX_JOINT = 200_000


class NetworkMaker(ModelMaker):
    """Draws networks of tables over domains of up to 21 values, some of a single one."""

    def __init__(self, seed: int):
        super().__init__(seed, int(np.random.default_rng(seed).integers(2, 7)))
        sizes = self.rng.choice([1, 2, 3, 5, 8, 9, 13, 21], size=len(self.sizes))
        while np.prod(sizes) > MAX_JOINT:
            sizes[sizes.argmax()] = 2
        self.sizes = sizes.tolist()

    def network(self) -> Node:
        order = [int(v) for v in self.rng.permutation(len(self.sizes))]
        n_roots = int(self.rng.integers(1, len(order)))
        leaves = [UniLeaf(v, self.categorical(v)) for v in order[:n_roots]]
        node: Node = leaves[0] if n_roots == 1 else Product(tuple(leaves))
        for place in range(n_roots, len(order)):
            n_given = int(self.rng.integers(1, min(place, 3) + 1))
            given = self.rng.permutation(order[:place])[:n_given]
            node = Factorize(node, self.table(order[place], [int(v) for v in given]))
        return node

    def chain(self, n: int, size: int) -> tuple[UniLeaf, list[TableSplit], Node]:
        """n variables of one size, each given the one before: the first, the tables, the root."""
        self.sizes = [size] * n
        leaf = UniLeaf(0, self.categorical(0))
        tables = [self.table(v, [v - 1]) for v in range(1, n)]
        return leaf, tables, stacked(leaf, tables)

    def points(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Boxes of codes: known, open and impossible variables."""
        lower = np.column_stack([self.rng.integers(0, size, n) for size in self.sizes])
        upper = lower.copy()
        free = self.rng.random(lower.shape) < 0.5
        lower[free] = 0
        upper[free] = np.broadcast_to(np.array(self.sizes) - 1, upper.shape)[free]
        return lower, upper


def stacked(node: Node, tables: list[TableSplit]) -> Node:
    """Nested factorize nodes, one per table."""
    for table in tables:
        node = Factorize(node, table)
    return node


def joint_of(node: Node, sizes: list[int]) -> np.ndarray:
    """All cells, by multiplication of whole tables."""
    if isinstance(node, Sum):
        parts = [joint_of(child, sizes) for child in node.children]
        return sum(w * part for w, part in zip(node.weights, parts, strict=True))  # type: ignore[return-value]
    joint = np.ones(sizes)
    while isinstance(node, Factorize):
        assert isinstance(node.right, TableSplit)
        joint = joint * _spread(node.right, sizes)
        node = node.left
    leaves = node.children if isinstance(node, Product) else (node,)
    for leaf in leaves:
        assert isinstance(leaf, UniLeaf)
        shape = [size if v == leaf.variable else 1 for v, size in enumerate(sizes)]
        joint = joint * leaf.dist.p.reshape(shape)  # type: ignore[attr-defined]
    return joint


def _spread(table: TableSplit, sizes: list[int]) -> np.ndarray:
    own = [sizes[v] for v in table.given]
    rows = np.column_stack(np.unravel_index(np.arange(int(np.prod(own))), own))
    cells = table.cpt.table(rows).reshape(*own, sizes[table.variable])
    axes = [*table.given, table.variable]
    cells = np.transpose(cells, np.argsort(axes))
    return cells.reshape([size if v in axes else 1 for v, size in enumerate(sizes)])


def mass(joint: np.ndarray, events: Events) -> np.ndarray:
    """The probability of every event, by summing cells."""
    answers = []
    for i in range(events.n):
        cells = joint
        for v, size in enumerate(joint.shape):
            constraint = events.constraints.get(v)
            weights = np.ones(size) if constraint is None else constraint.weights(size)[i]
            cells = np.tensordot(weights, cells, axes=(0, 0))
        answers.append(float(cells))
    return np.array(answers)


def boxes(lower: np.ndarray, upper: np.ndarray) -> Events:
    sides = zip(lower.T, upper.T, strict=True)
    return Events(len(lower), {v: CodeRange(low, high) for v, (low, high) in enumerate(sides)})


def ordered(maker: NetworkMaker) -> Domain:
    """Values that are no run of integers for every other variable."""
    return Domain(
        tuple(
            Variable(f"v{i}", "ordered", np.arange(size) * (1 + i % 2) - 2)
            for i, size in enumerate(maker.sizes)
        )
    )


@given(seeds)
def test_all_kinds_of_events(seed: int) -> None:
    maker = NetworkMaker(seed)
    root = maker.network()
    engine = Engine(compile_fspn(root, maker.sizes), maker.domain())
    assert engine.first > 1
    events = maker.events(6)
    expected = mass(joint_of(root, maker.sizes), events)
    np.testing.assert_allclose(
        np.exp(engine.log_probability(events)), expected, rtol=1e-12, atol=1e-300
    )


@given(seeds)
def test_mixtures_of_networks(seed: int) -> None:
    maker = NetworkMaker(seed)
    root = Sum(np.array([0.3, 0.7]), (maker.network(), maker.network()))
    engine = Engine(compile_fspn(root, maker.sizes), maker.domain())
    events = maker.events(6)
    expected = mass(joint_of(root, maker.sizes), events)
    np.testing.assert_allclose(
        np.exp(engine.log_probability(events)), expected, rtol=1e-12, atol=1e-300
    )


@given(seeds)
def test_tables_too_large_to_write_out(seed: int) -> None:
    """The general way, which reads tables sparsely."""
    maker = NetworkMaker(seed)
    root = maker.network()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fspn.engine.compile_dense, "MAX_TABLE", 0)
        engine = Engine(compile_fspn(root, maker.sizes), maker.domain())
    assert engine.first == 1
    events = maker.events(6)
    expected = mass(joint_of(root, maker.sizes), events)
    np.testing.assert_allclose(
        np.exp(engine.log_probability(events)), expected, rtol=1e-12, atol=1e-300
    )


@given(seeds)
def test_boxes_codes_and_conditionals(seed: int) -> None:
    """The short ways of the estimator: boxes of values, codes, dictionaries of values."""
    maker = NetworkMaker(seed)
    root, domain = maker.network(), ordered(maker)
    model = FSPN.from_root(domain, root)
    joint = joint_of(root, maker.sizes)
    lower, upper = maker.points(6)
    expected = mass(joint, boxes(lower, upper))
    codes = np.exp(model.log_probability_of_codes(lower, upper))
    np.testing.assert_allclose(codes, expected, rtol=1e-12, atol=1e-300)
    values = [np.asarray(variable.values, dtype=float) for variable in domain.variables]
    low, high = (
        np.column_stack([values[v][side[:, v]] for v in range(len(values))])
        for side in (lower, upper)
    )
    np.testing.assert_allclose(model.probability(low, high), expected, rtol=1e-12, atol=1e-300)
    known = [np.flatnonzero(first == last) for first, last in zip(lower, upper, strict=True)]
    rows = [{f"v{v}": int(low[i, v]) for v in own} for i, own in enumerate(known)]
    asked = [dict(list(row.items())[:1]) for row in rows]
    given_ = [dict(list(row.items())[1:]) for row in rows]
    for i, own in enumerate(known):
        lower[i, own[:1]] = 0
        upper[i, own[:1]] = np.array(maker.sizes)[own[:1]] - 1
    whole = mass(joint, boxes(lower, upper))
    possible = np.flatnonzero(whole > 0)
    if len(possible):
        answers = model.conditional([asked[i] for i in possible], [given_[i] for i in possible])
        ratio = expected[possible] / whole[possible]
        np.testing.assert_allclose(answers, ratio, rtol=1e-12, atol=1e-300)
        one = model.conditional(asked[possible[0]], given_[possible[0]])
        assert one == pytest.approx(ratio[0], rel=1e-12)


@given(seeds)
def test_values_outside_the_domain(seed: int) -> None:
    maker = NetworkMaker(seed)
    model = FSPN.from_root(ordered(maker), maker.network())
    assert model.conditional({"v0": 99}, {}) == 0.0
    box = np.full(len(maker.sizes), np.nan)
    box[0] = 0.5
    assert model.probability(box, box) == 0.0


def test_threads_share_boxes() -> None:
    maker = NetworkMaker(5)
    root, domain = maker.network(), ordered(maker)
    box = np.column_stack([maker.rng.integers(-2, 4, 257).astype(float) for _ in maker.sizes])
    one = FSPN.from_root(domain, root).probability(box, box)
    two = FSPN.from_root(domain, root, n_jobs=2).probability(box, box)
    np.testing.assert_array_equal(one, two)


def test_tiny_probabilities_do_not_underflow() -> None:
    """A chain of 60 tables with weights of 1e-9 per variable: 1e-540 is no number."""
    maker = NetworkMaker(1)
    node = maker.chain(60, 9)[-1]
    engine = Engine(compile_fspn(node, maker.sizes), maker.domain())
    assert engine.first > 1
    events = Events(1, {v: CodeWeights(np.full((1, 9), 1e-9)) for v in range(60)})
    np.testing.assert_allclose(engine.log_probability(events), 60 * np.log(1e-9), rtol=1e-12)


@pytest.mark.parametrize("small", [1e-2, 1e-3, 1e-4, 1e-12])
def test_small_tables_are_summed_again_with_care(small: float) -> None:
    """60 tables times a small number: 1e-180 needs no care, 1e-240 may, 1e-720 is no number."""
    maker = NetworkMaker(2)
    node = maker.chain(60, 5)[-1]
    program = compile_fspn(node, maker.sizes)
    events = Events(1, {v: CodeRange(np.array([v % 2]), np.array([3])) for v in range(60)})
    whole = Engine(program, maker.domain()).log_probability(events)
    program.dense[1:] *= small
    found = Engine(program, maker.domain()).log_probability(events)
    np.testing.assert_allclose(found, whole + 60 * np.log(small), rtol=1e-12)


@pytest.mark.parametrize("n", [61, 62, 63, 64])
def test_blocks_of_as_many_variables_as_a_word_has_bits(n: int) -> None:
    """A chain, forwards; from 63 variables on the general way is taken."""
    maker = NetworkMaker(n)
    leaf, tables, node = maker.chain(n, 3)
    engine = Engine(compile_fspn(node, maker.sizes), maker.domain())
    assert (engine.first > 1) == (n <= fspn.engine.factor_kernels.MAX_VARIABLES)
    weights = maker.rng.integers(1, 4, size=(n, 5, 3)) / 3.0
    events = Events(5, {v: CodeWeights(weights[v]) for v in range(n) if v % 3})
    weights[::3] = 1.0
    message = leaf.dist.p * weights[0]  # type: ignore[attr-defined]
    for v, table in enumerate(tables, start=1):
        message = message @ dense_table(table.cpt) * weights[v]
    found = engine.log_probability(events)
    np.testing.assert_allclose(found, np.log(message.sum(axis=1)), rtol=1e-12)


@given(seeds, st.booleans(), st.booleans())
def test_tables_of_some_variables(seed: int, reordered: bool, narrow: bool) -> None:
    """By elimination, in the compiled order or one for the question, and cell by cell."""
    maker = NetworkMaker(seed)
    root = maker.network()
    with pytest.MonkeyPatch.context() as patch:
        if reordered:
            patch.setattr(fspn.engine.joint_table, "SMALL_BUFFER", 0)
        if narrow:
            patch.setattr(fspn.engine.engine, "FIRST_BUFFER", 64)
            patch.setattr(fspn.engine.joint_table, "CELL_COST", 0)
        engine = Engine(compile_fspn(root, maker.sizes), maker.domain())
        events = maker.events(1)
        axes = [int(v) for v in maker.rng.permutation(len(maker.sizes))[:2]]
        table = engine.joint_table(axes, events)
    joint = joint_of(root, maker.sizes)
    for v, constraint in events.constraints.items():
        shape = [-1 if u == v else 1 for u in range(joint.ndim)]
        joint = joint * constraint.weights(maker.sizes[v])[0].reshape(shape)
    others = tuple(v for v in range(joint.ndim) if v not in axes)
    expected = np.transpose(joint.sum(axis=others), np.argsort(np.argsort(axes)))
    if expected.sum() > 0:
        table, expected = table / table.sum(), expected / expected.sum()
    np.testing.assert_allclose(table, expected, rtol=1e-11, atol=1e-300)


def test_a_greedy_order_that_is_too_wide_gives_way_to_the_compiled_one() -> None:
    """A root with ten children: summing it out first takes a table of all of them."""
    maker = NetworkMaker(5)
    maker.sizes = [3] * 11
    root = stacked(
        UniLeaf(0, maker.categorical(0)), [maker.table(v, [0]) for v in range(1, len(maker.sizes))]
    )
    weights = maker.rng.integers(1, 4, size=(11, 1, 3)) / 3.0
    events = Events(1, {v: CodeWeights(weights[v]) for v in range(3, 11)})
    joint_table = fspn.engine.joint_table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fspn.engine.engine, "FIRST_BUFFER", 64)
        engine = Engine(compile_fspn(root, maker.sizes), maker.domain())
        expected = engine.joint_table([1, 2], events)
        patch.setattr(joint_table, "SMALL_BUFFER", 0)
        patch.setattr(joint_table, "MAX_PATIENT", 0)
        patch.setattr(joint_table, "greedy_order", root_first)
        for module in (joint_table, fspn.engine.engine):
            patch.setattr(module, "MAX_BUFFER", engine.first + 4096)
        found = engine.joint_table([1, 2], events)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def root_first(near: object, extents: object, stages: Sequence[int]) -> tuple[list[int], list[int]]:
    """The variables to sum out as they are numbered, parents before children."""
    return [i for i, stage in enumerate(stages) if stage >= 0], []


@given(seeds)
def test_many_factors_of_one_variable(seed: int) -> None:
    """Roots with a dozen children: products of several matrices and vectors on the way.

    Children are known or free, so that the sum over all values of the roots is the answer.
    """
    rng = np.random.default_rng(seed)
    maker = NetworkMaker(seed)
    roots = rng.choice([1, 2, 5, 8, 9, 11, 17], size=3).tolist()
    maker.sizes = [*roots, *rng.integers(2, 5, size=12).tolist()]
    above = [(), (), ()] + [
        tuple(sorted(rng.permutation(3)[: rng.integers(1, 4)])) for _ in range(12)
    ]
    leaves = [UniLeaf(v, maker.categorical(v)) for v in range(3)]
    tables = [maker.table(v, [int(p) for p in above[v]]) for v in range(3, 15)]
    node = stacked(Product(tuple(leaves)), tables)
    engine = Engine(compile_fspn(node, maker.sizes), maker.domain())
    assert engine.first > 1
    lower, upper = maker.points(8)
    lower[:, :3], upper[:, :3] = 0, np.array(roots) - 1
    expected = []
    for low, high in zip(lower, upper, strict=True):
        joint = np.ones(roots)
        for v, leaf in enumerate(leaves):
            joint = joint * leaf.dist.p.reshape([-1 if u == v else 1 for u in range(3)])  # type: ignore[attr-defined]
        for table in tables:
            v = table.variable
            row = dense_table(table.cpt)[..., low[v] : high[v] + 1].sum(axis=-1)
            joint = joint * row.reshape([roots[u] if u in table.given else 1 for u in range(3)])
        expected.append(joint.sum())
    found = np.exp(engine.log_probability(boxes(lower, upper)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 61, 62])
def test_known_codes_of_as_many_variables_as_a_word_has_bits(n: int) -> None:
    """Every table of a chain is a number; their product is the answer."""
    maker = NetworkMaker(n)
    leaf, tables, node = maker.chain(n, 3)
    engine = Engine(compile_fspn(node, maker.sizes), maker.domain())
    assert engine.first > 1
    codes, expected = np.zeros((6, n), dtype=np.int64), np.zeros(6)
    laws = np.tile(leaf.dist.p, (6, 1))  # type: ignore[attr-defined]
    for v in range(n):
        if v > 0:
            laws = dense_table(tables[v - 1].cpt)[codes[:, v - 1]]
        codes[:, v] = [maker.rng.choice(3, p=law / law.sum()) for law in laws]
        expected += np.log(laws[np.arange(6), codes[:, v]])
    np.testing.assert_allclose(engine.log_probability(boxes(codes, codes)), expected, rtol=1e-12)


@given(seeds)
def test_shorter_tables_change_no_answer(seed: int) -> None:
    """20 to 40 variables, few of them constrained: shorter tables, none, the general way."""
    rng = np.random.default_rng(seed)
    maker = NetworkMaker(seed)
    m = int(rng.integers(20, 41))
    maker.sizes = rng.integers(1, 4, size=m).tolist()
    node: Node = UniLeaf(0, maker.categorical(0))
    for v in range(1, m):
        near = rng.permutation(np.arange(max(0, v - 4), v))[: rng.integers(1, 3)]
        node = Factorize(node, maker.table(v, [int(p) for p in near]))
    lower, upper = maker.points(12)
    few = rng.random(lower.shape) < 0.7
    lower[few], upper[few] = 0, np.broadcast_to(np.array(maker.sizes) - 1, upper.shape)[few]
    found = []
    dense, presum = fspn.engine.compile_dense, fspn.engine.presum
    for module, name, value in (
        (dense, "MAX_PRESUMMED", dense.MAX_PRESUMMED),
        (dense, "MAX_PRESUMMED", 0),
        (dense, "MAX_PRESUMMED", 40),
        (dense, "MAX_TABLE", 0),
        # Most tables are too large to be kept, and passed on the way to marginals.
        (presum, "MAX_SIZE", 3),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, value)
            engine = Engine(compile_fspn(node, maker.sizes), maker.domain())
        engine.buffer[engine.first :] = np.nan
        found.append(engine.log_probability(boxes(lower, upper)))
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=0, atol=1e-12)

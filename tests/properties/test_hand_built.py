"""Laws of probability on random hand-built FSPNs, through the estimator; and 1,556 variables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from fspn import FSPN
from fspn.model.cpt.full import FullTable
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, Product, TableSplit, UniLeaf
from fspn.schema.domain import Domain, Variable
from tests.pointwise import joint
from tests.random_models import ModelMaker

MANY = 1_556


class Built:
    """A random model and random value sets."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.maker = ModelMaker(seed, int(self.rng.integers(1, 7)))
        self.model = FSPN.from_root(self.maker.domain(), self.maker.model())
        self.joint = joint(self.model)

    def masks(self) -> list[np.ndarray]:
        return [
            np.ones(size, dtype=bool) if self.rng.random() < 0.4 else self.rng.random(size) < 0.6
            for size in self.maker.sizes
        ]

    def question(self, masks: list[np.ndarray]) -> dict[str, set[int]]:
        return {
            f"v{v}": set(np.flatnonzero(mask).tolist())
            for v, mask in enumerate(masks)
            if not mask.all()
        }

    def ask(self, masks: list[np.ndarray]) -> float:
        return float(self.model.probability(self.question(masks)))

    def mass(self, masks: list[np.ndarray]) -> float:
        return float(self.joint[np.ix_(*masks)].sum())


built = st.integers(0, 2**32 - 1).map(Built)


@given(built)
def test_total_mass(case: Built) -> None:
    assert abs(case.joint.sum() - 1.0) < 1e-9
    assert abs(case.model.probability({}) - 1.0) < 1e-9
    whole = case.model.probability({f"v{v}": set(range(s)) for v, s in enumerate(case.maker.sizes)})
    assert abs(whole - 1.0) < 1e-9


@given(built)
def test_boxes_are_the_sums_of_their_points(case: Built) -> None:
    for _ in range(4):
        masks = case.masks()
        assert case.ask(masks) == pytest.approx(case.mass(masks), abs=1e-12)


@given(built)
def test_an_event_and_its_opposite(case: Built) -> None:
    masks = case.masks()
    whole = case.ask(masks)
    v = int(case.rng.integers(len(masks)))
    inside = case.rng.random(len(masks[v])) < 0.5
    parts = [
        case.ask([mask & side if i == v else mask for i, mask in enumerate(masks)])
        for side in (inside, ~inside)
    ]
    assert sum(parts) == pytest.approx(whole, abs=1e-12)


@given(built)
def test_larger_events_are_more_probable(case: Built) -> None:
    masks = case.masks()
    wider = [mask | (case.rng.random(len(mask)) < 0.4) for mask in masks]
    assert case.ask(masks) <= case.ask(wider) + 1e-12


@given(built)
def test_tables_are_ratios(case: Built) -> None:
    masks = case.masks()
    chosen = case.rng.permutation(len(masks))[: case.rng.integers(1, 4)]
    axes = [int(v) for v in chosen]
    for v in axes:
        masks[v] = np.ones(len(masks[v]), dtype=bool)
    names, evidence = [f"v{v}" for v in axes], case.question(masks)
    total = case.mass(masks)
    if total < 1e-12:
        return
    table = case.model.conditional_table(names, evidence)
    assert table.sum() == pytest.approx(1.0, abs=1e-9)
    for cell in np.ndindex(*table.shape):
        point = list(masks)
        for v, code in zip(axes, cell, strict=True):
            point[v] = np.arange(len(masks[v])) == code
        assert table[cell] == pytest.approx(case.mass(point) / total, abs=1e-9)


@pytest.mark.filterwarnings("error")
@given(built)
def test_impossible_evidence_is_the_same_everywhere(case: Built) -> None:
    """A table is NaN exactly where the evidence has no mass, and then strict raises."""
    masks = case.masks()
    v = int(case.rng.integers(len(masks)))
    masks[v] = np.ones(len(masks[v]), dtype=bool)
    evidence = case.question(masks)
    if case.mass(masks) > 1e-12:
        assert np.isfinite(case.model.conditional_table([f"v{v}"], evidence)).all()
    elif case.mass(masks) == 0.0:
        with pytest.raises(ValueError, match="probability zero"):
            case.model.conditional_table([f"v{v}"], evidence, strict=True)
        with pytest.raises(ValueError, match="probability zero"):
            case.model.conditional({f"v{v}": 0}, evidence, strict=True)
        with pytest.warns(RuntimeWarning, match="probability zero"):
            assert np.isnan(case.model.conditional_table([f"v{v}"], evidence)).all()


@settings(max_examples=20, derandomize=True)
@given(built)
def test_samples_follow_the_joint(case: Built) -> None:
    n = 4000
    drawn = case.model.sample(n, random_state=0).to_numpy(dtype=int)
    counts = np.zeros(case.joint.shape)
    np.add.at(counts, tuple(drawn.T), 1)
    assert counts[case.joint == 0].sum() == 0
    expected = case.joint * n
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    if wanted[-1] < 1e-9:
        observed, wanted = observed[:-1], wanted[:-1]
    if len(wanted) > 1:
        assert chisquare(observed, wanted * n / wanted.sum()).pvalue > 1e-6


def many_columns() -> Domain:
    return Domain(tuple(Variable(i, "ordered", np.arange(2)) for i in range(MANY)))


RNG = np.random.default_rng(0)
FIRST = RNG.dirichlet([1.0, 1.0], MANY)
STEPS = RNG.dirichlet([1.0, 1.0], (MANY, 2))


def many_independent() -> Node:
    return Product(tuple(UniLeaf(v, Categorical(FIRST[v])) for v in range(MANY)))


def many_chained() -> Node:
    node: Node = UniLeaf(0, Categorical(FIRST[0]))
    for v in range(1, MANY):
        node = Factorize(node, TableSplit(v, (v - 1,), FullTable.from_probabilities(STEPS[v])))
    return node


def truth(kind: str, row: np.ndarray) -> float:
    if kind == "independent":
        return float(np.log(FIRST[np.arange(MANY), row]).sum())
    steps = STEPS[np.arange(1, MANY), row[:-1], row[1:]]
    return float(np.log(FIRST[0, row[0]]) + np.log(steps).sum())


@pytest.mark.parametrize(
    ("kind", "root"), [("independent", many_independent()), ("chained", many_chained())]
)
class TestManyVariables:
    def test_rows_do_not_underflow(self, kind: str, root: Node) -> None:
        model = FSPN.from_root(many_columns(), root)
        rows = np.random.default_rng(1).integers(0, 2, (4, MANY))
        expected = np.array([truth(kind, row) for row in rows])
        assert expected.max() < -1000, "far below the smallest double"
        np.testing.assert_allclose(model.score_samples(rows), expected, rtol=1e-12)

    def test_conditionals_of_events_that_underflow(self, kind: str, root: Node) -> None:
        model = FSPN.from_root(many_columns(), root)
        row = np.random.default_rng(2).integers(0, 2, MANY)
        evidence = {v: int(x) for v, x in enumerate(row) if v != 700}
        logs = []
        for value in (0, 1):
            row[700] = value
            logs.append(truth(kind, row))
        expected = 1.0 / (1.0 + np.exp(logs[0] - logs[1]))
        assert model.conditional({700: 1}, evidence) == pytest.approx(expected, rel=1e-9)
        table = model.conditional_table([700], evidence)
        np.testing.assert_allclose(table, [1 - expected, expected], rtol=1e-9)

    def test_missing_cells(self, kind: str, root: Node) -> None:
        model = FSPN.from_root(many_columns(), root)
        row = pd.DataFrame(np.full((1, MANY), np.nan))
        assert model.score_samples(row)[0] == pytest.approx(0.0, abs=1e-9)


def test_a_learned_model_of_many_columns_does_not_underflow() -> None:
    rng = np.random.default_rng(3)
    table = (rng.random((200, MANY)) < 0.5).astype(int)
    model = FSPN().fit(table)
    scores = model.score_samples(table)
    assert np.isfinite(scores).all()
    # Some of so many columns of noise look dependent in 200 rows (docs/learning.md, section 6).
    assert scores.mean() == pytest.approx(MANY * np.log(0.5), rel=0.06)
    assert np.isfinite(model.score_samples(1 - table)).all()

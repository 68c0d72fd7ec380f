"""Plug-ins by object: oracles, clusterings, split methods; and new leaf families by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson
from sklearn.mixture import GaussianMixture

from fspn import FSPN, validate
from fspn.learn.dependence.rdc import RDC, Column, Corrected, Oracle
from fspn.learn.partition import Cut, cut_at, greedy
from fspn.learn.slices import Slice
from fspn.model.leaves.base import Univariate
from fspn.model.nodes import Factorize, MultiLeaf, Product, Split, Sum, UniLeaf, walk
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import CodeRange, CodeWeights, Constraint
from tests.fspn.sample_tables import chain

TABLE = chain(400, 4, keep=0.9)


class Constant:
    """An oracle that finds the same dependence everywhere."""

    def __init__(self, strength: float):
        self.strength = strength
        self.calls = 0

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        self.calls += 1
        return np.full((len(first), len(second)), self.strength)


@pytest.mark.parametrize(("strength", "kind"), [(0.0, Product), (0.5, Sum), (0.9, MultiLeaf)])
def test_an_oracle_of_ones_own(strength: float, kind: type) -> None:
    oracle = Constant(strength)
    model = FSPN(0.3, 0.7, oracle=oracle, group="split").fit(TABLE)
    assert oracle.calls > 0
    assert isinstance(model.root_, kind)


def test_oracles_by_name_and_by_object_are_the_same() -> None:
    by_name = FSPN(0.1, 0.5, oracle="corrected").fit(TABLE)
    by_object = FSPN(0.1, 0.5, oracle=Corrected()).fit(TABLE)
    assert by_name.score(TABLE) == by_object.score(TABLE)
    strict = FSPN(oracle=Corrected(level=1e-300)).fit(TABLE)
    assert isinstance(strict.root_, Product), "nothing is significant at this level"
    assert FSPN(0.3, 0.7, oracle=RDC(k=5)).fit(TABLE).probability({}) == pytest.approx(1.0)


def test_a_clustering_of_ones_own() -> None:
    asked: list[int] = []

    def by_mixture(features: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        asked.append(k)
        return GaussianMixture(k, random_state=0, reg_covar=1e-3).fit_predict(features)

    model = FSPN(0.3, 1.1, cluster=by_mixture, n_clusters=3).fit(TABLE)
    assert set(asked) == {3}
    assert isinstance(model.root_, Sum)
    assert model.probability({}) == pytest.approx(1.0, abs=1e-9)


def test_a_clustering_that_finds_one_cluster() -> None:
    def alike(features: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(len(features), dtype=int)

    model = FSPN(0.3, 1.1, cluster=alike).fit(TABLE)
    assert isinstance(model.root_, Product)


def test_a_split_method_of_ones_own() -> None:
    def last_of_all(
        data: Slice,
        targets: Sequence[int],
        given: Sequence[int],
        oracle: Oracle,
        rng: np.random.Generator,
    ) -> Cut | None:
        values = data.values(given[-1])
        if len(np.unique(values)) < 2:
            return None
        return cut_at(data.domain[given[-1]], given[-1], values, float(values.min()))

    n = 600
    rng = np.random.default_rng(0)
    w = rng.integers(0, 3, (2, n))
    h = rng.integers(0, 3, n) + w[0]
    table = pd.DataFrame({"w0": w[0], "w1": w[1], "h0": h, "h1": h})
    for split, variable in [(last_of_all, "w1"), (greedy, "w0")]:
        model = FSPN(0.3, 0.8, oracle="rdc", group="split", split=split).fit(table)
        validate(model.root_, model.domain_)
        splits = [node for node in walk(model.root_) if isinstance(node, Split)]
        assert model.domain_.names[next(iter(splits[0].regions[0]))] == variable


def test_a_split_method_that_declines() -> None:
    model = FSPN(0.2, 0.8, preset="paper", split=lambda *_: None).fit(TABLE)
    kinds = {type(node) for node in walk(model.root_)}
    assert Split not in kinds
    assert kinds & {Factorize, MultiLeaf}


@dataclass(frozen=True)
class Poisson(Univariate):
    """A leaf family that the package does not know, and that is not registered."""

    rate: float
    size: int
    family = "poisson"
    coded = True

    @property
    def n_parameters(self) -> int:
        return 1

    @property
    def p(self) -> np.ndarray:
        p = poisson.pmf(np.arange(self.size), self.rate)
        return p / p.sum()

    def log_probability(self, constraint: Constraint) -> np.ndarray:
        assert isinstance(constraint, CodeRange | CodeWeights)
        with np.errstate(divide="ignore"):
            return np.log(constraint.weights(self.size) @ self.p)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(self.size, size=n, p=self.p)

    def state(self) -> dict[str, np.ndarray]:
        return {"rate": np.array([self.rate])}


def test_a_leaf_family_of_ones_own() -> None:
    leaf = Poisson(2.0, 8)
    domain = Domain(tuple(Variable(name, "ordered", np.arange(8)) for name in "ab"))
    root = Sum(
        np.array([0.25, 0.75]),
        (
            Product((UniLeaf(0, leaf), UniLeaf(1, leaf))),
            Product((UniLeaf(0, Poisson(5.0, 8)), UniLeaf(1, leaf))),
        ),
    )
    model = FSPN.from_root(domain, root)
    other = Poisson(5.0, 8).p
    expected = (0.25 * leaf.p[2] + 0.75 * other[2]) * leaf.p[:4].sum()
    assert model.probability({"a": 2, "b": (0, 3)}) == pytest.approx(expected, abs=1e-12)
    assert model.probability([2, 0], [2, 3]) == pytest.approx(expected, abs=1e-12)
    table = model.conditional_table(["a"], {"b": 1})
    np.testing.assert_allclose(table, 0.25 * leaf.p + 0.75 * other, atol=1e-12)
    assert model.sample(50, random_state=0)["a"].between(0, 7).all()
    assert model.n_parameters_ == 5

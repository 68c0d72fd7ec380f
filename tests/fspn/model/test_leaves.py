"""Every leaf family: mass 1, ranges are sums of points, samples follow the probabilities."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chisquare, kstest, norm

from fspn.model.leaves.base import Multivariate, Univariate
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture, Histogram, fit_continuous
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.leaves.registry import family_named
from fspn.model.nodes import Product, Sum, UniLeaf
from fspn.schema.events import CodeRange, CodeWeights, Events, RealPoint, RealRange

P = np.array([0.1, 0.0, 0.4, 0.5])
MIXTURE = GaussianMixture(np.array([0.3, 0.7]), np.array([-2.0, 1.0]), np.array([0.5, 2.0]))
WIDE = GaussianMixture(np.ones(1), np.array([1.0]), np.array([4.0]))
BARS = Histogram(np.array([-1.0, 0.0, 0.5, 3.0]), np.array([0.2, 0.5, 0.3]), WIDE, 0.05)
BARE = Histogram(np.array([0.0, 1.0, 3.0]), np.array([0.25, 0.75]), WIDE, 0.0)
REALS: dict[str, Univariate] = {"mixture": MIXTURE, "bars": BARS, "bare": BARE}


def probability(dist: Univariate, constraint: Any) -> np.ndarray:
    return np.exp(dist.log_probability(constraint))


def codes(low: Any, high: Any) -> CodeRange:
    return CodeRange(np.atleast_1d(low), np.atleast_1d(high))


def reals(low: float, high: float) -> RealRange:
    return RealRange(np.array([low]), np.array([high]))


class TestCategorical:
    leaf = Categorical(P)

    def test_points(self) -> None:
        answers = probability(self.leaf, codes(np.arange(4), np.arange(4)))
        np.testing.assert_allclose(answers, P, rtol=1e-15)

    def test_ranges_are_sums_of_points(self) -> None:
        for low, high in product(range(-2, 6), repeat=2):
            expected = sum(P[k] for k in range(4) if low <= k <= high)
            answer = probability(self.leaf, codes(low, high))[0]
            assert answer == pytest.approx(expected, abs=1e-15)

    def test_weights(self) -> None:
        weights = np.array([[0.5, 1.0, 0.0, 1.0]])
        assert probability(self.leaf, CodeWeights(weights))[0] == pytest.approx(0.55)
        assert probability(self.leaf, CodeWeights(weights[:, :1]))[0] == pytest.approx(0.05)

    def test_smoothing(self) -> None:
        fitted = Categorical.fit(np.array([0, 0, 2]), 4, alpha=0.5)
        np.testing.assert_allclose(fitted.p, np.array([2.5, 0.5, 1.5, 0.5]) / 5)
        np.testing.assert_allclose(Categorical.fit(np.array([], dtype=int), 4, 0.0).p, 0.25)

    def test_samples(self) -> None:
        drawn = self.leaf.sample(20_000, np.random.default_rng(0))
        counts = np.bincount(drawn, minlength=4)
        assert counts[1] == 0
        assert chisquare(counts[[0, 2, 3]], 20_000 * P[[0, 2, 3]]).pvalue > 1e-3

    def test_reals_are_refused(self) -> None:
        with pytest.raises(TypeError, match="reals"):
            self.leaf.log_probability(reals(0, 1))


@pytest.mark.parametrize("name", REALS)
class TestContinuous:
    def test_total_mass(self, name: str) -> None:
        assert probability(REALS[name], reals(-np.inf, np.inf))[0] == pytest.approx(1, abs=1e-12)

    def test_ranges_are_integrals_of_the_density(self, name: str) -> None:
        def density(x: float) -> float:
            return float(probability(REALS[name], RealPoint(np.array([x])))[0])

        for low, high in [(-3.0, -0.5), (-0.5, 0.3), (0.6, 2.5), (-4.0, 6.0)]:
            breaks = [b for b in (-1.0, 0.0, 0.5, 1.0, 3.0) if low < b < high]
            area, _ = quad(density, low, high, points=breaks or None, limit=200)
            assert probability(REALS[name], reals(low, high))[0] == pytest.approx(area, abs=1e-7)

    def test_empty_and_missing(self, name: str) -> None:
        assert probability(REALS[name], reals(2.0, 1.0))[0] == 0.0
        assert REALS[name].log_probability(RealPoint(np.array([np.nan])))[0] == -np.inf

    def test_samples(self, name: str) -> None:
        drawn = REALS[name].sample(4000, np.random.default_rng(1))

        def cumulative(values: np.ndarray) -> np.ndarray:
            return probability(REALS[name], RealRange(np.full(len(values), -np.inf), values))

        assert kstest(drawn, cumulative).pvalue > 1e-3

    def test_codes_are_refused(self, name: str) -> None:
        with pytest.raises(TypeError, match="codes"):
            REALS[name].log_probability(codes(0, 1))


def test_far_tails_keep_their_digits() -> None:
    single = GaussianMixture(np.ones(1), np.zeros(1), np.ones(1))
    for low, high in [(8.0, 9.0), (-9.0, -8.0), (20.0, np.inf)]:
        expected = norm.sf(abs(low) if low > 0 else abs(high)) - norm.sf(9.0 if high < 10 else 40)
        assert probability(single, reals(low, high))[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(3, 2, 500),
        np.random.default_rng(0).exponential(2, 500),
        np.array([1.5]),
        np.full(10, 2.5),
        np.array([0.0, 1e6]),
        np.repeat([1.5, 2.5], 200),
    ],
    ids=["normal", "exponential", "one", "constant", "two far", "two values"],
)
def test_fitted_densities(values: np.ndarray) -> None:
    fitted = fit_continuous(values, alpha=0.1, seed=0)
    assert probability(fitted, reals(-np.inf, np.inf))[0] == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(fitted.log_probability(RealPoint(values))).all()
    far = RealPoint(np.array([values.max() + 3 * max(np.std(values), 1e-3)]))
    assert np.isfinite(fitted.log_probability(far)).all()


def test_bic_prefers_the_shape_of_the_data() -> None:
    rng = np.random.default_rng(0)
    normal = fit_continuous(rng.normal(size=2000), 0.1, 0)
    assert isinstance(normal, GaussianMixture)
    assert len(normal.weights) == 1
    two = fit_continuous(np.concatenate([rng.normal(-5, 1, 900), rng.normal(5, 1, 900)]), 0.1, 0)
    assert isinstance(two, GaussianMixture)
    assert len(two.weights) == 2
    assert isinstance(fit_continuous(rng.uniform(size=5000), 0.1, 0), Histogram)


SIZES = (3, 2)
CELLS = list(product(range(3), range(2)))
A, B = Categorical(np.array([0.2, 0.3, 0.5])), Categorical(np.array([0.6, 0.4]))
JOINT = SparseJoint(np.array([[0, 1], [2, 0]]), np.array([0.25, 0.75]), (A, B), 0.2)
NESTED = Nested(
    Sum(
        np.array([0.5, 0.5]),
        (
            Product((UniLeaf(4, A), UniLeaf(7, B))),
            Product((UniLeaf(4, Categorical(np.array([1.0, 0, 0]))), UniLeaf(7, B))),
        ),
    )
)
GROUPS: dict[str, tuple[Multivariate, Any]] = {
    "independent": (Independent((A, B)), lambda a, b: A.p[a] * B.p[b]),
    "joint": (
        JOINT,
        lambda a, b: 0.8 * {(0, 1): 0.25, (2, 0): 0.75}.get((a, b), 0) + 0.2 * A.p[a] * B.p[b],
    ),
    "nested": (NESTED, lambda a, b: 0.5 * (A.p[a] + (a == 0)) * B.p[b]),
}


@pytest.mark.parametrize("name", GROUPS)
class TestMultivariate:
    scope = (4, 7)

    def box(self, low: Any, high: Any) -> Events:
        low, high = np.atleast_2d(low), np.atleast_2d(high)
        sides = {v: CodeRange(low[:, i], high[:, i]) for i, v in enumerate(self.scope)}
        return Events(len(low), sides)

    def test_points(self, name: str) -> None:
        dist, expected = GROUPS[name]
        answers = np.exp(dist.log_probability(self.box(CELLS, CELLS), self.scope))
        np.testing.assert_allclose(answers, [expected(*cell) for cell in CELLS], atol=1e-15)
        assert answers.sum() == pytest.approx(1.0, abs=1e-12)

    def test_boxes_are_sums_of_points(self, name: str) -> None:
        dist, expected = GROUPS[name]
        for low, high in product(CELLS, CELLS):
            inside = [c for c in CELLS if low[0] <= c[0] <= high[0] and low[1] <= c[1] <= high[1]]
            answer = np.exp(dist.log_probability(self.box(low, high), self.scope))[0]
            assert answer == pytest.approx(sum(expected(*c) for c in inside), abs=1e-14)

    def test_one_variable_free(self, name: str) -> None:
        dist, expected = GROUPS[name]
        events = Events(1, {7: CodeWeights(np.array([[0.0, 1.0]]))})
        answer = np.exp(dist.log_probability(events, self.scope))[0]
        assert answer == pytest.approx(sum(expected(a, 1) for a in range(3)), abs=1e-14)

    def test_samples(self, name: str) -> None:
        dist, expected = GROUPS[name]
        drawn = dist.sample(20_000, np.random.default_rng(0)).astype(int)
        counts = np.bincount(drawn[:, 0] * 2 + drawn[:, 1], minlength=6)
        shares = np.array([expected(*cell) for cell in CELLS])
        assert chisquare(counts, 20_000 * shares).pvalue > 1e-3


def test_a_fitted_table_gives_unseen_rows_a_share() -> None:
    rows = np.repeat([[0, 0], [1, 1], [2, 1]], 20, axis=0)
    dist = SparseJoint.fit(rows, [3, 2], alpha=0.1)
    events = Events(
        6, {0: CodeRange(*[np.array(CELLS)[:, 0]] * 2), 1: CodeRange(*[np.array(CELLS)[:, 1]] * 2)}
    )
    answers = np.exp(dist.log_probability(events, (0, 1)))
    assert (answers > 0).all()
    assert answers.sum() == pytest.approx(1.0, abs=1e-12)
    assert answers[CELLS.index((0, 0))] > answers[CELLS.index((0, 1))]


@pytest.mark.parametrize("dist", [A, MIXTURE, BARS, BARE, JOINT], ids=lambda d: d.family)
def test_states_define_the_leaf(dist: Any) -> None:
    again = family_named(dist.family).from_state(dist.state())
    for name, array in dist.state().items():
        np.testing.assert_array_equal(again.state()[name], array)
    assert again.n_parameters == dist.n_parameters

"""Means, variances, quantiles, entropies and mutual information against the whole table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from fspn import FSPN
from fspn.model.leaves.continuous import GaussianMixture
from fspn.model.nodes import Product, Sum, UniLeaf
from fspn.schema.domain import Domain, Variable
from tests.fspn.sample_tables import PRESETS, discrete, mixed
from tests.pointwise import joint


@pytest.fixture(scope="module", params=PRESETS)
def model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(discrete())


@pytest.fixture(scope="module", params=PRESETS)
def mixed_model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(mixed())


@pytest.mark.parametrize("given", [{}, {"a": 3}, {"a": {2, 9}, "d": 0}, {"b": (3, 5)}])
def test_ordered_columns(model: FSPN, given: dict[str, object]) -> None:
    values = model.domain_[1].values
    shares = np.array([model.conditional({"b": int(x)}, given) for x in values])
    mean = shares @ values
    assert model.mean("b", given) == pytest.approx(mean, abs=1e-10)
    assert model.variance("b", given) == pytest.approx(shares @ (values - mean) ** 2, abs=1e-10)
    for q in (0.0, 0.1, 0.5, 0.9, 1.0):
        reached = np.cumsum(shares) >= q - 1e-12
        expected = values[reached & (shares > 0)][0]
        assert model.quantile("b", q, given) == expected


def test_forms(model: FSPN) -> None:
    evidences = [{"a": 3}, {"a": 5, "d": 1}]
    each = [model.mean("c", evidence) for evidence in evidences]
    assert model.mean("c", evidences) == pytest.approx(each)
    assert model.quantile("b", [0.1, 0.5]).shape == (2,)
    assert model.quantile("b", [0.1, 0.5], evidences).shape == (2, 2)
    assert model.quantile("b", 0.5, evidences).shape == (2,)
    low, high = np.full((1, 4), np.nan), np.full((1, 4), np.nan)
    low[0, 0], high[0, 0] = 3, 5
    assert model.mean("b", (low, high)) == pytest.approx([model.mean("b", {"a": (3, 5)})])
    assert isinstance(model.mean("b"), float)
    assert isinstance(model.quantile("b", 0.5), int)


def test_continuous_columns(mixed_model: FSPN) -> None:
    given = {"int": {1, 2}}
    # Beyond the training range the law of a cell has no mean: such values count at the ends.
    seen = mixed()["real"]
    drawn = mixed_model.sample(20_000, given=given, random_state=0)["real"]
    drawn = drawn.clip(seen.min(), seen.max())
    assert mixed_model.mean("real", given) == pytest.approx(drawn.mean(), abs=0.05)
    assert mixed_model.variance("real", given) == pytest.approx(drawn.var(), rel=0.05)
    for q in (0.1, 0.5, 0.9):
        x = mixed_model.quantile("real", q, given)
        assert mixed_model.conditional({"real": (None, x)}, given) == pytest.approx(q, abs=1e-6)


def test_evidence_on_the_column_itself(mixed_model: FSPN) -> None:
    given = {"real": (0.3, 1.1)}
    assert 0.3 < mixed_model.mean("real", given) < 1.1
    low, high = mixed_model.quantile("real", [0.0, 1.0], given)
    assert low == pytest.approx(0.3, abs=1e-3)
    assert high == pytest.approx(1.1, abs=1e-3)
    assert mixed_model.mean("real", {"real": 0.7}) == pytest.approx(0.7)
    assert mixed_model.variance("real", {"real": 0.7}) == pytest.approx(0.0, abs=1e-12)


def test_a_mixture_of_gaussians_by_its_formulas() -> None:
    columns = Domain((Variable("x", "continuous"), Variable("k", "ordered", np.arange(2))))
    from fspn.model.leaves.categorical import Categorical

    def component(mean: float, scale: float, p: float) -> Product:
        gauss = GaussianMixture(np.ones(1), np.array([mean]), np.array([scale]))
        return Product((UniLeaf(0, gauss), UniLeaf(1, Categorical(np.array([p, 1 - p])))))

    root = Sum(np.array([0.25, 0.75]), (component(-1, 1, 0.9), component(3, 0.5, 0.2)))
    model = FSPN.from_root(columns, root)
    weights = np.array([0.25 * 0.9, 0.75 * 0.2])
    weights /= weights.sum()
    mean = weights @ [-1, 3]
    assert model.mean("x", {"k": 0}) == pytest.approx(mean, abs=1e-8)
    second = weights @ [1 + 1, 9 + 0.25]
    assert model.variance("x", {"k": 0}) == pytest.approx(second - mean**2, abs=1e-7)
    median = model.quantile("x", 0.5, {"k": 0})
    assert weights @ norm.cdf(median, [-1, 3], [1, 0.5]) == pytest.approx(0.5, abs=1e-10)


@pytest.mark.parametrize("given", [{}, {"b": 3}, {"b": (3, 5), "d": 1}])
def test_entropy_and_mutual_information(model: FSPN, given: dict[str, object]) -> None:
    table = model.conditional_table(["a", "c"], given)
    some = table[table > 0]
    whole = -(some * np.log(some)).sum()
    assert model.entropy(["a", "c"], given) == pytest.approx(whole, abs=1e-10)
    outer = np.outer(table.sum(axis=1), table.sum(axis=0))
    expected = (some * np.log(some / outer[table > 0])).sum()
    assert model.mutual_information("a", "c", given) == pytest.approx(expected, abs=1e-10)
    assert model.entropy("a", [given, given]) == pytest.approx([model.entropy("a", given)] * 2)


def test_information_about_several_columns(model: FSPN) -> None:
    table = joint(model).sum(axis=3)
    pair, c = table.sum(axis=2), table.sum(axis=(0, 1))
    some = table > 0
    outer = pair[:, :, None] * c
    expected = (table[some] * np.log(table[some] / outer[some])).sum()
    assert model.mutual_information(["a", "b"], "c") == pytest.approx(expected, abs=1e-10)


def test_what_cannot_be_asked(mixed_model: FSPN) -> None:
    for ask in (mixed_model.mean, mixed_model.variance, lambda c: mixed_model.quantile(c, 0.5)):
        with pytest.raises(ValueError, match="'text' is unordered"):
            ask("text")
    for ask in (mixed_model.mean, mixed_model.entropy):
        with pytest.raises(KeyError, match="unknown column 'z'"):
            ask("z")
    with pytest.raises(ValueError, match=r"q=1.5 must be a number in \[0, 1\]"):
        mixed_model.quantile("int", 1.5)
    with pytest.raises(ValueError, match="named twice"):
        mixed_model.mutual_information("int", "int")
    with pytest.raises(ValueError, match="no column"):
        mixed_model.entropy([])


def test_reals_without_cells_have_no_tables() -> None:
    model = FSPN(preset="paper").fit(mixed(200))
    with pytest.raises(ValueError, match="'real' is continuous and has no finite table"):
        model.entropy("real")


@pytest.mark.parametrize("name", ["mean", "variance", "entropy"])
def test_impossible_evidence(model: FSPN, name: str) -> None:
    ask = getattr(model, name)
    with pytest.warns(RuntimeWarning, match="probability zero"):
        assert np.isnan(ask("b", {"a": 4}))
    with pytest.warns(RuntimeWarning, match="probability zero"):
        found = ask("b", [{"a": 4}, {"a": 3}])
    assert np.isnan(found).tolist() == [True, False]
    with pytest.raises(ValueError, match="probability zero"):
        ask("b", {"a": 4}, strict=True)

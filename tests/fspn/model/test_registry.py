"""A leaf family written outside the package is known everywhere after one registration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import laplace

import fspn
from fspn import FSPN
from fspn.io.model_file import ModelFileError
from fspn.model.leaves import registry
from fspn.model.leaves.base import Multivariate, State, Univariate
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import MultiLeaf, Node, Product, UniLeaf, walk
from fspn.schema.events import Constraint, Events, RealPoint, RealRange


@dataclass(frozen=True)
class Laplace(Univariate):
    """A density of reals, without a kernel form."""

    location: np.ndarray
    scale: np.ndarray
    family: ClassVar[str] = "laplace_of_this_test"

    @classmethod
    def fit_reals(cls, values: np.ndarray, alpha: float) -> Laplace:
        centre = np.median(values)
        return cls(np.array([centre]), np.array([np.abs(values - centre).mean() + 1e-9]))

    def log_probability(self, constraint: Constraint) -> np.ndarray:
        law = laplace(self.location[0], self.scale[0])
        if isinstance(constraint, RealPoint):
            return law.logpdf(constraint.values)
        assert isinstance(constraint, RealRange)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(law.cdf(constraint.upper) - law.cdf(constraint.lower), 0))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(self.location[0], self.scale[0], n)

    @property
    def n_parameters(self) -> int:
        return 2

    def state(self) -> State:
        return {"location": self.location, "scale": self.scale}

    @classmethod
    def from_state(cls, state: State) -> Laplace:
        return cls(state["location"], state["scale"])

    def summary(self) -> str:
        return "Laplace, by hand"


@dataclass(frozen=True)
class Copies(Multivariate):
    """All variables take the first one's law, independently; in either kernel form, or none."""

    p: np.ndarray
    copies: int
    family: ClassVar[str] = "copies_of_this_test"
    form: ClassVar[str] = "node"

    @classmethod
    def fit_codes(cls, codes: np.ndarray, sizes: Sequence[int], alpha: float) -> Copies:
        return cls(Categorical.fit(codes.ravel(), max(sizes), alpha).p, codes.shape[1])

    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        asked = [events.constraints[v] for v in scope if v in events.constraints]
        return sum((Categorical(self.p).log_probability(c) for c in asked), np.zeros(events.n))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(len(self.p), size=(n, self.copies), p=self.p)

    def as_node(self, scope: tuple[int, ...]) -> Node | None:
        leaves = tuple(UniLeaf(v, Categorical(self.p)) for v in scope)
        return Product(leaves) if self.form == "node" else None

    def as_independent(self) -> tuple[Univariate, ...] | None:
        return (Categorical(self.p),) * self.copies if self.form == "independent" else None

    @property
    def n_parameters(self) -> int:
        return len(self.p) - 1

    def state(self) -> State:
        return {"p": self.p, "copies": np.array([self.copies])}

    @classmethod
    def from_state(cls, state: State) -> Copies:
        return cls(state["p"], int(state["copies"][0]))


@pytest.fixture(autouse=True)
def _clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))


def reals() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.laplace(3.0, 0.5, 2_000), "y": rng.laplace(0.0, 2.0, 2_000)})


def groups() -> pd.DataFrame:
    first = np.random.default_rng(1).integers(0, 4, 2_000)
    return pd.DataFrame({"a": first, "b": first, "c": first})


def test_a_family_of_reals_is_learned_queried_sampled_stored_and_drawn(tmp_path) -> None:
    before = FSPN(preset="paper", uni_leaf="auto").fit(reals())
    registry.register(Laplace)
    model = FSPN(preset="paper", uni_leaf="auto").fit(reals())
    families = [n.dist for n in walk(model.root_) if isinstance(n, UniLeaf)]
    assert any(isinstance(dist, Laplace) for dist in families)
    assert model.score(reals()) > before.score(reals())
    assert model.probability({"x": (-np.inf, 3.0)}) == pytest.approx(0.5, abs=0.03)
    assert model.sample(20_000, random_state=0)["x"].median() == pytest.approx(3.0, abs=0.05)
    fspn.validate(model.root_, model.domain_)
    model.save(tmp_path / "model.fspn")
    again = FSPN.load(tmp_path / "model.fspn")
    assert again.score(reals()) == model.score(reals())
    assert again.size_bytes_ == model.size_bytes_
    fspn.draw(model, tmp_path / "model.svg")
    assert "Laplace, by hand" in (tmp_path / "model.svg").read_text()


@pytest.mark.parametrize("form", ["node", "independent", ""])
def test_a_family_of_codes_is_learned_by_name(tmp_path, monkeypatch, form: str) -> None:
    monkeypatch.setattr(Copies, "form", form)
    registry.register(Copies)
    model = FSPN(preset="paper", multi_leaf="copies_of_this_test").fit(groups())
    assert isinstance(model.root_, MultiLeaf)
    assert isinstance(model.root_.dist, Copies)
    assert (model._engine is not None) == bool(form)
    p = model.root_.dist.p
    assert model.probability({"a": 0, "b": (1, 2)}) == pytest.approx(p[0] * (p[1] + p[2]), 1e-12)
    model.save(tmp_path / "model.fspn")
    again = FSPN.load(tmp_path / "model.fspn")
    assert isinstance(again.root_.dist, Copies)
    assert again.score(groups()) == model.score(groups())
    best, _ = model.map({"b": 1})
    assert (best["a"], best["c"]) == (int(p.argmax()), int(p.argmax()))


def test_a_file_of_an_unknown_family_says_what_to_do(tmp_path, monkeypatch) -> None:
    registry.register(Laplace)
    FSPN(preset="paper", uni_leaf=Laplace.family).fit(reals()).save(tmp_path / "model.fspn")
    monkeypatch.delitem(registry._FAMILIES, Laplace.family)
    with pytest.raises(ModelFileError, match=r"laplace_of_this_test.*registered"):
        FSPN.load(tmp_path / "model.fspn")


def test_a_family_must_be_known_and_of_use() -> None:
    with pytest.raises(ValueError, match="uni_leaf='laplace_of_this_test' is not one of"):
        FSPN(preset="paper", uni_leaf=Laplace.family).fit(reals())
    with pytest.raises(ValueError, match=r"uni_leaf='auto' does nothing.*preset='paper'"):
        FSPN(uni_leaf="auto").fit(reals())


def test_an_unregistered_family_is_not_stored(tmp_path) -> None:
    leaf = UniLeaf(0, Laplace(np.zeros(1), np.ones(1)))
    domain = FSPN(preset="paper").fit(reals()[["x"]]).domain_
    with pytest.raises(ModelFileError, match="register it"):
        FSPN.from_root(domain, leaf).save(tmp_path / "model.fspn")


def test_what_cannot_be_registered() -> None:
    with pytest.raises(TypeError, match="subclass"):
        registry.register(int)  # type: ignore[type-var]
    nameless = type("Nameless", (Univariate,), {})
    with pytest.raises(TypeError, match="class attribute family"):
        registry.register(nameless)
    empty = type("Empty", (Univariate,), {"family": "empty_of_this_test"})
    with pytest.raises(TypeError, match=r"lacks .*log_probability.*from_state"):
        registry.register(empty)
    with pytest.raises(ValueError, match="is taken by"):
        registry.register(type("Other", (Laplace,), {"family": "categorical"}))


def test_a_faulty_family_is_named_by_the_validator() -> None:
    @dataclass(frozen=True)
    class Half(Laplace):
        def log_probability(self, constraint: Constraint) -> np.ndarray:
            return super().log_probability(constraint) - np.log(2)

    domain = FSPN(preset="paper").fit(reals()[["x"]]).domain_
    with pytest.raises(ValueError, match=r"'x' sum to 0\.5, not 1"):
        fspn.validate(UniLeaf(0, Half(np.zeros(1), np.ones(1))), domain)

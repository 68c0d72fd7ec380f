"""Appendix B of the paper: Pr(E) = 0.3 * 0.17 + 0.4 * 0.3 = 0.051 + 0.12 = 0.171."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import appendix_b as example
from fspn import FSPN
from fspn.engine.compile import compile_fspn
from fspn.engine.engine import Engine
from fspn.model.infer import log_probability
from fspn.schema.events import CodeRange, Events
from fspn.validate import validate

X1, X3 = example.X1, example.X3
CASES = [("E", (3, 6), 0.171), ("E1", (3, 5), 0.051), ("E2", (6, 6), 0.12)]


def _event(x3: tuple[int, int]) -> Events:
    one = {X1: (1, 7), X3: x3}
    return Events(1, {v: CodeRange(np.array([a]), np.array([b])) for v, (a, b) in one.items()})


@pytest.mark.parametrize(("name", "x3", "expected"), CASES)
def test_reference_inference(name: str, x3: tuple[int, int], expected: float) -> None:
    answer = np.exp(log_probability(example.root(), _event(x3)))[0]
    assert answer == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize(("name", "x3", "expected"), CASES)
def test_compiled_inference(name: str, x3: tuple[int, int], expected: float) -> None:
    domain = example.domain()
    engine = Engine(compile_fspn(example.root(), [example.SIZE] * 4), domain)
    assert np.exp(engine.log_probability(_event(x3)))[0] == pytest.approx(expected, abs=1e-12), name


def test_estimator() -> None:
    model = FSPN.from_root(example.domain(), example.root())
    assert model.probability({"X1": (1, 7), "X3": (3, 6)}) == pytest.approx(0.171, abs=1e-12)
    lower, upper = np.array([1, np.nan, 3, np.nan]), np.array([7, np.nan, 6, np.nan])
    assert model.probability(lower, upper) == pytest.approx(0.171, abs=1e-12)
    assert model.n_nodes_ == 11


def test_it_is_a_proper_model() -> None:
    validate(example.root(), example.domain())

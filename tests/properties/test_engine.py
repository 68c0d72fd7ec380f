"""The compiled engine, the reference and brute force say the same on random models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fspn.engine.engine
from fspn.engine.compile import compile_fspn
from fspn.engine.engine import Engine
from fspn.model.infer import log_probability
from tests.random_models import ModelMaker, all_points, point_events

seeds = st.integers(0, 2**32 - 1)
widths = st.integers(1, 6)


def make(seed: int, width: int):
    maker = ModelMaker(seed, width)
    root = maker.model()
    engine = Engine(compile_fspn(root, maker.sizes), maker.domain())
    return maker, root, engine


@given(seeds, widths)
def test_engine_equals_reference(seed: int, width: int) -> None:
    maker, root, engine = make(seed, width)
    events = maker.events(5)
    found, expected = engine.log_probability(events), log_probability(root, events)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-12)
    some = expected > -np.inf
    np.testing.assert_allclose(found[some], expected[some], atol=1e-9)


@given(seeds, widths, st.sampled_from([1, 2]))
def test_a_workspace_that_grows_changes_no_answer(seed: int, width: int, n_threads: int) -> None:
    """Growing starts an evaluation anew that may have been deep inside nested boxes."""
    maker = ModelMaker(seed, width)
    root = maker.model()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fspn.engine.engine, "FIRST_BUFFER", 0)
        patch.setattr(Engine, "grow", _grow_a_little)
        engine = Engine(compile_fspn(root, maker.sizes), maker.domain(), n_threads)
        events = maker.events(5)
        lower, upper, places, weights = engine.pack(events)
        before = lower.copy(), upper.copy()
        found = engine.run(lower, upper, places, weights)
    np.testing.assert_array_equal((lower, upper), before)
    np.testing.assert_allclose(np.exp(found), np.exp(log_probability(root, events)), atol=1e-12)


def _grow_a_little(engine: Engine, need: int) -> None:
    engine.new_buffers(need)


@given(seeds, widths)
def test_what_lies_in_the_workspace_does_not_matter(seed: int, width: int) -> None:
    """Sums read a little beyond their lines: nothing of that may reach an answer."""
    maker, root, engine = make(seed, width)
    engine._buffers[:, engine.first :] = np.nan
    events = maker.events(5)
    found = np.exp(engine.log_probability(events))
    np.testing.assert_allclose(found, np.exp(log_probability(root, events)), atol=1e-12)


@given(seeds, widths)
def test_reference_equals_the_sum_of_its_points(seed: int, width: int) -> None:
    maker, root, _ = make(seed, width)
    points = all_points(maker.sizes)
    mass = np.exp(log_probability(root, point_events(points)))
    assert abs(mass.sum() - 1.0) < 1e-9
    events = maker.events(4)
    weights = np.ones((4, len(points)))
    for v, constraint in events.constraints.items():
        weights *= constraint.weights(maker.sizes[v])[:, points[:, v]]
    np.testing.assert_allclose(np.exp(log_probability(root, events)), weights @ mass, atol=1e-12)


@given(seeds, widths)
def test_joint_table_equals_enumeration(seed: int, width: int) -> None:
    maker, root, engine = make(seed, width)
    events = maker.events(1)
    free = [v for v in range(width) if v not in events.constraints]
    if not free:
        return
    axes = [int(v) for v in maker.rng.permutation(free)[:3]]
    table = engine.joint_table(axes, events)
    total = np.exp(log_probability(root, events))[0]
    if total < 1e-12:
        return
    cells = all_points([maker.sizes[v] for v in axes])
    stretched = events.take(np.zeros(len(cells), dtype=int))
    for v, codes in zip(axes, cells.T, strict=True):
        stretched = stretched.with_constraint(v, point_events(codes[:, None]).constraints[0])
    expected = np.exp(log_probability(root, stretched)).reshape(table.shape)
    np.testing.assert_allclose(table / table.sum(), expected / total, atol=1e-10)


def test_threads_do_not_change_answers() -> None:
    maker, _, engine = make(11, 6)
    events = maker.events(257)
    shared = Engine(engine.program, maker.domain(), n_threads=2)
    np.testing.assert_array_equal(engine.log_probability(events), shared.log_probability(events))

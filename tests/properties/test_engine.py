"""The compiled engine, the reference and brute force say the same on random models."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fspn.compile import compile_fspn
from fspn.engine import Engine
from fspn.infer import log_probability
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
    np.testing.assert_allclose(
        np.exp(engine.log_probability(events)), np.exp(log_probability(root, events)), atol=1e-12
    )


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

"""Elimination in two semirings against the whole joint table, on random models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fspn.model.eliminate.buckets
from fspn.model.eliminate.branch import solve
from fspn.model.eliminate.descend import Descent, random_choice
from fspn.model.eliminate.elimination import Elimination
from fspn.model.eliminate.tables import Tables
from fspn.schema.events import Events
from tests.chi_square import is_likely
from tests.pointwise import joint_of
from tests.random_models import ModelMaker

seeds = st.integers(0, 2**32 - 1)
widths = st.integers(1, 6)


def weigh(joint: np.ndarray, events: Events, event: int) -> np.ndarray:
    """The joint table times the weights of one event."""
    for v, constraint in events.constraints.items():
        weights = constraint.weights(joint.shape[v])[event]
        joint = joint * weights.reshape([-1 if a == v else 1 for a in range(joint.ndim)])
    return joint


def chosen_variables(maker: ModelMaker) -> list[int]:
    n = len(maker.sizes)
    return sorted(int(v) for v in maker.rng.permutation(n)[: maker.rng.integers(0, n + 1)])


@given(seeds, widths)
def test_sums_over_any_kept_variables(seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    root = maker.model()
    events, joint = maker.events(3), joint_of(root, maker.sizes)
    kept = chosen_variables(maker)
    found = np.exp(Elimination(Tables(maker.sizes)).factor(root, events, kept))
    rest = tuple(v for v in range(width) if v not in kept)
    for event in range(3):
        expected = weigh(joint, events, event).sum(axis=rest)
        np.testing.assert_allclose(found[event if len(found) > 1 else 0], expected, atol=1e-12)


@given(seeds, widths)
def test_the_most_probable_completion(seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    root = maker.model()
    events, joint = maker.events(3), joint_of(root, maker.sizes)
    tables = Tables(maker.sizes)
    for event in range(3):
        table = weigh(joint, events, event)
        solution = solve(tables, root, events.take(np.array([event])), frozenset(range(width)), 60)
        np.testing.assert_allclose(np.exp(solution.log_value), table.max(), atol=1e-12)
        assert solution.log_bound - solution.log_value < 1e-9 or table.max() == 0.0
        if table.max() > 0:
            cell = tuple(int(solution.columns[v][0]) for v in range(width))
            np.testing.assert_allclose(table[cell], table.max(), atol=1e-12)


@given(seeds, widths)
def test_the_most_probable_values_of_some_columns(seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    root = maker.model()
    events, joint = maker.events(2), joint_of(root, maker.sizes)
    asked = chosen_variables(maker)
    rest = tuple(v for v in range(width) if v not in asked)
    for event in range(2):
        table = weigh(joint, events, event).sum(axis=rest)
        one = events.take(np.array([event]))
        solution = solve(Tables(maker.sizes), root, one, frozenset(asked), 60)
        np.testing.assert_allclose(np.exp(solution.log_value), table.max(), atol=1e-12)
        if table.max() > 0:
            cell = tuple(int(solution.columns[v][0]) for v in asked)
            np.testing.assert_allclose(table[cell], table.max(), atol=1e-12)


@given(seeds, widths)
def test_a_batch_is_its_events_one_by_one(seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    root, events = maker.model(), maker.events(4)
    elimination = Elimination(Tables(maker.sizes), range(width))
    batch = elimination.logs(root, events)
    single = [elimination.logs(root, events.take(np.array([i])))[0] for i in range(4)]
    np.testing.assert_allclose(np.exp(batch), np.exp(single), atol=1e-12)


@given(seeds, widths)
def test_samples_given_an_event(seed: int, width: int) -> None:
    """The chi-square statistic of 2,000 rows stays below a value of probability 1e-9."""
    maker = ModelMaker(seed, width)
    root, events = maker.model(), maker.events(1)
    table = weigh(joint_of(root, maker.sizes), events, 0)
    if table.sum() < 1e-9:
        return
    rng = np.random.default_rng(seed)
    n = 2000
    descent = Descent(Elimination(Tables(maker.sizes)), random_choice(rng), n, rng)
    descent.go(root, events, np.arange(n), np.zeros(n, dtype=np.int64))
    cells = tuple(descent.columns[v].astype(int) for v in range(width))
    counts = np.zeros(table.shape)
    np.add.at(counts, cells, 1)
    expected = n * table / table.sum()
    assert is_likely(counts.ravel(), expected.ravel())


@given(seeds, widths)
def test_batches_that_do_not_fit_are_halved(seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    root, events = maker.model(), maker.events(16)
    whole = Elimination(Tables(maker.sizes)).logs(root, events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fspn.model.eliminate.buckets, "MAX_CELLS", 4**width)
        halved = Elimination(Tables(maker.sizes)).logs(root, events)
    np.testing.assert_allclose(np.exp(halved), np.exp(whole), atol=1e-12)

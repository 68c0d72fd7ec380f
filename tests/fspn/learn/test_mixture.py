"""Sum nodes over networks on any coded table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

import fspn.learn.mixture.fit as mixture_fit
from fspn import FSPN
from fspn.learn.leaves import NetworkSettings
from fspn.learn.mixture.coarse import CoarseRows, coarse_cells
from fspn.learn.mixture.networks import NetworkSearch
from fspn.learn.mixture.screen import pair_levels
from fspn.learn.mixture.trees import (
    compact,
    draw_classes,
    fit_trees,
    normalised,
    run_trees,
    sharp_start,
)
from fspn.learn.slices import Slice
from fspn.model.nodes import Sum
from fspn.schema.infer import infer_domain

SIZES = (3, 4, 2, 5, 3, 4, 3, 2)


def chain_rows(n: int, seed: int, order: np.ndarray) -> np.ndarray:
    """Rows of a chain through the columns in the given order, with sharp random tables."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, len(SIZES)), dtype=np.int64)
    before = np.zeros(n, dtype=np.int64)
    for v in order:
        table = rng.dirichlet(np.full(SIZES[v], 0.3), size=8)
        upper = np.cumsum(table[before], axis=1)
        codes[:, v] = np.minimum((upper < rng.random(n)[:, None]).sum(axis=1), SIZES[v] - 1)
        before = codes[:, v]
    return codes


def classes_of_rows(n_classes: int, n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Rows of several chains in random order, and the chain of each."""
    rng = np.random.default_rng(n_classes)
    parts = [
        chain_rows(n // n_classes, 10 + k, rng.permutation(len(SIZES))) for k in range(n_classes)
    ]
    order = rng.permutation(n // n_classes * n_classes)
    classes = np.repeat(np.arange(n_classes), n // n_classes)
    return np.concatenate(parts)[order], classes[order]


def table_of(codes: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(codes, columns=[f"x{v}" for v in range(codes.shape[1])])


@pytest.fixture(scope="module")
def three() -> tuple[pd.DataFrame, FSPN]:
    table = table_of(classes_of_rows(3)[0])
    return table, FSPN(max_parents=2).fit(table)


def test_hidden_classes_are_found_and_counted(three) -> None:
    table, model = three
    one = FSPN(max_parents=2, n_components=1).fit(table)
    assert isinstance(model.root_, Sum)
    assert len(model.root_.children) == 3
    np.testing.assert_allclose(model.root_.weights, 1 / 3, atol=0.04)
    _, classes = classes_of_rows(3)
    oracle = [
        FSPN(max_parents=2, n_components=1).fit(table[classes == k], domains=table_domains(table))
        for k in range(3)
    ]
    known = np.logaddexp.reduce([m.score_samples(table) - np.log(3) for m in oracle]).mean()
    single, found = one.score_samples(table).mean(), model.score_samples(table).mean()
    assert found - single > 0.95 * (known - single) > 0.5


def test_the_component_that_goes_first_is_one_that_others_stand_in_for() -> None:
    codes, classes = classes_of_rows(3, 3_000)
    domain = infer_domain(table_of(codes), {}, None)
    data = Slice.of_table(domain, table_of(codes))
    limits = NetworkSettings(2, 100_000, None, offsets=False)
    search = NetworkSearch(data, range(len(SIZES)), limits, np.random.default_rng(0))
    halves = classes.copy()
    halves[np.flatnonzero(classes == 2)[::2]] = 3
    kept = search.without_least(search.from_classes(halves))
    found = [set(classes[component.rows]) for component in kept.components]
    assert sorted(map(tuple, found)) == [(0,), (1,), (2,)]


def table_domains(table: pd.DataFrame) -> dict[str, np.ndarray]:
    return {name: np.unique(table[name]) for name in table.columns}


def test_all_cells_of_a_mixture_sum_to_one(three) -> None:
    table, model = three
    everything = list(product(*(np.unique(table[c]) for c in table.columns)))
    assert np.exp(model.score_samples(table_of(np.array(everything)))).sum() == pytest.approx(1)


def test_one_class_gives_the_single_network_itself() -> None:
    table = table_of(chain_rows(6000, 3, np.arange(len(SIZES))))
    default, one = FSPN().fit(table), FSPN(n_components=1).fit(table)
    assert not isinstance(default.root_, Sum)
    np.testing.assert_array_equal(default.score_samples(table), one.score_samples(table))


def test_the_number_of_components_can_be_given(three) -> None:
    table, _ = three
    model = FSPN(n_components=2, max_parents=2).fit(table)
    assert len(model.root_.children) == 2


def test_same_seed_same_model(three) -> None:
    table, model = three
    again = FSPN(max_parents=2).fit(table)
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))


def test_an_interrupt_leaves_the_single_network(three, monkeypatch) -> None:
    def interrupted(*_):
        raise KeyboardInterrupt

    table, _ = three
    monkeypatch.setattr(mixture_fit, "find_components", interrupted)
    with pytest.warns(UserWarning, match="single network"):
        model = FSPN(max_parents=2).fit(table)
    one = FSPN(max_parents=2, n_components=1).fit(table)
    np.testing.assert_array_equal(model.score_samples(table), one.score_samples(table))


def test_thresholds_and_components_exclude_each_other(three) -> None:
    table, _ = three
    with pytest.raises(ValueError, match="n_components"):
        FSPN(n_components=2, tau_low=0.3).fit(table)


def test_trees_are_distributions_and_span_most_information() -> None:
    codes = chain_rows(2000, 5, np.array([0, 3, 1, 5, 2, 4]))[:, :6].astype(np.uint8)
    sizes = np.array(SIZES[:6])
    rows = CoarseRows(np.ascontiguousarray(codes), sizes)
    found = fit_trees(rows, np.zeros(len(codes), dtype=np.int64))
    cells = np.array(list(product(*map(range, sizes))), dtype=np.uint8)
    total = np.exp(found.scores(CoarseRows(cells, sizes))).sum()
    assert total == pytest.approx(1)
    worth = np.zeros((6, 6))
    for i in range(6):
        for j in range(i):
            joint = np.zeros((sizes[i], sizes[j]))
            np.add.at(joint, (codes[:, i], codes[:, j]), 1)
            outer = np.outer(joint.sum(1), joint.sum(0)) / len(codes)
            inside = joint > 0
            free = inside.sum() - (joint.sum(1) > 0).sum() - (joint.sum(0) > 0).sum() + 1
            worth[i, j] = (joint[inside] * np.log(joint[inside] / outer[inside])).sum()
            worth[i, j] -= 0.5 * np.log(len(codes)) * max(free, 1)
    best = -minimum_spanning_tree(np.where(worth > 0, -worth, 0)).sum()
    edges = [(max(v, p), min(v, p)) for v, p in enumerate(found.parents[0]) if p >= 0]
    assert sum(worth[edge] for edge in edges) == pytest.approx(best)


def test_more_trees_than_classes_separate_the_classes() -> None:
    codes, classes = classes_of_rows(2)
    rows = CoarseRows(np.ascontiguousarray(codes.astype(np.uint8)), np.array(SIZES))
    rng = np.random.default_rng(0)
    _, logs = run_trees(rows, sharp_start(len(codes), 8, rng), 20, rng)
    held = np.zeros((logs.shape[1], 2))
    np.add.at(held, (logs.argmax(axis=1), classes), 1)
    known = np.mean(fit_trees(rows, classes).scores(rows).argmax(axis=1) == classes)
    assert held.max(axis=1).sum() / len(codes) > known - 0.05 > 0.9


def test_classes_are_drawn_in_proportion() -> None:
    shares = normalised(np.log(np.tile([0.1, 0.6, 0.3], (20_000, 1))))
    drawn = draw_classes(shares, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), [0.1, 0.6, 0.3], atol=0.02)


def test_small_classes_are_dropped_and_the_others_renumbered() -> None:
    classes = np.array([0, 0, 1, 2, 2, 2, -1])
    np.testing.assert_array_equal(compact(classes, 2), [0, 0, -1, 1, 1, 1, -1])


def test_levels_of_independent_cells_are_not_small_and_of_equal_cells_are() -> None:
    cells = np.random.default_rng(0).integers(0, 8, (5000, 6)).astype(np.uint8)
    cells[:, 5] = cells[:, 0]
    levels = pair_levels(cells)
    assert levels[0, 5] < 1e-12
    assert np.sort(levels[np.triu_indices(6, 1)])[1] > 1e-4


@pytest.mark.parametrize("ordered", [True, False])
def test_coarse_cells_are_few_and_of_similar_weight(ordered: bool) -> None:
    counts = np.random.default_rng(1).integers(1, 50, 300)
    cells = coarse_cells(counts, ordered, 16)
    assert set(cells) == set(range(16))
    if ordered:
        assert (np.diff(cells.astype(int)) >= 0).all()
        held = np.bincount(cells, weights=counts)
        assert held.max() < 2 * held.min()
    else:
        np.testing.assert_array_equal(np.bincount(cells)[:15], 1)

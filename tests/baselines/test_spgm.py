"""SPGMs against sums over their trees, written out by hand and enumerated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from baselines.spgm.build import Builder
from baselines.spgm.graph import SUM, Spgm
from baselines.spgm.kernels import expected_counts, log_boxes, log_scores
from baselines.spgm.spgm import SPGM, Mixture
from tests.baselines.data import additive_codes

CARDS = np.array([2, 3, 2, 4])
A, B, C, D = range(4)


def information(edges: dict[tuple[int, int], float], m: int) -> np.ndarray:
    matrix = np.zeros((m, m))
    for (i, j), value in edges.items():
        matrix[i, j] = matrix[j, i] = value
    return matrix


def chain_with_a_loop() -> Builder:
    """The example of `baselines.spgm.graph`: a - b - c - d, then a - c opens the loop at a - b."""
    return Builder(information({(A, B): 2.0, (B, C): 4.0, (C, D): 3.0, (A, C): 1.0}, 4), CARDS)


def with_random_parameters(builder: Builder, seed: int) -> Spgm:
    graph = builder.graph()
    rng = np.random.default_rng(seed)
    counts, weights = rng.random(graph.n_cells) + 0.1, rng.random(len(graph.first_weights)) + 0.1
    return Spgm.fitted(graph, counts, weights, 1e-9)


def tables(model: Spgm) -> dict[tuple[int, int], np.ndarray]:
    graph = model.graph
    return {
        (int(up), int(own)): model.probabilities[graph.place[t] : graph.place[t + 1]].reshape(
            -1, graph.cards[own]
        )
        for t, (up, own) in enumerate(graph.pairs)
    }


def states(cards: np.ndarray) -> np.ndarray:
    return np.array(list(itertools.product(*(range(d) for d in cards))), dtype=np.uint8)


def scores(model: Spgm, codes: np.ndarray) -> np.ndarray:
    columns = np.ascontiguousarray(codes.T)
    return log_scores(columns, model)


def test_a_loop_is_the_sum_of_its_two_trees() -> None:
    builder = chain_with_a_loop()
    builder.insert(A, C)
    model = with_random_parameters(builder, 0)
    p = tables(model)
    assert set(p) == {(-1, A), (A, B), (B, C), (A, C), (C, B), (C, D)}
    weights = np.exp(model.log_weights).reshape(2, CARDS[A])
    expected = [
        p[-1, A][0, a]
        * (
            weights[0, a] * p[A, B][a, b] * p[B, C][b, c]
            + weights[1, a] * p[A, C][a, c] * p[C, B][c, b]
        )
        * p[C, D][c, d]
        for a, b, c, d in states(CARDS)
    ]
    np.testing.assert_allclose(np.exp(scores(model, states(CARDS))), expected, rtol=1e-12)
    # d hangs below c once, shared by both alternatives.
    assert (model.graph.variable == D).sum() == 1


def test_without_insertions_it_is_the_tree() -> None:
    graph = chain_with_a_loop().graph()
    assert sorted(map(tuple, graph.pairs.tolist())) == [(-1, A), (A, B), (B, C), (C, D)]
    assert not (graph.kinds == SUM).any()


@pytest.mark.parametrize("seed", range(6))
def test_nested_and_crossing_loops_are_distributions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, 6)
    matrix = rng.random((6, 6))
    builder = Builder(matrix + matrix.T, cards)
    builder.insert_best(8)
    model = with_random_parameters(builder, seed)
    assert (model.graph.kinds == SUM).any()
    everything = states(cards)
    joint = np.exp(scores(model, everything))
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)
    lower = np.array([[rng.integers(0, d) for d in cards] for _ in range(20)])
    upper = np.array(
        [[rng.integers(v, d) for v, d in zip(row, cards, strict=True)] for row in lower]
    )
    found = Mixture((model,), np.ones(1)).log_boxes(lower, upper)
    for low, high, log in zip(lower, upper, found, strict=True):
        inside = ((everything >= low) & (everything <= high)).all(axis=1)
        assert np.exp(log) == pytest.approx(joint[inside].sum(), rel=1e-10)


def test_boxes_of_many_columns_do_not_vanish() -> None:
    m = 900
    matrix = np.zeros((m, m))
    matrix[np.arange(m - 1), np.arange(1, m)] = matrix[np.arange(1, m), np.arange(m - 1)] = 1.0
    model = with_random_parameters(Builder(matrix, np.full(m, 2)), 0)
    ones = np.ones((1, m), dtype=np.int64)
    box = log_boxes(ones, ones, model)
    assert box[0] == pytest.approx(scores(model, ones.astype(np.uint8))[0], rel=1e-10)


def test_expected_counts_raise_the_likelihood() -> None:
    codes, cards = additive_codes(500, 3)
    rng = np.random.default_rng(0)
    matrix = rng.random((len(cards), len(cards)))
    builder = Builder(matrix + matrix.T, cards)
    builder.insert_best(6)
    model = with_random_parameters(builder, 1)
    columns = np.ascontiguousarray(codes.T)
    before = -np.inf
    for _ in range(5):
        now = scores(model, codes).sum()
        assert now >= before - 1e-6
        before = now
        counts, chosen = expected_counts(columns, np.ones(len(codes)), model)
        assert counts.sum() == pytest.approx(len(codes) * len(cards))
        model = Spgm.fitted(model.graph, counts, chosen, 0.0)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match="n_components"):
        SPGM(n_components=0)
    with pytest.raises(ValueError, match="prior"):
        SPGM(prior=0.0)


def test_rows_beyond_the_range_of_doubles_are_scored_by_logarithms() -> None:
    m = 400
    matrix = np.zeros((m, m))
    for apart, value in ((1, 2.0), (2, 1.0)):
        i = np.arange(m - apart)
        matrix[i, i + apart] = matrix[i + apart, i] = value
    builder = Builder(matrix, np.full(m, 2))
    builder.insert_best(50)
    graph = builder.graph()
    equal_is_likely = np.where(np.arange(graph.n_cells) % 4 % 3 == 0, 1e4, 1.0)
    model = Spgm.fitted(graph, equal_is_likely, graph.first_weights, 0.0)
    changing = np.tile((np.arange(m) % 2).astype(np.uint8), (3, 1))
    found = scores(model, changing)
    assert found[0] < -1000
    limits = changing.astype(np.int64)
    np.testing.assert_allclose(log_boxes(limits, limits, model), found, rtol=1e-12)
    columns = np.ascontiguousarray(changing.T)
    counts, chosen = expected_counts(columns, np.ones(3), model)
    assert counts.sum() == pytest.approx(3 * m)
    assert np.isfinite(chosen).all()
    assert chosen.sum() > 0

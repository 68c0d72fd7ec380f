"""Trees and mixtures of them against direct counts, networkx and enumeration."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

from baselines.bayes_net.chow_liu import chow_liu
from baselines.independent import Independent
from baselines.trees.chow_liu import ChowLiuTree
from baselines.trees.counts import Indicators
from baselines.trees.mixture_of_trees import MixtureOfTrees, Rows
from fspn.learn.spanning_tree import spanning_tree
from tests.benchmarks import benchmark, made_up

# Test log-likelihood of train-only fits with a quarter pseudo-count per cell: independent, tree.
KNOWN = {
    "nltcs": (-9.23, -6.76),
    "plants": (-31.27, -16.52),
    "tretail": (-11.42, -10.94),
    "dna": (-100.39, -87.68),
    "tmovie": (-83.60, -64.83),
    "ad": (-63.81, -16.37),
}


def binary_domains(table: pd.DataFrame) -> dict[str, np.ndarray]:
    return {str(c): np.array([0, 1]) for c in table.columns}


def mixed_codes(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    cards = np.array([2, 4, 1, 3])
    codes = np.stack([rng.integers(0, d, rows) for d in cards], axis=1)
    codes[:, 3] = np.where(rng.random(rows) < 0.7, np.minimum(codes[:, 1], 2), codes[:, 3])
    return codes, cards


@pytest.mark.parametrize("binary", [True, False])
def test_mutual_information_from_one_product_equals_direct_counts(binary: bool) -> None:
    codes, cards = mixed_codes()
    if binary:
        codes, cards = made_up(500, 6).to_numpy(), np.full(6, 2)
    found = Indicators.of(codes, cards).counts(np.ones(len(codes))).mutual_information()
    for i, j in itertools.combinations(range(len(cards)), 2):
        expected = len(codes) * mutual_info_score(codes[:, i], codes[:, j])
        assert found[i, j] == pytest.approx(expected, abs=1e-6)


def test_weights_count_rows() -> None:
    codes, cards = mixed_codes(60)
    weights = np.random.default_rng(2).integers(0, 4, 60)
    weighted = Indicators.of(codes, cards).counts(weights)
    repeated = Indicators.of(np.repeat(codes, weights, axis=0), cards)
    direct = repeated.counts(np.ones(weights.sum()))
    assert weighted.total == direct.total == weights.sum()
    np.testing.assert_allclose(weighted.pair, direct.pair)


def test_distinct_rows_stand_for_all() -> None:
    table = made_up(3_000, 5).to_numpy()
    rows = Rows.of(table, np.full(5, 2))
    assert len(rows.codes) <= 32
    assert sorted(np.repeat(rows.codes, rows.weights.astype(int), axis=0).tolist()) == sorted(
        table.tolist()
    )


def test_spanning_tree_is_the_heaviest() -> None:
    weights = np.random.default_rng(0).random((30, 30))
    weights = weights + weights.T
    parents, order = spanning_tree(weights)
    graph = nx.from_numpy_array(weights)
    heaviest = nx.maximum_spanning_tree(graph).size(weight="weight")
    assert sum(weights[i, p] for i, p in enumerate(parents) if p >= 0) == pytest.approx(heaviest)
    place = np.argsort(order)
    assert all(place[p] < place[i] for i, p in enumerate(parents) if p >= 0)
    assert (parents < 0).sum() == 1


def test_the_tree_is_that_of_the_slow_way() -> None:
    table = made_up(3_000, 12)
    fast = ChowLiuTree(alpha=1e-9).fit(table, binary_domains(table)).trees.edges.parents[0]
    slow = chow_liu(table.to_numpy(), np.full(12, 2))
    found = {frozenset((i, int(p))) for i, p in enumerate(fast) if p >= 0}
    assert found == {frozenset((i, above[0])) for i, above in enumerate(slow) if above}


def test_a_single_component_is_the_chow_liu_tree() -> None:
    table = made_up(2_000, 8)
    tree = ChowLiuTree(alpha=1.0).fit(table, binary_domains(table))
    # All rows and `strength` rows of their own distribution: the same relative frequencies.
    mixture = MixtureOfTrees(1, strength=1e-9).fit(table, binary_domains(table))
    np.testing.assert_allclose(
        mixture.score_samples(table), tree.score_samples(table), rtol=0, atol=0.02
    )
    assert abs(mixture.score_samples(table).mean() - tree.score_samples(table).mean()) < 1e-4


def test_expectation_maximisation_climbs_and_finds_two_kinds_of_rows() -> None:
    table, fresh = made_up(4_000, 12), made_up(4_000, 12, seed=1)
    domains = binary_domains(table)
    scores = [
        MixtureOfTrees(2, 0.01, iterations=steps, tolerance=0.0)
        .fit(table, domains)
        .score_samples(table)
        .mean()
        for steps in (1, 2, 4, 8, 16)
    ]
    assert all(after >= before - 1e-6 for before, after in itertools.pairwise(scores))
    two = MixtureOfTrees(2, 1.0).fit(table, domains).score_samples(fresh).mean()
    assert two > ChowLiuTree().fit(table, domains).score_samples(fresh).mean() + 0.2


def test_more_components_than_rows() -> None:
    table = made_up(6, 4)
    model = MixtureOfTrees(20).fit(table, binary_domains(table))
    states = pd.DataFrame(list(itertools.product([0, 1], repeat=4)), columns=table.columns)
    assert np.exp(model.score_samples(states)).sum() == pytest.approx(1.0, abs=1e-9)


def test_wide_evidence_does_not_vanish() -> None:
    """Two thousand fair bits: Pr(row) = 2^-2000 is below the smallest float."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (50, 2_000)).astype(np.uint8))
    table.columns = [f"x{i}" for i in range(2_000)]
    model = ChowLiuTree(alpha=1e6).fit(table, binary_domains(table))
    assert model.score_samples(table.head(3)) == pytest.approx(-2_000 * np.log(2), rel=1e-3)
    row = {str(c): int(v) for c, v in table.iloc[0].items()}
    value = row.pop("x7")
    answer = model.conditional([{"x7": value}, {"x7": 1 - value}], [row, row])
    assert answer.sum() == pytest.approx(1.0)
    assert answer == pytest.approx(0.5, abs=1e-3)


def test_wrong_settings_are_named() -> None:
    for wrong in ({"n_components": 0}, {"strength": 0.0}, {"alpha": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            MixtureOfTrees(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha"):
        ChowLiuTree(alpha=0.0)


@pytest.mark.parametrize("name", KNOWN)
def test_log_likelihoods_of_real_tables_are_the_known_ones(name: str) -> None:
    data = benchmark(name)
    models = (Independent(alpha=0.5), ChowLiuTree(alpha=1.0))
    found = [m.fit(data.train, data.domains).score_samples(data.test).mean() for m in models]
    assert found == pytest.approx(KNOWN[name], abs=0.05)

"""Exact answers against enumeration of the joint table, and against pyAgrum."""

from __future__ import annotations

import string
from itertools import product

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import truth as truth_module
from experiments.datasets.config import GeneratorConfig
from experiments.datasets.level import draw_blueprint
from experiments.datasets.network import Network
from experiments.datasets.truth import ExactTruth

EXACT = 1e-12
PARENTS = ((), (), (0, 1), (2,), (1, 2), (4,))


def random_network(seed: int, zeros: float) -> Network:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, len(PARENTS))
    cpts = []
    for j, parents in enumerate(PARENTS):
        cpt = rng.random([*(sizes[p] for p in parents), sizes[j]])
        cpt[rng.random(cpt.shape) < zeros] = 0
        cpt[..., 0] += 0.1
        cpts.append(cpt / cpt.sum(axis=-1, keepdims=True))
    domains = tuple(np.sort(rng.choice(20, n, replace=False)) for n in sizes)
    return Network(tuple(string.ascii_lowercase[:6]), domains, PARENTS, tuple(cpts))


def enumerate_joint(network: Network) -> dict[tuple[int, ...], float]:
    """Probability of every state, by multiplying table entries one by one."""
    joint = {}
    for state in product(*(range(n) for n in network.sizes)):
        entries = [
            cpt[(*(state[p] for p in parents), state[j])]
            for j, (cpt, parents) in enumerate(zip(network.cpts, network.parents, strict=True))
        ]
        joint[state] = float(np.prod(entries))
    return joint


def enumerate_conditional(
    network: Network, query: list[int], evidence: dict[int, int]
) -> np.ndarray:
    table = np.zeros([network.sizes[q] for q in query])
    for state, probability in enumerate_joint(network).items():
        if all(state[j] == code for j, code in evidence.items()):
            table[tuple(state[q] for q in query)] += probability
    return table / table.sum()


def as_values(network: Network, evidence: dict[int, int]) -> dict[str, int]:
    return {network.columns[j]: int(network.domains[j][c]) for j, c in evidence.items()}


def draw_question(
    network: Network, rng: np.random.Generator
) -> tuple[list[int], dict[int, int], list[str], dict[str, int]]:
    row = network.sample_codes(1, rng)[0]
    order = rng.permutation(len(PARENTS))
    n_query, n_evidence = rng.integers(1, 4), rng.integers(0, 4)
    query = [int(j) for j in order[:n_query]]
    evidence = {int(j): int(row[j]) for j in order[n_query : n_query + n_evidence]}
    return query, evidence, [network.columns[q] for q in query], as_values(network, evidence)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_conditional_table_equals_enumeration(seed: int, zeros: float) -> None:
    network = random_network(seed, zeros)
    query, evidence, names, values = draw_question(network, np.random.default_rng(seed))
    answer = ExactTruth(network).conditional_table(names, values)
    expected = enumerate_conditional(network, query, evidence)
    np.testing.assert_allclose(answer, expected, atol=EXACT)


@pytest.mark.parametrize("seed", range(6))
def test_support_is_exactly_the_positive_cells(seed: int) -> None:
    network = random_network(seed, 0.5)
    query, evidence, names, values = draw_question(network, np.random.default_rng(seed))
    expected = enumerate_conditional(network, query, evidence)
    support = ExactTruth(network).support(names, values, limit=10_000)
    assert support is not None
    codes = [network.code_of(q, support.points[:, i]) for i, q in enumerate(query)]
    rebuilt = np.zeros(expected.shape)
    rebuilt[tuple(codes)] = support.probability
    np.testing.assert_allclose(rebuilt, expected, atol=EXACT)
    assert len(support.points) == np.count_nonzero(expected)
    assert support.whole_table == bool(expected.all())
    assert ExactTruth(network).support(names, values, limit=len(support.points) - 1) is None


@pytest.mark.parametrize("largest", [truth_module.MAX_DRAWN_CELLS, 4])
def test_draws_follow_the_conditional(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    monkeypatch.setattr(truth_module, "MAX_DRAWN_CELLS", largest)
    network = random_network(3, 0.3)
    names, values = ["f", "a", "d"], as_values(network, {1: 0})
    expected = enumerate_conditional(network, [5, 0, 3], {1: 0})
    draws = ExactTruth(network).draw(names, values, 20_000, seed=1)
    codes = [network.code_of(q, draws.points[:, i]) for i, q in enumerate((5, 0, 3))]
    np.testing.assert_allclose(draws.probability, expected[tuple(codes)], atol=EXACT)
    counted = np.zeros(expected.shape)
    np.add.at(counted, tuple(codes), 1 / 20_000)
    assert np.abs(counted - expected).max() < 4 * np.sqrt(0.25 / 20_000)


def test_log_probability_of_all_rows_is_the_joint() -> None:
    network = random_network(5, 0.5)
    joint = enumerate_joint(network)
    states = np.array(list(joint))
    scores = ExactTruth(network).log_probability(network.decode(states))
    np.testing.assert_allclose(np.exp(scores), list(joint.values()), atol=EXACT)
    assert np.exp(scores).sum() == pytest.approx(1, abs=EXACT)


def test_sampled_rows_follow_the_joint() -> None:
    network = random_network(7, 0.5)
    codes = network.sample_codes(50_000, np.random.default_rng(0))
    counts = pd.Series(map(tuple, codes.tolist())).value_counts() / len(codes)
    for state, probability in enumerate_joint(network).items():
        seen = counts.get(state, 0.0)
        assert abs(seen - probability) <= 5 * np.sqrt(probability * (1 - probability) / 50_000)


def test_twenty_columns_agree_with_pyagrum() -> None:
    gum = pytest.importorskip("pyagrum")
    config = GeneratorConfig("x", "sparse", 0.65, roots=3, noise=0.3, max_size=40)
    network = draw_blueprint(config, np.random.default_rng(0)).network(0.3)
    net = gum.BayesNet()
    for name, size in zip(network.columns, network.sizes, strict=True):
        net.add(gum.LabelizedVariable(name, name, size))
    for child, parents in network.structure.items():
        for parent in parents:
            net.addArc(parent, child)
    for j, (name, cpt) in enumerate(zip(network.columns, network.cpts, strict=True)):
        scope = [*(network.columns[p] for p in network.parents[j]), name]
        order = [scope.index(n) for n in reversed(net.cpt(name).names)]
        net.cpt(name)[:] = np.ascontiguousarray(cpt.transpose(order))
    rng = np.random.default_rng(1)
    for row in network.sample_codes(5, rng):
        order = [int(j) for j in rng.permutation(20)]
        query, evidence = order[:2], {j: int(row[j]) for j in order[2:9]}
        names = [network.columns[q] for q in query]
        engine = gum.LazyPropagation(net)
        engine.setEvidence({network.columns[j]: c for j, c in evidence.items()})
        engine.addJointTarget(set(names))
        posterior = engine.jointPosterior(set(names))
        expected = posterior.reorganize(names[::-1]).toarray()
        answer = ExactTruth(network).conditional_table(names, as_values(network, evidence))
        np.testing.assert_allclose(answer, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("query", "evidence", "message"),
    [
        (["z"], {}, "unknown column 'z'"),
        (["a"], {"a": 0}, "none twice or in the evidence"),
        ([], {}, "at least one column"),
        (["a"], {"b": 99}, "column 'b' has no value 99"),
    ],
)
def test_wrong_questions_are_named(
    query: list[str], evidence: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ExactTruth(random_network(0, 0.0)).conditional_table(query, evidence)


def test_impossible_evidence_is_an_error() -> None:
    certain = np.array([[1.0, 0.0], [0.0, 1.0]])
    domain = np.arange(2)
    network = Network(
        ("a", "b", "c"),
        (domain,) * 3,
        ((), (0,), (0,)),
        (np.array([0.5, 0.5]), certain, certain),
    )
    with pytest.raises(ValueError, match="probability zero"):
        ExactTruth(network).conditional_table(["a"], {"b": 0, "c": 1})


def test_a_table_too_large_for_memory_is_refused() -> None:
    domain, uniform = np.arange(100), np.full(100, 0.01)
    network = Network(tuple("abcd"), (domain,) * 4, ((),) * 4, (uniform,) * 4)
    truth = ExactTruth(network)
    with pytest.raises(ValueError, match="100,000,000 cells"):
        truth.conditional_table(list("abcd"), {})
    assert truth.support(list("abcd"), {}, limit=1_000_000) is None
    draws = truth.draw(list("abcd"), {}, 50, seed=0)
    np.testing.assert_allclose(draws.probability, 1e-8)
    assert draws.whole_table

"""Bayesian networks against pgmpy, hand counts and pomegranate's own fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from baselines.base import ModelTooLarge
from baselines.bayes_net import cpt
from baselines.bayes_net.bn_dag import BNDag
from baselines.bayes_net.bn_tree import BNTree
from baselines.bayes_net.cpt import check_cells, count_table, smooth
from baselines.bayes_net.pomegranate_engine import build_network, fit_counts
from baselines.bayes_net.true_dag import TrueDag
from tests.baselines.data import additive_codes

PARENTS = ((), (), (0,), (1, 2), (0, 3), (4,))
NAMES = [f"x{i}" for i in range(6)]


def fitted_dag() -> TrueDag:
    codes, cards = additive_codes(1500, 7)
    table = pd.DataFrame(codes, columns=NAMES)
    structure = {NAMES[c]: [NAMES[p] for p in above] for c, above in enumerate(PARENTS)}
    model = TrueDag(alpha=0.5, prior="marginal", structure=structure)
    return model.fit(table, {c: np.arange(cards[i]) for i, c in enumerate(NAMES)})


@pytest.fixture(scope="module")
def dag() -> TrueDag:
    return fitted_dag()


@pytest.mark.filterwarnings("ignore")
def test_exact_inference_equals_pgmpy(dag: TrueDag) -> None:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

    cards = dag.encoder.cards
    net = DiscreteBayesianNetwork([(NAMES[p], NAMES[c]) for c, a in enumerate(PARENTS) for p in a])
    net.add_nodes_from(NAMES)
    for child, (above, table) in enumerate(zip(PARENTS, dag.cpts, strict=True)):
        net.add_cpds(
            TabularCPD(
                NAMES[child],
                int(cards[child]),
                table.reshape(-1, cards[child]).T,
                [NAMES[p] for p in above] or None,
                [int(cards[p]) for p in above] or None,
            )
        )
    engine = VariableElimination(net)
    for query, evidence in ((["x3", "x0"], {"x5": 3, "x1": 1}), (["x5", "x2", "x1"], {"x4": 4})):
        factor = engine.query(query, evidence=evidence, show_progress=False)
        expected = factor.values.transpose([factor.variables.index(q) for q in query])
        np.testing.assert_allclose(dag.conditional_table(query, evidence), expected, atol=1e-10)


def test_smoothing_by_hand() -> None:
    counts = np.array([[3, 1, 0], [0, 0, 0]])
    uniform = smooth(counts, 0.5, "uniform")
    np.testing.assert_allclose(uniform[0], [3.5 / 5.5, 1.5 / 5.5, 0.5 / 5.5])
    np.testing.assert_allclose(uniform[1], 1 / 3)
    marginal = np.array([3.5, 1.5, 0.5]) / 5.5
    np.testing.assert_allclose(smooth(counts, 0.5, "marginal")[1], marginal)
    np.testing.assert_allclose(
        smooth(counts, 0.5, "marginal")[0], (counts[0] + 1.5 * marginal) / 5.5
    )


def test_backoff_falls_back_on_fewer_parents() -> None:
    counts = np.zeros((2, 2, 2))
    counts[0, 0], counts[0, 1], counts[1, 0] = (8, 2), (1, 9), (5, 5)
    expected = (
        smooth(counts.sum(axis=0), 0.1, "backoff")[1]
        + smooth(counts.sum(axis=1), 0.1, "backoff")[1]
    ) / 2
    np.testing.assert_allclose(smooth(counts, 0.1, "backoff")[1, 1], expected)


def test_counts_equal_pandas() -> None:
    codes, cards = additive_codes(400, 1)
    table = pd.DataFrame(codes)
    counts = count_table(codes, cards, (3, 0))
    for (a, b), n in table.groupby([3, 0]).size().items():
        assert counts[a, b] == n
    assert counts.sum() == 400


def test_pomegranate_counts_are_exact() -> None:
    codes, cards = additive_codes(400, 1)
    ours = [count_table(codes, cards, (*above, i)) for i, above in enumerate(PARENTS)]
    for a, b in zip(fit_counts(codes, cards, PARENTS), ours, strict=True):
        np.testing.assert_array_equal(a, b)


def test_pomegranate_holds_the_same_network(dag: TrueDag) -> None:
    codes, _ = additive_codes(40, 8)
    codes = np.minimum(codes, dag.encoder.cards - 1)
    held = build_network(dag.parents, dag.cpts).log_probability(codes).numpy()
    scores = dag.score_samples(pd.DataFrame(codes, columns=NAMES))
    np.testing.assert_allclose(held, scores, rtol=1e-4)


def test_loopy_engine_is_exact_on_trees_only() -> None:
    codes, cards = additive_codes(2000, 7)
    table = pd.DataFrame(codes, columns=NAMES)
    domains = {c: np.arange(cards[i]) for i, c in enumerate(NAMES)}
    query, evidence = ["x2", "x4"], {"x5": 3}
    gaps = []
    for kind in (BNTree, BNDag):
        exact = kind().fit(table, domains).conditional_table(query, evidence)
        loopy = kind(engine="pomegranate").fit(table, domains).conditional_table(query, evidence)
        gaps.append(np.abs(exact - loopy).max())
    assert gaps[0] < 1e-5 < gaps[1]


def test_dag_search_finds_a_collider() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, 5000), rng.integers(0, 4, 5000)
    table = pd.DataFrame({"a": a, "b": b, "c": a + b})
    domains = {c: np.unique(table[c]) for c in table}
    for score in ("BDeu", "BIC"):
        for search in ("hill_climb", "tabu"):
            model = BNDag(score=score, search=search).fit(table, domains)
            assert model.parents == ((), (), (0, 1))


def test_a_network_takes_over_the_structure_of_one_that_is_smoothed_otherwise() -> None:
    codes, cards = additive_codes(400, 3)
    names = [f"v{i}" for i in range(codes.shape[1])]
    table = pd.DataFrame(codes, columns=names)
    domains = {name: np.arange(card) for name, card in zip(names, cards, strict=True)}
    first = BNDag(alpha=0.01, max_parents=2).fit(table, domains)
    again, fresh = BNDag(alpha=1.0, prior="backoff"), BNDag(alpha=1.0, prior="backoff")
    assert again.resume(first) == first.structure_seconds > 0
    fresh.fit(table, domains)
    again._structure = lambda *_: pytest.fail("the structure was learned again")  # type: ignore
    again.fit(table, domains)
    np.testing.assert_array_equal(again.score_samples(table), fresh.score_samples(table))
    assert BNDag(max_parents=1).resume(first) == 0.0
    assert BNTree().resume(first) == 0.0


def test_a_network_can_be_pickled(dag: TrueDag) -> None:
    back = pickle.loads(pickle.dumps(dag))
    lower = np.full((1, len(dag.encoder.columns)), np.nan)
    lower[0, 1] = 1.0
    np.testing.assert_array_equal(back.probability(lower, lower), dag.probability(lower, lower))
    assert TrueDag(alpha=2.0).alpha == pickle.loads(pickle.dumps(TrueDag(alpha=2.0))).alpha


def test_too_large_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpt, "MAX_CELLS", 100)
    with pytest.raises(ModelTooLarge, match=r"'c' given \['a', 'b'\].*max_parents"):
        check_cells(np.array([5, 5, 5]), ((), (), (0, 1)), ("a", "b", "c"))


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (BNTree, {"alpha": 0.0}),
        (BNTree, {"penalty": -1.0}),
        (BNTree, {"engine": "magic"}),
        (BNDag, {"score": "XYZ"}),
        (BNDag, {"search": "random"}),
        (BNDag, {"max_parents": 0}),
        (BNDag, {"prior": "none"}),
    ],
)
def test_wrong_settings_are_named(kind: type, wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        kind(**wrong)

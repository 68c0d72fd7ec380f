"""KL and log-likelihood on toy models whose values are worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, log

import numpy as np
import pandas as pd
import pytest

from baselines.base import ImpossibleEvidence
from experiments.datasets.network import Network
from experiments.datasets.truth import ExactTruth
from experiments.measures.divergence import (
    FLOOR,
    KLConfig,
    KLSummary,
    QueryKL,
    exact_kl,
    kl_divergence,
    log_likelihood,
    query_kl,
    sampled_kl,
)
from experiments.types import Dataset, EvidenceQuery, Workload

BITS = np.arange(2)
QUERY = EvidenceQuery(("a", "b"), {"e": 1}, {"a": 0, "b": 0})
SIZES = {"a": 2, "b": 2, "e": 2}


@dataclass
class Answers:
    """A model that knows one table of (a, b), whatever the evidence."""

    table: np.ndarray

    def conditional_table(self, query: Sequence[str], evidence: Mapping[str, int]) -> np.ndarray:
        assert list(query) == ["a", "b"]
        assert evidence == {"e": 1}
        return self.table

    def conditional(
        self, query: Sequence[Mapping[str, int]], evidence: Sequence[Mapping[str, int]]
    ) -> np.ndarray:
        assert len(query) == len(evidence)
        return np.array([self.table[q["a"], q["b"]] for q in query])


def truth_of(table: list[list[float]]) -> ExactTruth:
    """A truth with the given table of (a, b), independent of e."""
    joint = np.array(table)
    first = joint.sum(axis=1)
    network = Network(
        ("e", "a", "b"),
        (BITS, BITS, BITS),
        ((), (), (1,)),
        (np.array([0.5, 0.5]), first, joint / first[:, None]),
    )
    return ExactTruth(network)


EVEN = truth_of([[0.25, 0.25], [0.25, 0.25]])
SPARSE = truth_of([[0.5, 0.0], [0.25, 0.25]])
WAYS = {
    "table": KLConfig(few_cells=0),
    "support": KLConfig(),
    "sampled": KLConfig(few_cells=0, max_cells=1, max_support=1, draws=40_000),
}


@pytest.mark.parametrize("method", ["table", "support"])
def test_exact_kl_by_hand(method: str) -> None:
    model = Answers(np.array([[0.5, 0.25], [0.125, 0.125]]))
    found = query_kl(model, EVEN, QUERY, SIZES, config=WAYS[method])
    by_hand = 0.25 * (log(0.25 / 0.5) + log(1) + 2 * log(0.25 / 0.125))
    assert found.kl == pytest.approx(by_hand, abs=1e-15)
    assert (found.method, found.cells, found.se, found.floored) == (method, 4, 0.0, False)


@pytest.mark.parametrize("method", ["table", "support"])
def test_cells_that_cannot_occur_count_as_leaked_mass_only(method: str) -> None:
    model = Answers(np.array([[0.4, 0.2], [0.2, 0.2]]))
    found = query_kl(model, SPARSE, QUERY, SIZES, config=WAYS[method])
    assert found.kl == pytest.approx(log(1 / 0.8), abs=1e-15)


@pytest.mark.parametrize("truth", [EVEN, SPARSE])
@pytest.mark.parametrize("table", [[[0.4, 0.2], [0.2, 0.2]], [[0.3, 0.3], [0.3, 0.1]]])
def test_sampled_kl_is_within_its_error(truth: ExactTruth, table: list[list[float]]) -> None:
    model = Answers(np.array(table))
    exact = query_kl(model, truth, QUERY, SIZES)
    found = query_kl(model, truth, QUERY, SIZES, config=WAYS["sampled"])
    assert found.method == "sampled"
    assert 0 <= found.se < 0.01
    assert abs(found.kl - exact.kl) <= 4 * found.se + 1e-12


def test_standard_error_is_that_of_repeated_estimates() -> None:
    rng = np.random.default_rng(0)
    p, m = rng.dirichlet(np.full(50, 5.0)), rng.dirichlet(np.full(50, 5.0))
    exact, _ = exact_kl(p, m)
    runs = []
    for _ in range(300):
        cells = rng.choice(50, 200, p=p)
        runs.append(sampled_kl(p[cells], m[cells], whole_table=True)[:2])
    values, errors = np.array(runs).T
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(300)
    assert errors.mean() == pytest.approx(values.std(), rel=0.2)


def test_controlled_estimator_has_far_less_variance_near_the_truth() -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(50))
    m = p * rng.uniform(0.98, 1.02, 50)
    m /= m.sum()
    cells = rng.choice(50, 1_000, p=p)
    controlled = sampled_kl(p[cells], m[cells], whole_table=True)
    plain = sampled_kl(p[cells], m[cells], whole_table=False)
    assert controlled[0] >= 0
    assert controlled[1] < plain[1] / 20


def test_controlled_estimator_is_not_used_where_it_misses_leaked_mass() -> None:
    """With half of the model's mass outside the support, r - 1 - ln r would give ln 2 - 1/2."""
    p = np.array([0.5, 0.5])
    value, _, _ = sampled_kl(p, p / 2, whole_table=False)
    assert value == pytest.approx(log(2))


def test_zero_probability_is_floored_and_counted() -> None:
    model = Answers(np.array([[1.0, 0.0], [0.0, 0.0]]))
    found = query_kl(model, EVEN, QUERY, SIZES)
    assert found.floored
    assert found.floored_mass == pytest.approx(0.75)
    assert found.kl == pytest.approx(0.25 * log(0.25) + 0.75 * log(0.25 / FLOOR))


def test_both_below_the_floor_counts_as_equal() -> None:
    tiny = FLOOR / 10
    kl, floored = exact_kl(np.array([1 - tiny, tiny]), np.array([1.0, 0.0]))
    assert not floored
    assert kl == pytest.approx(0, abs=1e-12)


def test_impossible_evidence_floors_every_cell() -> None:
    class Silent(Answers):
        def conditional_table(
            self, query: Sequence[str], evidence: Mapping[str, int]
        ) -> np.ndarray:
            raise ImpossibleEvidence("never seen")

    nan = np.full((2, 2), np.nan)
    for model in (Silent(nan), Answers(nan)):
        found = query_kl(model, EVEN, QUERY, SIZES)
        assert found.floored
        assert found.kl == pytest.approx(log(0.25 / FLOOR))
    found = query_kl(Answers(nan), EVEN, QUERY, SIZES, config=WAYS["support"])
    assert found.kl == pytest.approx(log(0.25 / FLOOR))


def test_a_wrong_table_is_refused() -> None:
    by_table = KLConfig(few_cells=0)
    with pytest.raises(ValueError, match="sums to 2"):
        query_kl(Answers(np.full((2, 2), 0.5)), EVEN, QUERY, SIZES, config=by_table)
    with pytest.raises(ValueError, match="has shape"):
        query_kl(Answers(np.full((2, 3), 1 / 6)), EVEN, QUERY, SIZES, config=by_table)


def dataset(truth: ExactTruth | None) -> Dataset:
    empty = pd.DataFrame()
    return Dataset(
        name="toy",
        family="sparse",
        target_rdc=None,
        measured_rdc=None,
        seed=0,
        train=empty,
        valid=empty,
        test=empty,
        domains={"a": BITS, "b": BITS, "e": BITS},
        truth=truth,
        workload=Workload((QUERY, QUERY)),
        digest="",
    )


def test_workload_is_summed_up() -> None:
    summary = kl_divergence(Answers(np.array([[0.4, 0.2], [0.2, 0.2]])), dataset(SPARSE))
    assert summary.n_queries == 2
    assert summary.mean == pytest.approx(log(1 / 0.8))
    assert list(summary.table()["index"]) == [0, 1]
    assert not summary.table()["floored"].any()
    with pytest.raises(ValueError, match="'toy' has no known truth"):
        kl_divergence(Answers(np.eye(2)), dataset(None))


def test_summary_by_hand() -> None:
    values = [0.0, 0.1, 0.2, 0.7]
    records = [QueryKL(i, v, 0.02, "sampled", 4, 0.3 * (v > 0.5)) for i, v in enumerate(values)]
    summary = KLSummary.of(records)
    assert summary.mean == pytest.approx(0.25)
    assert summary.median == pytest.approx(0.15)
    assert summary.max == 0.7
    assert summary.p95 == pytest.approx(0.2 + 0.85 * 0.5)
    assert summary.se == pytest.approx(np.sqrt((0.0625 + 0.0225 + 0.0025 + 0.2025) / 3 / 4))
    assert summary.sampling_se == pytest.approx(0.01)
    assert summary.floored == 1


class Scores:
    def __init__(self, *scores: float) -> None:
        self.scores = np.array(scores)

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        return self.scores[: len(table)]


def test_log_likelihood_by_hand() -> None:
    found = log_likelihood(Scores(-1.0, -3.0), pd.DataFrame({"a": [0, 1]}))
    assert (found.mean, found.rows, found.impossible) == (-2.0, 2, 0)
    assert found.se == pytest.approx(1.0)


def test_an_impossible_row_is_not_hidden() -> None:
    found = log_likelihood(Scores(-1.0, -inf), pd.DataFrame({"a": [0, 1]}))
    assert found.mean == -inf
    assert found.impossible == 1
    assert isnan(found.se)

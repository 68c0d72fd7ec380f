import time

import numba
import numpy as np
import pytest

from experiments.measures.timing import LEAST_QUERIES, TimingConfig, measure, one_thread
from experiments.types import EvidenceQuery, Workload


class Sleepy:
    """Takes a known time per query, alone or in a batch."""

    def __init__(self, per_query=0.002, first=0.0):
        self.per_query, self.first, self.calls = per_query, first, []

    def conditional(self, query, evidence):
        slow = self.first if not self.calls else 0.0
        self.calls.append(len(query))
        time.sleep(self.per_query * (1 if len(query) > 1 else query[0]["a"]) + slow)
        return np.ones(len(query))


WORKLOAD = Workload(tuple(EvidenceQuery(("a",), {"b": 1}, {"a": n}) for n in (1, 1, 1, 5)))


def test_latency_is_that_of_the_warm_model():
    model = Sleepy(first=0.3)
    latency = measure(model, WORKLOAD, TimingConfig(repeats=3))
    assert 4.0 <= latency.single_ms < 30
    assert 0.5 <= latency.batch_ms < 10
    assert 10 <= latency.queries_ms[3] < 60
    assert latency.single_iqr_ms >= 0
    assert model.calls == [1] * 4 + [1] * 4 * 3 + [4] * 4


def test_a_pass_that_takes_the_whole_budget_is_the_only_one():
    model = Sleepy()
    latency = measure(model, WORKLOAD, TimingConfig(repeats=50, budget_seconds=0))
    assert model.calls == [1, *[1] * 4, 4]  # one to warm up
    assert latency.n_timed == 4
    assert latency.single_iqr_ms == 0


def test_a_slow_model_is_timed_on_as_many_queries_as_its_budget_allows():
    model, many = Sleepy(), Workload(WORKLOAD.queries * 25)
    latency = measure(model, many, TimingConfig(repeats=50, budget_seconds=0))
    assert model.calls == [1, *[1] * LEAST_QUERIES, LEAST_QUERIES]
    assert latency.n_timed == LEAST_QUERIES
    assert np.isfinite(latency.queries_ms).tolist() == [n < LEAST_QUERIES for n in range(100)]
    assert latency.single_ms == pytest.approx(latency.queries_ms[:LEAST_QUERIES].mean())
    assert latency.batch_ms >= 0.4


def test_one_thread_is_one_thread_and_is_undone():
    before = numba.get_num_threads()
    with one_thread():
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before

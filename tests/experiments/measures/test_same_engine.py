import numpy as np
import pandas as pd
import pytest

from baselines.bayes_net.bn_dag import BNDag
from baselines.independent import Independent
from baselines.ours.fspn_model import FSPNModel
from baselines.same_engine import in_our_engine
from baselines.spflow.mspn import MSPN
from experiments.measures.divergence import KLConfig
from experiments.measures.evaluate import evaluate
from experiments.measures.timing import TimingConfig
from experiments.records.locks import Machine
from tests.experiments import tiny
from tests.experiments.report import fake

RNG = np.random.default_rng(3)
A = RNG.integers(0, 4, 3000)
B = (A + RNG.integers(0, 2, 3000)) % 4
TABLE = pd.DataFrame({"a": A, "b": B, "c": (A + B + RNG.integers(0, 3, 3000)) % 5})
DOMAINS = {name: np.unique(values) for name, values in TABLE.items()}


@pytest.mark.parametrize("model", [BNDag(max_parents=2), MSPN(0.3, 200, 0.1)])
def test_a_converted_model_gives_the_same_answers(model):
    model.fit(TABLE, DOMAINS)
    ours = in_our_engine(model)
    assert ours is not model
    query, evidence = [{"a": 1}, {"b": 2, "a": 3}, {"c": 4}], [{"c": 2}, {"c": 0}, {}]
    got, expected = ours.conditional(query, evidence), model.conditional(query, evidence)
    assert got == pytest.approx(expected, rel=1e-9)


def test_what_is_no_network_has_no_conversion_and_ours_is_its_own():
    assert in_our_engine(Independent().fit(TABLE, DOMAINS)) is None
    fspn = FSPNModel().fit(TABLE, DOMAINS)
    assert in_our_engine(fspn) is fspn


@pytest.mark.parametrize(("model", "known"), [(BNDag(), True), (Independent(), False)])
def test_a_row_has_both_times(model, known, tmp_path, monkeypatch):
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path))
    data = tiny.dataset(300)
    model.fit(data.train, data.domains)
    timing = TimingConfig(repeats=2)
    machine = Machine.local("test")
    row, queries = evaluate(model, data, fake.row("bn_dag"), KLConfig(), timing, machine)
    assert row.latency_single_ms > 0
    assert (row.engine_ms > 0, "engine_ms" in queries) == (known, known)

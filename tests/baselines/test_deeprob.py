"""Our trees and LearnSPN beside deeprob-kit's on a public benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.spn.flat import Flat
from baselines.spn.nodes import TreeLeaf
from baselines.spn.spn_btb import SPNBT
from tests.benchmarks import benchmark

structure = pytest.importorskip(
    "deeprob.spn.structure", reason="deeprob-kit is not installed: make setup"
)
learning = pytest.importorskip(
    "deeprob.spn.learning", reason="deeprob-kit is not installed: make setup"
)


def test_chow_liu_trees_agree() -> None:
    data = benchmark("nltcs")
    train, test = data.train, data.test
    codes, m = train.to_numpy(), train.shape[1]
    theirs = structure.BinaryCLT(list(range(m)), root=0)
    theirs.fit(codes.astype(np.float32), [[0, 1]] * m, alpha=0.25, random_state=0)
    leaf = TreeLeaf.of(codes, np.ones(len(codes)), np.arange(m), np.full(m, 2))
    ours = Flat.of(leaf, 0.25).log_scores(test.to_numpy())
    expected = theirs.log_likelihood(test.to_numpy().astype(np.float32)).ravel()
    np.testing.assert_allclose(ours, expected, atol=1e-3)


def test_learnspn_is_as_likely_as_theirs() -> None:
    data = benchmark("nltcs")
    train, test = data.train.iloc[:4000], data.test
    codes = train.to_numpy().astype(np.float32)
    theirs = learning.learn_spn(
        codes, [structure.Bernoulli] * codes.shape[1], [[0, 1]] * codes.shape[1],
        learn_leaf="mle", split_rows="kmeans", split_cols="gvs", min_rows_slice=200,
        random_state=0, verbose=False,
    )  # fmt: skip
    from deeprob.spn.algorithms.inference import log_likelihood

    expected = float(np.mean(log_likelihood(theirs, test.to_numpy().astype(np.float32))))
    domains = {c: np.array([0, 1]) for c in train.columns}
    model = SPNBT(min_rows=200, alpha=0.5).fit(train, domains, seed=0)
    ours = float(model.score_samples(test).mean())
    assert ours > expected - 0.02 * abs(expected)

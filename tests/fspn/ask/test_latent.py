"""The latent reading of the root sum node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Product, Sum, UniLeaf
from fspn.schema.domain import Domain, Variable
from tests.fspn.sample_tables import discrete

LAWS = np.array([[[0.9, 0.1], [0.5, 0.5], [0.8, 0.2]], [[0.2, 0.8], [0.5, 0.5], [0.7, 0.3]]])
WEIGHTS = np.array([0.25, 0.75])


@pytest.fixture
def model() -> FSPN:
    columns = Domain(tuple(Variable(name, "ordered", np.arange(2)) for name in "xyz"))
    parts = [Product(tuple(UniLeaf(v, Categorical(p)) for v, p in enumerate(law))) for law in LAWS]
    return FSPN.from_root(columns, Sum(WEIGHTS, tuple(parts)))


def test_responsibilities_by_hand(model: FSPN) -> None:
    rows = pd.DataFrame({"x": [0, 1, np.nan], "y": [0, np.nan, np.nan], "z": [0, 1, np.nan]})
    found = model.responsibilities(rows)
    expected = np.array([[0.9 * 0.8, 0.2 * 0.7], [0.1 * 0.2, 0.8 * 0.3], [1, 1]]) * WEIGHTS
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_an_impossible_row_belongs_to_none(model: FSPN) -> None:
    assert np.isnan(model.responsibilities(pd.DataFrame({"x": [2], "y": [0], "z": [0]}))).all()


def test_a_model_without_a_sum_has_one_component() -> None:
    table = discrete()
    model = FSPN().fit(table)
    np.testing.assert_array_equal(model.responsibilities(table), np.ones((len(table), 1)))
    (alone,) = model.describe_components()
    assert str(alone) == "100% of the rows: no column differs"


def test_components_in_words(model: FSPN) -> None:
    first, second = model.describe_components()
    assert first.weight == 0.25
    assert [d.column for d in first.differences] == ["x", "z"]
    assert first.differences[0].distance == pytest.approx(0.525)
    assert str(first) == ("25% of the rows: x = 0: 90% (overall 38%); z = 0: 80% (overall 72%)")
    assert len(model.describe_components(n_columns=1)[1].differences) == 1
    assert second.differences[0].column == "x"


def test_learned_groups_are_found_again() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 3000)
    laws = np.where(group[:, None] == 1, [0.95, 0.9, 0.1, 0.5] * 2, [0.1, 0.2, 0.9, 0.5] * 2)
    table = pd.DataFrame((rng.random((3000, 8)) < laws).astype(int), columns=list("abcdefgh"))
    model = FSPN(n_components=2, random_state=0).fit(table)
    shares = model.responsibilities(table)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    agree = (shares.argmax(axis=1) == group).mean()
    assert max(agree, 1 - agree) > 0.9
    told = model.describe_components(n_columns=6)
    assert {d.column for d in told[0].differences} == {"a", "b", "c", "e", "f", "g"}

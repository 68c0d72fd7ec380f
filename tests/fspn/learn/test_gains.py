"""What each kind of node gained, against likelihoods worked out by themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.model.nodes import Product, Sum


def independent(table: pd.DataFrame) -> float:
    """The mean log-likelihood of the rows if columns were independent."""
    return sum(float(np.log(table[c].map(table[c].value_counts(normalize=True))).mean())
               for c in table)  # fmt: skip


def test_factorize_nodes_and_laws(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 15, (2, 3_000))
    table = pd.DataFrame({"a": a, "b": b, "c": a + 2 * b + rng.integers(0, 2, 3_000)})
    with_laws, without = FSPN(n_components=1), FSPN(n_components=1, offsets=False, graded=False)
    gains = with_laws.fit(table).gains_
    assert gains["offset"] > 0.05
    gained = with_laws.score_samples(table).mean() - independent(table)
    assert gains["factorize"] == pytest.approx(gained, abs=0.05)
    assert "offset" not in without.fit(table).gains_
    assert "integer laws over counts" in str(with_laws.describe())
    with_laws.save(tmp_path / "model.fspn")
    assert FSPN.load(tmp_path / "model.fspn").gains_ == gains


def test_two_valued_columns_tell_the_gain_of_all_nodes() -> None:
    a = np.random.default_rng(0).integers(0, 2, 2_000)
    table = pd.DataFrame({"a": a, "b": a, "c": 1 - a})
    assert FSPN().fit(table).gains_["all"] == pytest.approx(2 * np.log(2), abs=0.02)


def classes_of(seed: int, n: int, names: list[str]) -> pd.DataFrame:
    """Three classes, each with values of its own in every column."""
    rng = np.random.default_rng(seed)
    row_class = rng.integers(0, 3, n)
    columns = {}
    for name in names:
        likely = rng.permutation(9)[:3]
        columns[name] = np.where(rng.random(n) < 0.6, likely[row_class], rng.integers(0, 9, n))
    return pd.DataFrame(columns)


def test_independent_groups_have_sum_nodes_of_their_own() -> None:
    parts = [classes_of(seed, 8_000, [f"{seed}_{i}" for i in range(9)]) for seed in (1, 2)]
    table = pd.concat(parts, axis=1)
    train, test = table[:6_000], table[6_000:]
    model, one = FSPN(max_parents=2).fit(train), FSPN(max_parents=2, n_components=1).fit(train)
    assert isinstance(model.root_, Product)
    assert [type(child) for child in model.root_.children] == [Sum, Sum]
    assert model.score_samples(test).mean() > one.score_samples(test).mean() + 0.3
    assert model.gains_["sum"] > 0.3
    assert "sum nodes over one network" in str(model.describe())

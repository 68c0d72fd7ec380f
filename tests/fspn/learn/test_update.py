"""New rows: parameters follow, structure stays."""

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.learn.update import NotUpdatable, add_rows
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Product, Sum, TableSplit, UniLeaf, walk


def rows(n, seed, flip=0.1):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < flip, rng.integers(0, 4, n), a).astype(float)
    b[rng.random(n) < 0.1] = np.nan
    c = rng.choice(["x", "y", "z"], n)
    return pd.DataFrame({"a": a, "b": b, "c": c})


@pytest.fixture(scope="module")
def first():
    return rows(2_000, 0)


def test_updating_equals_counting_all_rows_together(first):
    """The tables of an updated model are those that its structure gets from all rows."""
    later = rows(3_000, 1, flip=0.6)
    model = FSPN(random_state=0).fit(first)
    model.update(later)
    both = pd.concat([first, later])
    assert model.n_rows_ == 5_000
    for table in (n for n in walk(model.root_) if isinstance(n, TableSplit)):
        level = table.cpt.levels[-1]
        assert level.counts.sum() == 5_000
    for question in ({"a": 1}, {"a": 2, "b": 2}, {"b": None}, {"a": 1, "b": 3}, {"c": "x"}):
        share = np.ones(len(both), dtype=bool)
        for name, value in question.items():
            share &= (both[name].isna() if value is None else both[name] == value).to_numpy()
        assert model.probability(question) == pytest.approx(share.mean(), abs=2e-3)


def test_the_order_of_rows_does_not_matter_and_the_structure_stays(first):
    later = rows(500, 2)
    at_once = FSPN(random_state=0).fit(first).update(later)
    in_parts = FSPN(random_state=0).fit(first)
    kinds = [type(node) for node in walk(in_parts.root_)]
    for part in np.array_split(np.arange(500), 3):
        in_parts.update(later.iloc[part])
    assert [type(node) for node in walk(in_parts.root_)] == kinds
    np.testing.assert_allclose(
        at_once.score_samples(first), in_parts.score_samples(first), rtol=1e-12
    )


def test_an_update_survives_a_file(first, tmp_path):
    model = FSPN(random_state=0).fit(first)
    model.save(tmp_path / "model.fspn")
    loaded = FSPN.load(tmp_path / "model.fspn")
    later = rows(300, 3)
    np.testing.assert_allclose(
        loaded.update(later).score_samples(first),
        model.update(later).score_samples(first),
        rtol=1e-12,
    )


def test_a_sum_node_shares_rows_by_responsibility():
    """Two components that tell the rows apart: each gets its own."""
    low, high = Categorical(np.array([0.99, 0.01])), Categorical(np.array([0.01, 0.99]))
    kinds = [Product((UniLeaf(0, leaf), UniLeaf(1, leaf))) for leaf in (low, high)]
    root = Sum(np.array([0.5, 0.5]), tuple(kinds))
    ones = np.ones(100, dtype=np.int64)
    moved = add_rows(root, [ones, ones], 100.0)
    assert moved.weights == pytest.approx([0.25, 0.75], abs=1e-3)
    assert moved.children[1].children[0].dist.p[1] == pytest.approx((49.5 + 100) / 150, abs=1e-3)
    assert moved.children[0].children[0].dist.p[1] == pytest.approx(0.01, abs=1e-3)


def test_what_cannot_be_updated_says_so(first):
    model = FSPN(random_state=0).fit(first)
    with pytest.raises(ValueError, match=r"column 'a': the model has no cell for .*9"):
        model.update(first.head(3).assign(a=9))
    with pytest.raises(ValueError, match="lacks the column"):
        model.update(first.head(3).rename(columns={"a": "q"}))
    by_hand = FSPN.from_root(model.domain_, model.root_)
    with pytest.raises(ValueError, match="how many rows"):
        by_hand.update(first)
    paper = FSPN(preset="paper", random_state=0).fit(first[["a"]].assign(d=first["a"]))
    with pytest.raises(NotUpdatable, match="fit the model anew"):
        paper.update(first[["a"]].assign(d=first["a"]))


def test_named_values_to_come_are_learned_from_new_rows(first):
    model = FSPN(random_state=0).fit(first, domains={"a": [4]})
    model.update(rows(2_000, 4).assign(a=4))
    assert model.probability({"a": 4}) == pytest.approx(0.5, abs=0.01)


def test_new_numbers_of_a_column_of_many_values_count_for_the_next() -> None:
    even = np.random.default_rng(0).choice(np.arange(0, 400, 2), 4000)
    model = FSPN(random_state=0).fit(pd.DataFrame({"a": even, "b": even}))
    before = model.probability({"a": (8, 12)})
    model.update(pd.DataFrame({"a": [11] * 2000, "b": [11] * 2000}))
    assert model.probability({"a": (8, 12)}) > before + 0.2

"""Sum nodes over the regions of a column: when they are taken, and what they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fspn.learn.mixture.fit as mixture_fit
from fspn import FSPN
from fspn.learn.leaves import NetworkSettings
from fspn.learn.mixture import split
from fspn.learn.mixture.columns import promising_regions, regions_of
from fspn.learn.mixture.split import best_regions
from fspn.learn.slices import Slice
from fspn.model.nodes import Sum
from fspn.schema.infer import infer_domain
from tests.fspn.learn.test_mixture import classes_of_rows, table_of

CELLS = 200
"""A bound within which one network cannot have the edges of all chains."""


@pytest.fixture(scope="module", autouse=True)
def few_rows_are_enough() -> Iterator[None]:
    """As if these tables had the rows with which a split is tried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "LEAST_ROWS", 1_000)
        yield


@pytest.fixture(scope="module")
def recorded() -> pd.DataFrame:
    """Rows of four chains in different orders; a column says which."""
    codes, classes = classes_of_rows(4, 12_000)
    return table_of(codes).assign(kind=np.array(list("abcd"))[classes])


@pytest.fixture(scope="module")
def model(recorded) -> FSPN:
    return FSPN(max_cells=CELLS).fit(recorded)


def test_a_column_that_changes_what_depends_on_what_is_split(recorded, model) -> None:
    one = FSPN(max_cells=CELLS, n_components=1).fit(recorded)
    assert isinstance(model.root_, Sum)
    assert len(model.root_.children) == 4
    gained = (model.score_samples(recorded) - one.score_samples(recorded)).mean()
    assert gained > 0.1
    assert model.gains_["sum"] == pytest.approx(gained, abs=0.1)
    for letter, weight in zip("abcd", model.root_.weights, strict=True):
        assert weight == pytest.approx((recorded["kind"] == letter).mean())
        assert model.probability({"kind": letter}) == pytest.approx(weight, abs=1e-3)


def test_regions_share_the_bound_of_one_network(recorded) -> None:
    """So a question costs what it costs on one network of that bound."""
    budget = 600
    model = FSPN(max_query_cost=budget).fit(recorded)
    assert isinstance(model.root_, Sum)
    assert model.query_cost_ <= budget


@pytest.mark.parametrize("asked", [{"trees": False}, {"n_components": 2}])
def test_where_splits_are_off_no_column_is_tried(recorded, asked, monkeypatch) -> None:
    def never(*_):
        raise AssertionError("a column was tried")

    monkeypatch.setattr(mixture_fit, "best_regions", never)
    FSPN(max_cells=CELLS, **asked).fit(recorded)


def test_a_network_that_is_far_from_its_bound_is_not_split(recorded) -> None:
    data = Slice.of_table(infer_domain(recorded, {}, None), recorded)
    one = FSPN(n_components=1, max_cells=CELLS).fit(recorded).root_
    wide = NetworkSettings(4, 10**9, None)
    rng = np.random.default_rng(0)
    assert best_regions(data, range(len(data.domain)), wide, one, rng) is None


def test_classes_that_no_column_records_come_first(monkeypatch) -> None:
    """A column that hints at the classes is a poor stand-in for them."""
    codes, classes = classes_of_rows(3)
    hint = np.where(np.arange(len(classes)) % 10 < 4, classes, (7 * np.arange(len(classes))) % 3)
    monkeypatch.setattr(mixture_fit, "best_regions", lambda *_: pytest.fail("a split was tried"))
    model = FSPN(max_parents=2, max_cells=60).fit(table_of(codes).assign(hint=hint))
    assert len(model.root_.children) == 3


def test_few_rows_are_not_split(recorded, monkeypatch) -> None:
    """Every table loses rows by a split."""
    monkeypatch.setattr(split, "LEAST_ROWS", len(recorded) + 1)
    monkeypatch.setattr(split, "reaches_bound", lambda *_: pytest.fail("a split was tried"))
    FSPN(max_cells=CELLS).fit(recorded)


def test_the_column_of_most_gain_comes_first(recorded) -> None:
    data = Slice.of_table(infer_domain(recorded, {}, None), recorded)
    first = promising_regions(data, range(len(data.domain)), 3)[0]
    assert data.domain[first.variable].name == "kind"
    assert len(first) == 4
    np.testing.assert_array_equal(np.bincount(first.classes(data)), 3_000)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.booleans())
def test_regions_tile_the_codes_and_none_is_tiny(counts: list[int], ordered: bool) -> None:
    weights = np.array(counts)
    of_code = regions_of(weights, ordered, 8)
    assert len(of_code) == len(counts)
    assert set(of_code) == set(range(of_code.max() + 1))
    assert of_code.max() < 8
    if ordered:
        assert (np.diff(of_code) >= 0).all()
    held = np.bincount(of_code, weights=weights)
    assert len(held) == 1 or held.min() >= weights.sum() / 16

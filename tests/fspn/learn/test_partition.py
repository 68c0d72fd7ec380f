"""Clusters of rows, and the two split methods of Appendix C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from fspn.learn.dependence.rdc import RDC, Column, Corrected
from fspn.learn.partition import (
    MAX_FIT_ROWS,
    Cut,
    _has_at_most,
    cut_at,
    greedy,
    kmeans,
    kmeans_grid,
    row_features,
)
from fspn.learn.slices import Slice
from fspn.schema.events import Codes, Interval, Span
from fspn.schema.infer import infer_domain


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def slice_of(table: pd.DataFrame) -> Slice:
    domain = infer_domain(table)
    return Slice(domain, domain.encode(table))


class Told:
    """An oracle that gives the strength of each conditioning column, by position."""

    def __init__(self, strength: Sequence[float]):
        self.strength = strength

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        return np.tile(self.strength, (len(first), 1))


class Counted(Told):
    """The same, and how often it was asked."""

    calls = 0

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        self.calls += 1
        return super().matrix(first, second)


class TestKMeans:
    def test_two_clouds(self) -> None:
        points = np.concatenate([rng().normal(-5, 1, (200, 2)), rng(1).normal(5, 1, (300, 2))])
        labels = kmeans(points, 2, rng())
        assert len(set(labels[:200])) == len(set(labels[200:])) == 1
        assert labels[0] != labels[-1]

    def test_a_sample_is_enough_for_many_rows(self) -> None:
        signs = rng().choice([-1, 1], 3 * MAX_FIT_ROWS)
        points = (signs * 5 + rng(1).normal(size=len(signs)))[:, None]
        labels = kmeans(points, 2, rng())
        assert abs(np.corrcoef(labels, signs)[0, 1]) > 0.99

    @pytest.mark.parametrize("distinct", [1, 2, 3])
    def test_fewer_points_than_clusters(self, distinct: int) -> None:
        points = (np.arange(60) % distinct)[:, None].astype(float)
        labels = kmeans(points, 3, rng())
        assert len(np.unique(labels)) == distinct
        for value in range(distinct):
            assert len(set(labels[points[:, 0] == value])) == 1

    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("distinct", [0, 1, 2, 3, 4])
    def test_few_points_are_those_of_sorting(self, k: int, distinct: int) -> None:
        points = rng().permutation(np.repeat(rng(1).normal(size=(distinct, 7)), 9, axis=0))
        assert _has_at_most(k, points) == (len(np.unique(points, axis=0)) <= k)


def test_features_are_standardised_or_one_hot() -> None:
    table = pd.DataFrame({"a": [0, 10, 20, 30], "s": ["x", "y", "z", "x"], "c": [5, 5, 5, 5]})
    features = row_features(slice_of(table), [0, 1, 2])
    assert features.shape == (4, 5)
    assert features[:, 0].mean() == pytest.approx(0.0, abs=1e-6)
    assert features[:, 0].std() == pytest.approx(1.0, abs=1e-6)
    assert features[:, 1:4].sum(axis=1).tolist() == [1.0] * 4
    assert (features[0, 1:4] == features[3, 1:4]).all()
    assert (features[:, 4] == 0).all(), "a single value is no feature"


def test_gaps_between_numbers_count() -> None:
    """Codes 0 .. 5 lie evenly, the numbers behind them do not."""
    numbers = np.repeat([0, 1, 2, 3, 100, 101], 30)
    data = slice_of(pd.DataFrame({"a": numbers, "t": np.arange(180) % 2}))
    features = row_features(data, [0])[:, 0]
    assert features[120] - features[119] > 40 * (features[150] - features[149])
    labels = kmeans(row_features(data, [0]), 2, rng())
    assert set(numbers[labels == labels[0]]) == {0, 1, 2, 3}
    cut = kmeans_grid(data, [1], [0], RDC(), rng())
    assert cut is not None
    assert cut.cells == (Span(0, 3), Span(4, 5))


def both_sides(cut: Cut, size: int) -> tuple[set[int], set[int]]:
    masks = [cell.mask(size) for cell in cut.cells if not isinstance(cell, Interval)]
    return set(np.flatnonzero(masks[0])), set(np.flatnonzero(masks[1]))


class TestCuts:
    table = pd.DataFrame(
        {"a": np.arange(40) % 5, "s": list("uvwxy") * 8, "f": np.linspace(0.1, 4, 40)}
    )

    @pytest.mark.parametrize("variable", [0, 1])
    def test_the_cells_tile_the_domain_and_sort_the_rows(self, variable: int) -> None:
        data = slice_of(self.table)
        values = data.values(variable)
        for border in range(4):
            cut = cut_at(data.domain[variable], variable, values, border)
            first, second = both_sides(cut, 5)
            assert first | second == set(range(5))
            assert not first & second
            assert set(values[cut.first]) == first
            assert set(values[~cut.first]) == second

    def test_kinds_of_cells(self) -> None:
        data = slice_of(self.table)
        ordered = cut_at(data.domain[0], 0, data.values(0), 2)
        assert ordered.cells == (Span(0, 2), Span(3, 4))
        labels = cut_at(data.domain[1], 1, data.values(1), 2)
        assert labels.cells == (Codes(frozenset([2])), Codes(frozenset([0, 1, 3, 4])))
        reals = cut_at(data.domain[2], 2, data.values(2), 1.5)
        assert reals.cells == (Interval(-np.inf, 1.5), Interval(1.5, np.inf))
        assert (data.values(2)[reals.first] <= 1.5).all()
        assert (data.values(2)[~reals.first] > 1.5).all()


class TestGreedy:
    def test_it_cuts_the_attribute_of_the_largest_dependence(self) -> None:
        table = pd.DataFrame(rng().integers(0, 6, (300, 4)), columns=list("tabc"))
        for strength, expected in [
            ((0.2, 0.9, 0.4), 2),
            ((0.5, 0.1, 0.4), 1),
            ((0.1, 0.2, 0.4), 3),
        ]:
            cut = greedy(slice_of(table), [0], [1, 2, 3], Told(strength), rng())
            assert cut is not None
            assert cut.variable == expected

    @pytest.mark.parametrize("oracle", [RDC(), Corrected()])
    def test_with_real_oracles(self, oracle: RDC | Corrected) -> None:
        n = 2000
        weak, strong = rng().integers(0, 6, (2, n))
        target = np.where(rng(1).random(n) < 0.8, strong, rng(2).integers(0, 6, n))
        target = np.where(rng(3).random(n) < 0.1, weak, target)
        table = pd.DataFrame({"t": target, "weak": weak, "strong": strong})
        cut = greedy(slice_of(table), [0], [1, 2], oracle, rng())
        assert cut is not None
        assert cut.variable == 2

    def test_it_cuts_where_least_dependence_is_left(self) -> None:
        """The target is a step of the condition: cut at the step, nothing is left."""
        given = rng().integers(0, 5, 2000)
        target = (given > 2) * 3 + rng(1).integers(0, 3, 2000)
        data = slice_of(pd.DataFrame({"t": target, "g": given}))
        cut = greedy(data, [0], [1], Corrected(), rng())
        assert cut is not None
        assert cut.cells == (Span(0, 2), Span(3, 4))

    def test_the_only_cut_there_is_needs_no_measure(self) -> None:
        table = pd.DataFrame({"t": rng().integers(0, 3, 50), "g": [0, 1] * 25})
        oracle = Counted((0.9,))
        cut = greedy(slice_of(table), [0], [1], oracle, rng())
        assert cut is not None
        assert cut.cells == (Span(0, 0), Span(1, 1))
        assert oracle.calls == 1, "once, to find the attribute"

    def test_single_values_cannot_be_cut(self) -> None:
        table = pd.DataFrame({"t": rng().integers(0, 3, 50), "g": [1] * 50, "h": ["x"] * 50})
        assert greedy(slice_of(table), [0], [1, 2], RDC(), rng()) is None

    def test_an_attribute_that_cannot_be_cut_is_passed_over(self) -> None:
        table = pd.DataFrame({"t": rng().integers(0, 3, 50), "g": [1] * 50, "h": [0, 1] * 25})
        cut = greedy(slice_of(table), [0], [1, 2], Told((0.9, 0.1)), rng())
        assert cut is not None
        assert cut.variable == 2


class TestKMeansGrid:
    def test_it_cuts_between_the_clusters(self) -> None:
        """Both columns tell two clusters apart, but in the second one they overlap."""
        clouds = [
            np.column_stack(
                [rng(1).integers(low, low + 10, 300), rng(2).integers(low, low + 13, 300)]
            )
            for low in (0, 10)
        ]
        table = pd.DataFrame(np.concatenate(clouds), columns=["g", "h"])
        table["t"] = rng(4).integers(0, 2, 600)
        cut = kmeans_grid(slice_of(table), [2], [0, 1], RDC(), rng())
        assert cut is not None
        assert cut.variable == 0
        assert np.mean(cut.first == (np.arange(600) < 300)) > 0.9

    def test_reals(self) -> None:
        values = np.concatenate([rng().normal(-8, 1, 100), rng(1).normal(8, 1, 100)])
        table = pd.DataFrame({"g": values, "t": [0, 1] * 100})
        cut = kmeans_grid(slice_of(table), [1], [0], RDC(), rng())
        assert cut is not None
        assert isinstance(cut.cells[0], Interval)
        assert abs(cut.cells[0].upper) < 4
        assert cut.first.sum() == 100

    def test_labels_alone_are_cut_greedily(self) -> None:
        table = pd.DataFrame({"g": list("xyz") * 30, "t": [0, 1, 1] * 30})
        cut = kmeans_grid(slice_of(table), [1], [0], RDC(), rng())
        assert cut is not None
        assert isinstance(cut.cells[0], Codes)

    def test_single_values_cannot_be_cut(self) -> None:
        table = pd.DataFrame({"g": [4] * 60, "t": [0, 1, 1] * 20})
        assert kmeans_grid(slice_of(table), [1], [0], RDC(), rng()) is None

"""The contract of the estimator, against the joint table written out by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN, NOT_MISSING
from tests.fspn.sample_tables import PRESETS, discrete
from tests.pointwise import joint

TABLE = discrete()
VALUES = {name: np.unique(TABLE[name]) for name in TABLE.columns}


@pytest.fixture(scope="module", params=PRESETS)
def model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param, random_state=0).fit(TABLE)


@pytest.fixture(scope="module")
def truth(model: FSPN) -> np.ndarray:
    return joint(model)


def mass(truth: np.ndarray, **allowed: object) -> float:
    """The mass of the values that a test of each column lets through."""
    masks = [
        np.array([bool(allowed[name](x)) for x in VALUES[name]])  # type: ignore[operator]
        if name in allowed
        else np.ones(len(VALUES[name]), dtype=bool)
        for name in TABLE.columns
    ]
    return float(truth[np.ix_(*masks)].sum())


class TestProbability:
    def test_total_mass(self, model: FSPN, truth: np.ndarray) -> None:
        assert truth.sum() == pytest.approx(1.0, abs=1e-12)
        assert model.probability({}) == pytest.approx(1.0, abs=1e-12)

    @pytest.mark.parametrize(
        ("event", "allowed"),
        [
            ({"a": 3}, {"a": lambda x: x == 3}),
            ({"a": (3, 5)}, {"a": lambda x: 3 <= x <= 5}),
            ({"a": (2.5, 100)}, {"a": lambda x: x >= 2.5}),
            ({"a": (-np.inf, 4)}, {"a": lambda x: x <= 4}),
            ({"a": (None, 4)}, {"a": lambda x: x <= 4}),
            ({"a": {2, 9}}, {"a": lambda x: x in (2, 9)}),
            ({"a": frozenset([2, 77])}, {"a": lambda x: x == 2}),
            ({"a": (3, 9), "c": {0, 2}}, {"a": lambda x: x >= 3, "c": lambda x: x != 1}),
            ({"a": 3, "b": 4, "c": 1, "d": 0}, dict(zip("abcd", [
                lambda x: x == 3, lambda x: x == 4, lambda x: x == 1, lambda x: x == 0
            ], strict=True))),
            ({"a": None, "c": 1}, {"a": lambda x: False}),
            ({"d": np.nan}, {"d": lambda x: False}),
            ({"a": NOT_MISSING, "c": 1}, {"c": lambda x: x == 1}),
            ({"a": pd.Interval(2, 5, closed="both")}, {"a": lambda x: 2 <= x <= 5}),
            ({"a": pd.Interval(2, 5, closed="neither")}, {"a": lambda x: 2 < x < 5}),
            ({"a": pd.Interval(2, 5, closed="left")}, {"a": lambda x: 2 <= x < 5}),
            ({"a": pd.Interval(2, 5, closed="right")}, {"a": lambda x: 2 < x <= 5}),
            ({"a": np.int64(3)}, {"a": lambda x: x == 3}),
            ({"a": np.float64(3.0)}, {"a": lambda x: x == 3}),
        ],
    )  # fmt: skip
    def test_dictionaries(self, model: FSPN, truth: np.ndarray, event: dict, allowed: dict) -> None:
        answer = model.probability(event)
        assert isinstance(answer, float)
        assert answer == pytest.approx(mass(truth, **allowed), abs=1e-12)

    def test_a_list_is_a_batch(self, model: FSPN) -> None:
        events = [{"a": 3}, {}, {"a": (3, 9), "d": {0}}, {"c": 1, "d": 1}]
        answers = model.probability(events)
        assert answers.shape == (4,)
        singles = [model.probability(event) for event in events]
        np.testing.assert_allclose(answers, singles, atol=1e-14)
        assert model.probability([]).shape == (0,)
        assert model.probability([{"a": 3}]).shape == (1,)

    def test_boxes(self, model: FSPN, truth: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        lower, upper = rng.integers(-1, 11, (2, 60, 4)).astype(float)
        answers = model.probability(lower, upper)
        assert answers.shape == (60,)
        for low, high, answer in zip(lower, upper, answers, strict=True):
            sides = dict(zip("abcd", zip(low, high, strict=True), strict=True))
            tests = {k: (lambda x, s=s: s[0] <= x <= s[1]) for k, s in sides.items()}
            assert answer == pytest.approx(mass(truth, **tests), abs=1e-12)

    def test_boxes_of_any_layout(self, model: FSPN) -> None:
        rng = np.random.default_rng(2)
        lower, upper = np.sort(rng.integers(-1, 11, (2, 6, 4)), axis=0).astype(float)
        expected = model.probability(lower, upper)
        kept = lower.copy()
        kept.setflags(write=False)
        for low in (np.asfortranarray(lower), np.repeat(lower, 2, axis=1)[:, ::2], kept):
            np.testing.assert_array_equal(model.probability(low, upper), expected)

    def test_codes_outside_a_domain_are_nothing(self, model: FSPN) -> None:
        free = np.array([[0, 0, 0, 0]]), np.array([[99, 99, 99, 99]])
        assert model.log_probability_of_codes(*free) == pytest.approx([0.0], abs=1e-12)
        for code in (-1, 99):
            low, high = free[0].copy(), free[1].copy()
            low[0, 1] = high[0, 1] = code
            assert model.log_probability_of_codes(low, high).tolist() == [-np.inf]
        with pytest.raises(ValueError, match="do not fit a model of 4 columns"):
            model.log_probability_of_codes(free[0][:, :3], free[1][:, :3])

    def test_threads_may_share_a_model(self, model: FSPN) -> None:
        rng = np.random.default_rng(3)
        lower, upper = np.sort(rng.integers(-1, 11, (2, 3_000, 4)), axis=0).astype(float)
        expected = model.probability(lower, upper)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: model.probability(lower, upper), range(12)):
                np.testing.assert_array_equal(found, expected)

    def test_one_box_is_a_number(self, model: FSPN, truth: np.ndarray) -> None:
        answer = model.probability([3, 0, 0, 0], [9, 6, 2, 1])
        assert isinstance(answer, float)
        expected = mass(truth, a=lambda x: x >= 3, b=lambda x: x <= 6)
        assert answer == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("nothing", [np.nan, np.inf])
    def test_no_constraint(self, model: FSPN, truth: np.ndarray, nothing: float) -> None:
        low = np.array([3.0, -nothing, -nothing, -nothing])
        high = np.array([nothing, nothing, 1.0, nothing])
        expected = mass(truth, a=lambda x: x >= 3, c=lambda x: x <= 1)
        assert model.probability(low, high) == pytest.approx(expected, abs=1e-12)

    def test_lower_above_upper_is_nothing(self, model: FSPN) -> None:
        assert model.probability({"a": (5, 3)}) == 0.0
        assert model.probability([5, 0, 0, 0], [3, 9, 9, 9]) == 0.0

    def test_values_between_the_domain_are_nothing(self, model: FSPN) -> None:
        assert model.probability({"a": 4}) == 0.0
        assert model.probability({"a": (3.5, 4.5)}) == 0.0
        assert model.probability({"a": {4, 6}}) == 0.0
        assert model.probability({"a": set()}) == 0.0


class TestConditional:
    def test_the_definition(self, model: FSPN, truth: np.ndarray) -> None:
        for a, c in product(VALUES["a"].tolist(), VALUES["c"].tolist()):
            both = mass(truth, a=lambda x, a=a: x == a, c=lambda x, c=c: x == c)
            given = mass(truth, c=lambda x, c=c: x == c)
            answer = model.conditional({"a": a}, {"c": c})
            assert isinstance(answer, float)
            assert answer == pytest.approx(both / given, abs=1e-12)

    def test_ranges_and_sets(self, model: FSPN, truth: np.ndarray) -> None:
        both = mass(truth, a=lambda x: x >= 5, b=lambda x: x in (5, 6), d=lambda x: x == 1)
        given = mass(truth, b=lambda x: x in (5, 6), d=lambda x: x == 1)
        answer = model.conditional({"a": (5, 9)}, {"b": {5, 6}, "d": 1})
        assert answer == pytest.approx(both / given, abs=1e-12)

    def test_the_same_column_on_both_sides(self, model: FSPN, truth: np.ndarray) -> None:
        given = mass(truth, a=lambda x: x >= 3)
        for query, inside in [((2, 5), (3, 5)), ({2, 9}, (9,)), (3, (3,)), (2, ())]:
            both = mass(truth, a=lambda x, inside=inside: x in inside)
            answer = model.conditional({"a": query}, {"a": (3, 9)})
            assert answer == pytest.approx(both / given, abs=1e-12)

    def test_boxes(self, model: FSPN) -> None:
        free = np.full(4, np.nan)
        low, high = free.copy(), free.copy()
        low[0], high[0] = 3, 5
        given_low, given_high = free.copy(), free.copy()
        given_low[2] = 1
        answer = model.conditional((low, high), (given_low, given_high))
        expected = model.conditional({"a": (3, 5)}, {"c": (1, np.inf)})
        assert answer == pytest.approx(expected, abs=1e-14)
        many = model.conditional((np.tile(low, (3, 1)), np.tile(high, (3, 1))), {"c": (1, 2)})
        np.testing.assert_allclose(many, expected, atol=1e-14)

    @pytest.mark.filterwarnings("ignore:the evidence has probability zero")
    def test_a_batch_of_boxes_is_its_single_answers(self, model: FSPN) -> None:
        rng = np.random.default_rng(1)
        sides = np.sort(rng.integers(-1, 11, (2, 2, 40, 4)), axis=1).astype(float)
        sides[rng.random(sides.shape) < 0.7] = np.nan
        (low, high), (given_low, given_high) = sides
        many = model.conditional((low, high), (given_low, given_high))
        asked, given = (
            [
                dict(zip("abcd", zip(a, b, strict=True), strict=True))
                for a, b in zip(*pair, strict=True)
            ]
            for pair in sides
        )
        ones = [model.conditional(q, e) for q, e in zip(asked, given, strict=True)]
        np.testing.assert_allclose(many, ones, atol=1e-14)
        assert np.isnan(many).any()
        assert np.nanmax(many) > 0
        one = model.conditional((low[:1], high[:1]), (given_low[:1], given_high[:1]))
        assert one.shape == (1,)

    @pytest.mark.parametrize("ranges", [False, True])
    def test_batches(self, model: FSPN, ranges: bool) -> None:
        queries = [{"a": (a, 9) if ranges else a} for a in (2, 3, 5)]
        givens = [{"c": c, "d": {1} if ranges else 1} for c in (0, 1, 2)]
        expected = [[model.conditional(q, e) for e in givens] for q in queries]
        np.testing.assert_allclose(
            model.conditional(queries, givens), np.diag(expected), atol=1e-14
        )
        np.testing.assert_allclose(model.conditional(queries, givens[1]), np.array(expected)[:, 1])
        np.testing.assert_allclose(model.conditional(queries[1], givens), expected[1])
        np.testing.assert_allclose(model.conditional(queries, givens[:1]), np.array(expected)[:, 0])
        with pytest.raises(ValueError, match=r"2 events .*3 of"):
            model.conditional(queries, givens[:2])

    def test_no_evidence(self, model: FSPN) -> None:
        assert model.conditional({"a": 3}, {}) == pytest.approx(model.probability({"a": 3}))
        assert model.conditional({}, {"a": 3}) == pytest.approx(1.0)


class TestConditionalTable:
    @pytest.mark.parametrize(
        ("query", "evidence"),
        [
            (["a"], None),
            (["c", "a"], {}),
            (["a"], {"c": 1}),
            (["b", "d", "a"], {"c": 1}),
            (["c", "a"], {"d": {0}, "b": (3, 6)}),
        ],
    )
    def test_it_is_the_normalised_slice(
        self, model: FSPN, truth: np.ndarray, query: list[str], evidence: dict | None
    ) -> None:
        table = model.conditional_table(query, evidence)
        assert table.shape == tuple(len(VALUES[name]) for name in query)
        assert table.sum() == pytest.approx(1.0, abs=1e-12)
        tests = {
            "c": lambda x: x == 1,
            "d": lambda x: x == 0,
            "b": lambda x: 3 <= x <= 6,
        }
        given = {name: tests[name] for name in evidence or {}}
        total = mass(truth, **given)
        for cell in np.ndindex(*table.shape):
            wanted = {n: VALUES[n][i] for n, i in zip(query, cell, strict=True)}
            points = {n: (lambda x, v=v: x == v) for n, v in wanted.items()}
            expected = mass(truth, **given, **points) / total
            assert table[cell] == pytest.approx(expected, abs=1e-12)

    def test_it_agrees_with_conditional(self, model: FSPN) -> None:
        table = model.conditional_table(["a", "c"], {"b": 4})
        cells = [{"a": a, "c": c} for a, c in product(VALUES["a"].tolist(), VALUES["c"].tolist())]
        np.testing.assert_allclose(table.ravel(), model.conditional(cells, {"b": 4}), atol=1e-12)


class TestScores:
    def test_rows(self, model: FSPN, truth: np.ndarray) -> None:
        codes = [np.searchsorted(VALUES[name], TABLE[name]) for name in TABLE.columns]
        expected = np.log(truth[tuple(codes)])
        np.testing.assert_allclose(model.score_samples(TABLE), expected, atol=1e-10)
        assert model.score(TABLE) == pytest.approx(expected.mean(), abs=1e-10)
        assert isinstance(model.score(TABLE), float)

    def test_missing_cells_are_summed_out(self, model: FSPN, truth: np.ndarray) -> None:
        rng = np.random.default_rng(1)
        rows = TABLE.iloc[:40].astype(float)
        rows = rows.mask(rng.random(rows.shape) < 0.5)
        for row, score in zip(rows.to_dict("records"), model.score_samples(rows), strict=True):
            tests = {k: (lambda x, v=v: x == v) for k, v in row.items() if not np.isnan(v)}
            assert np.exp(score) == pytest.approx(mass(truth, **tests), rel=1e-9)

    def test_columns_are_found_by_name(self, model: FSPN) -> None:
        turned = TABLE[["d", "b", "a", "c"]]
        np.testing.assert_array_equal(model.score_samples(turned), model.score_samples(TABLE))

    def test_an_array_has_the_order_of_training(self, model: FSPN) -> None:
        np.testing.assert_array_equal(
            model.score_samples(TABLE.to_numpy()), model.score_samples(TABLE)
        )

    def test_outside_the_domain(self, model: FSPN) -> None:
        rows = TABLE.iloc[:2].copy()
        rows.loc[rows.index[1], "a"] = 4
        scores = model.score_samples(rows)
        assert np.isfinite(scores[0])
        assert np.isneginf(scores[1])

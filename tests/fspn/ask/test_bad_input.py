"""Bad input, one test each: the message names what is wrong and says what to do."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fspn import FSPN
from tests.fspn.sample_tables import PRESETS, mixed

TABLE = mixed(300)
NUMBERS = TABLE[["int", "real"]]


@pytest.fixture(scope="module", params=PRESETS)
def model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(TABLE)


class TestQuestions:
    def test_unknown_column(self, model: FSPN) -> None:
        for ask in (
            lambda: model.probability({"age": 3}),
            lambda: model.probability([{"int": 1}, {"age": 3}]),
            lambda: model.conditional({"age": 3}, {"int": 1}),
            lambda: model.conditional({"int": 3}, {"age": 1}),
            lambda: model.conditional_table(["age"], {}),
            lambda: model.conditional_table(["int"], {"age": 1}),
        ):
            with pytest.raises(KeyError, match=r"unknown column 'age'.*'int'"):
                ask()

    @pytest.mark.parametrize(
        "event",
        [
            {"int": 99},
            {"int": 1.5},
            {"int": (50, 60)},
            {"int": {50, 60}},
            {"text": "nowhere"},
            {"text": 7},
            {"cat": {"nowhere"}},
            {"bool": 2},
            {"int": 1, "text": "nowhere"},
        ],
    )
    def test_outside_the_domain(self, model: FSPN, event: dict[str, Any]) -> None:
        assert model.probability(event) == 0.0
        assert model.conditional(event, {"bool": True}) == 0.0

    @pytest.mark.parametrize("event", [{"int": (3, 1)}, {"real": (1.0, 0.5)}])
    def test_lower_above_upper(self, model: FSPN, event: dict[str, Any]) -> None:
        assert model.probability(event) == 0.0

    def test_lower_above_upper_in_boxes(self, model: FSPN) -> None:
        free = np.full(6, np.nan)
        for column in (0, 4):
            low, high = free.copy(), free.copy()
            low[column], high[column] = 2.0, 1.0
            assert model.probability(low, high) == 0.0

    @pytest.mark.parametrize("shape", [(5,), (7,), (3, 5), (1, 1, 6)])
    def test_wrong_width_of_boxes(self, model: FSPN, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="6 columns"):
            model.probability(np.zeros(shape), np.ones(shape))

    def test_sides_of_different_shapes(self, model: FSPN) -> None:
        with pytest.raises(ValueError, match=r"\(6,\) and \(2, 6\) do not fit .* \(n, 6\)"):
            model.probability(np.zeros(6), np.ones((2, 6)))

    def test_an_array_without_upper_sides(self, model: FSPN) -> None:
        with pytest.raises(TypeError, match="lower, upper"):
            model.probability(np.zeros(6))
        with pytest.raises(TypeError, match="dictionary"):
            model.conditional([3], [{"int": 1}])

    def test_wrong_width_of_rows(self, model: FSPN) -> None:
        with pytest.raises(ValueError, match=r"5 features.*6"):
            model.score_samples(TABLE.iloc[:, :5])
        with pytest.raises(ValueError, match=r"lacks.*'near'"):
            model.score_samples(TABLE.rename(columns={"near": "far"}))

    @pytest.mark.parametrize("event", [("u", "w"), (0, 1), pd.Interval(0, 1), ("u", None)])
    @pytest.mark.parametrize("column", ["text", "cat", "bool"])
    def test_ranges_of_unordered_values(self, model: FSPN, column: str, event: Any) -> None:
        with pytest.raises(ValueError, match=f"'{column}' is unordered.*set of values"):
            model.probability({column: event})

    def test_boxes_of_unordered_values(self, model: FSPN) -> None:
        free = np.full(6, np.nan)
        low, high = free.copy(), free.copy()
        low[3], high[3] = 0, 1
        with pytest.raises(ValueError, match=r"'bool' is unordered.*dictionary"):
            model.probability(low, high)

    @pytest.mark.parametrize("event", [[1, 2], np.array([1, 2]), {"a": 1}, slice(1, 2)])
    def test_what_is_no_event(self, model: FSPN, event: Any) -> None:
        for column in ("int", "real", "text"):
            with pytest.raises(ValueError, match=f"'{column}'.*tuple.*set"):
                model.probability({column: event})

    def test_intervals_of_three_ends_or_of_words(self, model: FSPN) -> None:
        with pytest.raises(ValueError, match=r"'int'.*\(low, high\)"):
            model.probability({"int": (1, 2, 3)})
        with pytest.raises(ValueError, match=r"'int'.*numbers"):
            model.probability({"int": ("a", "b")})
        with pytest.raises(ValueError, match=r"'real'.*not a number"):
            model.probability({"real": "much"})

    def test_words_in_the_place_of_numbers(self, model: FSPN) -> None:
        with pytest.raises(ValueError, match="'int' holds numbers: '1' of type str"):
            model.probability({"int": "1"})
        with pytest.raises(ValueError, match="'int' holds numbers: '1' of type str"):
            model.conditional({"bool": True}, {"int": "1"})

    def test_tables_of_continuous_columns(self, model: FSPN) -> None:
        if model.domain_[model.domain_.index("real")].is_coded:
            assert model.conditional_table(["int", "real"], {}).sum() == pytest.approx(1.0)
            return
        with pytest.raises(ValueError, match=r"'real' is continuous.*conditional\(\)"):
            model.conditional_table(["int", "real"], {})

    def test_tables_without_columns_or_with_a_column_twice(self, model: FSPN) -> None:
        with pytest.raises(ValueError, match="names no column"):
            model.conditional_table([], {})
        with pytest.raises(ValueError, match="twice"):
            model.conditional_table(["int", "int"], {})
        with pytest.raises(ValueError, match="'int' is both in the query and in the evidence"):
            model.conditional_table(["int"], {"int": 1})

    def test_tables_take_one_evidence(self, model: FSPN) -> None:
        with pytest.raises(TypeError, match="one dictionary"):
            model.conditional_table(["int"], [{"bool": True}, {"bool": False}])  # type: ignore[arg-type]

    def test_values_and_ranges_of_reals_do_not_mix_in_a_batch_of_evidence(
        self, model: FSPN
    ) -> None:
        for other in ({}, {"real": (0, 1)}):
            if model.domain_[model.domain_.index("real")].is_coded:
                answers = model.conditional({"int": 1}, [{"real": 0.5}, other])
                single = [model.conditional({"int": 1}, each) for each in ({"real": 0.5}, other)]
                np.testing.assert_allclose(answers, single, rtol=1e-12)
                continue
            with pytest.raises(ValueError, match=r"'real'.*one batch for each"):
                model.conditional({"int": 1}, [{"real": 0.5}, other])

    def test_before_fit(self) -> None:
        for ask in (
            lambda: FSPN().probability({}),
            lambda: FSPN().conditional({}, {}),
            lambda: FSPN().conditional_table(["a"]),
            lambda: FSPN().score_samples(TABLE),
            lambda: FSPN().sample(1),
            lambda: FSPN().save("nowhere"),
        ):
            with pytest.raises(NotFittedError, match="fit"):
                ask()


class TestImpossibleEvidence:
    @pytest.mark.parametrize("evidence", [{"int": 99}, {"text": "nowhere"}, {"real": (2, 1)}])
    def test_nan_and_one_warning(self, model: FSPN, evidence: dict[str, Any]) -> None:
        with pytest.warns(RuntimeWarning, match="probability zero") as caught:
            assert np.isnan(model.conditional({"bool": True}, evidence))
        told = [str(each.message) for each in caught]
        assert sum("probability zero" in message for message in told) == 1
        assert [m for m in told if "never was 'nowhere'" in m] == told[: "text" in evidence]

    def test_a_batch_warns_once_and_answers_the_rest(self, model: FSPN) -> None:
        with pytest.warns(RuntimeWarning, match="probability zero") as caught:
            answers = model.conditional({"bool": True}, [{"int": 99}, {"int": 1}, {"int": -1}])
        assert len(caught) == 1
        assert np.isnan(answers).tolist() == [True, False, True]

    def test_a_table(self, model: FSPN) -> None:
        for query in (["bool"], ["text", "bool"], ["cat"]):
            with pytest.warns(RuntimeWarning, match="probability zero") as caught:
                assert np.isnan(model.conditional_table(query, {"int": 99})).all()
            assert len(caught) == 1

    def test_strict(self, model: FSPN) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match="probability zero"):
                model.conditional({"bool": True}, {"int": 99}, strict=True)
            with pytest.raises(ValueError, match="probability zero"):
                model.conditional_table(["bool"], {"int": 99}, strict=True)
            assert model.conditional({"bool": True}, {"int": 1}, strict=True) > 0

    def test_the_warning_points_at_the_caller(self, model: FSPN) -> None:
        with pytest.warns(RuntimeWarning) as caught:
            model.conditional({"bool": True}, {"int": 99})
        assert caught[0].filename == __file__


class TestTrainingTables:
    def test_infinite_values(self) -> None:
        with pytest.raises(ValueError, match="'real' has infinite values; clip"):
            FSPN().fit(NUMBERS.replace({"real": {NUMBERS["real"][0]: np.inf}}))

    def test_no_rows(self) -> None:
        with pytest.raises(ValueError, match="no rows"):
            FSPN().fit(TABLE.iloc[:0])

    def test_no_columns(self) -> None:
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            FSPN().fit(pd.DataFrame(index=range(5)))

    @pytest.mark.parametrize(
        "values",
        [[1, "x", 2.0], [{"a": 1}] * 3, [["a"], ["b"], ["c"]], [datetime.time(12)] * 3],
    )
    def test_objects_that_are_not_strings(self, values: Any) -> None:
        column = pd.Series(values, dtype=object)
        with pytest.raises(ValueError, match=r"'odd'.*convert it to int, float, bool, datetime"):
            FSPN().fit(pd.DataFrame({"int": [1, 2, 3], "odd": column}))

    def test_column_names_that_occur_twice(self) -> None:
        table = pd.DataFrame([[1, 2, 3]] * 3, columns=["a", "b", "a"])
        with pytest.raises(ValueError, match=r"\['a'\] occur more than once; rename"):
            FSPN().fit(table)

    def test_one_dimension(self) -> None:
        with pytest.raises(ValueError, match="Reshape your data"):
            FSPN().fit(np.arange(5))

    def test_sparse_matrices(self) -> None:
        from scipy.sparse import csr_matrix

        with pytest.raises(TypeError, match=r"sparse.*toarray"):
            FSPN().fit(csr_matrix(np.eye(3)))

    def test_domains(self) -> None:
        with pytest.raises(ValueError, match=r"domains names unknown column.*'age'"):
            FSPN().fit(TABLE, domains={"age": [1]})
        with pytest.raises(ValueError, match="'real' is continuous"):
            FSPN().fit(TABLE, domains={"real": [1.5]})
        with pytest.raises(ValueError, match=r"'int'.*not finite"):
            FSPN().fit(TABLE, domains={"int": [np.inf]})

    @pytest.mark.parametrize("domains", [[[0, 9]], 7, "ab", [[1], [2], [3], [4], [5], [6], [7]]])
    def test_domains_that_are_no_domains(self, domains: Any) -> None:
        with pytest.raises(ValueError, match=r"domains=.*must be a dictionary.*2 entries"):
            FSPN().fit(NUMBERS, domains=domains)

    def test_kinds(self) -> None:
        with pytest.raises(ValueError, match=r"'int'.*'sorted'.*'ordered'"):
            FSPN(kinds={"int": "sorted"}).fit(TABLE)
        with pytest.raises(ValueError, match=r"kinds names unknown column.*'age'"):
            FSPN(kinds={"age": "ordered"}).fit(TABLE)
        with pytest.raises(ValueError, match="'text' must be numeric"):
            FSPN(kinds={"text": "ordered"}).fit(TABLE)


class TestSettings:
    @pytest.mark.parametrize("name", ["tau_low", "tau_high"])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.1])
    def test_thresholds(self, name: str, value: float) -> None:
        with pytest.raises(ValueError, match=f"{name}=.*finite number of at least 0"):
            FSPN(**{name: value}).fit(NUMBERS)

    @pytest.mark.parametrize("preset", PRESETS)
    def test_tau_low_above_tau_high(self, preset: str) -> None:
        with pytest.raises(ValueError, match=r"tau_low=0.8 is above tau_high=0.5.*tau_low <= "):
            FSPN(0.8, 0.5, preset=preset).fit(NUMBERS)

    @pytest.mark.parametrize("preset", PRESETS)
    @pytest.mark.parametrize("alone", [{"tau_low": 0.9}, {"tau_high": 0.1}, {"tau_low": 0.0}])
    def test_one_threshold_alone_is_fine(self, preset: str, alone: dict[str, float]) -> None:
        model = FSPN(preset=preset, **alone).fit(NUMBERS)
        assert model.probability({}) == pytest.approx(1.0)

    @pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
    def test_alpha(self, value: float) -> None:
        with pytest.raises(ValueError, match=r"alpha=.*positive"):
            FSPN(alpha=value).fit(NUMBERS)

    @pytest.mark.parametrize("name", ["min_rows", "n_clusters", "max_parents", "max_cells"])
    @pytest.mark.parametrize("value", [-1, 0, 2.5, True, "3"])
    def test_whole_numbers(self, name: str, value: Any) -> None:
        with pytest.raises(ValueError, match=f"{name}=.*whole number of at least 1"):
            FSPN(**{name: value}).fit(NUMBERS)

    @pytest.mark.parametrize(
        "name", ["preset", "oracle", "split", "cluster", "group", "multi_leaf"]
    )
    def test_unknown_names(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}='best' is not one of"):
            FSPN(**{name: "best"}).fit(NUMBERS)

    @pytest.mark.parametrize("name", ["tau_low", "tau_high", "alpha"])
    @pytest.mark.parametrize("value", ["0.5", [0.5], True, 1j])
    def test_numbers_of_the_wrong_type(self, name: str, value: Any) -> None:
        with pytest.raises(ValueError, match=rf"{name}=.*number.*\(or None\)"):
            FSPN(**{name: value}).fit(NUMBERS)

    @pytest.mark.parametrize(
        "name", ["preset", "oracle", "split", "cluster", "group", "multi_leaf"]
    )
    @pytest.mark.parametrize("value", [["best"], 3, 0.0])
    def test_names_of_the_wrong_type(self, name: str, value: Any) -> None:
        with pytest.raises(ValueError, match=rf"{name}=.*(is not one of|must be)"):
            FSPN(**{name: value}).fit(NUMBERS)

    @pytest.mark.parametrize("name", ["random_state", "kinds", "verbose", "offsets", "n_jobs"])
    def test_other_parameters_of_the_wrong_type(self, name: str) -> None:
        with pytest.raises(ValueError, match=rf"{name}='x' must be"):
            FSPN(**{name: "x"}).fit(NUMBERS)

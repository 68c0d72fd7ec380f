"""Every model, one protocol: what it says must follow from its joint table by enumeration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from baselines.base import (
    ALL_ANSWERS,
    CONDITIONAL_TABLE,
    PROBABILITY,
    DensityModel,
    ImpossibleEvidence,
    UnsupportedQuery,
)
from tests.contract.cases import DOMAINS, Case, fitted, training_table

COLUMNS = list(DOMAINS)
EMPIRICAL_GAP = 0.05


def needs(model: DensityModel, answer: str) -> None:
    if answer not in model.answers:
        pytest.skip(f"{model.name} does not offer {answer}")


def test_scores_sum_to_one(joint: np.ndarray) -> None:
    assert joint.sum() == pytest.approx(1.0, abs=1e-9)


def test_every_state_of_the_domain_is_possible(joint: np.ndarray) -> None:
    assert (joint > 0).all()


def test_marginals_follow_the_data(joint: np.ndarray) -> None:
    table = training_table()
    for axis, column in enumerate(COLUMNS):
        others = tuple(i for i in range(len(COLUMNS)) if i != axis)
        share = [(table[column] == v).mean() for v in DOMAINS[column]]
        np.testing.assert_allclose(joint.sum(axis=others), share, atol=EMPIRICAL_GAP)


def test_score_of_a_value_outside_the_domain_is_minus_infinity(
    model: DensityModel, states: pd.DataFrame
) -> None:
    rows = states.iloc[:2].copy()
    rows.loc[rows.index[0], "b"] = 1
    scores = model.score_samples(rows)
    assert scores[0] == -np.inf
    assert np.isfinite(scores[1])


def test_point_boxes_equal_scores(
    model: DensityModel, case: Case, states: pd.DataFrame, joint: np.ndarray
) -> None:
    needs(model, PROBABILITY)
    values = states.to_numpy(dtype=float)
    np.testing.assert_allclose(
        model.probability(values, values), joint.ravel(), atol=case.tolerance, rtol=case.tolerance
    )


def test_boxes_equal_sums_of_points(model: DensityModel, case: Case, joint: np.ndarray) -> None:
    needs(model, PROBABILITY)
    nan, inf = np.nan, np.inf
    lower = np.array([[nan] * 4, [-inf] * 4, [1, -3, 2, nan], [0, -2.5, nan, 15], [1, 1, 1, 1]])
    upper = np.array([[nan] * 4, [inf] * 4, [1, 0, 5, nan], [nan, 6, 2, 30], [0, 5, 5, 99]])
    expected = [1.0, 1.0, joint[1, :2, 1:].sum(), joint[:, 1, :2, 1:].sum(), 0.0]
    np.testing.assert_allclose(model.probability(lower, upper), expected, atol=case.tolerance)


@pytest.mark.parametrize(
    ("query", "evidence"),
    [
        (["a"], {}),
        (["c", "a"], {"b": 7}),
        (["d", "b"], {"a": 1, "c": 2}),
        (["b", "d", "a"], {"c": 5}),
        (["d", "c", "b", "a"], {}),
    ],
)
def test_conditional_table_is_the_normalised_slice(
    model: DensityModel,
    case: Case,
    joint: np.ndarray,
    query: list[str],
    evidence: dict[str, int],
) -> None:
    needs(model, CONDITIONAL_TABLE)
    table = model.conditional_table(query, evidence)
    assert table.sum() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(
        table, enumerated(joint, query, evidence), atol=case.tolerance, rtol=case.tolerance
    )


def test_conditional_batch_equals_enumeration(
    model: DensityModel, case: Case, joint: np.ndarray
) -> None:
    queries = [{"a": 1}, {"b": 7, "d": 30}, {"b": 7, "d": 10}, {"c": 5, "a": 0}, {"a": 0}]
    evidence = [{"b": 0}, {"a": 1, "c": 3}, {"a": 1, "c": 3}, {"b": -3, "d": 20}, {}]
    expected = []
    for q, e in zip(queries, evidence, strict=True):
        cell = tuple(list(DOMAINS[c]).index(v) for c, v in q.items())
        expected.append(enumerated(joint, list(q), e)[cell])
    together = model.conditional(queries, evidence)
    alone = [model.conditional([q], [e])[0] for q, e in zip(queries, evidence, strict=True)]
    np.testing.assert_allclose(together, expected, atol=case.tolerance, rtol=case.tolerance)
    np.testing.assert_allclose(alone, together, atol=case.tolerance)


def test_conditional_on_many_cells_of_one_evidence(
    model: DensityModel, case: Case, joint: np.ndarray
) -> None:
    cells = [{"b": int(b), "c": int(c)} for b in DOMAINS["b"] for c in DOMAINS["c"]]
    answers = model.conditional(cells, [{"a": 1, "d": 20}] * len(cells))
    expected = enumerated(joint, ["b", "c"], {"a": 1, "d": 20}).ravel()
    np.testing.assert_allclose(answers, expected, atol=case.tolerance, rtol=case.tolerance)


def test_values_outside_the_domain(model: DensityModel) -> None:
    answers = model.conditional([{"a": 1}, {"a": 9}], [{"b": 5}, {"b": 0}])
    assert np.isnan(answers[0])
    assert answers[1] == 0.0
    with pytest.raises(ImpossibleEvidence, match="not in the domain"):
        model.conditional_table(["a"], {"b": 5})


def test_wrong_questions_are_named(model: DensityModel) -> None:
    with pytest.raises(ValueError, match="unknown column 'z'"):
        model.conditional_table(["z"], {})
    with pytest.raises(ValueError, match="both in"):
        model.conditional_table(["a"], {"a": 1})
    with pytest.raises(ValueError, match="both in"):
        model.conditional([{"a": 1}], [{"a": 1}])
    with pytest.raises(ValueError, match="'d'"):
        model.score_samples(training_table().drop(columns="d"))


def test_unsupported_questions_name_the_model(model: DensityModel) -> None:
    assert model.answers <= ALL_ANSWERS
    everything = np.full((1, 4), np.nan)
    if PROBABILITY in model.answers:
        assert model.probability(everything, everything)[0] == pytest.approx(1.0, abs=1e-9)
    else:
        with pytest.raises(UnsupportedQuery, match=f"{model.name}.*it answers"):
            model.probability(everything, everything)


def test_sizes_are_counted(model: DensityModel) -> None:
    assert model.n_nodes >= 1
    assert model.n_parameters >= sum(len(d) - 1 for d in DOMAINS.values())
    assert model.size_bytes > model.n_parameters


def test_fit_depends_on_nothing_but_its_arguments(
    model: DensityModel, case: Case, states: pd.DataFrame
) -> None:
    again = fitted(case)
    np.testing.assert_array_equal(again.score_samples(states), model.score_samples(states))
    assert (again.n_nodes, again.size_bytes) == (model.n_nodes, model.size_bytes)


def test_names(model: DensityModel, case: Case) -> None:
    assert model.name == case.settings["name"]
    assert model.engine


def enumerated(joint: np.ndarray, query: list[str], evidence: dict[str, int]) -> np.ndarray:
    """P(query | evidence) from the joint table alone."""
    index = tuple(
        list(DOMAINS[c]).index(evidence[c]) if c in evidence else slice(None) for c in COLUMNS
    )
    kept = [c for c in COLUMNS if c not in evidence]
    part = joint[index]
    part = part.sum(axis=tuple(i for i, c in enumerate(kept) if c not in query))
    left = [c for c in kept if c in query]
    part = np.transpose(part, [left.index(c) for c in query])
    return part / part.sum()

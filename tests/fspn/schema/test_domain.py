"""Columns to codes and back: kinds, unseen values, missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fspn.schema.cells import OUTSIDE
from fspn.schema.domain import as_table
from fspn.schema.infer import infer_domain
from fspn.schema.variable import UNKNOWN, Variable


def variable(values: Any, **options: Any) -> Variable:
    table = pd.DataFrame({"c": values})
    return infer_domain(table, **options)[0]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, 1, 1], "ordered", [1, 3]),
        (np.array([3, 1], dtype=np.uint8), "ordered", [1, 3]),
        ([2.0, -1.0], "ordered", [-1, 2]),
        ([0.5, 2.0], "continuous", []),
        (["b", "a"], "unordered", ["a", "b"]),
        ([True, False], "boolean", [False, True]),
        (pd.Categorical(["x"], categories=["z", "x"]), "unordered", ["x", "z"]),
        (pd.array([1, 2], dtype="Int64"), "ordered", [1, 2]),
        ([2**53, 2**53 - 2], "ordered", [2**53 - 2, 2**53]),
    ],
)
def test_kinds(values: Any, kind: str, expected: list[Any]) -> None:
    found = variable(values)
    assert found.kind == kind
    assert found.values.tolist() == expected


def test_kinds_can_be_overruled() -> None:
    assert variable([1, 2, 3], kinds={"c": "continuous"}).kind == "continuous"
    labels = variable([2, 1], kinds={"c": "unordered"})
    assert labels.kind == "unordered"
    assert labels.encode(pd.Series([1, 2, 9])).tolist() == [0, 1, OUTSIDE]
    with pytest.raises(ValueError, match="'c': kind 'odd'"):
        variable([1], kinds={"c": "odd"})


def test_domains_add_values() -> None:
    assert variable([1, 5], domains={"c": [3, 9]}).values.tolist() == [1, 3, 5, 9]
    assert variable(["b"], domains={"c": ["a"]}).values.tolist() == ["a", "b"]
    assert variable([True], domains={"c": [False]}).values.tolist() == [False, True]
    with pytest.raises(ValueError, match="'c' is continuous"):
        variable([0.5], domains={"c": [1.0]})
    with pytest.raises(ValueError, match=r"domains names unknown column\(s\) \['d'\]"):
        variable([1], domains={"d": [1]})
    with pytest.raises(ValueError, match="not finite"):
        variable([1], domains={"c": [np.inf]})


def test_numbers_to_codes() -> None:
    numbers = variable([10, 20, 30])
    column = pd.Series([20.0, 5.0, 25.0, 35.0, np.nan, 30.0])
    assert numbers.encode(column).tolist() == [1, OUTSIDE, OUTSIDE, OUTSIDE, UNKNOWN, 2]
    assert numbers.code_of(20) == numbers.code_of(20.0) == numbers.code_of(np.int64(20)) == 1
    with pytest.raises(ValueError, match="'c' holds numbers: '20' of type str"):
        numbers.code_of("20")
    rng = np.random.default_rng(0)
    assert numbers.realise(np.array([2.0, 0.0]), rng).tolist() == [30, 10]
    with pytest.raises(ValueError, match="'c' must be numeric"):
        numbers.encode(pd.Series(["x"], name="c"))


def test_labels_to_codes() -> None:
    labels = variable(["b", "a", "c"])
    column = pd.Series(["c", None, "zz", "a"])
    assert labels.encode(column).tolist() == [2, UNKNOWN, OUTSIDE, 0]
    assert labels.encode(pd.Series(["c", np.nan], dtype="category")).tolist() == [2, UNKNOWN]
    assert labels.code_of("b") == 1
    assert labels.code_of(1) == OUTSIDE


def test_a_column_round_trips() -> None:
    table = pd.DataFrame({"n": [3, 1, 3], "s": ["y", "x", "y"], "b": [True, True, False]})
    domain = infer_domain(table)
    for found, codes in zip(domain.variables, domain.encode(table), strict=True):
        values = found.realise(codes, np.random.default_rng(0))
        assert values.tolist() == table[found.name].tolist()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [np.inf, 0.5]}), "'a' has infinite"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame(index=[0]), "0 feature"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"\['a'\] occur more than once"),
        (pd.DataFrame({"a": [1, "x"]}, dtype=object), "'a'.*different types"),
        (pd.DataFrame({"a": [1 + 2j]}), "Complex"),
    ],
)
def test_bad_tables_name_the_column(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        infer_domain(table)


def test_arrays_become_tables() -> None:
    table = as_table(np.array([[1, "x"], [2, "y"]], dtype=object))
    assert [v.kind for v in infer_domain(table).variables] == ["ordered", "unordered"]
    assert as_table([[1, 2]], names=["p", "q"]).columns.tolist() == ["p", "q"]
    frame = pd.DataFrame({"q": [1], "p": [2]})
    assert as_table(frame, names=["p", "q"]).columns.tolist() == ["p", "q"]
    with pytest.raises(ValueError, match="Reshape"):
        as_table([1, 2])
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        as_table([[1, 2, 3]], names=["p", "q"])
    with pytest.raises(ValueError, match=r"lacks the column\(s\) \['q'\]"):
        as_table(pd.DataFrame({"p": [1], "z": [1]}), names=["p", "q"])


def test_unknown_columns_are_named() -> None:
    with pytest.raises(KeyError, match="unknown column 'z'"):
        infer_domain(pd.DataFrame({"a": [1]})).index("z")

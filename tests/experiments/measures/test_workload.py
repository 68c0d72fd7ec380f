"""The evidence queries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.measures.workload import WorkloadConfig, draw_workload


def rows(n: int = 400, columns: int = 20) -> pd.DataFrame:
    values = np.random.default_rng(0).integers(0, 50, (n, columns))
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])


def test_sizes_are_uniform_and_values_come_from_one_row() -> None:
    table = rows()
    workload = draw_workload(table, WorkloadConfig(queries=400), np.random.default_rng(1))
    assert len(workload) == 400
    for i, query in enumerate(workload.queries):
        row = table.iloc[i]
        assert not set(query.query) & set(query.evidence)
        assert set(query.target) == set(query.query)
        assert all(row[c] == v for c, v in {**query.evidence, **query.target}.items())
        assert all(type(v) is int for v in {**query.evidence, **query.target}.values())
    n_query = Counter(len(q.query) for q in workload.queries)
    n_evidence = Counter(len(q.evidence) for q in workload.queries)
    assert set(n_query) == {2, 3, 4}
    assert set(n_evidence) == {6, 7, 8, 9, 10}
    assert min(n_query.values()) > 400 / 3 - 5 * np.sqrt(400 * 2 / 9)
    assert min(n_evidence.values()) > 400 / 5 - 5 * np.sqrt(400 * 4 / 25)
    asked = Counter(c for q in workload.queries for c in q.query)
    assert len(asked) == 20


def test_a_narrow_table_gets_what_fits() -> None:
    workload = draw_workload(rows(3, 5), WorkloadConfig(queries=30), np.random.default_rng(0))
    for query in workload.queries:
        assert 2 <= len(query.query) <= 4
        assert len(query.evidence) == 5 - len(query.query)
    with pytest.raises(ValueError, match="at least 2 columns"):
        draw_workload(rows(3, 1), WorkloadConfig(), np.random.default_rng(0))


def test_settings_are_read_from_a_mapping() -> None:
    config = WorkloadConfig.from_mapping({"queries": 7, "query_size": [1, 2]})
    assert config == WorkloadConfig(7, (1, 2), (6, 10))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"queries": 0}, "workload.queries is 0"),
        ({"query_size": [3, 2]}, r"workload.query_size is \[3, 2\]"),
        ({"query_size": [0, 2]}, r"workload.query_size is \[0, 2\]"),
        ({"evidence_size": [-1, 2]}, "workload.evidence_size"),
        ({"evidence_size": 6}, "workload.evidence_size is 6"),
        ({"n": 3}, "workload.n is no known key"),
    ],
)
def test_wrong_settings_name_the_key(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WorkloadConfig.from_mapping(values)

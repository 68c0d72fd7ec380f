"""Tables at the edge: few rows, few values, very many values, very many columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN, validate
from tests.fspn.sample_tables import PRESETS

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 5, 300)
REALS = RNG.normal(size=300)
TABLES = {
    "one row": pd.DataFrame({"a": [1], "b": ["x"], "f": [0.5]}),
    "two rows": pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "f": [0.5, 0.7]}),
    "two equal rows": pd.DataFrame({"a": [1, 1], "b": ["x", "x"], "f": [0.5, 0.5]}),
    "one column": pd.DataFrame({"a": [1, 2, 2, 2]}),
    "one column of labels": pd.DataFrame({"b": ["x", "y", "y"]}),
    "one column of reals": pd.DataFrame({"f": [1.5, 2.25, 2.0, 7.5]}),
    "one cell": pd.DataFrame({"a": [3]}),
    "identical rows": pd.DataFrame({"a": [1] * 100, "b": ["q"] * 100, "f": [0.5] * 100}),
    "single-valued columns": pd.DataFrame(
        {"a": [1] * 300, "b": ["q"] * 300, "f": [0.5] * 300, "g": CODES, "h": CODES // 2}
    ),
    "duplicate columns": pd.DataFrame({"a": CODES, "b": CODES, "c": CODES, "f": REALS, "g": REALS}),
    "duplicate labels": pd.DataFrame({"a": CODES.astype(str), "b": CODES.astype(str), "c": CODES}),
    "all rows different": pd.DataFrame({"a": range(300), "b": RNG.permutation(300)}),
    "a rare value": pd.DataFrame({"a": [0] * 299 + [1], "b": [0] * 299 + [1], "c": CODES}),
    "negative and huge numbers": pd.DataFrame({"a": CODES - 10**12, "b": CODES * 10**12}),
    "tiny reals": pd.DataFrame({"f": REALS * 1e-12, "g": REALS * 1e12, "a": CODES}),
    "integer names": pd.DataFrame({7: CODES, 3: CODES % 2}),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", TABLES)
def test_it_learns_and_answers(name: str, preset: str) -> None:
    table = TABLES[name]
    model = FSPN(preset=preset, random_state=0).fit(table)
    validate(model.root_, model.domain_)
    assert model.probability({}) == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(model.score_samples(table)).all()
    assert model.sample(20, random_state=0).shape == (20, table.shape[1])
    assert np.isfinite(model.score_samples(model.sample(20, random_state=0))).all()
    for variable in model.domain_.variables:
        if variable.kind == "continuous":
            halves = model.probability([{variable.name: (None, 0.5)}, {variable.name: (0.5, None)}])
            assert halves.sum() == pytest.approx(1.0, abs=1e-9)
            continue
        row = model.conditional_table([variable.name])
        assert row.sum() == pytest.approx(1.0, abs=1e-9)
        assert row.min() > 0
        first = table.iloc[0].drop(variable.name).to_dict()
        given = {k: v for k, v in first.items() if not isinstance(v, float)}
        assert model.conditional_table([variable.name], given).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["one row", "two rows", "single-valued columns"])
def test_more_values_than_were_seen(name: str, preset: str) -> None:
    table = TABLES[name]
    model = FSPN(preset=preset).fit(table, domains={"a": [0, 1, 2, 3], "b": ["new"]})
    assert model.probability({"a": 3}) > 0
    assert model.probability({"a": 3, "b": "new"}) > 0
    assert model.conditional({"a": 3}, {"b": "new"}) > 0
    assert model.probability({"a": {0, 1, 2, 3}}) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("preset", PRESETS)
def test_duplicate_columns_are_known_to_be_equal(preset: str) -> None:
    model = FSPN(preset=preset).fit(TABLES["duplicate columns"][["a", "b", "c"]])
    equal = model.probability([{"a": k, "b": k, "c": k} for k in range(5)])
    assert equal.sum() > 0.95
    assert model.conditional({"a": 2}, {"c": 2}) > 0.95


@pytest.mark.parametrize("preset", PRESETS)
def test_ten_thousand_values(preset: str) -> None:
    n = 10_000
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"id": rng.permutation(n), "group": rng.integers(0, 3, n)})
    table["label"] = "s" + table["id"].astype(str)
    model = FSPN(preset=preset).fit(table, domains={"id": [n]})
    assert model.probability({"id": n}) > 0
    assert model.probability({"id": (0, n)}) == pytest.approx(1.0, abs=1e-9)
    assert model.probability({"id": (0, n // 2 - 1)}) == pytest.approx(0.5, abs=0.01)
    assert model.conditional_table(["id"], {"group": 1}).shape == (n + 1,)
    assert model.probability({"label": {f"s{i}" for i in range(n)}}) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("preset", PRESETS)
def test_three_hundred_binary_columns(preset: str) -> None:
    rng = np.random.default_rng(2)
    table = (rng.random((300, 300)) < rng.uniform(0.05, 0.95, 300)).astype(int)
    table[:, 1] = table[:, 0] ^ (rng.random(300) < 0.02)
    model = FSPN(preset=preset).fit(table)
    assert model.probability({}) == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(model.score_samples(table)).all()
    assert model.conditional({1: 1}, {0: 1}) > 0.85
    alone = model.probability({3: 1})
    assert model.conditional({3: 1}, {2: 1}) == pytest.approx(alone, abs=0.1)
    assert model.conditional_table([0, 1, 5], {7: 1}).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("params", [{"tau_low": 0.1, "tau_high": 0.5}, {"preset": "paper"}])
@pytest.mark.parametrize("min_rows", [1, 2])
def test_the_smallest_slices(params: dict[str, Any], min_rows: int) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.integers(0, 3, (40, 5)))
    model = FSPN(min_rows=min_rows, **params).fit(table)
    validate(model.root_, model.domain_)
    assert model.probability({}) == pytest.approx(1.0, abs=1e-9)

"""Laws of probability on models learned from random tables that mix reals with other columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fspn import FSPN, validate

SETTINGS: list[dict[str, Any]] = [
    {},
    {"preset": "paper"},
    {"preset": "paper", "min_rows": 10, "split": "kmeans_grid"},
    {"tau_low": 0.1, "tau_high": 0.6, "group": "split", "oracle": "rdc", "min_rows": 10},
    {"tau_low": 0.0, "tau_high": 1.1, "oracle": "rdc", "min_rows": 20},
]


REALS = ("continuous", "mixed")


class Drawn:
    """A random table, a model of it, and random events."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.table = self._table(int(self.rng.integers(1, 100)))
        self.model = FSPN(**SETTINGS[int(self.rng.integers(len(SETTINGS)))]).fit(self.table)

    def _table(self, n: int) -> pd.DataFrame:
        hidden = self.rng.integers(0, 3, n)
        shapes = [
            self.rng.normal(size=n),
            hidden + 0.3 * self.rng.normal(size=n),
            self.rng.exponential(size=n) * 10.0 ** self.rng.integers(-6, 7),
            np.round(hidden + 0.5 * self.rng.normal(size=n), 1) + 0.05,
            np.full(n, 0.25),
        ]
        chosen = self.rng.permutation(len(shapes))[: self.rng.integers(1, 3)]
        table = pd.DataFrame({f"f{i}": shapes[i] for i in chosen})
        if self.rng.random() < 0.7:
            table["k"] = np.where(self.rng.random(n) < 0.8, hidden, 0)
        if self.rng.random() < 0.5:
            table["s"] = np.array(list("xyz"))[hidden]
        return table

    def event(self) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        for variable in self.model.domain_.variables:
            if self.rng.random() < 0.4:
                continue
            if variable.kind in REALS:
                asked[variable.name] = self.interval(variable.name)
            else:
                inside = self.rng.random(variable.size) < 0.6
                asked[variable.name] = set(variable.values[inside].tolist())
        return asked

    def interval(self, name: str) -> tuple[float, float]:
        low, high = np.sort(self.rng.choice(self.table[name], 2))
        width = float(self.table[name].std()) if len(self.table) > 1 else 1.0
        return float(low - width * self.rng.random()), float(high + width * self.rng.random())


drawn = st.integers(0, 2**32 - 1).map(Drawn)


@given(drawn)
@settings(max_examples=40)
def test_models_are_proper(case: Drawn) -> None:
    validate(case.model.root_, case.model.domain_)
    assert case.model.probability({}) == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(case.model.score_samples(case.table)).all()
    rows = case.model.sample(20, random_state=0)
    assert np.isfinite(case.model.score_samples(rows)).all()


@given(drawn)
@settings(max_examples=40)
def test_intervals_add_up_and_grow(case: Drawn) -> None:
    asked = case.event()
    name = next(v.name for v in case.model.domain_.variables if v.name.startswith("f"))
    low, high = case.interval(str(name))
    ends = [(-np.inf, low), (low, high), (high, np.inf)]
    parts = [{**asked, name: pd.Interval(*each, closed="right")} for each in ends]
    probabilities = case.model.probability(parts)
    asked.pop(str(name), None)
    whole = case.model.probability(asked)
    assert probabilities.min() >= 0.0
    assert probabilities.sum() == pytest.approx(whole, abs=1e-9)
    both = case.model.probability({**asked, name: (None, high)})
    assert both >= probabilities[0] - 1e-12


@given(drawn)
@settings(max_examples=40)
def test_conditionals_are_ratios(case: Drawn) -> None:
    query, evidence = case.event(), case.event()
    whole = case.model.probability(evidence)
    if whole < 1e-12:
        return
    common = {**query, **evidence}
    for name in set(query) & set(evidence):
        first, second = query[name], evidence[name]
        if isinstance(first, set):
            common[name] = first & second
        else:
            common[name] = (max(first[0], second[0]), min(first[1], second[1]))
    expected = case.model.probability(common) / whole
    assert case.model.conditional(query, evidence) == pytest.approx(expected, abs=1e-9)


@given(drawn)
@settings(max_examples=40)
def test_tables_are_ratios(case: Drawn) -> None:
    names = [v.name for v in case.model.domain_.variables if v.kind not in REALS]
    if not names:
        return
    evidence = {k: v for k, v in case.event().items() if k not in names}
    whole = case.model.probability(evidence)
    if whole < 1e-12:
        return
    table = case.model.conditional_table(names, evidence)
    assert table.sum() == pytest.approx(1.0, abs=1e-9)
    for cell in np.ndindex(*table.shape):
        values = {
            name: case.model.domain_[case.model.domain_.index(name)].values[code]
            for name, code in zip(names, cell, strict=True)
        }
        both = case.model.probability({**evidence, **values})
        assert table[cell] == pytest.approx(both / whole, abs=1e-9)


@given(drawn)
@settings(max_examples=20)
def test_saving_changes_nothing(tmp_path_factory: pytest.TempPathFactory, case: Drawn) -> None:
    path = tmp_path_factory.mktemp("reals") / "model.fspn"
    case.model.save(path)
    loaded = FSPN.load(path)
    np.testing.assert_array_equal(
        loaded.score_samples(case.table), case.model.score_samples(case.table)
    )
    events = [case.event() for _ in range(4)]
    np.testing.assert_array_equal(loaded.probability(events), case.model.probability(events))

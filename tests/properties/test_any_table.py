"""Tables of every kind of column: mixed, missing, datetimes, many values, odd types."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fspn import FSPN, NOT_MISSING, validate


class Drawn:
    """A random table of odd columns, a model of it, and random events."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.n = int(self.rng.integers(40, 900))
        self.hidden = self.rng.integers(0, 4, self.n)
        makers = [
            self.atoms,
            self.wide,
            self.labels,
            self.times,
            self.dates,
            self.flags,
            self.spare,
        ]
        chosen = self.rng.permutation(len(makers))[: int(self.rng.integers(2, 5))]
        self.table = pd.DataFrame({makers[i].__name__: makers[i]() for i in sorted(chosen)})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.model = FSPN(n_components=1, max_parents=2).fit(self.table)

    def without_some(self, column: pd.Series) -> pd.Series:
        share = self.rng.choice([0.0, 0.1, 0.6])
        return column.mask(pd.Series(self.rng.random(self.n) < share * (self.hidden % 2)))

    def atoms(self) -> pd.Series:
        values = self.hidden + self.rng.normal(size=self.n)
        values[self.rng.random(self.n) < 0.3] = 0.0
        values[self.rng.random(self.n) < 0.1] = 2.5
        return self.without_some(pd.Series(values))

    def wide(self) -> pd.Series:
        values = pd.Series(self.hidden * 1000 + self.rng.geometric(0.005, self.n))
        dtype = str(self.rng.choice(["int64", "Int64", "float64", "int64[pyarrow]"]))
        return values if dtype == "int64" else self.without_some(values.astype(dtype))

    def labels(self) -> pd.Series:
        names = [f"n{k}" for k in self.rng.zipf(1.4, self.n) % 500 + 500 * self.hidden]
        return self.without_some(pd.Series(names, dtype=str(self.rng.choice(["str", "object"]))))

    def times(self) -> pd.Series:
        zone = self.rng.choice(np.array([None, "UTC", "Asia/Kolkata"], dtype=object))
        start = pd.Timestamp("2021-03-01", tz=zone)
        seconds = self.hidden * 40_000 + self.rng.integers(0, 90_000, self.n)
        return self.without_some(pd.Series(start + pd.to_timedelta(seconds, unit="s")))

    def dates(self) -> pd.Series:
        days = pd.to_timedelta(self.hidden * 3 + self.rng.integers(0, 7, self.n), unit="D")
        return pd.Series((pd.Timestamp("1999-12-28") + days).date, dtype=object)

    def flags(self) -> pd.Series:
        return self.without_some(pd.Series(self.hidden > 1).astype("boolean"))

    def spare(self) -> pd.Series:
        return pd.Series(np.full(self.n, np.nan))

    def event(self) -> dict[str, Any]:
        names = [name for name in self.table.columns if self.rng.random() < 0.7]
        return {name: self.wanted(name) for name in names}

    def wanted(self, name: str) -> Any:
        column = self.table[name]
        if self.rng.random() < 0.15 or column.isna().all():
            return None if self.rng.random() < 0.5 else NOT_MISSING
        value, other = column.dropna().sample(2, replace=True, random_state=int(self.hidden[0]))
        if self.rng.random() < 0.3:
            return {value, other, None}
        if name in ("labels", "flags") or self.rng.random() < 0.3:
            return value
        return (min(value, other), max(value, other))

    def halves(self, name: str) -> list[Any]:
        """Events that split a column in parts: below a value, the value, above it, missing."""
        column = self.table[name].dropna()
        if not len(column):
            return [None, NOT_MISSING]
        value = column.iloc[0]
        if name in ("labels", "flags"):
            values = set(column.unique())
            return [value, frozenset(values - {value}), None]
        if name == "dates":
            day = pd.Timedelta(days=1)
            return [(None, value - day), value, (value + day, None), None]
        line = [pd.Timestamp(value)] * 2 if name == "times" else [float(value)] * 2
        ends = (
            (line[0] - pd.Timedelta(days=9000), line[0] + pd.Timedelta(days=9000))
            if name == "times"
            else (-np.inf, np.inf)
        )
        below = pd.Interval(ends[0], line[0], closed="left" if name == "times" else "neither")
        return [below, value, pd.Interval(line[0], ends[1], closed="right"), None]


drawn = st.integers(0, 2**32 - 1).map(Drawn)


@given(drawn)
@settings(max_examples=15)
def test_models_are_proper_and_types_come_back(case: Drawn) -> None:
    validate(case.model.root_, case.model.domain_)
    assert case.model.probability({}) == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(case.model.score_samples(case.table)).all()
    rows = case.model.sample(50, random_state=1)
    assert rows.dtypes.equals(case.table.dtypes)
    assert np.isfinite(case.model.score_samples(rows)).all()
    for name in case.table.columns:
        if not case.table[name].isna().any():
            assert not rows[name].isna().any()


@given(drawn)
@settings(max_examples=15)
def test_an_event_is_the_sum_of_its_parts(case: Drawn) -> None:
    for name in case.table.columns:
        asked = {k: v for k, v in case.event().items() if k != name}
        whole = case.model.probability(asked)
        parts = [case.model.probability({**asked, name: part}) for part in case.halves(name)]
        assert min(parts) >= 0.0
        assert sum(parts) == pytest.approx(whole, abs=1e-9)
        batch = case.model.probability([{**asked, name: part} for part in case.halves(name)])
        np.testing.assert_allclose(batch, parts, atol=1e-12)


def check_shares(case: Drawn) -> None:
    for name in case.table.columns:
        counts = case.table[name].value_counts()
        shares = counts[(counts >= 3) & (counts > 0.01 * case.n)] / case.n
        for value, share in shares.items():
            assert case.model.probability({name: value}) == pytest.approx(share, rel=0.02, abs=1e-3)
        missing = case.table[name].isna().mean()
        assert case.model.probability({name: None}) == pytest.approx(missing, rel=0.02, abs=1e-3)


@given(drawn)
@settings(max_examples=15)
def test_values_of_many_rows_have_their_share(case: Drawn) -> None:
    check_shares(case)


def test_a_column_under_a_graded_law_keeps_its_marginal() -> None:
    case = Drawn(5999)
    assert "graded law" in str(case.model.describe())
    check_shares(case)


@given(drawn)
@settings(max_examples=10)
def test_conditionals_are_ratios(case: Drawn) -> None:
    query, evidence = case.event(), case.event()
    evidence = {k: v for k, v in evidence.items() if k not in query}
    whole = case.model.probability(evidence)
    if whole > 1e-9:
        expected = case.model.probability({**query, **evidence}) / whole
        assert case.model.conditional(query, evidence) == pytest.approx(expected, abs=1e-9)


@given(drawn)
@settings(max_examples=10)
def test_samples_agree_with_probabilities(case: Drawn) -> None:
    """Pearson's statistic over the cells of every column; one false alarm in a million tests."""
    rows = case.model.sample(4000, random_state=3)
    for v, variable in enumerate(case.model.domain_):
        codes = variable.encode(rows[variable.name])
        expected = case.model.conditional_table([variable.name])
        if len(expected) > variable.size:
            cell, _ = variable.cells.support_shares  # type: ignore[union-attr]
            if variable.missing is not None:
                cell = np.append(cell, variable.n_values)
            expected = np.bincount(cell, expected, variable.size)
        seen = np.bincount(codes, minlength=variable.size)
        kept = expected * len(rows) >= 5
        gap = (seen - len(rows) * expected)[kept] ** 2 / (len(rows) * expected[kept])
        assert gap.sum() < chi2.ppf(1 - 1e-7, max(int(kept.sum()), 1)), (v, variable.name)


@given(drawn)
@settings(max_examples=8)
def test_saving_changes_nothing(tmp_path_factory: pytest.TempPathFactory, case: Drawn) -> None:
    path = Path(tmp_path_factory.mktemp("models")) / "model.fspn"
    case.model.save(path)
    loaded = FSPN.load(path)
    events = [case.event() for _ in range(10)]
    np.testing.assert_array_equal(loaded.probability(events), case.model.probability(events))
    np.testing.assert_array_equal(
        loaded.score_samples(case.table), case.model.score_samples(case.table)
    )
    assert loaded.sample(30, random_state=5).equals(case.model.sample(30, random_state=5))
    assert str(loaded.domain_) == str(case.model.domain_)

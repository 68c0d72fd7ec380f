"""Laws of probability on models learned from random small tables, against their joint table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fspn import FSPN, validate
from tests.pointwise import joint

SETTINGS: list[dict[str, Any]] = [
    {},
    {"preset": "paper"},
    {"preset": "paper", "min_rows": 5, "split": "kmeans_grid"},
    {"tau_low": 0.1, "tau_high": 0.6, "group": "split", "oracle": "rdc", "min_rows": 4},
    {"tau_low": 0.0, "tau_high": 1.1, "oracle": "rdc", "min_rows": 3, "n_clusters": 3},
    {"alpha": 0.5, "max_parents": 3, "tau_low": 0.1, "tau_high": 0.1, "oracle": "rdc"},
]


class Drawn:
    """A random table, a model of it, and random events on both."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.table = self._table()
        self.model = FSPN(**SETTINGS[int(self.rng.integers(len(SETTINGS)))]).fit(
            self.table, domains={"x0": [-3, 9]} if self.rng.random() < 0.5 else None
        )
        self.joint = joint(self.model)

    def _table(self) -> pd.DataFrame:
        n, width = int(self.rng.integers(1, 120)), int(self.rng.integers(1, 5))
        columns: list[np.ndarray] = []
        for _ in range(width):
            column = self.rng.integers(0, self.rng.integers(1, 5), n)
            if columns and self.rng.random() < 0.7:
                parent = columns[int(self.rng.integers(len(columns)))]
                column = np.where(self.rng.random(n) < self.rng.random(), parent, column)
            columns.append(column)
        table = pd.DataFrame({f"x{i}": column for i, column in enumerate(columns)})
        labels = np.array(list("abcd"))
        for name in table.columns[1:]:
            if self.rng.random() < 0.3:
                table[name] = labels[table[name]]
        return table

    def event(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """A random event, as a dictionary and as one mask per column."""
        asked, masks = {}, []
        for variable in self.model.domain_.variables:
            mask = np.ones(variable.size, dtype=bool)
            kind = self.rng.integers(4)
            if kind == 1:
                code = int(self.rng.integers(variable.size))
                asked[variable.name] = variable.values[code]
                mask[:] = np.arange(variable.size) == code
            elif kind == 2:
                mask = self.rng.random(variable.size) < 0.6
                asked[variable.name] = set(variable.values[mask].tolist())
            elif kind == 3 and variable.kind == "ordered":
                low, high = np.sort(self.rng.uniform(-4, 10, 2))
                asked[variable.name] = (low, high)
                mask = (variable.values >= low) & (variable.values <= high)
            masks.append(mask)
        return asked, masks

    def mass(self, masks: list[np.ndarray]) -> float:
        return float(self.joint[np.ix_(*masks)].sum())


drawn = st.integers(0, 2**32 - 1).map(Drawn)


@given(drawn)
def test_models_are_proper_and_have_mass_one(case: Drawn) -> None:
    validate(case.model.root_, case.model.domain_)
    assert abs(case.joint.sum() - 1.0) < 1e-9
    assert abs(case.model.probability({}) - 1.0) < 1e-9
    assert case.joint.min() > 0, "every row in the domain is possible"


@given(drawn)
def test_events_are_the_sums_of_their_points(case: Drawn) -> None:
    events = [case.event() for _ in range(6)]
    answers = case.model.probability([asked for asked, _ in events])
    np.testing.assert_allclose(answers, [case.mass(masks) for _, masks in events], atol=1e-10)


@given(drawn)
def test_rows_have_the_mass_of_their_cell(case: Drawn) -> None:
    codes = tuple(case.model.domain_.encode(case.table))
    np.testing.assert_allclose(
        case.model.score_samples(case.table), np.log(case.joint[codes]), atol=1e-9
    )


@given(drawn)
def test_an_event_and_its_opposite(case: Drawn) -> None:
    """P(A) = P(A and B) + P(A and not B), with B about a column that A leaves free."""
    asked, _ = case.event()
    variable = case.model.domain_[int(case.rng.integers(len(case.model.domain_)))]
    asked.pop(variable.name, None)
    inside = case.rng.random(variable.size) < 0.5
    both = {**asked, variable.name: set(variable.values[inside].tolist())}
    neither = {**asked, variable.name: set(variable.values[~inside].tolist())}
    total = case.model.probability(both) + case.model.probability(neither)
    assert total == pytest.approx(case.model.probability(asked), abs=1e-12)


@given(drawn)
def test_larger_events_are_more_probable(case: Drawn) -> None:
    asked, masks = case.event()
    wider = {
        variable.name: set(variable.values[mask | (case.rng.random(variable.size) < 0.4)].tolist())
        for variable, mask in zip(case.model.domain_.variables, masks, strict=True)
    }
    small, large = case.model.probability([asked, wider])
    assert small <= large + 1e-12
    assert small >= 0.0
    assert large <= 1.0 + 1e-12


@given(drawn)
def test_tables_sum_to_one_and_are_ratios(case: Drawn) -> None:
    asked, masks = case.event()
    axes = [
        int(v) for v in case.rng.permutation(len(masks))[: case.rng.integers(1, len(masks) + 1)]
    ]
    names = [case.model.domain_.names[v] for v in axes]
    given_event = {name: wanted for name, wanted in asked.items() if name not in names}
    for v in axes:
        masks[v] = np.ones(len(masks[v]), dtype=bool)
    if case.mass(masks) == 0.0:
        return
    table = case.model.conditional_table(names, given_event)
    assert table.sum() == pytest.approx(1.0, abs=1e-9)
    inside = np.ix_(*masks)
    cut = np.zeros_like(case.joint)
    cut[inside] = case.joint[inside]
    others = tuple(v for v in range(len(masks)) if v not in axes)
    kept = sorted(axes)
    expected = cut.sum(axis=others).transpose([kept.index(v) for v in axes]) / case.mass(masks)
    np.testing.assert_allclose(table, expected, atol=1e-10)


@given(drawn)
def test_conditionals_are_ratios(case: Drawn) -> None:
    (query, query_masks), (evidence, evidence_masks) = case.event(), case.event()
    whole = case.mass(evidence_masks)
    if whole == 0.0:
        return
    both = case.mass([a & b for a, b in zip(query_masks, evidence_masks, strict=True)])
    assert case.model.conditional(query, evidence) == pytest.approx(both / whole, abs=1e-10)


@settings(max_examples=25)
@given(drawn)
def test_saving_changes_nothing(tmp_path_factory: pytest.TempPathFactory, case: Drawn) -> None:
    path = tmp_path_factory.mktemp("learned") / "model.fspn"
    case.model.save(path)
    loaded = FSPN.load(path)
    np.testing.assert_array_equal(joint(loaded), case.joint)
    events = [case.event()[0] for _ in range(4)]
    np.testing.assert_array_equal(loaded.probability(events), case.model.probability(events))
    assert loaded.get_params() == case.model.get_params()
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first


@settings(max_examples=25)
@given(drawn)
def test_samples_lie_in_the_domain(case: Drawn) -> None:
    rows = case.model.sample(30, random_state=0)
    assert np.isfinite(case.model.score_samples(rows)).all()

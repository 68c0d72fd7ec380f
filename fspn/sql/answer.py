"""Probabilities of conditions: every conjunction as an event, then the signed sum."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from fspn.ask.parse import dict_events, in_cells
from fspn.schema.domain import Domain
from fspn.schema.events import CodeRange, CodeWeights, Constraint, Events
from fspn.schema.missing import NOT_MISSING
from fspn.schema.refusals import refuse_other_kinds
from fspn.schema.variable import Variable
from fspn.sql.condition import Condition, Term
from fspn.sql.sets import ALL_PRESENT, ColumnSet, Interval

LogProbability = Callable[[Events], np.ndarray]


def probabilities(
    domain: Domain, conditions: Sequence[Condition], log_probability: LogProbability
) -> np.ndarray:
    """The probability of each condition.

    Arguments:
        domain: The model's variables.
        conditions: What is asked.
        log_probability: The model: log-probabilities of a batch of events in cells.
    """
    terms = [_written_out(domain, condition) for condition in conditions]
    flat = [term for each in terms for term in each]
    if not flat:
        return np.zeros(len(conditions))
    signs = np.array([term.sign for term in flat])
    signed = signs * np.exp(log_probability(term_events(domain, flat)))
    ends = np.cumsum([0, *(len(each) for each in terms)])
    sums = [signed[first:last].sum() for first, last in pairwise(ends)]
    return np.clip(sums, 0.0, 1.0)


def term_events(domain: Domain, terms: Sequence[Term]) -> Events:
    """The conjunctions as a batch of events in cells; the signs are left to the caller."""
    named = {domain.index(column) for term in terms for column in term.sets}
    constraints = {v: _constraint(domain, v, terms) for v in sorted(named)}
    return Events(len(terms), constraints)


def _written_out(domain: Domain, condition: Condition) -> list[Term]:
    """Terms in which a column of reals has one interval: unions of them are summed."""
    found = []
    for term in condition.terms:
        choices = [
            [(name, part) for part in _parts(domain[domain.index(name)], each)]
            for name, each in term.sets.items()
        ]
        found += [Term(term.sign, dict(choice)) for choice in product(*choices)]
    return found


def _parts(variable: Variable, each: ColumnSet) -> list[ColumnSet]:
    if variable.is_coded:
        return [each]
    return [ColumnSet((interval,)) for interval in each.numbers]


def _constraint(domain: Domain, v: int, terms: Sequence[Term]) -> Constraint:
    """One variable's constraint in all terms: the weights of a set are those of its parts."""
    variable = domain[v]
    name = variable.name
    wanted = [_wanted(variable, term.sets.get(name)) for term in terms]
    flat = [part for parts in wanted for part in parts]
    if not variable.is_coded:
        return dict_events(domain, [{name: part} for part in flat]).constraints[v]
    weights = np.zeros((len(terms), variable.size))
    if flat:
        rows = np.repeat(np.arange(len(terms)), [len(parts) for parts in wanted])
        np.add.at(weights, rows, _weights(domain, v, flat))
    for row, term in enumerate(terms):
        if name not in term.sets:
            weights[row] = 1.0
    return CodeWeights(weights)


def _weights(domain: Domain, v: int, parts: Sequence[Any]) -> np.ndarray:
    """The weight of every cell in each of some entries of a question."""
    variable = domain[v]
    found = np.zeros((len(parts), variable.size))
    for row, part in enumerate(parts):
        events = in_cells(domain, dict_events(domain, [{variable.name: part}]))
        constraint = events.constraints.get(v)
        if isinstance(constraint, CodeRange | CodeWeights):
            found[row] = constraint.weights(variable.size)[0]
    return found


def _wanted(variable: Variable, each: ColumnSet | None) -> list[Any]:
    """The disjoint entries of a question that make up a set."""
    if each is None:
        return []
    parts: list[Any] = [None] if each.missing else []
    if each.present() == ALL_PRESENT:
        return [*parts, NOT_MISSING]
    refuse_other_kinds(variable, each.labels, each.numbers)
    if variable.has_labels or not variable.is_ordered:
        labels = frozenset(value for value in variable.values.tolist() if _has(each, value))
        return parts + ([labels] if labels else [])
    return parts + [_entry(interval) for interval in each.numbers]


def _has(each: ColumnSet, value: Hashable) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(i.contains(np.array(value)) for i in each.numbers)
    return (value in each.labels) != each.but


def _entry(interval: Interval) -> Any:
    """An interval as a question has it; pandas keeps open and closed ends apart."""
    low, high = interval.low, interval.high
    if low == high:
        return low
    if not (interval.open_low or interval.open_high):
        return (low, high)
    if interval.open_low and interval.open_high:
        return pd.Interval(low, high, closed="neither")
    return pd.Interval(low, high, closed="right" if interval.open_low else "left")

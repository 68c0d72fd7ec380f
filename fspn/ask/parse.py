"""From what a user writes to events: dictionaries, boxes of values, rows of a table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fspn.schema.domain import Domain, Variable
from fspn.schema.events import CodeRange, CodeWeights, Constraint, Events, RealPoint, RealRange

Question = Mapping[Hashable, Any]

PLAIN_TYPES = frozenset({int, str, bool, np.int64, np.int32, np.uint8, np.bool_})


def dict_events(domain: Domain, questions: Sequence[Question], points: bool = False) -> Events:
    """A batch of events from dictionaries ``{column: value, (low, high) or {values}}``.

    Arguments:
        domain: The model's variables.
        questions: One dictionary per event.
        points: Whether one value of a continuous column stands for its density (evidence), rather
            than for an event of probability 0.
    """
    named = {domain.index(name) for question in questions for name in question}
    constraints = {}
    for v in sorted(named):
        answers = [question.get(domain[v].name) for question in questions]
        constraints[v] = _constraint(domain[v], answers, points)
    return Events(len(questions), constraints)


def plain_pairs(domain: Domain, asked: Any, given: Any) -> np.ndarray | None:
    """Lists of questions and evidence about single values of discrete columns, as codes.

    The short way for the most common question; None where anything else is asked for. Per question
    two counts, then variables and codes, first of what is asked, then of what is given; a value
    outside the domain has the code -1. A list of one goes with every entry of the other.
    """
    if not (isinstance(asked, list) and isinstance(given, list) and asked and given):
        return None
    if len(asked) != len(given):
        if 1 not in (len(asked), len(given)):
            return None
        n = max(len(asked), len(given))
        asked, given = (side * n if len(side) == 1 else side for side in (asked, given))
    found: list[int] = []
    known = domain.plain
    for question, evidence in zip(asked, given, strict=True):
        if not (_is_mapping(question) and _is_mapping(evidence)):
            return None
        found += (len(question), len(evidence))
        try:
            plain = _add_plain(known, question, found) and _add_plain(known, evidence, found)
        except KeyError:
            for name in (*question, *evidence):
                domain.index(name)
            return None
        if not plain:
            return None
    return np.array(found, dtype=np.int64)


def _is_mapping(question: Any) -> bool:
    # The check of an abstract class takes as long as reading a question.
    return type(question) is dict or isinstance(question, Mapping)


def _add_plain(
    known: Mapping[Hashable, tuple[int, dict[Any, int]]], question: Question, found: list[int]
) -> bool:
    """Append variables and codes of single values; False where there is anything else."""
    for name, wanted in question.items():
        if type(wanted) not in PLAIN_TYPES:
            return False
        v, codes = known[name]
        found.append(v)
        found.append(codes.get(wanted, -1))
    return True


def _constraint(variable: Variable, wanted: list[Any], points: bool) -> Constraint:
    if variable.kind == "continuous":
        return _continuous(variable, wanted, points)
    if any(isinstance(each, set | frozenset) for each in wanted):
        return CodeWeights(np.array([_mask(variable, each) for each in wanted]))
    ranges = np.array([_code_range(variable, each) for each in wanted], dtype=np.int64)
    return CodeRange(ranges[:, 0], ranges[:, 1])


def _mask(variable: Variable, wanted: Any) -> np.ndarray:
    mask = np.zeros(variable.size)
    if isinstance(wanted, set | frozenset):
        codes = [variable.code_of(value) for value in wanted]
        mask[[code for code in codes if code >= 0]] = 1.0
        return mask
    low, high = _code_range(variable, wanted)
    mask[low : high + 1] = 1.0
    return mask


def _code_range(variable: Variable, wanted: Any) -> tuple[int, int]:
    """The codes of a value or an interval; (1, 0) where there are none."""
    if is_free(wanted):
        return 0, variable.size - 1
    if isinstance(wanted, tuple | pd.Interval):
        if variable.kind == "unordered":
            raise ValueError(
                f"column {variable.name!r} is unordered: a range of its values means nothing; "
                "ask for a value or a set of values"
            )
        low, high, open_low, open_high = read_interval(variable, wanted)
        first = np.searchsorted(variable.values, low, side="right" if open_low else "left")
        last = np.searchsorted(variable.values, high, side="left" if open_high else "right")
        return int(first), int(last) - 1
    _check_scalar(variable, wanted)
    code = variable.code_of(wanted)
    return (code, code) if code >= 0 else (1, 0)


def is_free(wanted: Any) -> bool:
    """Whether an entry leaves its column unconstrained: None or NaN."""
    if wanted is None or wanted is pd.NA:
        return True
    return isinstance(wanted, Real) and bool(np.isnan(float(wanted)))


def _check_scalar(variable: Variable, wanted: Any) -> None:
    if isinstance(wanted, list | np.ndarray | Mapping | slice):
        raise ValueError(
            f"column {variable.name!r}: {wanted!r} is neither a value nor an event; write a tuple "
            "(low, high) for a closed interval and a set {a, b} for some values"
        )


def read_interval(variable: Variable, wanted: Any) -> tuple[float, float, bool, bool]:
    """Lower and upper end, and whether each is open."""
    if isinstance(wanted, pd.Interval):
        return float(wanted.left), float(wanted.right), wanted.open_left, wanted.open_right
    if len(wanted) != 2:
        raise ValueError(f"column {variable.name!r}: an interval is (low, high), not {wanted!r}")
    try:
        low, high = (
            default if is_free(end) else float(end)
            for end, default in zip(wanted, (-np.inf, np.inf), strict=True)
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {variable.name!r}: the ends of an interval are numbers, not {wanted!r}"
        ) from error
    return low, high, False, False


def _continuous(variable: Variable, wanted: list[Any], points: bool) -> Constraint:
    if points and all(_is_point(each) for each in wanted):
        return RealPoint(np.array([float(each) for each in wanted]))
    if points and any(_is_point(each) for each in wanted):
        raise ValueError(
            f"column {variable.name!r}: one batch of evidence gives it as a value in some entries "
            "and as a range, or not at all, in others; ask in one batch for each"
        )
    ranges = np.array([_real_range(variable, each) for each in wanted])
    return RealRange(ranges[:, 0], ranges[:, 1])


def _is_point(wanted: Any) -> bool:
    return isinstance(wanted, Real) and not is_free(wanted)


def _real_range(variable: Variable, wanted: Any) -> tuple[float, float]:
    if is_free(wanted):
        return -np.inf, np.inf
    if isinstance(wanted, tuple | pd.Interval):
        low, high, _, _ = read_interval(variable, wanted)
        return low, high
    _check_scalar(variable, wanted)
    if not isinstance(wanted, Real | set | frozenset):
        raise ValueError(f"column {variable.name!r} is continuous: {wanted!r} is not a number")
    return 1.0, 0.0


def box_events(domain: Domain, lower: np.ndarray, upper: np.ndarray) -> Events:
    """A batch of closed boxes; NaN or an infinity leaves a side open."""
    constraints = {}
    for v, variable in enumerate(domain.variables):
        low = np.where(np.isnan(lower[:, v]), -np.inf, lower[:, v])
        high = np.where(np.isnan(upper[:, v]), np.inf, upper[:, v])
        if np.isneginf(low).all() and np.isposinf(high).all():
            continue
        constraints[v] = _box_side(variable, low, high)
    return Events(len(lower), constraints)


def _box_side(variable: Variable, low: np.ndarray, high: np.ndarray) -> Constraint:
    if variable.kind == "continuous":
        return RealRange(low, high)
    if variable.kind == "unordered":
        return _unordered_side(variable, low, high)
    first = np.searchsorted(variable.values, low, side="left")
    return CodeRange(first, np.searchsorted(variable.values, high, side="right") - 1)


def _unordered_side(variable: Variable, low: np.ndarray, high: np.ndarray) -> CodeRange:
    """Equal ends are a value; a true range of labels is an error."""
    free = np.isneginf(low) & np.isposinf(high)
    if not np.all(free | (low == high)):
        raise ValueError(
            f"column {variable.name!r} is unordered: a range of its values means nothing; "
            "ask for a value or a set of values with a dictionary"
        )
    codes = np.array([0 if f else variable.code_of(x) for f, x in zip(free, low, strict=True)])
    first = np.where(free, 0, np.where(codes >= 0, codes, 1))
    return CodeRange(first, np.where(free, variable.size - 1, np.where(codes >= 0, codes, 0)))


def row_events(domain: Domain, columns: Sequence[np.ndarray]) -> Events:
    """Rows as events, from encoded columns; a missing code leaves the variable free.

    Columns of reals must not have missing cells.
    """
    constraints: dict[int, Constraint] = {}
    for v, (variable, values) in enumerate(zip(domain.variables, columns, strict=True)):
        if variable.is_coded:
            outside, missing = values == -2, values == -1
            lower = np.where(missing, 0, np.where(outside, 1, values))
            upper = np.where(missing, variable.size - 1, np.where(outside, 0, values))
            constraints[v] = CodeRange(lower, upper)
        elif not np.isnan(values).all():
            constraints[v] = RealPoint(values)
    return Events(len(columns[0]), constraints)


def in_cells(domain: Domain, events: Events) -> Events:
    """The events as a model sees them: reals as (shares of) cells, where a variable has cells.

    The last step before an answer: two shares of one cell do not tell what the ranges behind them
    have in common.
    """
    cells = {v: _in_cells(domain[v], constraint) for v, constraint in events.constraints.items()}
    return Events(events.n, cells)


def _in_cells(variable: Variable, constraint: Constraint) -> Constraint:
    if variable.bins is None:
        return constraint
    if isinstance(constraint, RealRange):
        return CodeWeights(variable.bins.range_weights(constraint.lower, constraint.upper))
    if isinstance(constraint, RealPoint):
        codes, alive = variable.bins.codes(constraint.values), constraint.possible()
        return CodeRange(np.where(alive, codes, 1), np.where(alive, codes, 0))
    return constraint


def intersect_events(first: Events, second: Events) -> Events:
    """Both events at once, pairwise (a single event meets every one of the other batch)."""
    n = max(first.n, second.n)
    first, second = _stretch(first, n), _stretch(second, n)
    merged = {**first.constraints, **second.constraints}
    for v in set(first.constraints) & set(second.constraints):
        merged[v] = _both(first.constraints[v], second.constraints[v])
    return Events(n, merged)


def _stretch(events: Events, n: int) -> Events:
    if events.n == n:
        return events
    if events.n != 1:
        raise ValueError(f"{events.n} events of one side do not match {n} of the other")
    return events.take(np.zeros(n, dtype=np.int64))


def _both(first: Constraint, second: Constraint) -> Constraint:
    if isinstance(first, CodeRange) and isinstance(second, CodeRange):
        return CodeRange(
            np.maximum(first.lower, second.lower), np.minimum(first.upper, second.upper)
        )
    if isinstance(first, RealRange) and isinstance(second, RealRange):
        return RealRange(
            np.maximum(first.lower, second.lower), np.minimum(first.upper, second.upper)
        )
    if isinstance(first, RealRange) and isinstance(second, RealPoint):
        inside = (second.values >= first.lower) & (second.values <= first.upper)
        return RealPoint(np.where(inside, second.values, np.nan))
    if isinstance(first, CodeRange | CodeWeights) and isinstance(second, CodeRange | CodeWeights):
        size = max(_width(first), _width(second))
        return CodeWeights(first.weights(size) * second.weights(size))
    raise ValueError("the same column is asked for in two ways that cannot be combined")


def _width(constraint: CodeRange | CodeWeights) -> int:
    if isinstance(constraint, CodeWeights):
        return int(constraint.values.shape[1])
    return int(constraint.upper.max(initial=0)) + 1

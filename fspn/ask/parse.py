"""From what a user writes to events: dictionaries, boxes of values, rows of a table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fspn.ask.quick import VALUE_TYPES
from fspn.schema.cells import OUTSIDE, Cells
from fspn.schema.domain import Domain
from fspn.schema.events import (
    CodeRange,
    CodeWeights,
    Constraint,
    Events,
    LineRanges,
    RealPoint,
    RealRange,
)
from fspn.schema.missing import NOT_MISSING, State, is_missing
from fspn.schema.refusals import (
    refuse_text_of_booleans,
    warn_of_unknown_label,
)
from fspn.schema.variable import UNKNOWN, Variable

Question = Mapping[Hashable, Any]

FREE = State("FREE")
"""Stands in a batch for a column that a question does not name."""

NOWHERE = (np.inf, -np.inf)


def dict_events(domain: Domain, questions: Sequence[Question], points: bool = False) -> Events:
    """A batch of events from dictionaries ``{column: what is wanted of it}``.

    A column is given a value, a closed interval ``(low, high)``, a set of values, None (or NaN) for
    the missing state, or ``fspn.NOT_MISSING``. Values and intervals never include the missing
    state.

    Arguments:
        domain: The model's variables.
        questions: One dictionary per event.
        points: Whether a single value of a continuous column conditions on its density (evidence),
            rather than being an event of probability 0.
    """
    named = {domain.index(name) for question in questions for name in question}
    constraints = {}
    for v in sorted(named):
        answers = [question.get(domain[v].name, FREE) for question in questions]
        constraints[v] = _constraint(domain[v], answers, points)
    return Events(len(questions), constraints)


def _constraint(variable: Variable, wanted: list[Any], points: bool) -> Constraint:
    if not variable.is_coded:
        return _reals(variable, wanted, points)
    if variable.cells is not None:
        return _line_ranges(variable, variable.cells, wanted, points)
    if any(isinstance(each, set | frozenset) or each is NOT_MISSING for each in wanted):
        return CodeWeights(np.array([_mask(variable, each) for each in wanted]))
    ranges = np.array([_code_range(variable, each) for each in wanted], dtype=np.int64)
    return CodeRange(ranges[:, 0], ranges[:, 1])


# ------------------------------------------------------------------ one value per code


def _mask(variable: Variable, wanted: Any) -> np.ndarray:
    mask = np.zeros(variable.size)
    parts = wanted if isinstance(wanted, set | frozenset) else (wanted,)
    for part in parts:
        low, high = _code_range(variable, part)
        mask[low : high + 1] = 1.0
    return mask


def _code_range(variable: Variable, wanted: Any) -> tuple[int, int]:
    """The codes of a value or an interval; (1, 0) where there are none."""
    if type(wanted) in VALUE_TYPES and variable.kind != "datetime":
        known = variable.positions.get(wanted)
        if known is not None:
            return known, known
    if wanted is FREE:
        return 0, variable.size - 1
    if wanted is NOT_MISSING:
        return 0, variable.n_values - 1
    if is_missing(wanted):
        code = variable.missing_code
        return (code, code) if code != UNKNOWN else (1, 0)
    if _is_range(variable, wanted):
        low, high = read_interval(variable, wanted)
        line = variable.line_values
        first = np.searchsorted(line, low, side="left")
        return int(first), int(np.searchsorted(line, high, side="right")) - 1
    _check_scalar(variable, wanted)
    refuse_text_of_booleans(variable, wanted)
    warn_of_unknown_label(variable, wanted)
    code = variable.code_of(wanted)
    return (code, code) if code >= 0 else (1, 0)


def _is_range(variable: Variable, wanted: Any) -> bool:
    """Whether a range is meant: an interval may also be a label (of `pandas.cut`)."""
    if isinstance(wanted, pd.Interval):
        return not variable.has_labels or wanted not in variable.positions
    return isinstance(wanted, tuple)


def _check_scalar(variable: Variable, wanted: Any) -> None:
    if isinstance(wanted, list | np.ndarray | Mapping | slice):
        raise ValueError(
            f"column {variable.name!r}: {wanted!r} is neither a value nor an event; write a tuple "
            "(low, high) for a closed interval and a set {a, b} for some values"
        )


def read_interval(variable: Variable, wanted: Any) -> tuple[float, float]:
    """Both ends of an interval, closed: an open end is moved to the next number."""
    if not variable.is_ordered:
        raise ValueError(
            f"column {variable.name!r} is unordered, so a range of its values has no meaning: ask "
            "for a value or a set of values. Dates in text are ordered after fitting with "
            f"kinds={{{variable.name!r}: 'datetime'}}, other labels as an ordered pandas category"
        )
    if isinstance(wanted, pd.Interval):
        low, high = (_end(variable, end, wanted) for end in (wanted.left, wanted.right))
        return (
            float(np.nextafter(low, np.inf)) if wanted.open_left else low,
            float(np.nextafter(high, -np.inf)) if wanted.open_right else high,
        )
    if len(wanted) != 2:
        raise ValueError(f"column {variable.name!r}: an interval is (low, high), not {wanted!r}")
    low, high = wanted
    return (
        -np.inf if is_missing(low) else _end(variable, low, wanted),
        np.inf if is_missing(high) else _end(variable, high, wanted),
    )


def _end(variable: Variable, end: Any, wanted: Any) -> float:
    if isinstance(end, float) and np.isinf(end):
        return end
    if variable.has_labels and variable.place(end) != variable.place(end):
        raise ValueError(
            f"column {variable.name!r} has no category {end!r}, so {wanted!r} is no interval of it"
        )
    if variable.kind == "datetime" or variable.has_labels:
        return variable.place(end)
    try:
        return float(end)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {variable.name!r}: the ends of an interval are numbers, not {wanted!r}"
        ) from error


# ------------------------------------------------------------------ cells of more than one value


def _line_ranges(variable: Variable, cells: Cells, wanted: list[Any], points: bool) -> LineRanges:
    ranges = [_ranges(variable, each) for each in wanted]
    width = max(len(each) for each, _ in ranges)
    sides = np.array([[*each, *[NOWHERE] * (width - len(each))] for each, _ in ranges])
    missing = np.array([holds for _, holds in ranges])
    lower, upper = sides[:, :, 0], sides[:, :, 1]
    by_density = np.zeros(len(wanted), dtype=bool)
    if points and width == 1 and not cells.is_discrete:
        piece = cells.pieces(lower[:, 0])
        by_density = (lower == upper)[:, 0] & (piece >= 0) & ~cells.is_point[piece]
    return LineRanges(lower, upper, missing, by_density)


def _ranges(variable: Variable, wanted: Any) -> tuple[list[tuple[float, float]], bool]:
    """The ranges of the line that are meant, and whether the missing state is included."""
    if wanted is FREE or wanted is NOT_MISSING:
        return [(-np.inf, np.inf)], wanted is FREE
    if isinstance(wanted, set | frozenset):
        parts = [_ranges(variable, each) for each in wanted]
        sides = [side for ranges, _ in parts for side in ranges]
        return _merged(sides), any(holds for _, holds in parts)
    if is_missing(wanted):
        return [NOWHERE], True
    if _is_range(variable, wanted):
        return [read_interval(variable, wanted)], False
    _check_scalar(variable, wanted)
    refuse_text_of_booleans(variable, wanted)
    warn_of_unknown_label(variable, wanted)
    place = variable.place(wanted)
    return [(place, place) if place == place else NOWHERE], False


def _merged(ranges: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of ranges as disjoint ones, in order."""
    merged: list[tuple[float, float]] = []
    for low, high in sorted(side for side in ranges if side[0] <= side[1]):
        if merged and low <= merged[-1][1]:
            before = merged.pop()
            low, high = before[0], max(before[1], high)
        merged.append((low, high))
    return merged or [NOWHERE]


# ------------------------------------------------------------------ reals without cells


def _reals(variable: Variable, wanted: list[Any], points: bool) -> Constraint:
    are_points = [_is_point(variable, each) for each in wanted]
    if points and all(are_points):
        return RealPoint(np.array([variable.place(each) for each in wanted]))
    if points and any(are_points):
        raise ValueError(
            f"column {variable.name!r}: one batch of evidence gives it as a value in some entries "
            "and as a range, or not at all, in others; ask in one batch for each"
        )
    ranges = np.array([_real_range(variable, each) for each in wanted])
    return RealRange(ranges[:, 0], ranges[:, 1])


def _is_point(variable: Variable, wanted: Any) -> bool:
    several = isinstance(wanted, tuple | pd.Interval | set | frozenset | State)
    return not several and not is_missing(wanted)


def _real_range(variable: Variable, wanted: Any) -> tuple[float, float]:
    """The range of a column of reals; single values and the missing state have probability 0."""
    if wanted is FREE or wanted is NOT_MISSING:
        return -np.inf, np.inf
    if isinstance(wanted, tuple | pd.Interval):
        return read_interval(variable, wanted)
    _check_scalar(variable, wanted)
    if _is_point(variable, wanted):
        variable.place(wanted)
    return 1.0, 0.0


# ------------------------------------------------------------------ boxes and rows


def box_events(domain: Domain, lower: np.ndarray, upper: np.ndarray) -> Events:
    """A batch of closed boxes; NaN or an infinity leaves a side open.

    A column with both sides open is not constrained; any other range leaves out missing values.
    """
    constraints = {}
    for v, variable in enumerate(domain.variables):
        low = np.where(np.isnan(lower[:, v]), -np.inf, lower[:, v])
        high = np.where(np.isnan(upper[:, v]), np.inf, upper[:, v])
        free = np.isneginf(low) & np.isposinf(high)
        if not free.all():
            constraints[v] = _box_side(variable, low, high, free)
    return Events(len(lower), constraints)


def _box_side(
    variable: Variable, low: np.ndarray, high: np.ndarray, free: np.ndarray
) -> Constraint:
    if not variable.is_coded:
        return RealRange(low, high)
    if not variable.is_ordered:
        low, high = _label_sides(variable, low, high, free)
    if variable.cells is not None:
        return LineRanges(low[:, None], high[:, None], free, np.zeros(len(low), dtype=bool))
    line = variable.line_values
    first = np.searchsorted(line, low, side="left")
    last = np.searchsorted(line, high, side="right") - 1
    return CodeRange(np.where(free, 0, first), np.where(free, variable.size - 1, last))


def _label_sides(
    variable: Variable, low: np.ndarray, high: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of a box of labels: equal ends are a value; a proper range of labels is an error."""
    if not np.all(free | (low == high)):
        raise ValueError(
            f"column {variable.name!r} is unordered, so a range of its values has no meaning: ask "
            "for a value or a set of values with a dictionary"
        )
    places = np.array([0.0 if f else variable.place(x) for f, x in zip(free, low, strict=True)])
    unknown = np.isnan(places)
    first = np.where(free, -np.inf, np.where(unknown, np.inf, places))
    return first, np.where(free, np.inf, np.where(unknown, -np.inf, places))


def row_events(domain: Domain, columns: Sequence[np.ndarray]) -> Events:
    """Rows as events, from encoded columns; an unknown code leaves the variable free.

    Columns of reals must not have missing cells.
    """
    constraints: dict[int, Constraint] = {}
    for v, (variable, values) in enumerate(zip(domain.variables, columns, strict=True)):
        if variable.is_coded:
            outside, unknown = values == OUTSIDE, values == UNKNOWN
            lower = np.where(unknown, 0, np.where(outside, 1, values))
            upper = np.where(unknown, variable.size - 1, np.where(outside, 0, values))
            constraints[v] = CodeRange(lower, upper)
        elif not np.isnan(values).all():
            constraints[v] = RealPoint(values)
    return Events(len(columns[0]), constraints)


# ------------------------------------------------------------------ events as a model sees them


def in_cells(domain: Domain, events: Events) -> Events:
    """The events as a model sees them: ranges of a line as weights of cells.

    The last step before an answer, because the intersection of two ranges inside one cell cannot be
    recovered from their weights.
    """
    cells = {
        v: _in_cells(domain[v], constraint) if isinstance(constraint, LineRanges) else constraint
        for v, constraint in events.constraints.items()
    }
    return Events(events.n, cells)


def _in_cells(variable: Variable, ranges: LineRanges) -> Constraint:
    cells = variable.cells
    assert cells is not None
    if cells.is_in_order and ranges.lower.size == 1 and not ranges.by_density[0]:
        return _one_range(variable, cells, ranges)
    weights = np.zeros((len(ranges), variable.size))
    for lower, upper in zip(ranges.lower.T, ranges.upper.T, strict=True):
        weights[:, : cells.size] += np.where(
            (lower <= upper)[:, None], cells.range_weights(lower, upper), 0.0
        )
    for row in np.flatnonzero(ranges.by_density):
        filled = ranges.lower[row] <= ranges.upper[row]
        weights[row] = 0.0
        weights[row, cells.codes(ranges.lower[row, filled])] = 1.0
    if variable.missing is not None:
        weights[:, cells.size] = ranges.missing
    return CodeWeights(weights)


def _one_range(variable: Variable, cells: Cells, ranges: LineRanges) -> Constraint:
    """A single range without building arrays: the most common question."""
    found = cells.cells_in_range(float(ranges.lower[0, 0]), float(ranges.upper[0, 0]))
    assert found is not None
    first, last, first_share, last_share = found
    missing = bool(ranges.missing[0]) and variable.missing is not None
    if first_share == last_share == 1.0 and not missing:
        return CodeRange(np.array([first]), np.array([last]))
    weights = np.zeros((1, variable.size))
    if first <= last:
        weights[0, first : last + 1] = 1.0
        weights[0, first], weights[0, last] = first_share, last_share
    if missing:
        weights[0, cells.size] = 1.0
    return CodeWeights(weights)


def intersect_events(first: Events, second: Events) -> Events:
    """The intersection of both batches, pairwise (a single event goes with every other)."""
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
    if isinstance(first, LineRanges) and isinstance(second, LineRanges):
        return first.meet(second)
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

"""Questions by dictionary, straight to codes: the fast path of the most common questions.

A value, a range or a set of values of a few columns becomes a *constraint* each: a variable, its
first and last code, and where its weights stand. Whatever else a user may write (a pandas interval,
a date, a type that has to be converted, something that is wrong) is left to
:mod:`fspn.ask.parse`, which knows all forms and all errors; both give the same events.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from fspn.schema.cells import Cells
from fspn.schema.domain import Domain
from fspn.schema.missing import NOT_MISSING
from fspn.schema.scattered import ScatteredCells
from fspn.schema.variable import Variable

NUMBERS = frozenset({int, float})
VALUE_TYPES = frozenset({int, str, bool, np.int64, np.int32, np.uint8, np.bool_})

NO_WEIGHTS = -1
EMPTY = (1, 0, None)

Found = tuple[int, int, list[float] | None]
"""First and last code, and a weight for every code from 0 to the last one, or None for 1."""


class Columns:
    """What reads the columns of a model, by name.

    Arguments:
        domain: The model's variables.
    """

    def __init__(self, domain: Domain):
        self.readers = {
            variable.name: Reader(number, variable)
            for number, variable in enumerate(domain.variables)
            if variable.is_coded and variable.kind != "datetime"
        }
        self.codes = {
            variable.name: (number, variable.positions)
            for number, variable in enumerate(domain.variables)
            if variable.name in self.readers and variable.cells is None
        }


class QuestionList:
    """Questions as they are read, in the form of :mod:`fspn.engine.batch_kernels`.

    Arguments:
        columns: What reads the columns.
    """

    __slots__ = ("_codes", "_entries", "_readers", "_weighted", "_weights")

    def __init__(self, columns: Columns):
        self._readers, self._codes = columns.readers, columns.codes
        self._entries: list[float] = []
        self._weights: list[float] = [0.0]
        self._weighted: tuple[int, ...] = ()

    @property
    def listed(self) -> list[float]:
        """All that was read."""
        self._weights[0] = len(self._weights)
        return self._weights + self._entries

    def add(self, asked: Any, given: Any) -> bool:
        """Read one question; False where only the general path can read it."""
        if type(asked) is not dict or type(given) is not dict:
            return False
        self._entries += (len(given), len(asked))
        self._weighted = ()
        return (not given or self._add(given, True)) and self._add(asked, False)

    def _add(self, question: dict[Hashable, Any], points: bool) -> bool:
        entries, codes_of = self._entries, self._codes
        for name, wanted in question.items():
            if type(wanted) in VALUE_TYPES:
                known = codes_of.get(name)
                if known is not None:
                    code = known[1].get(wanted)
                    if code is not None:
                        entries.append(known[0])
                        entries.append(code)
                        continue
            if not self._add_range(name, wanted, points):
                return False
        return True

    def _add_range(self, name: Hashable, wanted: Any, points: bool) -> bool:
        reader = self._readers.get(name)
        if reader is None or (points and reader.is_point(wanted)):
            return False
        found = reader.read(wanted)
        if found is None:
            return False
        first, last, weights = found
        place = NO_WEIGHTS
        if weights is not None:
            if reader.number in self._weighted:
                # Weights of a cell cannot be intersected, ranges can.
                return False
            self._weighted += (reader.number,)
            place = len(self._weights)
            self._weights += weights
        self._entries += (-1 - reader.number, first, last, place)
        return True


class Reader:
    """Reads what is wanted of one column.

    Arguments:
        number: The column's number in the model.
        variable: The column.
    """

    def __init__(self, number: int, variable: Variable):
        self.number = number
        self._variable = variable
        self._cells = variable.cells
        self._codes = variable.positions
        self._has_numbers = variable.is_ordered and not variable.has_labels
        self._has_density = variable.cells is not None and not variable.cells.is_discrete

    def is_point(self, wanted: Any) -> bool:
        """Whether evidence may be a point of reals, which counts by its density."""
        if not self._has_density:
            return False
        if type(wanted) is not tuple or len(wanted) != 2:
            return True
        low, high = wanted
        return bool((-np.inf if low is None else low) == (np.inf if high is None else high))

    @cached_property
    def _line(self) -> list[float]:
        """The values of a column of numbers with one value per code."""
        return [float(value) for value in self._variable.line_values]

    def read(self, wanted: Any) -> Found | None:
        """The codes that are wanted; None where only the general path can tell."""
        kind = type(wanted)
        if kind is tuple:
            return self._range(wanted) if self._has_numbers else None
        if kind is set or kind is frozenset:
            return self._set(wanted)
        if wanted is None:
            code = self._variable.missing_code
            return (code, code, None) if code >= 0 else EMPTY
        if wanted is NOT_MISSING:
            return 0, self._variable.n_values - 1, None
        return self._value(wanted, kind)

    def _value(self, wanted: Any, kind: type) -> Found | None:
        if self._cells is None:
            if kind not in VALUE_TYPES and not (kind is float and self._has_numbers):
                return None
            code = self._codes.get(wanted)
            return None if code is None else (code, code, None)
        place = self._place(wanted, kind)
        return None if place is None else _in_cells(self._cells, place, place)

    def _place(self, wanted: Any, kind: type) -> float | None:
        """Where a value lies on the line; None where only the general path can tell."""
        if self._has_numbers:
            return float(wanted) if kind in NUMBERS and wanted == wanted else None
        return self._codes.get(wanted) if kind in VALUE_TYPES else None

    def _range(self, wanted: tuple[Any, ...]) -> Found | None:
        if len(wanted) != 2:
            return None
        low, high = wanted
        if low is None:
            low = -np.inf
        elif type(low) not in NUMBERS or low != low:
            return None
        if high is None:
            high = np.inf
        elif type(high) not in NUMBERS or high != high:
            return None
        if self._cells is None:
            first, last = bisect_left(self._line, float(low)), bisect_right(self._line, float(high))
            return first, last - 1, None
        return _in_cells(self._cells, float(low), float(high))

    def _set(self, wanted: Iterable[Any]) -> Found | None:
        found = [self._value(each, type(each)) for each in wanted]
        if not found:
            return EMPTY
        weights = [0.0] * self._variable.size
        for each in found:
            if each is None:
                return None
            first, last, shares = each
            for code in range(first, last + 1):
                weights[code] += 1.0 if shares is None else shares[code]
        # A value that is written twice (2 and 2.0 are one, labels may fall together) is one.
        if max(weights) > 1.0 + 1e-12:
            return None
        return _tightened(weights)


def _tightened(weights: list[float]) -> Found:
    """The codes with a positive weight, and no weights where all of them are 1."""
    codes = [code for code, weight in enumerate(weights) if weight > 0.0]
    if not codes:
        return EMPTY
    first, last = codes[0], codes[-1]
    if sum(weights) == last - first + 1:
        return first, last, None
    return first, last, weights[: last + 1]


def _in_cells(cells: Cells, low: float, high: float) -> Found | None:
    """The cells of a closed range, with their weights."""
    if isinstance(cells, ScatteredCells):
        return _tightened(cells.range_weights(np.array([low]), np.array([high]))[0].tolist())
    found = cells.cells_in_range(low, high)
    assert found is not None
    first, last, first_share, last_share = found
    if first_share == last_share == 1.0 or first > last:
        return first, last, None
    weights = [0.0] * first + [1.0] * (last - first + 1)
    weights[first], weights[last] = first_share, last_share
    return first, last, weights

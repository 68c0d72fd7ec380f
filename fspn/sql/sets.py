r"""Sets of a column's values: intervals of numbers, labels, and the missing state.

The values of a column lie in :math:`\mathbb{R} \uplus L \uplus \{\text{missing}\}`, where L are all
labels (texts and truth values). A set is a union of disjoint intervals, finitely many labels or all
but finitely many, and perhaps the missing state. It needs no knowledge of the column.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, order=True)
class Interval:
    """Numbers from ``low`` to ``high``; each end is open or closed.

    Arguments:
        low: The lower end; minus infinity for none.
        open_low: Whether ``low`` itself is left out.
        high: The upper end.
        open_high: Whether ``high`` itself is left out.
    """

    low: float = -inf
    open_low: bool = False
    high: float = inf
    open_high: bool = False

    @property
    def empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))

    def meet(self, other: Interval) -> Interval:
        """The numbers in both."""
        low, open_low = max((each.low, each.open_low) for each in (self, other))
        high, closed_high = min((each.high, not each.open_high) for each in (self, other))
        return Interval(low, open_low, high, not closed_high)

    def contains(self, numbers: np.ndarray) -> np.ndarray:
        """Which of the numbers lie inside."""
        above = numbers > self.low if self.open_low else numbers >= self.low
        below = numbers < self.high if self.open_high else numbers <= self.high
        inside: np.ndarray = above & below
        return inside


ALL_NUMBERS = (Interval(),)


@dataclass(frozen=True)
class ColumnSet:
    """Some of the values of a column.

    Arguments:
        numbers: Disjoint intervals in ascending order.
        labels: Labels that are in the set, or out of it where ``but`` is set.
        but: Whether the set holds all labels *but* those listed.
        missing: Whether the missing state is in the set.
    """

    numbers: tuple[Interval, ...] = ()
    labels: frozenset[Hashable] = frozenset()
    but: bool = False
    missing: bool = False

    @classmethod
    def of(cls, wanted: Any) -> ColumnSet:
        """The set that an entry of a question means: value, (low, high), {values} or None."""
        if wanted is None:
            return MISSING_ONLY
        if isinstance(wanted, tuple):
            low, high = (open_end if end is None else end for end, open_end in _ends(wanted))
            return cls((Interval(float(low), False, float(high), False),))
        if isinstance(wanted, pd.Interval):
            sides = wanted.open_left, wanted.open_right
            return cls((Interval(float(wanted.left), sides[0], float(wanted.right), sides[1]),))
        if isinstance(wanted, set | frozenset):
            return any_of(cls.of(value) for value in wanted)
        if isinstance(wanted, str | bool | np.bool_):
            return cls(labels=frozenset({_python_label(wanted)}))
        return cls((Interval(float(wanted), False, float(wanted), False),))

    @property
    def empty(self) -> bool:
        return not (self.numbers or self.labels or self.but or self.missing)

    def union(self, other: ColumnSet) -> ColumnSet:
        """Values in one set or the other."""
        return self.complement().meet(other.complement()).complement()

    def meet(self, other: ColumnSet) -> ColumnSet:
        """Values in both sets."""
        pairs = (a.meet(b) for a in self.numbers for b in other.numbers)
        return ColumnSet(
            tuple(sorted(part for part in pairs if not part.empty)),
            *_meet_labels(self, other),
            self.missing and other.missing,
        )

    def complement(self) -> ColumnSet:
        """Everything else, the missing state included."""
        return ColumnSet(_gaps(self.numbers), self.labels, not self.but, not self.missing)

    def present(self) -> ColumnSet:
        """The set without the missing state."""
        return ColumnSet(self.numbers, self.labels, self.but)

    def mask(self, column: pd.Series) -> np.ndarray:
        """Which rows of a column lie in the set."""
        absent = column.isna().to_numpy()
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            inside = np.zeros(len(column), dtype=bool)
            for interval in self.numbers:
                inside |= interval.contains(values)
        else:
            inside = column.isin(list(self.labels)).to_numpy() != self.but
        return np.where(absent, self.missing, inside)


ALL_PRESENT = ColumnSet(ALL_NUMBERS, but=True)
MISSING_ONLY = ColumnSet(missing=True)
NOTHING = ColumnSet()


def any_of(sets: Iterable[ColumnSet]) -> ColumnSet:
    """The union of several sets."""
    union = NOTHING
    for each in sets:
        union = union.union(each)
    return union


def sets_of(where: Mapping[Hashable, Any]) -> dict[Hashable, ColumnSet]:
    """The sets of a whole question, column by column."""
    return {name: ColumnSet.of(wanted) for name, wanted in where.items()}


def _ends(wanted: tuple[Any, Any]) -> list[tuple[Any, float]]:
    return [
        (None if isinstance(end, float) and isnan(end) else end, default)
        for end, default in zip(wanted, (-inf, inf), strict=True)
    ]


def _python_label(label: Any) -> Hashable:
    return bool(label) if isinstance(label, np.bool_) else label


def _meet_labels(first: ColumnSet, second: ColumnSet) -> tuple[frozenset[Hashable], bool]:
    if first.but and second.but:
        return first.labels | second.labels, True
    if first.but or second.but:
        some, out = (second, first) if first.but else (first, second)
        return some.labels - out.labels, False
    return first.labels & second.labels, False


def _gaps(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The numbers between disjoint ascending intervals."""
    gaps, low, open_low = [], -inf, False
    for each in intervals:
        gaps.append(Interval(low, open_low, each.low, not each.open_low))
        low, open_low = each.high, not each.open_high
    gaps.append(Interval(low, open_low, inf, False))
    return tuple(gap for gap in gaps if not gap.empty)

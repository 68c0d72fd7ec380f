r"""Events: one constraint per variable, many events at a time.

A batch of ``n`` events is a box each, :math:`E = \{X_1 \in R_1, ..., X_m \in R_m\}`. A variable
without a constraint is simply absent. The four forms of a constraint are

- :class:`CodeRange`: codes from ``lower`` to ``upper``, both included;
- :class:`CodeWeights`: a weight in [0, 1] per code (a value set, or the shares of a bin);
- :class:`RealRange`: an interval of reals (open and closed sides have the same probability);
- :class:`RealPoint`: a point, answered by the density.

Before they are answered, events on a column whose cells hold more than one value each are kept as
:class:`LineRanges`: ranges can be intersected, weights of cells cannot.

A *side* is the constraint that a region of a split node puts on one variable: :class:`Span`,
:class:`Codes` or :class:`Interval`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Span:
    """The codes ``lower .. upper``, both included."""

    lower: int
    upper: int

    def mask(self, size: int) -> np.ndarray:
        codes = np.arange(size)
        return (codes >= self.lower) & (codes <= self.upper)


@dataclass(frozen=True)
class Codes:
    """A set of codes."""

    codes: frozenset[int]

    def mask(self, size: int) -> np.ndarray:
        mask = np.zeros(size, dtype=bool)
        mask[sorted(self.codes)] = True
        return mask


@dataclass(frozen=True)
class Interval:
    r"""The reals in :math:`(\text{lower}, \text{upper}]`."""

    lower: float
    upper: float


Side = Span | Codes | Interval
Region = Mapping[int, Side]


def meet(first: Side, second: Side) -> Side:
    """What two sides of the same variable have in common."""
    if isinstance(first, Interval) and isinstance(second, Interval):
        return Interval(max(first.lower, second.lower), min(first.upper, second.upper))
    if isinstance(first, Span) and isinstance(second, Span):
        return Span(max(first.lower, second.lower), min(first.upper, second.upper))
    return Codes(_code_set(first) & _code_set(second))


def narrow(region: Region, inner: Region) -> Region:
    """A region inside a region: per variable, what both sides have in common."""
    common = {v: meet(region[v], side) for v, side in inner.items() if v in region}
    return {**region, **inner, **common}


def _code_set(side: Side) -> frozenset[int]:
    if isinstance(side, Interval):
        raise TypeError("a region of reals cannot meet a region of codes")
    return side.codes if isinstance(side, Codes) else frozenset(range(side.lower, side.upper + 1))


@dataclass(frozen=True)
class CodeRange:
    """Codes from ``lower`` to ``upper``, arrays of length n; empty where lower > upper."""

    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)

    def intersect(self, side: Side) -> CodeRange | CodeWeights:
        if isinstance(side, Span):
            return CodeRange(np.maximum(self.lower, side.lower), np.minimum(self.upper, side.upper))
        size = int(max(_highest(side), self.upper.max(initial=0))) + 1
        return CodeWeights(self.weights(size)).intersect(side)

    def take(self, rows: np.ndarray) -> CodeRange:
        return CodeRange(self.lower[rows], self.upper[rows])

    def possible(self) -> np.ndarray:
        return self.lower <= self.upper

    def weights(self, size: int) -> np.ndarray:
        codes = np.arange(size)
        inside = (codes >= self.lower[:, None]) & (codes <= self.upper[:, None])
        return inside.astype(np.float64)


@dataclass(frozen=True)
class CodeWeights:
    """A weight per event and code: how much of the code the event holds."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def intersect(self, side: Side) -> CodeWeights:
        if isinstance(side, Interval):
            raise TypeError("a region of reals cannot meet a coded variable")
        size = max(self.values.shape[1], _highest(side) + 1)
        return CodeWeights(self.weights(size) * side.mask(size))

    def take(self, rows: np.ndarray) -> CodeWeights:
        return CodeWeights(self.values[rows])

    def possible(self) -> np.ndarray:
        return np.asarray(self.values.any(axis=1))

    def weights(self, size: int) -> np.ndarray:
        if size == self.values.shape[1]:
            return self.values
        padded = np.zeros((len(self.values), size))
        width = min(size, self.values.shape[1])
        padded[:, :width] = self.values[:, :width]
        return padded


@dataclass(frozen=True)
class RealRange:
    """An interval of reals per event, arrays of length n."""

    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)

    def intersect(self, side: Side) -> RealRange:
        if not isinstance(side, Interval):
            raise TypeError("a region of codes cannot meet a continuous variable")
        return RealRange(np.maximum(self.lower, side.lower), np.minimum(self.upper, side.upper))

    def take(self, rows: np.ndarray) -> RealRange:
        return RealRange(self.lower[rows], self.upper[rows])

    def possible(self) -> np.ndarray:
        return self.lower < self.upper


@dataclass(frozen=True)
class RealPoint:
    """A point per event; NaN where a region has ruled it out."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def intersect(self, side: Side) -> RealPoint:
        if not isinstance(side, Interval):
            raise TypeError("a region of codes cannot meet a continuous variable")
        inside = (self.values > side.lower) & (self.values <= side.upper)
        return RealPoint(np.where(inside, self.values, np.nan))

    def take(self, rows: np.ndarray) -> RealPoint:
        return RealPoint(self.values[rows])

    def possible(self) -> np.ndarray:
        return ~np.isnan(self.values)


@dataclass(frozen=True)
class LineRanges:
    """A union of disjoint closed ranges of a column's line per event.

    Arguments:
        lower: The lower ends, shape (n, k); a range is empty where they exceed the upper ones.
        upper: The upper ends.
        missing: Whether each event holds the missing state, too.
        by_density: Which events are a point that counts by its density, where it has no mass.
    """

    lower: np.ndarray
    upper: np.ndarray
    missing: np.ndarray
    by_density: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, rows: np.ndarray) -> LineRanges:
        return LineRanges(
            self.lower[rows], self.upper[rows], self.missing[rows], self.by_density[rows]
        )

    def meet(self, other: LineRanges) -> LineRanges:
        """What both events of every pair hold."""
        lower = np.maximum(self.lower[:, :, None], other.lower[:, None, :])
        upper = np.minimum(self.upper[:, :, None], other.upper[:, None, :])
        n = len(self)
        return LineRanges(
            lower.reshape(n, -1),
            upper.reshape(n, -1),
            self.missing & other.missing,
            self.by_density | other.by_density,
        )

    def intersect(self, side: Side) -> CodeRange:
        raise TypeError("ranges of a line must become cells before a model answers them")

    def possible(self) -> np.ndarray:
        return np.asarray((self.lower <= self.upper).any(axis=1) | self.missing)


Constraint = CodeRange | CodeWeights | RealRange | RealPoint | LineRanges


@dataclass(frozen=True)
class Events:
    """A batch of events.

    Arguments:
        n: How many events.
        constraints: The constrained variables, each with its constraint for all n events.
    """

    n: int
    constraints: Mapping[int, Constraint]

    def restrict(self, scope: frozenset[int] | set[int]) -> Events:
        """The constraints on the variables of ``scope``."""
        return Events(self.n, {v: c for v, c in self.constraints.items() if v in scope})

    def intersect(self, region: Region) -> Events:
        """The events cut down to a region."""
        merged = dict(self.constraints)
        for variable, side in region.items():
            known = merged.get(variable)
            merged[variable] = _from_side(side, self.n) if known is None else known.intersect(side)
        return Events(self.n, merged)

    def take(self, rows: np.ndarray) -> Events:
        """Some of the events."""
        return Events(len(rows), {v: c.take(rows) for v, c in self.constraints.items()})

    def possible(self, variables: Region) -> np.ndarray:
        """Which events are not empty on the given variables."""
        alive = np.ones(self.n, dtype=bool)
        for variable in variables:
            alive &= self.constraints[variable].possible()
        return alive

    def with_constraint(self, variable: int, constraint: Constraint) -> Events:
        """The events with one variable's constraint replaced."""
        return Events(self.n, {**self.constraints, variable: constraint})


def _from_side(side: Side, n: int) -> Constraint:
    if isinstance(side, Span):
        return CodeRange(np.full(n, side.lower), np.full(n, side.upper))
    if isinstance(side, Codes):
        mask = side.mask(max(side.codes, default=0) + 1)
        return CodeWeights(np.tile(mask.astype(np.float64), (n, 1)))
    return RealRange(np.full(n, side.lower), np.full(n, side.upper))


def _highest(side: Side) -> int:
    if isinstance(side, Interval):
        raise TypeError("a region of reals cannot meet a coded variable")
    return max(side.codes, default=0) if isinstance(side, Codes) else side.upper

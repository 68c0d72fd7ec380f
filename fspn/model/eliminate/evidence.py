"""What a batch of events says about one coded variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fspn.model.leaves.base import log_of
from fspn.schema.events import CodeRange, CodeWeights, Constraint, Events, RealPoint


@dataclass(frozen=True)
class Evidence:
    """One code per event, or a window of codes with weights.

    Arguments:
        codes: The code of every event, shape (n,), where each has exactly one.
        start: The first code of the window.
        stop: One past its last code.
        logs: The logarithm of the events' weights, of their codes, shape (n,), or in the window,
            shape (n or 1, codes); None where they are all 1.
    """

    codes: np.ndarray | None
    start: int
    stop: int
    logs: np.ndarray | None = None

    @property
    def state(self) -> str:
        """What is known, as far as the shapes of factors depend on it."""
        if self.codes is not None:
            return "fixed" if self.logs is None else "fixed and weighted"
        return "cut" if self.logs is None else "weighted"

    @property
    def window(self) -> slice:
        return slice(self.start, self.stop)


def read_evidence(constraint: Constraint | None, size: int, windowed: bool = False) -> Evidence:
    """Codes, or the smallest window that holds all that the events allow.

    Arguments:
        constraint: What the events say; None = nothing.
        size: The number of codes.
        windowed: Whether single codes are wanted as a window too.
    """
    if constraint is None:
        return Evidence(None, 0, size)
    if isinstance(constraint, CodeRange) and not windowed:
        return _read_range(constraint, size)
    if isinstance(constraint, CodeRange | CodeWeights):
        weights = constraint.weights(size)
        single = not windowed and bool((np.count_nonzero(weights, axis=1) == 1).all())
        return _read_codes(weights) if single else _read_weights(weights)
    raise TypeError("a range of reals was asked of a coded variable")


def _read_range(constraint: CodeRange, size: int) -> Evidence:
    lower, upper = constraint.lower, constraint.upper
    if len(lower) == 1:
        first, last = max(int(lower[0]), 0), min(int(upper[0]), size - 1)
        if first < last:
            return Evidence(None, first, last + 1)
        if first == last:
            return Evidence(np.array([first]), first, first + 1)
        return Evidence(None, 0, 1, np.full((1, 1), -np.inf))
    lower, upper = np.maximum(lower, 0), np.minimum(upper, size - 1)
    if np.array_equal(lower, upper):
        return Evidence(lower.astype(np.int64), 0, size)
    if (lower == lower[0]).all() and (upper == upper[0]).all() and lower[0] < upper[0]:
        return Evidence(None, int(lower[0]), int(upper[0]) + 1)
    return _read_weights(CodeRange(lower, upper).weights(size))


def _read_weights(weights: np.ndarray) -> Evidence:
    some = np.flatnonzero(weights.any(axis=0))
    if len(some) == 0:
        return Evidence(None, 0, 1, np.full((len(weights), 1), -np.inf))
    start, stop = int(some[0]), int(some[-1]) + 1
    inside = weights[:, start:stop]
    return Evidence(None, start, stop, None if (inside == 1.0).all() else log_of(inside))


def _read_codes(weights: np.ndarray) -> Evidence:
    codes = weights.argmax(axis=1)
    own = weights[np.arange(len(weights)), codes]
    return Evidence(codes, 0, weights.shape[1], None if (own == 1.0).all() else log_of(own))


def is_single(constraint: Constraint) -> np.ndarray:
    """Which events fix the variable to one code (or one real)."""
    if isinstance(constraint, CodeRange):
        return constraint.lower == constraint.upper
    if isinstance(constraint, CodeWeights):
        return np.count_nonzero(constraint.values, axis=1) == 1
    return np.full(len(constraint), isinstance(constraint, RealPoint))


def single_values(constraint: Constraint, size: int) -> np.ndarray:
    """The one code (or real) of every event that fixes the variable."""
    if isinstance(constraint, RealPoint):
        return constraint.values
    codes = read_evidence(constraint, size).codes
    assert codes is not None
    return codes


def event_patterns(events: Events) -> list[np.ndarray]:
    """The events in groups that fix the same variables."""
    single = [is_single(constraint) for constraint in events.constraints.values()]
    if events.n == 1 or not single:
        return [np.arange(events.n)]
    return patterns(np.column_stack(single))


def patterns(marks: np.ndarray) -> list[np.ndarray]:
    """The positions of equal rows, group by group."""
    if len(marks) == 0:
        return []
    _, which = np.unique(marks, axis=0, return_inverse=True)
    which = which.ravel()
    return [np.flatnonzero(which == place) for place in range(int(which.max()) + 1)]

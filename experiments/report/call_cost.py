"""The fixed cost of a call: times that are little more than it say nothing about growth."""

from __future__ import annotations

import numpy as np

TIMES_THE_CALL = 2.0
"""Times count from twice the fixed cost on: below, most of them is the call itself."""


def fixed_cost(milliseconds: np.ndarray) -> float:
    """The smallest time of a series: what a call takes whatever is asked; NaN without times."""
    known = milliseconds[np.isfinite(milliseconds)]
    return float(known.min()) if len(known) else float("nan")


def beyond_the_call(milliseconds: np.ndarray) -> np.ndarray:
    """Which times of a series are mostly work rather than the call.

    >>> beyond_the_call(np.array([1.0, 1.5, 2.0, 9.0])).tolist()
    [False, False, True, True]
    """
    return np.isfinite(milliseconds) & (milliseconds >= TIMES_THE_CALL * fixed_cost(milliseconds))

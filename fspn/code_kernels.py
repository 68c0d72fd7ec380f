"""From values to codes: closed boxes of values as ranges of places in sorted domains."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np
from numba import njit

from fspn.kernels import kernel


@njit(cache=True, nogil=True)
def codes_of_boxes(lower, upper, values, starts, runs):
    """The first and last codes of boxes of values; NaN leaves a side open.

    ``values`` holds the domains one after the other, ``starts`` where each begins, ``runs`` whether
    it is a run of consecutive integers.
    """
    low = np.empty(lower.shape, dtype=np.int64)
    high = np.empty(lower.shape, dtype=np.int64)
    for q in range(lower.shape[0]):
        codes_of_box(lower, upper, q, values, starts, runs, low[q], high[q])
    return low, high


@kernel(forceinline=True)
def codes_of_box(lower, upper, q, values, starts, runs, low, high):
    """The same for box q; a side without any code has ``low > high``."""
    for v in range(lower.shape[1]):
        start, end = starts[v], starts[v + 1]
        a, b = lower[q, v], upper[q, v]
        if runs[v]:
            # Without branches: which columns are free changes from box to box.
            last, below, above = float(end - start - 1), a - values[start], b - values[start]
            below = below if below > 0.0 else 0.0
            below = below if below < last else last
            above = above if above < last else last
            above = above if above > 0.0 else 0.0
            low[v] = np.int64(below) + (values[start + np.int64(below)] < a)
            high[v] = np.int64(above) - (values[start + np.int64(above)] > b)
        else:
            low[v] = 0 if np.isnan(a) else _first_not_below(values, start, end, a) - start
            high[v] = (end if np.isnan(b) else _first_above(values, start, end, b)) - start - 1


@kernel()
def _first_not_below(values, first, last, x):
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < x:
            first = middle + 1
        else:
            last = middle
    return first


@kernel()
def _first_above(values, first, last, x):
    while first < last:
        middle = (first + last) >> 1
        if values[middle] <= x:
            first = middle + 1
        else:
            last = middle
    return first

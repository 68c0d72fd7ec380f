"""From values to codes: closed boxes of values as ranges of positions in sorted domains."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.engine.kernels import kernel


@kernel(forceinline=True)
def codes_of_box(lower, upper, q, values, starts, edges, others, low, high):
    """The first and last codes of box q of values; a side without any code has ``low > high``.

    NaN leaves a side open. ``values`` holds the domains one after the other, ``starts`` where each
    begins, ``edges`` the first values in one row and the sizes in the other, ``others`` the columns
    that are no runs of consecutive integers.
    """
    for v in range(lower.shape[1]):
        # Of a run the codes follow from the values, without branches and so in vector registers.
        # Comparisons with NaN are false; codes fit into 32 bits, which is faster to convert to.
        first, size = edges[0, v], edges[1, v]
        below, above = np.ceil(lower[q, v]) - first, np.floor(upper[q, v]) - first
        below = below if below > 0.0 else 0.0
        below = below if below < size else size
        above = above if above < size - 1.0 else size - 1.0
        above = above if above > -1.0 else -1.0
        low[v], high[v] = np.int32(below), np.int32(above)
    for i in range(len(others)):
        v = others[i]
        start, end, a, b = starts[v], starts[v + 1], lower[q, v], upper[q, v]
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

r"""Back-off tables in few numbers: what a file keeps, and how a learner makes that little.

The filled cells of a level are numbered by :math:`u d + x`, with u the key of the row and d the
number of codes of the child; in order, so the gaps between them are small. A level with fewer
parents, counted on the same rows, follows from the one above it, and so does the base:

.. math:: n_{x u_{\ell-1}} = \sum_{u_\ell \supset u_{\ell-1}} n_{x u_\ell}, \qquad
          P_0(x) \propto t_x \frac{n_x + s}{n + s d}

with s its pseudo-count and t the tilt. Nothing is left out unless it comes back to the bit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fspn.model.cpt.backoff import BackoffTable, CountLevel
from fspn.model.cpt.graded import GradedLaw
from fspn.model.cpt.rows import shrink
from fspn.model.leaves.base import State

MOST_CELLS = 2**62
"""Cells of a table that an int64 can number."""
BASE_COUNT = 0.1
"""The pseudo-count of a base row, where the table's smoothing was not given."""
CLOSE = 1e-9
TILT_BITS = 14
"""Significant bits of a tilt: one part in 16,384, far within what marginals are fitted to."""


def cells_state(level: CountLevel, size: int) -> State | None:
    """The arrays of a level as numbered cells; None where they would not come back the same.

    Arguments:
        level: The level.
        size: The number of codes of the child.
    """
    if math.prod(level.sizes) * size > MOST_CELLS:
        return None
    state: State = {
        "sizes": np.array(level.sizes, dtype=np.int32),
        "cells": _cells(level, size),
        "counts": level.counts,
        "alpha": np.array([level.alpha]),
        **({} if level.tilt is None else {"tilt": level.tilt}),
    }
    return state if _same(level_of_cells(state, size), level) else None


def level_of_cells(state: State, size: int) -> CountLevel:
    """The level that :func:`cells_state` describes."""
    sizes = tuple(int(each) for each in state["sizes"])
    keys, codes = np.divmod(state["cells"].astype(np.int64), size)
    alpha = float(state["alpha"][0])
    level = CountLevel.from_cells(keys, codes, state["counts"], sizes, alpha)
    return replace(level, tilt=state.get("tilt"))


def with_fewer_parents(level: CountLevel, size: int, alpha: float) -> CountLevel:
    """The level without the last parent, counted on the same rows; the tilt is the same."""
    keys, codes = np.divmod(_cells(level, size), size)
    cells, place = np.unique(keys // level.sizes[-1] * size + codes, return_inverse=True)
    counts = np.bincount(place, level.counts, len(cells)).astype(np.int64)
    keys, codes = np.divmod(cells, size)
    found = CountLevel.from_cells(keys, codes, shrink(counts), level.sizes[:-1], alpha)
    return replace(found, tilt=level.tilt)


def follows_from(level: CountLevel, above: CountLevel, size: int) -> bool:
    """Whether a level is, to the bit, the one above it without its last parent."""
    if above.sizes[:-1] != level.sizes or above.counts.dtype.kind not in "iu":
        return False
    if math.prod(above.sizes) * size > MOST_CELLS:
        return False
    return _same(with_fewer_parents(above, size, level.alpha), level)


def base_of_counts(level: CountLevel, size: int, pseudo_count: float) -> np.ndarray:
    """The base row that the counts of a level and its tilt come to."""
    counts = np.bincount(level.codes, level.counts, size)
    base = (counts + pseudo_count) / (counts.sum() + pseudo_count * size)
    if level.tilt is None:
        return np.asarray(base)
    base = base * level.tilt
    return np.asarray(base / base.sum())


def pseudo_count_of(cpt: BackoffTable) -> float | None:
    """The pseudo-count with which the base is, to the bit, that of the counts; None if none is."""
    top = cpt.levels[-1]
    if not isinstance(top, CountLevel):
        return None
    for tried in (BASE_COUNT, top.alpha):
        if np.array_equal(base_of_counts(top, len(cpt.base), tried), cpt.base):
            return tried
    return None


def settled(cpt: BackoffTable) -> BackoffTable:
    """The table with tilts of few bits, and a base that follows from its counts where it is close.

    Tilts in many steps leave a base that differs by rounding from that of all steps at once.
    """
    levels = tuple(
        replace(level, tilt=few_bits(level.tilt))
        if isinstance(level, CountLevel | GradedLaw) and level.tilt is not None
        else level
        for level in cpt.levels
    )
    before, top = cpt.levels[-1], levels[-1]
    if isinstance(before, CountLevel) and isinstance(top, CountLevel):
        for tried in (BASE_COUNT, top.alpha):
            known = base_of_counts(before, len(cpt.base), tried)
            if np.allclose(known, cpt.base, rtol=CLOSE, atol=0.0):
                return BackoffTable(base_of_counts(top, len(cpt.base), tried), levels)
    return BackoffTable(cpt.base, levels)


def few_bits(factors: np.ndarray) -> np.ndarray:
    """Positive numbers rounded to :data:`TILT_BITS` significant bits, as float32.

    Those beyond its range become its smallest normal or its largest number: a factor stays positive
    and finite.
    """
    mantissa, exponent = np.frexp(factors)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, TILT_BITS)), exponent - TILT_BITS)
    ends = np.finfo(np.float32)
    return np.clip(rounded, float(ends.tiny), float(ends.max)).astype(np.float32)


def _same(one: CountLevel, other: CountLevel) -> bool:
    """Whether two levels have the same arrays, types included."""
    mine, its = one.state(), other.state()
    return list(mine) == list(its) and all(_equal(mine[key], its[key]) for key in mine)


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other)


def _cells(level: CountLevel, size: int) -> np.ndarray:
    start = level.start.astype(np.int64)
    keys = np.repeat(level.keys.astype(np.int64), start[1:] - start[:-1])
    return np.asarray(keys * size + level.codes)

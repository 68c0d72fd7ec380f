"""From cells back to what a user reads: the one place that knows what lies inside a cell.

A code is a value, the missing state, or a cell with a distribution inside. Where a single value is
wanted the median within the cell is returned, where samples are wanted a draw. Evidence on the
column restricts that distribution, and a value that was given is returned unchanged.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fspn.schema.cells import Cells
from fspn.schema.events import Constraint, LineRanges
from fspn.schema.scattered import ScatteredCells
from fspn.schema.variable import Variable


def typical_values(
    variable: Variable, drawn: np.ndarray, constraint: Constraint | None
) -> pd.Series:
    """The values that stand for codes (or reals), one per event; NaN for the missing state."""
    return _values(variable, drawn, constraint, np.full(len(drawn), 0.5))


def drawn_values(
    variable: Variable,
    drawn: np.ndarray,
    constraint: Constraint | None,
    rng: np.random.Generator,
) -> pd.Series:
    """Values drawn from within cells, all for a single event."""
    rows = np.zeros(len(drawn), dtype=np.int64)
    of_rows = constraint.take(rows) if isinstance(constraint, LineRanges) else None
    return _values(variable, drawn, of_rows, rng.random(len(drawn)))


def _values(
    variable: Variable, drawn: np.ndarray, constraint: Constraint | None, shares: np.ndarray
) -> pd.Series:
    if not variable.is_coded:
        return variable.restore(np.asarray(drawn, dtype=np.float64))
    codes = drawn.astype(np.int64)
    line = np.full(len(codes), np.nan)
    known = np.flatnonzero(codes != variable.missing_code)
    if variable.cells is None:
        line[known] = variable.line_values[codes[known]]
    else:
        lower, upper = allowed_ranges(constraint, len(codes))
        line[known] = inside_cells(
            variable.cells, codes[known], shares[known], lower[known], upper[known]
        )
    return variable.restore(line)


def allowed_ranges(constraint: Constraint | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The ranges of a column's line that events allow, shape (n, ranges)."""
    if isinstance(constraint, LineRanges):
        return constraint.lower, constraint.upper
    return np.full((n, 1), -np.inf), np.full((n, 1), np.inf)


def inside_cells(
    cells: Cells, codes: np.ndarray, shares: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Quantiles within cells, each restricted to ranges of the line.

    Arguments:
        cells: The cells of the column.
        codes: A cell per question.
        shares: The levels of the quantiles, in [0, 1].
        lower: The lower ends of the ranges of each question, shape (n, ranges).
        upper: Their upper ends; a range is empty where the lower end exceeds it.
    """
    if isinstance(cells, ScatteredCells):
        asked = zip(codes.tolist(), shares.tolist(), lower, upper, strict=True)
        return np.array([cells.inside(*each) for each in asked], dtype=np.float64)
    start, end = cells.starts[codes][:, None], cells.ends[codes][:, None]
    low = np.clip(_rows(cells, lower, before=True), start, end)
    high = np.clip(_rows(cells, upper, before=False), start, end)
    width = np.where(lower <= upper, np.maximum(high - low, 0.0), 0.0)
    reached = np.cumsum(width, axis=1)
    # Just below the share: a value is reached by the mass up to and including it.
    wanted = shares * reached[:, -1] * (1 - 1e-12)
    place = np.minimum((reached <= wanted[:, None]).sum(axis=1), width.shape[1] - 1)
    rows = np.arange(len(codes))
    found = cells.at_rows(codes, low[rows, place] + wanted - (reached - width)[rows, place])
    # A single point of a stretch has no mass of its own: it was given.
    given = lower[rows, (lower <= upper).argmax(axis=1)]
    return np.where(reached[:, -1] > 0, found, given)


def _rows(cells: Cells, ends: np.ndarray, before: bool) -> np.ndarray:
    return cells.rows_up_to(ends.ravel(), before).reshape(ends.shape)

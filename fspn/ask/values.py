"""From cells back to what a user reads: the one place that knows what lies inside a cell.

A discrete column has one value per cell. Of a cell of reals the median of its law is returned
where a single value is wanted, and a draw from the law where samples are; evidence that cuts a cell
restricts the law, and a value that was given is handed back as it is.
"""

from __future__ import annotations

import numpy as np

from fspn.ask.laws import BinnedLaw, ColumnLaw, DiscreteLaw
from fspn.model.leaves import reals
from fspn.schema.domain import Bins, Variable
from fspn.schema.events import Constraint, RealPoint, RealRange


def typical_values(
    variable: Variable, codes: np.ndarray, constraint: Constraint | None
) -> np.ndarray:
    """The values that stand for cells (or reals), one per event."""
    if variable.bins is None:
        return codes if variable.kind == "continuous" else variable.values[codes.astype(np.int64)]
    which = np.arange(len(codes))
    return _inside(variable.bins, codes, constraint, which, np.full(len(codes), 0.5))


def drawn_values(
    variable: Variable,
    codes: np.ndarray,
    constraint: Constraint | None,
    which: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Values drawn from inside of cells, for rows of the events ``which``."""
    if variable.bins is None:
        return typical_values(variable, codes, constraint)
    return _inside(variable.bins, codes, constraint, which, rng.random(len(codes)))


def law_of_cells(
    variable: Variable, constraint: Constraint | None, shares: np.ndarray
) -> ColumnLaw:
    """The law of an ordered or continuous column from the probabilities of its cells."""
    if variable.bins is None:
        return DiscreteLaw(variable.values, shares)
    lower, upper = (np.tile(side, (len(shares), 1)) for side in _sides(variable.bins))
    if isinstance(constraint, RealPoint):
        lower = upper = np.tile(constraint.values[:, None], (1, variable.bins.size))
    if isinstance(constraint, RealRange):
        lower = np.maximum(lower, constraint.lower[:, None])
        upper = np.minimum(upper, constraint.upper[:, None])
    return BinnedLaw(variable.bins.shape, lower, upper, shares)


def _sides(bins: Bins) -> tuple[np.ndarray, np.ndarray]:
    return bins.borders[:-1], bins.borders[1:]


def _inside(
    bins: Bins,
    codes: np.ndarray,
    constraint: Constraint | None,
    which: np.ndarray,
    shares: np.ndarray,
) -> np.ndarray:
    """Quantiles of the law in each cell, cut to the evidence."""
    if isinstance(constraint, RealPoint):
        return constraint.values[which]
    cells = codes.astype(np.int64)
    lower, upper = bins.borders[cells], bins.borders[cells + 1]
    if isinstance(constraint, RealRange):
        lower = np.maximum(lower, constraint.lower[which])
        upper = np.minimum(upper, constraint.upper[which])
    return reals.quantiles(bins.shape, lower, upper, shares)


def cell_name(variable: Variable, code: int) -> str:
    """A cell in words."""
    if variable.bins is None:
        return str(variable.values[code])
    low, high = variable.bins.borders[code : code + 2]
    return f"({low:.4g}, {high:.4g}]"

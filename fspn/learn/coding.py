"""How a table is coded for learning: which columns get cells, and how many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from fspn.schema.binning import Counted, discrete_cells, label_cells, real_cells
from fspn.schema.domain import Domain
from fspn.schema.infer import MAX_VALUES
from fspn.schema.variable import Variable

MAX_BINS = 64


def code_domain(
    domain: Domain, table: pd.DataFrame, max_bins: int | None = None, all_cells: bool = True
) -> Domain:
    """The domain with cells for reals and for columns of many values.

    Arguments:
        domain: The variables, one code per value where they are discrete.
        table: The training rows.
        max_bins: The cells of a column, at most; one of no more values has a cell per value. None
            = ``MAX_VALUES``, and ``MAX_BINS`` for a column of more.
        all_cells: Whether every column gets cells; else only reals with missing values or atoms,
            which no density can hold.
    """
    most = MAX_VALUES if max_bins is None else max_bins
    n_cells = int(np.clip(round(len(table) ** (1 / 3)), 2, min(most, MAX_BINS)))
    return Domain(
        tuple(
            _coded(v, table[v.name], n_cells, most) if all_cells or _needs_cells(v) else v
            for v in domain.variables
        )
    )


def _needs_cells(variable: Variable) -> bool:
    is_real = variable.kind == "continuous" and variable.missing is not None
    return is_real or variable.kind == "mixed"


def _coded(variable: Variable, column: pd.Series, n_cells: int, max_values: int) -> Variable:
    if variable.kind not in ("continuous", "mixed") and len(variable.values) <= max_values:
        return variable
    line = variable.places(column)
    line = line[~np.isnan(line)]
    if len(line) == 0:
        return replace(variable, kind="ordered")
    if variable.kind in ("continuous", "mixed"):
        cells = real_cells(Counted.of(line), n_cells, atoms=variable.kind == "mixed")
        return replace(variable, cells=cells)
    counted = Counted.of(line, variable.line_values)
    if variable.is_ordered:
        labels = variable.values if variable.has_labels else np.empty(0)
        return replace(variable, values=labels, cells=discrete_cells(counted, n_cells))
    order, cells = label_cells(counted.rows, n_cells)
    return replace(variable, values=variable.values[order], cells=cells)

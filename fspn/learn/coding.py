r"""How a table is coded for learning: which columns get cells, how many, and of which values.

Every marginal is exact whatever the cells are, so cells are judged by what they tell about other
columns: the mutual information with those that depend on them most, less a price per filled cell of
the joint table,

.. math:: \sum_{Y} n I(C; Y) - \tfrac12 \ln n \, |\{(c, y): n_{cy} > 0\}|
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fspn.learn.names import group_names, partners_of, sorted_names
from fspn.learn.pair_information import pair_information
from fspn.schema.binning import Counted, discrete_cells, label_cells, real_cells
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain
from fspn.schema.infer import MAX_VALUES
from fspn.schema.scattered import ScatteredCells
from fspn.schema.variable import Variable

MAX_BINS, MIN_BINS = 64, 8
"""The cells of a column of many values: at most by default, and the fewest that are tried."""

FINE_VALUES, MAX_FINE_VALUES = 1448, 1 << 13
"""Up to so many values may have a cell each by default, where other columns tell them apart: any
two such columns have a table that can be written out. More may, beside columns of few values."""
MAX_FINE_CELLS = 1 << 19
"""The cells of the table of a column of more than ``FINE_VALUES`` values and one that it tells."""

PARTNERS = 3
MAX_SCORED_ROWS = 100_000
MAX_NAME_CELLS = 1024
MAX_NAMES, ROWS_PER_NAME = 20_000, 5
"""A column of more names, or of fewer rows per name, is cut in order."""

REALS = ("continuous", "mixed")


def code_domain(
    domain: Domain, table: pd.DataFrame, max_bins: int | None = None, all_cells: bool = True
) -> Domain:
    """The domain with cells for reals and for columns of many values.

    Arguments:
        domain: The variables, one code per value where they are discrete.
        table: The training rows.
        max_bins: The cells of a column, at most; one of no more values has a cell per value. None
            = ``MAX_VALUES``, for a column of more ``MAX_BINS``, and up to ``FINE_VALUES`` where
            other columns tell the values apart.
        all_cells: Whether every column gets cells; else only reals with missing values or atoms,
            which no density can hold.
    """
    most = MAX_VALUES if max_bins is None else max_bins
    n_cells = int(np.clip(round(len(table) ** (1 / 3)), 2, min(most, MAX_BINS)))
    coded = []
    for variable in domain:
        is_wide = variable.kind in REALS or len(variable.values) > most
        if is_wide and (all_cells or _needs_cells(variable)):
            variable = _cut(variable, table[variable.name], n_cells)
        coded.append(variable)
    if not all_cells or len(coded) < 2 or all(variable.cells is None for variable in coded):
        return Domain(tuple(coded))
    rows = np.arange(0, len(table), -(-len(table) // MAX_SCORED_ROWS))
    fine = MAX_FINE_VALUES if max_bins is None else most
    plain = [v if v.kind not in REALS and len(v.values) <= fine else None for v in domain]
    n_names = min(2 * n_cells, most), MAX_NAME_CELLS if max_bins is None else most
    return Domain(tuple(_best_cells(coded, plain, table.iloc[rows], n_cells, n_names)))


def _needs_cells(variable: Variable) -> bool:
    is_real = variable.kind == "continuous" and variable.missing is not None
    return is_real or variable.kind == "mixed"


def _cut(variable: Variable, column: pd.Series, n_cells: int) -> Variable:
    """Cells of about equal frequency, in order; of labels, the frequent ones and the rest."""
    line = variable.places(column)
    line = line[~np.isnan(line)]
    if len(line) == 0:
        return replace(variable, kind="ordered")
    if variable.kind in REALS:
        cells = real_cells(Counted.of(line), n_cells, atoms=variable.kind == "mixed")
        return replace(variable, cells=cells)
    return _discrete(variable, Counted.of(line, variable.line_values), n_cells)


def _discrete(variable: Variable, counted: Counted, n_cells: int) -> Variable:
    if variable.is_ordered:
        labels = variable.values if variable.has_labels else np.empty(0)
        return replace(variable, values=labels, cells=discrete_cells(counted, n_cells))
    order, cells = label_cells(counted.rows, n_cells)
    return replace(variable, values=variable.values[order], cells=cells)


def _best_cells(
    coded: Sequence[Variable],
    plain: Sequence[Variable | None],
    table: pd.DataFrame,
    n_cells: int,
    n_names: tuple[int, int],
) -> list[Variable]:
    """For every column with cells the best of a few ways to make them.

    Arguments:
        coded: The columns, cut where they have many values.
        plain: Those that may have a cell per value, with such cells; None for the others.
        table: The rows to judge by.
        n_cells: The cells of a column that is cut in order, at most.
        n_names: The groups of names, at most: by their profiles, and in order of them.
    """
    lines = [v.places(table[v.name]) for v in coded]
    finest = [cut if own is None else own for own, cut in zip(plain, coded, strict=True)]
    codes = [_codes(v, table) for v in finest]
    sizes = [v.size for v in finest]
    best = []
    for i, variable in enumerate(coded):
        if variable.cells is None:
            best.append(variable)
            continue
        others = [j for j in range(len(coded)) if j != i and sizes[j] > 1]
        tables = [(codes[j].astype(np.int64), sizes[j]) for j in others]
        tried = [variable, *_others(variable, lines[i], tables, n_cells, n_names)]
        found = [v.codes(lines[i], v.missing_code).astype(np.int64) for v in tried]
        if (own_cells := plain[i]) is not None:
            tried.append(own_cells)
            found.append(codes[i].astype(np.int64))
        gains = [_gains(own, v.size, tables) for own, v in zip(found, tried, strict=True)]
        partners = np.argsort(-np.max(gains, axis=0), kind="stable")[:PARTNERS]
        best.append(tried[int(np.argmax([row[partners].sum() for row in gains]))])
    return best


def _codes(variable: Variable, table: pd.DataFrame) -> np.ndarray:
    return variable.codes(variable.places(table[variable.name]), variable.missing_code)


def _others(
    variable: Variable,
    line: np.ndarray,
    tables: list[tuple[np.ndarray, int]],
    n_cells: int,
    n_names: tuple[int, int],
) -> list[Variable]:
    """Fewer cells, and cells of names."""
    cells = variable.cells
    assert cells is not None
    found = []
    for k in {n_cells // 2, n_cells // 4}:
        if k >= MIN_BINS and variable.is_ordered:
            found.append(replace(variable, cells=cells.merged(k)))
    known = ~np.isnan(line)
    is_named = cells.is_discrete and cells.step == 0 and n_names[0] < len(cells.left) <= MAX_NAMES
    if not is_named or known.sum() < ROWS_PER_NAME * len(cells.left):
        return found
    name, told = cells.pieces(line[known]), [(own[known], size) for own, size in tables]
    partners = partners_of(name, cells.mass, told)
    if not partners:
        return found
    groups = [group_names(name, cells.mass, partners, n_names[0])]
    if n_names[0] < n_names[1] < len(cells.left):
        groups.append(sorted_names(name, cells.mass, partners, n_names[1]))
    return [*found, *(_grouped(variable, cells, group) for group in groups if group is not None)]


def _grouped(variable: Variable, cells: Cells, group: np.ndarray) -> Variable:
    """The column with a cell for every group of its names."""
    if variable.is_ordered:
        return replace(variable, cells=ScatteredCells.of(cells.left, cells.mass, group))
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    grouped = replace(cells, mass=cells.mass[order], first=first)
    return replace(variable, values=variable.values[order], cells=grouped)


def _gains(own: np.ndarray, size: int, tables: list[tuple[np.ndarray, int]]) -> np.ndarray:
    """The mutual information with each other column, less the price of the table.

    Nothing for a table that a learner would not take up: one of too many cells.
    """
    most = np.inf if size <= FINE_VALUES else MAX_FINE_CELLS
    return np.array(
        [
            penalised_information(own, size, *table) if size * table[1] <= most else 0.0
            for table in tables
        ]
    )


def penalised_information(own: np.ndarray, size: int, other: np.ndarray, d: int) -> float:
    """N I(C; Y) less half a logarithm of n per filled cell."""
    told = pair_information(own, other, size, d)
    return told.nats - 0.5 * float(np.log(len(own))) * told.filled

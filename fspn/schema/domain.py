"""The columns of a model, in order, and tables that have them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from fspn.schema.refusals import refuse_other_columns, refuse_other_than_tables
from fspn.schema.variable import Variable

SHOWN = 60


@dataclass(frozen=True)
class Domain:
    """The variables of a model, in column order."""

    variables: tuple[Variable, ...]

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, index: int) -> Variable:
        return self.variables[index]

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    @cached_property
    def names(self) -> list[Hashable]:
        return [variable.name for variable in self.variables]

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {name: index for index, name in enumerate(self.names)}

    def index(self, name: Hashable) -> int:
        """The position of a column, or an error that names it."""
        if name not in self._index:
            known = ", ".join(repr(known) for known in self.names[:12])
            more = ", ..." if len(self.names) > 12 else ""
            raise KeyError(f"unknown column {name!r}; the model was fitted on {known}{more}")
        return self._index[name]

    def encode(self, table: pd.DataFrame) -> list[np.ndarray]:
        """All columns of a table as codes or floats, in the model's column order."""
        return [variable.encode(table[variable.name]) for variable in self.variables]

    def summary(self) -> pd.DataFrame:
        """A row per column: kind, type, number of cells, values, share of missing values."""
        return pd.DataFrame(
            {
                "kind": [variable.kind for variable in self.variables],
                "dtype": [variable.dtype or "-" for variable in self.variables],
                "cells": [variable.size or "-" for variable in self.variables],
                "values": [_extent(variable) for variable in self.variables],
                "missing": [_percent(variable.missing) for variable in self.variables],
            },
            index=pd.Index([str(name) for name in self.names], name="column"),
        )

    def __str__(self) -> str:
        shown = self.summary().iloc[:SHOWN].to_string(justify="left")
        hidden = len(self) - SHOWN
        return shown if hidden <= 0 else f"{shown}\n... and {hidden} more columns"

    def _repr_html_(self) -> str:
        table = self.summary().map(lambda entry: escape(str(entry)))
        table.index = pd.Index([escape(name) for name in table.index], name="column")
        return table.to_html(escape=False, max_rows=SHOWN)


def _percent(missing: float | None) -> str:
    if missing is None:
        return "-"
    return f"{100 * missing:.2g}%" if missing < 0.9995 else f"{100 * missing:.4g}%"


def _extent(variable: Variable) -> str:
    """The first and the last value, or how many labels there are."""
    if not variable.is_coded:
        return "reals"
    if variable.n_values == 0:
        return "none"
    if not variable.is_ordered:
        shown = ", ".join(str(label) for label in variable.values[:3])
        return shown if len(variable.values) <= 3 else f"{shown}, ... ({len(variable.values)})"
    if variable.cells is None:
        ends = np.asarray(variable.line_values[[0, -1]], dtype=np.float64)
    else:
        finite = np.concatenate([variable.cells.left, variable.cells.right])
        finite = finite[np.isfinite(finite)]
        ends = np.array([finite.min(), finite.max()])
    first, last = variable.restore(ends).tolist()
    if isinstance(first, float):
        first, last = f"{first:.6g}", f"{last:.6g}"
    return str(first) if first == last else f"{first} .. {last}"


def as_table(data: Any, names: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """A table from a DataFrame or a two-dimensional array (columns 0, 1, 2, ...)."""
    refuse_other_than_tables(data)
    if isinstance(data, pd.DataFrame):
        table = data
    else:
        if issparse(data):
            raise TypeError("sparse input is not supported; pass X.toarray() or a DataFrame")
        array = np.asarray(data)
        if array.ndim != 2:
            raise ValueError(
                f"expected a table of rows and columns, got an array of {array.ndim} dimension(s); "
                "Reshape your data: array.reshape(-1, 1) makes one column, "
                "array.reshape(1, -1) makes one row"
            )
        table = pd.DataFrame(array).infer_objects()
    if names is None:
        return table
    return _in_order(table, names, is_frame=isinstance(data, pd.DataFrame))


def _in_order(table: pd.DataFrame, names: Sequence[Hashable], is_frame: bool) -> pd.DataFrame:
    refuse_other_columns(table, names, is_frame)
    if table.shape[1] != len(names):
        raise ValueError(
            f"X has {table.shape[1]} features, but FSPN is expecting {len(names)} features as input"
        )
    if not is_frame:
        return table.set_axis(list(names), axis=1)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise ValueError(f"the table lacks the column(s) {absent}; the model was fitted on them")
    return table[list(names)]

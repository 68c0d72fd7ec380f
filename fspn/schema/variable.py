"""One column of a table: its kind, and the way from its values to codes and back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from fspn.schema.cells import OUTSIDE, Cells
from fspn.schema.scattered import ScatteredCells
from fspn.schema.values import (
    as_floats,
    as_python,
    instant,
    microseconds,
    number,
    restore_clock,
    restore_labels,
    restore_numbers,
)

Kind = Literal["ordered", "unordered", "boolean", "continuous", "mixed", "datetime"]
KINDS: tuple[Kind, ...] = ("ordered", "unordered", "boolean", "continuous", "mixed", "datetime")

UNKNOWN = -1
"""The code of a cell that a row leaves open: it is summed out."""


@dataclass(frozen=True)
class Variable:
    r"""One column of a table.

    Its codes are the cells 0 .. size-1. Where the column has missing values, the last of them is
    the state "missing".

    Arguments:
        name: The column's name.
        kind: ``"ordered"`` (integers, few floats, ordered categories), ``"unordered"`` (labels),
            ``"boolean"``, ``"continuous"``, ``"mixed"`` (reals with repeated values) or
            ``"datetime"``.
        values: The domain of a discrete column in the order of its codes, where every value is a
            cell of its own; the labels of a column of labels in any case.
        cells: The cells, where one may hold more than a single value.
        missing: The share of missing values in training; None = the column has none.
        dtype: The type of the column in the training table.
    """

    name: Hashable
    kind: Kind
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    cells: Cells | None = None
    missing: float | None = None
    dtype: str = ""

    @property
    def is_coded(self) -> bool:
        """Whether a model handles this variable by codes: all but reals without cells."""
        return self.kind != "continuous" or self.cells is not None or self.missing is not None

    @cached_property
    def size(self) -> int:
        """The number of codes, "missing" included; 0 for a continuous variable without cells."""
        return self.n_values + (self.missing is not None)

    @property
    def n_values(self) -> int:
        """The number of codes without "missing"."""
        return self.cells.size if self.cells is not None else len(self.values)

    @property
    def missing_code(self) -> int:
        """The code of "missing", or ``UNKNOWN`` where the column has no such state."""
        return UNKNOWN if self.missing is None else self.n_values

    @property
    def is_ordered(self) -> bool:
        """Whether a range of values means something."""
        return self.kind not in ("unordered", "boolean")

    @property
    def has_ordered_codes(self) -> bool:
        """Whether neighbouring codes are neighbouring values."""
        return self.is_ordered and (self.cells is None or self.cells.is_in_order)

    @cached_property
    def has_labels(self) -> bool:
        """Whether the values are labels, whose place on the line is their position."""
        return self.values.dtype == object

    @property
    def codes_are_numbers(self) -> bool:
        """Whether every code is a number of its own and none is missing."""
        numbers = self.cells is None and self.missing is None and not self.has_labels
        return numbers and self.kind == "ordered"

    @property
    def has_whole_values(self) -> bool:
        """Whether every code is an integer: one value per code, none of them missing."""
        return self.values.dtype.kind == "i" and self.cells is None and self.missing is None

    @cached_property
    def positions(self) -> dict[Any, int]:
        """The position of every label, or the code of every value of a discrete variable."""
        return {value: code for code, value in enumerate(self.values.tolist())}

    @cached_property
    def line_values(self) -> np.ndarray:
        """Where the values lie on the line."""
        size = len(self.values)
        return np.arange(size, dtype=np.float64) if self.has_labels else self.values

    # ------------------------------------------------------------------ values to the line

    def place(self, value: Any) -> float:
        """Where one value lies on the line; NaN for a label that the column does not have."""
        if self.has_labels or not self.is_ordered:
            try:
                return float(self.positions.get(as_python(value), np.nan))
            except TypeError as error:
                raise ValueError(f"column {self.name!r}: {value!r} is not a value") from error
        if self.kind == "datetime":
            return instant(self.name, self.dtype, value)
        return number(self.name, value)

    def places(self, column: pd.Series) -> np.ndarray:
        """Where the values of a column lie on the line; NaN where missing, inf where unknown."""
        if self.has_labels or not self.is_ordered:
            return self._label_places(column)
        return microseconds(column, self.dtype) if self.kind == "datetime" else as_floats(column)

    def _label_places(self, column: pd.Series) -> np.ndarray:
        numbers, distinct = pd.factorize(column)
        known = self.positions
        found = [float(known.get(as_python(label), np.inf)) for label in distinct]
        return np.array([*found, np.nan])[numbers]

    # ------------------------------------------------------------------ the line to codes

    def code_of(self, value: Any) -> int:
        """The code of one value, ``OUTSIDE`` where no cell holds it."""
        return int(self.codes(np.array([self.place(value)]), OUTSIDE)[0])

    def encode(self, column: pd.Series) -> np.ndarray:
        """The codes (for a continuous variable without cells, the floats) of a column."""
        line = self.places(column)
        return self.codes(line, self.missing_code) if self.is_coded else line

    def codes(self, line: np.ndarray, missing: int) -> np.ndarray:
        """The codes of points of the line; ``missing`` where they are NaN."""
        if self.cells is not None:
            codes = self.cells.codes(line)
        elif len(self.values) == 0:
            codes = np.full(len(line), OUTSIDE, dtype=np.int32)
        else:
            codes = np.searchsorted(self.line_values, line).astype(np.int32)
            codes = np.minimum(codes, len(self.values) - 1)
            codes[self.line_values[codes] != line] = OUTSIDE
        codes[np.isnan(line)] = missing
        return codes

    def log_density(self, line: np.ndarray) -> np.ndarray:
        """The log-density of every point of the line inside its own cell; 0 where it is missing."""
        logs = np.zeros(len(line))
        known = ~np.isnan(line)
        if self.cells is not None:
            logs[known] = self.cells.log_density(line[known])
        return logs

    # ------------------------------------------------------------------ codes to values

    def realise(self, drawn: np.ndarray, rng: np.random.Generator) -> pd.Series:
        """A column of values, in its type, from what a model drew: codes, or reals."""
        if not self.is_coded:
            return self.restore(drawn.astype(np.float64))
        codes = drawn.astype(np.int64)
        known = np.flatnonzero(codes != self.missing_code)
        line = np.full(len(codes), np.nan)
        if self.cells is not None:
            line[known] = self.cells.sample(codes[known], rng)
        else:
            line[known] = self.line_values[codes[known]]
        return self.restore(line)

    def restore(self, line: np.ndarray) -> pd.Series:
        """Points of the line, NaN where missing, as values in the type of the training column."""
        if self.has_labels or not self.is_ordered:
            positions = np.where(np.isnan(line), -1, line).astype(np.int64)
            return restore_labels(self.values, positions, self.dtype)
        if self.kind == "datetime":
            return restore_clock(line, self.dtype)
        whole = self.values.dtype.kind == "i" and not np.isnan(line).any()
        return restore_numbers(line, self.dtype or ("int64" if whole else "float64"))

    @cached_property
    def axis(self) -> list[Any]:
        """What stands along an axis of a table: values, or the cells of reals; None for missing."""
        if self.cells is None or self.cells.is_discrete:
            line = self.line_values if self.cells is None else self.cells.support
            values = self.restore(np.asarray(line, dtype=np.float64)).tolist()
        else:
            values = [self.describe(code) for code in range(self.n_values)]
        return [*values, None] if self.missing is not None else values

    def describe(self, code: int, last_code: int | None = None) -> str:
        """A cell, or the cells up to another one, in the user's terms."""
        if code == self.missing_code:
            return "missing"
        if self.cells is None:
            return str(self.restore(self.line_values[code : code + 1].astype(np.float64)).iloc[0])
        if isinstance(self.cells, ScatteredCells):
            values = self.restore(self.cells.values_of(code)).tolist()
            shown = ", ".join(str(value) for value in values[:3])
            return shown if len(values) <= 3 else f"{shown}, ... ({len(values)} values)"
        until = min(code if last_code is None else last_code, self.n_values - 1)
        first = int(self.cells.first[code])
        last = int(np.append(self.cells.first, len(self.cells.left))[until + 1]) - 1
        ends = np.array([self.cells.left[first], self.cells.right[last]])
        if ends[0] == ends[1]:
            return str(self.restore(ends[:1]).iloc[0])
        if not self.is_ordered:
            labels = self.values[int(ends[0]) : int(ends[1]) + 1]
            return f"{labels[0]}, ... ({len(labels)} labels)"
        low, high = (_end(self, end) for end in ends)
        closed = self.cells.left[first] == self.cells.right[first] or self.cells.step > 0
        return f"{'[' if closed else '('}{low}, {high}{']' if np.isfinite(ends[1]) else ')'}"

    @property
    def nbytes(self) -> int:
        """The size of the coding beyond one value per code."""
        return 0 if self.cells is None else self.cells.nbytes


def _end(variable: Variable, end: float) -> str:
    if np.isinf(end):
        return "-inf" if end < 0 else "inf"
    if variable.kind == "datetime" or variable.has_labels:
        return str(variable.restore(np.array([end])).iloc[0])
    return f"{end:.6g}"

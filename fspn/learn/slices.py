"""The training rows as columns of codes or reals, and slices of them without copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numba import njit

from fspn.jit import patient
from fspn.learn.dependence.rdc import Column
from fspn.schema.domain import Domain
from fspn.schema.variable import Variable

MAX_LOOK_UP = 1_000_000


@dataclass(frozen=True)
class Slice:
    """Some rows of a table.

    Arguments:
        domain: The variables.
        columns: One array per variable, of all rows.
        rows: The rows in the slice; None = all of them.
    """

    domain: Domain
    columns: Sequence[np.ndarray]
    rows: np.ndarray | None = None

    @classmethod
    def of_table(cls, domain: Domain, table: pd.DataFrame) -> Slice:
        """All rows of a training table; codes of all columns in one small type of integer."""
        top = max((variable.size for variable in domain.variables if variable.is_coded), default=0)
        small = np.dtype(np.uint8 if top <= 256 else np.int32)
        return cls(domain, [_encode(v, table[v.name], small) for v in domain.variables])

    @property
    def n_rows(self) -> int:
        return len(self.columns[0]) if self.rows is None else len(self.rows)

    def values(self, variable: int) -> np.ndarray:
        """The codes or reals of one variable on the slice."""
        column = self.columns[variable]
        return column if self.rows is None else column[self.rows]

    def column(self, variable: int) -> Column:
        """One variable on the slice, as the oracles take it."""
        described = self.domain[variable]
        size = described.size if described.is_coded else 0
        return Column(self.values(variable), size, described.has_ordered_codes)

    def take(self, chosen: np.ndarray) -> Slice:
        """The rows of the slice at the given positions (or where a mask is true)."""
        rows = np.arange(self.n_rows)[chosen] if self.rows is None else self.rows[chosen]
        return Slice(self.domain, self.columns, rows)


def _encode(variable: Variable, column: pd.Series, small: np.dtype) -> np.ndarray:
    """The codes or reals of a column of the training table; integers by a look-up in one pass."""
    whole = column.to_numpy() if isinstance(column.dtype, np.dtype) else np.empty(0)
    numbers = variable.kind == "ordered" and variable.cells is None and variable.missing is None
    if numbers and whole.dtype.kind in "iu" and not variable.has_labels:
        low, high = int(variable.values[0]), int(variable.values[-1])
        if high - low <= MAX_LOOK_UP:
            codes = np.zeros(high - low + 1, dtype=small)
            codes[variable.values.astype(np.int64) - low] = np.arange(variable.size)
            return _look_up(whole, low, codes)
    encoded = variable.encode(column)
    return encoded.astype(small) if variable.is_coded else encoded


@patient
@njit(cache=True, nogil=True)
def _look_up(values: np.ndarray, low: int, codes: np.ndarray) -> np.ndarray:
    found = np.empty(len(values), dtype=codes.dtype)
    for row in range(len(values)):
        found[row] = codes[np.int64(values[row]) - low]
    return found

"""Values <-> codes: code k of a column is the k-th value of its sorted domain."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

OUTSIDE = -1
"""Code of a value that is not in its column's domain."""
FREE = -2
"""Code of a column that a point leaves unconstrained."""


@dataclass(frozen=True)
class Encoder:
    """Translates the values of named columns into integer codes and back.

    Arguments:
        columns: The column names, in the order of the code arrays.
        domains: One sorted array of distinct values per column.
    """

    columns: tuple[str, ...]
    domains: tuple[np.ndarray, ...]
    _position: dict[str, int] = field(init=False, repr=False, compare=False)
    _codes: tuple[dict[Hashable, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_position", {c: i for i, c in enumerate(self.columns)})
        codes = tuple({v: k for k, v in enumerate(d.tolist())} for d in self.domains)
        object.__setattr__(self, "_codes", codes)

    @classmethod
    def build(cls, table: pd.DataFrame, domains: Mapping[str, np.ndarray]) -> Encoder:
        """An encoder for the columns of `table`, whose values must all lie in `domains`."""
        missing = [c for c in table.columns if c not in domains]
        if missing:
            raise ValueError(f"no domain given for column(s) {missing}; add them to `domains`")
        sorted_domains = tuple(np.unique(np.asarray(domains[c])) for c in table.columns)
        return cls(tuple(str(c) for c in table.columns), sorted_domains)

    @property
    def cards(self) -> np.ndarray:
        """Domain sizes, one per column."""
        return np.array([len(d) for d in self.domains], dtype=np.int64)

    def index(self, column: str) -> int:
        """Position of a column; an unknown name is an error."""
        try:
            return self._position[column]
        except KeyError:
            raise ValueError(
                f"unknown column {column!r}; the model knows {list(self.columns)}"
            ) from None

    def table(self, table: pd.DataFrame) -> np.ndarray:
        """Codes of a table, shape (rows, columns); `OUTSIDE` where a value is not in the domain."""
        for column in (*table.columns, *self.columns):
            if column not in self._position or column not in table.columns:
                raise ValueError(
                    f"column {column!r} is not both in the table and in the model; "
                    f"the model needs exactly {list(self.columns)}"
                )
        codes = np.empty((len(table), len(self.columns)), dtype=np.int32)
        for i, column in enumerate(self.columns):
            codes[:, i] = _encode(table[column].to_numpy(), self.domains[i], column)
        return codes

    def point(self, values: Mapping[str, Hashable]) -> np.ndarray:
        """Codes of one partial assignment; columns that it does not name are `FREE`."""
        codes = np.full(len(self.columns), FREE, dtype=np.int32)
        for column, value in values.items():
            i = self.index(column)
            codes[i] = self._codes[i].get(value, OUTSIDE)
        return codes

    def points(self, values: Sequence[Mapping[str, Hashable]]) -> np.ndarray:
        """Codes of several partial assignments, shape (n, columns)."""
        if not values:
            return np.empty((0, len(self.columns)), dtype=np.int32)
        return np.stack([self.point(v) for v in values])

    def box(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Closed value ranges as closed code ranges; NaN and infinities leave a side open."""
        first = np.empty(lower.shape, dtype=np.int32)
        last = np.empty(upper.shape, dtype=np.int32)
        for i, domain in enumerate(self.domains):
            low = np.where(np.isnan(lower[:, i]), -np.inf, lower[:, i])
            high = np.where(np.isnan(upper[:, i]), np.inf, upper[:, i])
            first[:, i] = np.searchsorted(domain, low, side="left")
            last[:, i] = np.searchsorted(domain, high, side="right") - 1
        return first, last


def _encode(values: np.ndarray, domain: np.ndarray, column: str) -> np.ndarray:
    if pd.isna(values).any():
        raise ValueError(f"column {column!r} holds missing values; drop or fill those rows first")
    codes = np.minimum(np.searchsorted(domain, values), len(domain) - 1)
    return np.where(domain[codes] == values, codes, OUTSIDE)

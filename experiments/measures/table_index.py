"""Exact counts of conjunctions on a table: every column as codes of its distinct values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fspn.sql.sets import ColumnSet

MAX_KEY_BITS = 62


class TableIndex:
    """A table in codes 0 .. d-1 of each column's sorted values; the code d is missing.

    A predicate is decided once per distinct value. Rows come from the most selective predicate,
    which has them sorted by code; the others are looked up on the rows that are left. Rows that
    occur many times are kept once.

    Arguments:
        table: numbers, truth values and categories.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.columns = [str(name) for name in table.columns]
        self.n_rows = len(table)
        self.values: dict[str, pd.Series] = {}
        self.codes: dict[str, np.ndarray] = {}
        self.counts: dict[str, np.ndarray] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._places: dict[str, dict[Hashable, int]] = {}
        for name in self.columns:
            self._add(name, table[name])
        first, self._times = self._distinct()
        self._kept = {name: codes[first] for name, codes in self.codes.items()}
        self._order = {name: np.argsort(codes, kind="stable") for name, codes in self._kept.items()}
        self._starts = {
            name: np.searchsorted(codes[self._order[name]], np.arange(len(self.counts[name]) + 1))
            for name, codes in self._kept.items()
        }

    def _add(self, name: str, column: pd.Series) -> None:
        codes, values = pd.factorize(column, sort=True)
        codes = np.where(codes < 0, len(values), codes)
        small = np.min_scalar_type(len(values))
        self.values[name] = pd.Series(values, name=name)
        if self.is_number(name):
            self._numbers[name] = self.values[name].to_numpy(dtype=np.float64)
        else:
            self._places[name] = {self.value(name, k): k for k in range(len(values))}
        self.codes[name] = codes.astype(small)
        self.counts[name] = np.bincount(codes, minlength=len(values) + 1)

    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """One row of each kind and how often it occurs, where the kinds are easily told apart."""
        sizes = [len(self.counts[name]) for name in self.columns]
        if np.sum(np.log2(sizes)) > MAX_KEY_BITS:
            return np.arange(self.n_rows), np.ones(self.n_rows, dtype=np.int64)
        key = np.zeros(self.n_rows, dtype=np.int64)
        for name, size in zip(self.columns, sizes, strict=True):
            key = key * size + self.codes[name]
        _, first, times = np.unique(key, return_index=True, return_counts=True)
        return first, times

    def is_number(self, name: str) -> bool:
        """Whether a column has an order, and ranges a meaning."""
        dtype = self.values[name].dtype
        return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)

    def value(self, name: str, code: int) -> Any:
        """The value of a code as a plain Python value; None for missing."""
        values = self.values[name]
        if code >= len(values):
            return None
        found = values.iloc[code]
        if isinstance(found, np.bool_):
            return bool(found)
        if isinstance(found, np.generic):
            return found.item()
        return found

    def count(self, where: Mapping[Hashable, Any]) -> int:
        """The number of rows that a conjunction holds for."""
        parts = [(str(name), self._allowed(str(name), wanted)) for name, wanted in where.items()]
        parts.sort(key=lambda part: int(self.counts[part[0]][part[1]].sum()))
        if not parts:
            return self.n_rows
        rows = self._rows(*parts[0])
        for name, allowed in parts[1:]:
            rows = rows[allowed[self._kept[name][rows]]]
        return int(self._times[rows].sum())

    def count_all(self, questions: Sequence[Mapping[Hashable, Any]]) -> np.ndarray:
        """The counts of several conjunctions."""
        return np.array([self.count(where) for where in questions], dtype=np.int64)

    def _rows(self, name: str, allowed: np.ndarray) -> np.ndarray:
        """The rows of the given codes, run by run."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], allowed, [False]])))
        starts, order = self._starts[name], self._order[name]
        runs = [order[starts[a] : starts[b]] for a, b in zip(edges[::2], edges[1::2], strict=True)]
        return np.concatenate(runs) if runs else order[:0]

    def _allowed(self, name: str, wanted: Any) -> np.ndarray:
        """Which codes a predicate takes."""
        chosen = ColumnSet.of(wanted)
        allowed = np.zeros(len(self.counts[name]), dtype=bool)
        allowed[-1] = chosen.missing
        if name in self._numbers:
            for interval in chosen.numbers:
                allowed[:-1] |= interval.contains(self._numbers[name])
            return allowed
        allowed[:-1] = chosen.but
        known = (self._places[name].get(label) for label in chosen.labels)
        allowed[[place for place in known if place is not None]] = not chosen.but
        return allowed

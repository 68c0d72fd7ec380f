"""A discrete Bayesian network with known conditional probability tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

UNIFORM_BITS = 32
CHUNK_ROWS = 100_000


@dataclass(frozen=True)
class Network:
    """Pr(x) as the product of Pr(x_j | parents of x_j), columns in topological order.

    Arguments:
        columns: names.
        domains: sorted values of every column.
        parents: indices of the parents of every column, all smaller than its own.
        cpts: tables with one axis per parent, and the column itself last.
    """

    columns: tuple[str, ...]
    domains: tuple[np.ndarray, ...]
    parents: tuple[tuple[int, ...], ...]
    cpts: tuple[np.ndarray, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes."""
        return tuple(len(domain) for domain in self.domains)

    @cached_property
    def dense(self) -> tuple[bool, ...]:
        """Which tables have no zero."""
        return tuple(bool(cpt.all()) for cpt in self.cpts)

    @cached_property
    def factors_of(self) -> tuple[tuple[int, ...], ...]:
        """For every column the tables that it is part of: its own and its children's."""
        everyone = range(len(self.columns))
        return tuple(tuple(j for j in everyone if v in (*self.parents[j], j)) for v in everyone)

    @property
    def structure(self) -> dict[str, tuple[str, ...]]:
        """Every column with the names of its parents."""
        return {
            name: tuple(self.columns[p] for p in parents)
            for name, parents in zip(self.columns, self.parents, strict=True)
        }

    def sample_codes(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, columns) codes of independent rows; the same stream gives nested noise levels."""
        codes = np.empty((n, len(self.columns)), dtype=np.uint8)
        for start in range(0, n, CHUNK_ROWS):
            self._fill(codes[start : start + CHUNK_ROWS], rng)
        return codes

    def stream_codes(self, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The rows of `sample_codes` in chunks, so that any number fits in memory."""
        for start in range(0, n, CHUNK_ROWS):
            chunk = np.empty((min(CHUNK_ROWS, n - start), len(self.columns)), dtype=np.uint8)
            self._fill(chunk, rng)
            yield chunk

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """A table of values from codes."""
        return pd.DataFrame({c: self.domains[j][codes[:, j]] for j, c in enumerate(self.columns)})

    def encode(self, table: pd.DataFrame) -> np.ndarray:
        """Codes from a table of values."""
        return np.column_stack([self.code_of(j, table[c]) for j, c in enumerate(self.columns)])

    def code_of(self, column: int, values: Sequence[int] | pd.Series | np.ndarray) -> np.ndarray:
        """Codes of values of one column; a value outside the domain is an error."""
        domain, array = self.domains[column], np.asarray(values)
        codes = np.searchsorted(domain, array).clip(max=len(domain) - 1)
        unknown = domain[codes] != array
        if unknown.any():
            value = np.atleast_1d(array)[np.atleast_1d(unknown)][0]
            raise ValueError(
                f"column {self.columns[column]!r} has no value {value}: "
                f"its domain has {len(domain)} values from {domain[0]} to {domain[-1]}"
            )
        return codes

    def log_probability(self, codes: np.ndarray) -> np.ndarray:
        """Log-probability ln Pr(row) = sum_j ln Pr(x_j | parents)."""
        total = np.zeros(len(codes))
        with np.errstate(divide="ignore"):
            for j, cpt in enumerate(self.cpts):
                total += np.log(cpt[tuple(codes[:, p] for p in (*self.parents[j], j))])
        return total

    @cached_property
    def _cumulative(self) -> tuple[np.ndarray, ...]:
        """Per column the distribution functions of all parent states in one increasing array."""
        return tuple(_stacked_cdf(cpt) for cpt in self.cpts)

    def _fill(self, codes: np.ndarray, rng: np.random.Generator) -> None:
        for j, size in enumerate(self.sizes):
            state = self._parent_state(codes, j)
            uniform = rng.integers(0, 2**UNIFORM_BITS, len(codes)) / 2**UNIFORM_BITS
            found = np.searchsorted(self._cumulative[j], state + uniform, side="right")
            codes[:, j] = found - state * size

    def _parent_state(self, codes: np.ndarray, column: int) -> np.ndarray:
        state = np.zeros(len(codes), dtype=np.int64)
        for p in self.parents[column]:
            state = state * self.sizes[p] + codes[:, p]
        return state


def _stacked_cdf(cpt: np.ndarray) -> np.ndarray:
    """Row r of the flattened table becomes r + cdf, ending at r + 1 from its last positive cell.

    A uniform is a multiple of 2^-32, so r + uniform is exact and never leaves the row.
    """
    rows = cpt.reshape(-1, cpt.shape[-1])
    cdf = np.cumsum(rows, axis=1)
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    cdf = np.where(np.arange(rows.shape[1]) >= last[:, None], 1.0, cdf.clip(max=1.0))
    return (np.arange(len(rows))[:, None] + cdf).ravel()

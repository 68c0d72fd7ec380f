"""The training rows as columns of codes or reals, and slices of them without copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fspn.dependence import Column
from fspn.domain import Domain


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

    @property
    def n_rows(self) -> int:
        return len(self.columns[0]) if self.rows is None else len(self.rows)

    def values(self, variable: int) -> np.ndarray:
        """The codes or reals of one variable on the slice."""
        column = self.columns[variable]
        return column if self.rows is None else column[self.rows]

    def column(self, variable: int) -> Column:
        """The same, as the oracles take it."""
        described = self.domain[variable]
        size = described.size if described.is_coded else 0
        return Column(self.values(variable), size, described.kind != "unordered")

    def take(self, chosen: np.ndarray) -> Slice:
        """The rows of the slice at the given positions (or where a mask is true)."""
        rows = np.arange(self.n_rows)[chosen] if self.rows is None else self.rows[chosen]
        return Slice(self.domain, self.columns, rows)

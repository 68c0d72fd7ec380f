r"""The conditional table of a Bayesian network, whole and exact (Appendix A).

Nothing is smoothed, so there is nothing below the rows to back off to. In every row :math:`P(\cdot
\mid u)` the largest entry is not stored, being 1 minus the others: a table of r rows over d codes
stores its r (d - 1) free parameters and which entry is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fspn.model.cpt.rows import Rows, row_keys
from fspn.model.leaves.base import State, bytes_of


@dataclass(frozen=True)
class FullTable:
    """A cpt with a single level that knows every row.

    Arguments:
        free: The entries of each row but one, shape (sizes of the parents, codes - 1).
        top: Which code each row leaves out, shape (sizes of the parents).
    """

    free: np.ndarray
    top: np.ndarray
    family: ClassVar[str] = "full"

    @classmethod
    def from_probabilities(cls, table: np.ndarray) -> FullTable:
        """From probabilities of shape (sizes of the parents, codes); rows are made to sum to 1."""
        rows = table.reshape(-1, table.shape[-1])
        rows = rows / rows.sum(axis=1, keepdims=True)
        top = rows.argmax(axis=1)
        kept = np.arange(rows.shape[1]) != top[:, None]
        free = rows[kept].reshape(*table.shape[:-1], rows.shape[1] - 1)
        code = np.min_scalar_type(rows.shape[1] - 1)
        return cls(free, top.astype(code).reshape(table.shape[:-1]))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of codes of the parents."""
        return self.top.shape

    @property
    def width(self) -> int:
        """The number of parents."""
        return self.top.ndim

    @cached_property
    def base(self) -> np.ndarray:
        """The base row, unused: no mass is left to a level below."""
        return np.zeros(self.free.shape[-1] + 1)

    @property
    def levels(self) -> tuple[FullTable, ...]:
        """The table itself, as the only level."""
        return (self,)

    @cached_property
    def probabilities(self) -> np.ndarray:
        """All rows, one per configuration of the parents."""
        free = self.free.reshape(self.top.size, -1)
        rows = np.empty((len(free), free.shape[1] + 1))
        missing = np.arange(rows.shape[1]) == self.top.reshape(-1, 1)
        rows[~missing] = free.ravel()
        rows[missing] = 1.0 - free.sum(axis=1)
        return rows

    @cached_property
    def rows(self) -> Rows:
        """The entries that are not zero, as the kernels read them."""
        place, codes = np.nonzero(self.probabilities)
        keys = np.arange(len(self.probabilities))
        start = np.searchsorted(place, np.arange(len(keys) + 1)).astype(np.int32)
        share = self.probabilities[place, codes]
        return Rows(keys, start, codes, share, np.zeros(len(keys)))

    def table(self, parents: np.ndarray) -> np.ndarray:
        r"""The rows :math:`P(\cdot | u)` for configurations of shape (n, number of parents)."""
        return self.probabilities[row_keys(list(parents.T), self.sizes)]

    @property
    def n_parameters(self) -> int:
        """The free parameters: all entries of a row but one."""
        return self.free.size

    def state(self) -> State:
        """The arrays that define the table."""
        return {"free": self.free, "top": self.top}

    @classmethod
    def from_state(cls, state: State) -> FullTable:
        """The table of such arrays."""
        return cls(state["free"], state["top"])

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that define the table."""
        return bytes_of(self.state())

    def faults(self) -> Iterator[str]:
        """What is wrong: parts that do not fit, rows that are no distributions."""
        if self.free.shape[:-1] != self.top.shape:
            yield "a full table whose parts do not fit"
        elif not ((self.top >= 0) & (self.top < len(self.base))).all():
            yield "a full table that leaves out a code outside the domain"
        elif not (self.probabilities >= 0).all():
            yield "a row of the table has a negative probability, or sums to more than 1"

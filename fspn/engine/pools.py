"""Writing a compiled model: growing pools of structure, codes and probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Pools(NamedTuple):
    """A compiled model: structure, codes and row indices, probabilities."""

    ints: np.ndarray
    tables: np.ndarray
    numbers: np.ndarray


class PoolWriter:
    """Appends records, codes and probabilities to growing arrays.

    Arguments:
        sizes: The number of codes of every variable.

    Both pools of probabilities begin with the number one, for kernels that would otherwise branch.
    ``n_dense`` counts the cells of dense tables, ``n_presummed`` those of presummed ones.
    """

    def __init__(self, sizes: np.ndarray):
        self.sizes = sizes
        self.n_dense = 1
        self.n_presummed = 0
        self._ints: list[int] = []
        self._tables: list[np.ndarray] = []
        self._numbers: list[np.ndarray] = [np.ones(1)]
        self._dense: list[np.ndarray] = [np.ones(1)]
        self._n_tables = 0
        self._n_numbers = 1

    @property
    def ints(self) -> list[int]:
        """The structure as written so far."""
        return self._ints

    def pools(self) -> Pools:
        """All that was written, except dense tables."""
        tables = np.concatenate(self._tables or [np.zeros(1)]).astype(np.int32)
        ints = np.array(self._ints, dtype=np.int64)
        return Pools(ints, tables, np.concatenate(self._numbers))

    def dense(self) -> np.ndarray:
        """The tables that were written out cell by cell."""
        return np.concatenate(self._dense)

    def record(self, *entries: int) -> int:
        """Write integers of the structure; returns their offset."""
        place = len(self._ints)
        self._ints.extend(int(entry) for entry in entries)
        return place

    def entry(self, place: int) -> int:
        """An integer of the structure that was written before."""
        return self._ints[place]

    def numbers_at(self, values: np.ndarray) -> int:
        """Write probabilities; returns their offset."""
        place = self._n_numbers
        self._numbers.append(np.asarray(values, dtype=np.float64).ravel())
        self._n_numbers += len(self._numbers[-1])
        return place

    def table_at(self, values: np.ndarray) -> int:
        """Write codes or row indices; returns their offset."""
        place = self._n_tables
        self._tables.append(np.asarray(values).ravel())
        self._n_tables += len(self._tables[-1])
        return place

    def dense_at(self, values: np.ndarray) -> int:
        """Write a table cell by cell; returns its offset."""
        place = self.n_dense
        self._dense.append(np.ascontiguousarray(values, dtype=np.float64).ravel())
        self.n_dense += values.size
        return place

    def scope(self, node_scope: frozenset[int]) -> tuple[int, int]:
        """Write a scope; returns its length and offset."""
        return len(node_scope), self.record(*sorted(node_scope))

r"""Presummed tables: conditional tables with parents summed out when the model is compiled.

A parent r that an event does not constrain, and that no other relevant table mentions, can be
summed out of the table of its child c before any event is known:

.. math:: P(c \mid u, \mathrm{pa}(r)) = \sum_r P(c \mid u, r) \, P(r \mid \mathrm{pa}(r))

where u are c's other parents. The result is a table of c again, and so on up the network: an event
on a few variables then reads a few small tables in place of all that lies above them. Which of them
an event may use is decided when it is answered (:mod:`fspn.engine.dense_kernels`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fspn.engine.program import PRESUMS

MAX_GROWTH = 2
MAX_SIZE = 1 << 18
MAX_TABLES = 16


@dataclass(frozen=True, eq=False)
class PresummedTable:
    """A table of one variable, with some of its parents summed out (or none).

    Arguments:
        dims: Its parents, then the variable itself.
        cells: One axis per dimension.
        merged: The former parents that are summed out of it.
        presums: Parents that can be summed out of it next, and the tables that this gives; the
            smallest first.
    """

    dims: tuple[int, ...]
    cells: np.ndarray
    merged: frozenset[int] = frozenset()
    presums: list[tuple[int, PresummedTable]] = field(default_factory=list)


class Presummer:
    """Finds the presummed tables that are worth keeping.

    Arguments:
        tables: Per variable its parents and itself, and the cells; parents come before children.
        max_cells: How many cells may be added in all.

    A table is kept if it has at most :data:`MAX_GROWTH` times the cells of the two that it is made
    of, so that large ones can follow from each other only as far as ``max_cells`` allows, and
    :data:`MAX_SIZE` at most: larger ones replace tables that are mostly sparse by dense ones. A
    table leads on to :data:`~fspn.engine.program.PRESUMS` others at most, and a variable has
    :data:`MAX_TABLES` tables at most, those with few parents summed out first.
    """

    def __init__(
        self, tables: Sequence[tuple[tuple[int, ...], np.ndarray]], max_cells: int
    ) -> None:
        self._tables = tables
        self._left = max_cells
        self._sizes = [cells.shape[-1] for _, cells in tables]
        self.ancestors: list[set[int]] = []
        self.children: list[set[int]] = [set() for _ in tables]
        for variable, (dims, _) in enumerate(tables):
            parents = dims[:-1]
            self.ancestors.append({variable}.union(*(self.ancestors[p] for p in parents)))
            for parent in parents:
                self.children[parent].add(variable)

    def tables_of(self, variable: int) -> list[PresummedTable]:
        """A variable's tables: its own first, and each before those that follow from it."""
        own = PresummedTable(*self._tables[variable])
        found = {own.merged: own}
        queue = deque([own])
        while queue:
            table = queue.popleft()
            for parent, dims in self._candidates(table):
                merged = table.merged | {parent}
                if merged not in found:
                    if len(found) == MAX_TABLES or self._size(dims) > self._left:
                        continue
                    found[merged] = PresummedTable(dims, self._sum_out(table, parent, dims), merged)
                    self._left -= found[merged].cells.size
                    queue.append(found[merged])
                table.presums.append((parent, found[merged]))
        return list(found.values())

    def _candidates(self, table: PresummedTable) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The parents that may be summed out next, and the dimensions that are left."""
        variable = table.dims[-1]
        found = []
        for parent in table.dims[:-1]:
            above, cells = self._tables[parent]
            dims = (*sorted({*table.dims, *above} - {parent, variable}), variable)
            size = self._size(dims)
            # Another child of the parent on the way to the variable keeps it.
            between = self.children[parent] & self.ancestors[variable] - {variable}
            most = min(MAX_GROWTH * (table.cells.size + cells.size), MAX_SIZE)
            if between <= table.merged and size <= most:
                found.append((size, parent, dims))
        for _, parent, dims in sorted(found)[:PRESUMS]:
            yield parent, dims

    def _size(self, dims: tuple[int, ...]) -> int:
        return int(np.prod([float(self._sizes[d]) for d in dims]))

    def _sum_out(self, table: PresummedTable, parent: int, dims: tuple[int, ...]) -> np.ndarray:
        """The cells without the parent."""
        above, cells = self._tables[parent]
        labels = {d: label for label, d in enumerate((parent, *dims))}
        given, also, kept = ([labels[d] for d in part] for part in (table.dims, above, dims))
        return np.asarray(np.einsum(table.cells, given, cells, also, kept))

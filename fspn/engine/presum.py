r"""Tables from which parents are summed out beforehand.

A parent r of which an event says nothing, and which no other table that matters mentions, can be
summed out of the table of its child c before any event is known:

.. math:: P(c \mid u, \mathrm{pa}(r)) = \sum_r P(c \mid u, r) \, P(r \mid \mathrm{pa}(r))

where u are c's other parents. The result is a table of c again, and so on up the network: an event
on a few variables then reads a few short tables in place of all that lies above them. Which of them
an event may use is found out when it is answered (:mod:`fspn.engine.dense_kernels`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fspn.engine.program import WAYS

MAX_GROWTH = 2
MAX_SIZE = 1 << 18
MAX_TABLES = 16


@dataclass(frozen=True, eq=False)
class ShortTable:
    """A table of one variable.

    Arguments:
        dims: Its parents, then the variable itself.
        cells: One axis per dimension.
        merged: The former parents that are summed out of it.
        ways: Parents that can be summed out of it next, and the tables then: the smallest first.
    """

    dims: tuple[int, ...]
    cells: np.ndarray
    merged: frozenset[int] = frozenset()
    ways: list[tuple[int, ShortTable]] = field(default_factory=list)


class Shortener:
    """Finds the tables that are worth keeping.

    Arguments:
        tables: Per variable its parents and itself, and the cells; parents come before children.
        max_cells: How many cells may be added in all.

    A table is kept if it has at most :data:`MAX_GROWTH` times the cells of the two that it is made
    of, so that large ones can follow from each other only as far as ``max_cells`` allows, and
    :data:`MAX_SIZE` at most: what it would save is often sparse, and it is not. Of each
    table :data:`~fspn.engine.program.WAYS` ways to go on are kept, and :data:`MAX_TABLES`
    tables of each variable, those with few parents summed out first.
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

    def tables_of(self, variable: int) -> list[ShortTable]:
        """A variable's tables: its own first, and each before those that follow from it."""
        own = ShortTable(*self._tables[variable])
        found = {own.merged: own}
        queue = deque([own])
        while queue:
            table = queue.popleft()
            for parent, dims in self._ways(table):
                merged = table.merged | {parent}
                if merged not in found:
                    if len(found) == MAX_TABLES or self._size(dims) > self._left:
                        continue
                    found[merged] = ShortTable(dims, self._sum_out(table, parent, dims), merged)
                    self._left -= found[merged].cells.size
                    queue.append(found[merged])
                table.ways.append((parent, found[merged]))
        return list(found.values())

    def _ways(self, table: ShortTable) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The parents that may be summed out next, and the dimensions that are left."""
        variable = table.dims[-1]
        ways = []
        for parent in table.dims[:-1]:
            above, cells = self._tables[parent]
            dims = (*sorted({*table.dims, *above} - {parent, variable}), variable)
            size = self._size(dims)
            # Another child of the parent on the way to the variable keeps it.
            between = self.children[parent] & self.ancestors[variable] - {variable}
            most = min(MAX_GROWTH * (table.cells.size + cells.size), MAX_SIZE)
            if between <= table.merged and size <= most:
                ways.append((size, parent, dims))
        for _, parent, dims in sorted(ways)[:WAYS]:
            yield parent, dims

    def _size(self, dims: tuple[int, ...]) -> int:
        return int(np.prod([float(self._sizes[d]) for d in dims]))

    def _sum_out(self, table: ShortTable, parent: int, dims: tuple[int, ...]) -> np.ndarray:
        """The cells without the parent."""
        above, cells = self._tables[parent]
        labels = {d: label for label, d in enumerate((parent, *dims))}
        given, also, kept = ([labels[d] for d in part] for part in (table.dims, above, dims))
        return np.asarray(np.einsum(table.cells, given, cells, also, kept))

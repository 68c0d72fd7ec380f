r"""Presummed tables: conditional tables with parents summed out when the model is compiled.

A parent r that an event does not constrain, and that no other relevant table mentions, can be
summed out of the table of its child c before any event is known:

.. math:: P(c \mid u, \mathrm{pa}(r)) = \sum_r P(c \mid u, r) \, P(r \mid \mathrm{pa}(r))

where u are c's other parents. The result is a table of c again, and so on up the network: an event
on a few variables then reads a few small tables, marginals in the end, in place of all that lies
above them. Which of them an event may use is decided when it is answered
(:mod:`fspn.engine.dense_kernels`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod

import numpy as np

from fspn.engine.program import PRESUMS

SMALL = 1 << 15
MAX_SIZE = 1 << 18
MAX_TABLES = 24
MAX_PRODUCTS = 1 << 24

Dims = tuple[int, ...]


@dataclass(eq=False)
class PresummedTable:
    """A table of one variable, with some of its parents summed out (or none).

    Arguments:
        dims: Its parents, then the variable itself.
        size: Its number of cells.
        merged: The former parents that are summed out of it.
        cells: One axis per dimension; None where it is not kept, and only leads on to others.
        presums: Parents that can be summed out of it next, and the tables that this gives.
    """

    dims: Dims
    size: int
    merged: frozenset[int] = frozenset()
    cells: np.ndarray | None = None
    presums: list[tuple[int, PresummedTable]] = field(default_factory=list)


class Presummer:
    """Finds the presummed tables that are worth keeping, the smallest first.

    Arguments:
        tables: Per variable its parents and itself, and the cells; parents come before children.
        max_cells: How many cells may be added in all.

    A table may be kept if it is :data:`SMALL`, or has no more cells than those that it is made of,
    and :data:`MAX_SIZE` at most: larger ones replace tables that are mostly sparse by dense ones.
    One that is not kept may still lead on to one that is: two parents that are summed out together
    can leave a small table where either alone leaves a large one. A table leads on to
    :data:`~fspn.engine.program.PRESUMS` others at most, and a variable has :data:`MAX_TABLES`
    tables at most, those with few parents summed out first. Each step of the elimination that
    computes one takes :data:`MAX_PRODUCTS` products at most.
    """

    def __init__(self, tables: Sequence[tuple[Dims, np.ndarray]], max_cells: int) -> None:
        self._tables = tables
        self._sizes = [cells.shape[-1] for _, cells in tables]
        self.ancestors: list[set[int]] = []
        self.children: list[set[int]] = [set() for _ in tables]
        for variable, (dims, _) in enumerate(tables):
            parents = dims[:-1]
            self.ancestors.append({variable}.union(*(self.ancestors[p] for p in parents)))
            for parent in parents:
                self.children[parent].add(variable)
        self._found = [self._reachable(variable) for variable in range(len(tables))]
        self._keep(max_cells)

    def tables_of(self, variable: int) -> list[PresummedTable]:
        """A variable's tables: its own first, and each before those that follow from it.

        All have cells, or lead on to one that does.
        """
        useful: dict[frozenset[int], PresummedTable] = {}
        for table in reversed(self._found[variable]):
            steps = [step for step in table.presums if step[1].merged in useful]
            # As far as possible over tables that are kept: the way may end anywhere.
            table.presums = sorted(steps, key=lambda step: (step[1].cells is None, step[1].size))
            if table.cells is not None or steps:
                useful[table.merged] = table
        return list(reversed(useful.values()))

    def _reachable(self, variable: int) -> list[PresummedTable]:
        """A variable's tables, without cells: its own, and what follows from it."""
        dims = self._tables[variable][0]
        found = {frozenset[int](): PresummedTable(dims, self._size(dims))}
        queue = deque(found.values())
        while queue:
            table = queue.popleft()
            for size, parent, left in self._candidates(table):
                merged = table.merged | {parent}
                if merged not in found:
                    if len(found) == MAX_TABLES:
                        continue
                    found[merged] = PresummedTable(left, size, merged)
                    queue.append(found[merged])
                table.presums.append((parent, found[merged]))
        return list(found.values())

    def _candidates(self, table: PresummedTable) -> list[tuple[int, int, Dims]]:
        """The parents that may be summed out next, with the size and dimensions of what is left."""
        variable = table.dims[-1]
        found = []
        for parent in table.dims[:-1]:
            # Another child of the parent on the way to the variable keeps it.
            if self.children[parent] & self.ancestors[variable] - {variable} <= table.merged:
                above = self._tables[parent][0]
                dims = (*sorted({*table.dims, *above} - {parent, variable}), variable)
                found.append((self._size(dims), parent, dims))
        return sorted(found)[:PRESUMS]

    def _size(self, dims: Iterable[int]) -> int:
        return prod(self._sizes[d] for d in dims)

    def _keep(self, left: int) -> None:
        """Compute the cells of the tables that are kept."""
        for table in sorted(chain(*self._found), key=lambda table: table.size):
            if not table.merged:
                table.cells = self._tables[table.dims[-1]][1]
            elif table.size <= min(left, self._most(table)):
                table.cells = self._sum_out(table)
                left -= 0 if table.cells is None else table.size

    def _most(self, table: PresummedTable) -> int:
        """The most cells that a table may have to be kept."""
        made_of = sum(self._tables[v][1].size for v in (table.dims[-1], *table.merged))
        return min(max(made_of, SMALL), MAX_SIZE)

    def _sum_out(self, table: PresummedTable) -> np.ndarray | None:
        """The cells of a table by variable elimination; None where a step takes too long."""
        factors = [self._tables[v] for v in (table.dims[-1], *table.merged)]
        merged = set(table.merged)
        while merged:
            joined = {v: {*chain(*(f[0] for f in factors if v in f[0]))} for v in merged}
            v = min(merged, key=lambda v: (self._size(joined[v]), v))
            if self._size(joined[v]) > MAX_PRODUCTS:
                return None
            merged.remove(v)
            dims = (*sorted(joined[v] - {v}),)
            cells = _product([f for f in factors if v in f[0]], dims)
            factors = [*(f for f in factors if v not in f[0]), (dims, cells)]
        return _product(factors, table.dims)


def _product(factors: Sequence[tuple[Dims, np.ndarray]], dims: Dims) -> np.ndarray:
    """The product of tables, summed over the variables that are not among ``dims``."""
    labels = {d: label for label, d in enumerate(sorted({*chain(*(f[0] for f in factors))}))}
    operands = [part for own, cells in factors for part in (cells, [labels[d] for d in own])]
    found = np.einsum(*operands, [labels[d] for d in dims], optimize=True)
    return np.asarray(found)

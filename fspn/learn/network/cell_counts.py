"""The tables of counts behind the scores of parent sets, each counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fspn.learn.dependence.base import ones_together
from fspn.learn.network.counting import CellCounter, Filled, code_counts, contingency
from fspn.learn.network.ranks import Rankings

MAX_PAIR_CELLS = 4_000_000
MAX_KEPT_CELLS = 64_000_000


@dataclass(frozen=True)
class CodedTable:
    """The coded columns that a network is learned on.

    Arguments:
        codes: One array of codes per variable.
        sizes: The number of codes of each.
        values: The integers that the codes stand for, or None where they are no numbers.
        ordered: Whether neighbouring codes are neighbouring values, for graded laws; empty = no
            graded laws.
        trees: Whether a table may be a decision tree.
    """

    codes: Sequence[np.ndarray]
    sizes: Sequence[int]
    values: Sequence[np.ndarray | None]
    ordered: Sequence[bool] = ()
    trees: bool = False

    @property
    def n_rows(self) -> int:
        return len(self.codes[0])

    def __len__(self) -> int:
        return len(self.codes)

    def is_ordered(self, variable: int) -> bool:
        return bool(self.ordered) and self.ordered[variable]

    def take(self, rows: np.ndarray) -> CodedTable:
        codes = [column[rows] for column in self.codes]
        return CodedTable(codes, self.sizes, self.values, self.ordered, self.trees)


@dataclass(frozen=True)
class ParentCells:
    """The filled cells of a child's table.

    Arguments:
        rows: The row of each: the last parent's code its last digit, before it the code of the
            parent before, or the rank of all parents before.
        codes: The child's code.
        counts: The rows of data in it.
        n_rows: The number of rows of the table, filled or not.
        examples: A row of data per rank of the parents before the last, where they are ranked.
    """

    rows: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    n_rows: int
    examples: np.ndarray | None


class TableCounts:
    """Counts of the variables of a table, alone and together.

    Arguments:
        table: The rows.
    """

    def __init__(self, table: CodedTable):
        self.table = table
        self.single = [
            code_counts(codes, size) for codes, size in zip(table.codes, table.sizes, strict=True)
        ]
        self._pairs: dict[tuple[int, int], np.ndarray] = {}
        self._kept_cells = 0
        self._counter = CellCounter()
        self._rankings = Rankings(table.codes, table.sizes)

    def pair(self, row: int, column: int) -> np.ndarray | None:
        """The table of two variables; None where it is too large to be dense."""
        low, high = min(row, column), max(row, column)
        if (low, high) not in self._pairs:
            sizes = self.table.sizes[low], self.table.sizes[high]
            if sizes[0] * sizes[1] > MAX_PAIR_CELLS:
                return None
            table = contingency(self.table.codes[low], self.table.codes[high], *sizes)
            if self._kept_cells + table.size > MAX_KEPT_CELLS:
                return table if row < column else table.T
            self._kept_cells += table.size
            self._pairs[low, high] = table
        table = self._pairs[low, high]
        return table if row < column else table.T

    @cached_property
    def ones_together(self) -> np.ndarray | None:
        """How often two variables are both 1, for all pairs; None where one has more values."""
        if any(size != 2 for size in self.table.sizes):
            return None
        columns = [codes.__getitem__ for codes in self.table.codes]
        return ones_together(columns, None, self.table.n_rows)[0].astype(np.int64)

    def cells(self, child: int, parents: tuple[int, ...]) -> ParentCells:
        """The filled cells of a child under its parents; a row's last digit is the last parent."""
        size, n_rows = self.table.sizes[child], self.table.sizes[parents[-1]]
        table = self.pair(parents[0], child) if len(parents) == 1 else None
        if table is not None:
            rows, codes = np.nonzero(table)
            return ParentCells(rows, codes, table[rows, codes].astype(np.int64), n_rows, None)
        if len(parents) <= 2:
            filled, examples = self.count((*parents, child)), None
            n_rows *= self.table.sizes[parents[0]] if len(parents) == 2 else 1
        else:
            ranking = self._rankings.of(parents[:-1])
            examples = ranking.examples
            columns = [ranking.ranks, self.table.codes[parents[-1]], self.table.codes[child]]
            filled = self._counter.count(columns, [len(ranking), n_rows, size])
            n_rows *= len(ranking)
        rows, codes = np.divmod(filled.keys, size)
        return ParentCells(rows, codes, filled.counts, n_rows, examples)

    def count(self, variables: tuple[int, ...]) -> Filled:
        """The filled cells of the joint table of two or three variables."""
        return self._counter.count(
            [self.table.codes[v] for v in variables], [self.table.sizes[v] for v in variables]
        )

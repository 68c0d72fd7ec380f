"""Coarse codes: at most a few cells per column, for finding classes of rows.

Classes are visible in coarse cells too, and the tables of all pairs of columns stay small. The
networks under the sum node are learned on the codes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fspn.learn.network.counting import code_counts
from fspn.learn.slices import Slice

MAX_CELLS = 16


@dataclass(frozen=True)
class CoarseRows:
    """Rows of coarse codes.

    Arguments:
        codes: One row per row of the table, one byte per column.
        sizes: The number of cells of each column.
    """

    codes: np.ndarray
    sizes: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def take(self, rows: np.ndarray) -> CoarseRows:
        return CoarseRows(np.ascontiguousarray(self.codes[rows]), self.sizes)


def coarse_rows(data: Slice, scope: list[int], max_cells: int = MAX_CELLS) -> CoarseRows:
    """The coarse codes of some coded variables of a slice."""
    columns, sizes = [], []
    for variable in scope:
        described = data.domain[variable]
        values = data.values(variable)
        cells = coarse_cells(
            code_counts(values, described.size), described.kind != "unordered", max_cells
        )
        columns.append(cells[values])
        sizes.append(int(cells.max()) + 1)
    return CoarseRows(np.column_stack(columns), np.array(sizes, dtype=np.int64))


def coarse_cells(counts: np.ndarray, ordered: bool, max_cells: int) -> np.ndarray:
    """The coarse cell of every code: runs of about equal weight, or the most frequent codes.

    Of an unordered column the most frequent codes keep a cell each, and the others share one.
    """
    if len(counts) <= max_cells:
        return np.arange(len(counts), dtype=np.uint8)
    if not ordered:
        cells = np.full(len(counts), max_cells - 1, dtype=np.uint8)
        common = np.argsort(-counts, kind="stable")[: max_cells - 1]
        cells[common] = np.arange(max_cells - 1)
        return cells
    middle = np.cumsum(counts) - counts / 2
    runs = np.floor(max_cells * middle / max(counts.sum(), 1)).clip(0, max_cells - 1)
    return np.unique(runs, return_inverse=True)[1].astype(np.uint8)

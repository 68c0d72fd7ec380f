"""Cells of values that belong together, wherever on the line they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fspn.schema.cells import Cells


@dataclass(frozen=True)
class ScatteredCells(Cells):
    r"""Points of a line gathered into cells by what they have in common, not by their order.

    A number that is a name (of a flight, a shop, an account) is informative about other columns,
    but its neighbours are not alike. A range contains of cell k the fraction :math:`w_k([a, b]) =
    \sum_{x \in [a, b], c(x) = k} n_x / n_k`.

    Arguments:
        cell: The cell of every point.
    """

    cell: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, values: np.ndarray, rows: np.ndarray, cell: np.ndarray) -> ScatteredCells:
        """From the values in order, the rows and the cell of each."""
        return cls(values, values, rows, np.arange(int(cell.max()) + 1), cell=cell)

    @property
    def is_in_order(self) -> bool:
        return False

    @cached_property
    def cell_of_piece(self) -> np.ndarray:
        return self.cell

    @cached_property
    def cell_rows(self) -> np.ndarray:
        return np.bincount(self.cell, self.mass, self.size)

    @cached_property
    def _shares(self) -> np.ndarray:
        return self.mass / self.cell_rows[self.cell]

    def range_weights(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        first = np.searchsorted(self.left, lower, side="left")
        last = np.searchsorted(self.left, upper, side="right")
        last = np.where(np.isnan(lower) | np.isnan(upper), first, last)
        weights = np.zeros((len(lower), self.size))
        weights[(first == 0) & (last == len(self.cell))] = 1.0
        single = np.flatnonzero(last - first == 1)
        point = first[single]
        weights[single, self.cell[point]] = self._shares[point]
        several = (last - first > 1) & (last - first < len(self.cell))
        for row in np.flatnonzero(several).tolist():
            held = slice(first[row], last[row])
            weights[row] = np.bincount(self.cell[held], self._shares[held], self.size)
        return np.minimum(weights, 1.0, out=weights)

    def cells_in_range(self, lower: float, upper: float) -> None:
        """Cells of a range do not lie side by side."""

    @cached_property
    def _by_cell(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The points cell by cell, the rows up to each, and where every cell begins."""
        order = np.argsort(self.cell, kind="stable")
        rows = np.cumsum(self.mass[order])
        starts = np.searchsorted(self.cell[order], np.arange(self.size + 1))
        return order, rows, starts

    def sample(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        order, rows, starts = self._by_cell
        before = np.concatenate([[0.0], rows])[starts]
        wanted = before[codes] + rng.random(len(codes)) * np.diff(before)[codes]
        found = np.searchsorted(rows, wanted, side="right")
        return self.left[order[np.clip(found, starts[codes], starts[codes + 1] - 1)]]

    def inside(self, code: int, share: float, lower: np.ndarray, upper: np.ndarray) -> float:
        """The value at which a cell, cut to ranges, reaches a share of its rows; NaN if empty."""
        order, _, starts = self._by_cell
        points = order[starts[code] : starts[code + 1]]
        values = self.left[points][:, None]
        held = ((values >= lower) & (values <= upper)).any(axis=1)
        if not held.any():
            return float("nan")
        rows = np.cumsum(self.mass[points] * held)
        # Just below the share: a value is reached by the rows up to and including it.
        place = int(np.searchsorted(rows, share * rows[-1] * (1 - 1e-12), side="right"))
        return float(values[min(place, int(np.flatnonzero(held)[-1])), 0])

    def values_of(self, code: int) -> np.ndarray:
        return self.left[self.cell == code]

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), "cell": self.cell}

    def faults(self) -> list[str]:
        if len(self.cell) != len(self.left):
            return ["points without a cell"]
        if not np.array_equal(np.unique(self.cell), np.arange(self.size)):
            return ["cells without points, or points of no cell"]
        found = super().faults()
        return found or ([] if self.is_point.all() else ["a cell of names that holds a stretch"])


def cells_from_state(state: Mapping[str, np.ndarray]) -> Cells:
    """The cells that a file describes, of either class."""
    step, scale = (float(number) for number in state["law"])
    parts = state["left"], state["right"], state["mass"], state["first"], step, scale
    return ScatteredCells(*parts, state["cell"]) if "cell" in state else Cells(*parts)

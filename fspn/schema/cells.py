r"""The cells of a column: stretches of a line, each with a law of its own inside.

A column's values lie on a line: numbers where they are, datetimes in microseconds, labels at their
position in a list. The line is cut into *pieces*: a point (a value that is repeated), a stretch of
reals with a uniform density, or a stretch of a lattice (every multiple of a step) with equal
shares. Neighbouring pieces make up a *cell*; learners and kernels see cells only.

With :math:`M(x)` the number of rows in all pieces up to x, a range contains of cell k the fraction

.. math:: w_k([a, b]) = \frac{\min(M(b), M_{k+1}) - \max(M(a-), M_k)}{M_{k+1} - M_k}

cut to [0, 1], where :math:`M_k` are the rows before the cell. All cells strictly between those of
the two ends have the fraction 1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

OUTSIDE = -2
"""The code of a value that no cell holds."""


@dataclass(frozen=True)
class Cells:
    r"""Pieces of a line in order, gathered into cells.

    A piece whose ends are equal is a point. Other pieces are half-open stretches of reals
    :math:`(l, r]`, or, where ``step`` is positive, the lattice :math:`l, l + h, ..., r`.

    Arguments:
        left: The left end of every piece; the first may be minus infinity.
        right: The right end; the last may be infinity.
        mass: The rows of every piece, its weight inside its cell.
        first: The first piece of every cell.
        step: The step of the lattice; 0 = reals.
        scale: The scale of the two outer pieces where they are infinite: beyond a distance t lies
            the share scale / (scale + t) of them.
    """

    left: np.ndarray
    right: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    step: float = 0.0
    scale: float = 1.0

    @property
    def size(self) -> int:
        return len(self.first)

    @cached_property
    def rows_before(self) -> np.ndarray:
        """The number of rows before every piece, and finally that of all rows."""
        return np.concatenate([[0.0], np.cumsum(self.mass)])

    @cached_property
    def starts(self) -> np.ndarray:
        return self.rows_before[self.first]

    @cached_property
    def ends(self) -> np.ndarray:
        return np.append(self.starts[1:], self.rows_before[-1])

    @cached_property
    def cell_of_piece(self) -> np.ndarray:
        return np.repeat(np.arange(self.size), np.diff(np.append(self.first, len(self.left))))

    @property
    def is_in_order(self) -> bool:
        """Whether the cells are consecutive stretches of the line."""
        return True

    @cached_property
    def cell_rows(self) -> np.ndarray:
        """The rows of every cell."""
        return self.ends - self.starts

    @cached_property
    def is_point(self) -> np.ndarray:
        return self.left == self.right

    @property
    def is_discrete(self) -> bool:
        """Whether all of the mass lies on points, of the line or of its lattice."""
        return self.step > 0 or bool(self.is_point.all())

    @cached_property
    def support(self) -> np.ndarray:
        """All points of a discrete column, in the line's order."""
        counts = self._lattice_sizes
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self.left, counts) + inside * self.step

    @cached_property
    def support_shares(self) -> tuple[np.ndarray, np.ndarray]:
        """The cell of every point of the support, and its share of that cell."""
        counts = self._lattice_sizes
        cell = np.repeat(self.cell_of_piece, counts)
        rows = np.repeat(self.mass / counts, counts)
        return cell, rows / self.cell_rows[cell]

    @cached_property
    def _lattice_sizes(self) -> np.ndarray:
        if self.step <= 0:
            return np.ones(len(self.left), dtype=np.int64)
        return np.rint((self.right - self.left) / self.step).astype(np.int64) + 1

    # ------------------------------------------------------------------ from the line to cells

    def pieces(self, values: np.ndarray) -> np.ndarray:
        """The piece that holds each value; -1 where none does."""
        found = np.searchsorted(self.left, values, side="right") - 1
        if self.step <= 0:
            # A stretch of reals does not hold its left end: the piece before it does.
            open_end = (found > 0) & ~self.is_point[found] & (self.left[found] == values)
            found = np.where(open_end, found - 1, found)
        held = (found >= 0) & (values <= self.right[found])
        if self.step > 0:
            held &= (values - self.left[found]) % self.step == 0
        return np.where(held, found, -1)

    def codes(self, values: np.ndarray) -> np.ndarray:
        """The cell of each value; ``OUTSIDE`` where none holds it."""
        pieces = self.pieces(values)
        return np.where(pieces >= 0, self.cell_of_piece[pieces], OUTSIDE).astype(np.int32)

    def range_weights(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The share of every cell that lies in each closed range, shape (n, size).

        A range of which an end is NaN is empty.
        """
        low = self.rows_up_to(lower, before=True)[:, None]
        high = self.rows_up_to(upper, before=False)[:, None]
        rows = np.minimum(high, self.ends) - np.maximum(low, self.starts)
        return np.clip(rows / self.cell_rows, 0.0, 1.0)

    def rows_up_to(self, values: np.ndarray, before: bool) -> np.ndarray:
        """M(x), or M(x-) with ``before``; NaN gives an empty range from either side."""
        piece = np.searchsorted(self.left, values, side="left" if before else "right") - 1
        inside = np.maximum(piece, 0)
        rows = self.rows_before[inside] + self.mass[inside] * self._fraction(inside, values, before)
        rows = np.where(piece >= 0, rows, 0.0)
        return np.where(np.isnan(values), np.inf if before else -np.inf, rows)

    def _fraction(self, piece: np.ndarray, values: np.ndarray, before: bool) -> np.ndarray:
        """How much of a piece lies up to a value at or behind its left end."""
        left, right = self.left[piece], self.right[piece]
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.step > 0:
                steps = (values - left) / self.step
                count = self._lattice_sizes[piece]
                part = (np.ceil(steps) if before else np.floor(steps) + 1.0) / count
            else:
                part = (values - left) / (right - left)
                part = np.where(np.isposinf(right), 1 - self._beyond(values - left), part)
                part = np.where(np.isneginf(left), self._beyond(right - values), part)
        whole = values > right if before and self.step > 0 else values >= right
        return np.where(whole, 1.0, np.clip(part, 0.0, 1.0))

    def _beyond(self, distance: np.ndarray) -> np.ndarray:
        """The share of an outer piece that lies further out than a distance."""
        return self.scale / (self.scale + np.maximum(distance, 0.0))

    # ------------------------------------------------------------------ one range, for one question

    @cached_property
    def _lists(self) -> tuple[list[float], ...]:
        """The arrays as Python lists, in which a single look-up is ten times as fast."""
        arrays = self.left, self.right, self.rows_before, self.mass, self.starts, self.ends
        return tuple(array.tolist() for array in arrays)

    def cells_in_range(self, lower: float, upper: float) -> tuple[int, int, float, float] | None:
        """First and last cell of one closed range, and their shares; (1, 0, 0, 0) where empty."""
        _, _, _, _, starts, ends = self._lists
        low, high = self._rows_at(lower, True), self._rows_at(upper, False)
        if not low < high:
            return 1, 0, 0.0, 0.0
        first, last = bisect_right(starts, low) - 1, bisect_left(ends, high)
        size = ends[first] - starts[first]
        if first == last:
            share = (high - low) / size
            return first, last, share, share
        last_share = (high - starts[last]) / (ends[last] - starts[last])
        return first, last, (ends[first] - low) / size, last_share

    def _rows_at(self, value: float, before: bool) -> float:
        left, right, rows, mass, _, _ = self._lists
        piece = (bisect_left if before else bisect_right)(left, value) - 1
        if piece < 0 or value != value:
            return 0.0
        if value > right[piece] or (value == right[piece] and (self.step <= 0 or not before)):
            return rows[piece + 1]
        if self.step > 0 or right[piece] == np.inf or left[piece] == -np.inf:
            part = self._fraction(np.array([piece]), np.array([value]), before)[0]
            return rows[piece] + mass[piece] * float(part)
        return rows[piece] + mass[piece] * (value - left[piece]) / (right[piece] - left[piece])

    def merged(self, n_cells: int) -> Cells:
        """Neighbouring cells put together, down to about so many of equal rows."""
        target = self.rows_before[-1] / n_cells
        part = np.floor((0.5 * (self.starts + self.ends)) / target * (1 - 1e-12))
        # A cell of many rows stays on its own.
        heavy = self.cell_rows >= target
        opens = np.concatenate([[True], np.diff(part) > 0])
        opens |= heavy | np.concatenate([[False], heavy[:-1]])
        return replace(self, first=self.first[opens])

    # ------------------------------------------------------------------ inside the cells

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """The log-density of each value inside its own cell; minus infinity outside all cells.

        With respect to counting measure on points and lattices, to Lebesgue's on reals.
        """
        piece = self.pieces(values)
        inside = np.maximum(piece, 0)
        left, right = self.left[inside], self.right[inside]
        cell = self.cell_of_piece[inside]
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(self.mass[inside] / self.cell_rows[cell])
            if self.step > 0:
                spread = self._lattice_sizes[inside].astype(np.float64)
            else:
                spread = np.where(left == right, 1.0, right - left)
                reach = np.where(np.isposinf(right), values - left, right - values)
                outer = np.isinf(spread)
                spread = np.where(outer, (self.scale + reach) ** 2 / self.scale, spread)
            return np.where(piece >= 0, logs - np.log(spread), -np.inf)

    def sample(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A value out of each given cell, by inverting M."""
        start, end = self.starts[codes], self.ends[codes]
        return self.at_rows(codes, start + rng.random(len(codes)) * (end - start))

    def at_rows(self, codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The value of each given cell up to which so many rows of the column lie."""
        piece = np.searchsorted(self.rows_before, rows, side="right") - 1
        last = np.append(self.first[1:], len(self.left))[codes] - 1
        piece = np.clip(piece, self.first[codes], last)
        part = np.clip((rows - self.rows_before[piece]) / self.mass[piece], 0.0, 1.0)
        return self._at(piece, part)

    def _at(self, piece: np.ndarray, part: np.ndarray) -> np.ndarray:
        """The value up to which a given part of a piece lies."""
        left, right = self.left[piece], self.right[piece]
        if self.step > 0:
            count = self._lattice_sizes[piece]
            return left + np.minimum(np.floor(part * count), count - 1) * self.step
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.clip(part, 1e-12, 1 - 1e-12)
            value = left + part * (right - left)
            value = np.where(np.isposinf(right), left + self.scale * part / (1 - part), value)
            value = np.where(np.isneginf(left), right - self.scale * (1 - part) / part, value)
        return np.where(left == right, left, value)

    # ------------------------------------------------------------------ files

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.state().values())

    def state(self) -> dict[str, np.ndarray]:
        return {
            "left": self.left,
            "right": self.right,
            "mass": self.mass,
            "first": self.first,
            "law": np.array([self.step, self.scale]),
        }

    def faults(self) -> list[str]:
        """What is wrong with the cells, a sentence each."""
        n = len(self.left)
        if not (n == len(self.right) == len(self.mass)) or n == 0 or len(self.first) == 0:
            return ["pieces whose ends and rows do not fit, or none"]
        if self.first[0] != 0 or not (np.diff(self.first) > 0).all() or self.first[-1] >= n:
            return ["cells that do not cover the pieces"]
        if not (self.left <= self.right).all() or not (self.right[:-1] <= self.left[1:]).all():
            return ["pieces that are not in order"]
        if (self.is_point[1:] & self.is_point[:-1] & (self.left[1:] == self.left[:-1])).any():
            return ["a point that occurs twice"]
        if np.isinf(self.left[1:]).any() or np.isinf(self.right[:-1]).any():
            return ["an inner piece that is infinite"]
        if not ((self.mass > 0) & np.isfinite(self.mass)).all():
            return ["a piece without rows"]
        if not (0 <= self.step < np.inf and 0 < self.scale < np.inf):
            return ["a step or a scale that is not a positive number"]
        if self.step > 0 and not np.isfinite([self.left[0], self.right[-1]]).all():
            return ["a lattice without ends"]
        return []

"""Cells from the values of a column: of about equal frequency, frequent values on their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fspn.schema.cells import Cells
from fspn.schema.infer import atom_rows

MAX_POINTS = 1 << 14
"""A column of more distinct values keeps the repeated ones as points, the others as lattices."""

UNSEEN = 0.1
"""The rows that a value counts for which was named but never seen."""

PIECE_ROWS, MAX_PIECES = 16, 16
TAIL_ROWS, MAX_TAIL_PIECES = 4, 256
"""Stretches inside a cell are cut into pieces of so many rows at least; outer ones more finely."""

SMALL_RUN = 0.1
"""A run of less than this part of a cell joins the heavy value behind it."""


@dataclass(frozen=True)
class Counted:
    """The distinct values of a column on the line, in order, and the rows of each."""

    values: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, line: np.ndarray, domain: np.ndarray | None = None) -> Counted:
        """Count the points of a line; values of ``domain`` that do not occur count a little."""
        values, rows = np.unique(line, return_counts=True)
        rows = rows.astype(np.float64)
        if domain is not None and len(domain) > len(values):
            unseen = np.setdiff1d(domain.astype(np.float64), values, assume_unique=True)
            values = np.concatenate([values, unseen])
            rows = np.concatenate([rows, np.full(len(unseen), UNSEEN)])
            order = np.argsort(values, kind="stable")
            values, rows = values[order], rows[order]
        return cls(values, rows)


def discrete_cells(counted: Counted, n_cells: int) -> Cells:
    """Cells of a column whose values are all points, or points of a lattice."""
    starts = cut(counted.rows, n_cells, counted.rows.sum() / n_cells)
    if len(counted.values) <= MAX_POINTS:
        values = counted.values
        return Cells(values, values, counted.rows, starts)
    return _lattice_cells(counted, starts)


def _lattice_cells(counted: Counted, starts: np.ndarray) -> Cells:
    """Values that are seen often stay points; neighbouring others are pooled."""
    values, rows = counted.values, counted.rows
    step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
    often = rows >= max(3.0, float(np.sort(rows)[-MAX_POINTS // 2]))
    opens = np.zeros(len(values), dtype=bool)
    opens[starts] = True
    opens |= often | np.concatenate([[True], often[:-1]])
    run = np.cumsum(opens) - 1
    place = np.arange(len(values)) - np.flatnonzero(opens)[run]
    length = np.full(len(values), max(PIECE_ROWS, len(values) // (len(starts) * MAX_PIECES)))
    length[: starts[1] if len(starts) > 1 else None] = TAIL_ROWS
    length[starts[-1] :] = TAIL_ROWS
    opens |= place % length == 0
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(values)) - 1
    left, right, point = values[first], values[last], often[first]
    # Pooled values reach out to the pieces beside them: what was not seen there is not impossible.
    right = np.where(point, right, np.append(left[1:] - step, right[-1]))
    left = np.where(point, left, np.concatenate([left[:1], right[:-1] + step]))
    return Cells(left, right, np.add.reduceat(rows, first), np.searchsorted(first, starts), step)


def real_cells(counted: Counted, n_cells: int, atoms: bool) -> Cells:
    """Cells of a column of reals; with ``atoms`` its repeated values are points."""
    values, rows = counted.values, counted.rows
    heavy = rows >= atom_rows(int(rows.sum())) if atoms else np.zeros(len(rows), dtype=bool)
    limit = atom_rows(int(rows.sum())) if atoms else np.inf
    starts = cut(rows, n_cells, limit)
    points = heavy | (rows >= _point_rows(rows, heavy)) if atoms else heavy
    opens = np.zeros(len(values), dtype=bool)
    opens[starts] = True
    piece_first = _real_pieces(points, opens, rows)
    return _pieces_of_reals(values, rows, points, piece_first, starts)


def _point_rows(rows: np.ndarray, heavy: np.ndarray) -> float:
    """Lighter repeated values are points, too, where most of the column is repeated values."""
    repeated = rows[(rows >= 5) & ~heavy].sum()
    return 5.0 if repeated > 0.5 * rows[~heavy].sum() else np.inf


def _real_pieces(points: np.ndarray, opens: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Where pieces begin: at cells, at points and behind them, and every so many rows."""
    opens = opens | points | np.concatenate([[True], points[:-1]])
    first = np.flatnonzero(opens)
    total = np.add.reduceat(rows, first)
    parts = np.clip(total // PIECE_ROWS, 1, MAX_PIECES)
    parts[[0, -1]] = np.clip(total[[0, -1]] // TAIL_ROWS, 1, MAX_TAIL_PIECES)
    run = np.cumsum(opens) - 1
    before = np.cumsum(rows) - rows
    part = np.floor((before - before[first][run]) / total[run] * parts[run])
    new = np.concatenate([[True], (np.diff(run) != 0) | (np.diff(part) != 0)])
    return np.flatnonzero(new)


def _pieces_of_reals(
    values: np.ndarray,
    rows: np.ndarray,
    points: np.ndarray,
    first: np.ndarray,
    starts: np.ndarray,
) -> Cells:
    """Points and stretches that touch each other, with an infinite piece at either end."""
    last = np.append(first[1:], len(values)) - 1
    is_point = points[first]
    middle = 0.5 * (values[last[:-1]] + values[first[1:]])
    # A stretch reaches to the point beside it, two stretches meet in the middle.
    border = np.where(is_point[1:], values[first[1:]], middle)
    border = np.where(is_point[:-1], values[last[:-1]], border)
    left = np.where(is_point, values[first], np.concatenate([[values[0]], border]))
    right = np.where(is_point, values[last], np.concatenate([border, [values[-1]]]))
    mass = np.add.reduceat(rows, first)
    low, high = values[0], values[-1]
    if not is_point[0]:
        low = left[0] = np.nextafter(low, -np.inf)
    gaps = np.flatnonzero(is_point[1:] & is_point[:-1])
    scale = max(float(high - low), 1e-3 * max(abs(float(low)), abs(float(high))), 1e-9) / 4
    return _with_gaps(left, right, mass, np.searchsorted(first, starts), gaps, scale)


def _with_gaps(
    left: np.ndarray,
    right: np.ndarray,
    mass: np.ndarray,
    first: np.ndarray,
    gaps: np.ndarray,
    scale: float,
) -> Cells:
    """Stretches of little mass between points and beyond both ends: no real is impossible."""
    place = gaps + 1
    opens = np.zeros(len(left))
    opens[first] = 1.0
    first_of = np.insert(opens, place, 0.0)
    lefts = np.insert(left, place, right[gaps])
    rights = np.insert(right, place, left[gaps + 1])
    masses = np.insert(mass, place, UNSEEN)
    lefts = np.concatenate([[-np.inf], lefts, [rights[-1]]])
    rights = np.concatenate([[lefts[1]], rights, [np.inf]])
    masses = np.concatenate([[UNSEEN], masses, [UNSEEN]])
    first_of = np.concatenate([[1.0], first_of, [0.0]])
    first_of[1] = 0.0
    return Cells(lefts, rights, masses, np.flatnonzero(first_of), 0.0, scale)


def cut(rows: np.ndarray, n_cells: int, heavy_rows: float) -> np.ndarray:
    """Where cells begin, among values in order: at most ``n_cells``, of about equal rows.

    Arguments:
        rows: The rows of every value.
        n_cells: The number of cells, at most.
        heavy_rows: A value of so many rows is a cell of its own, as far as there are cells.
    """
    target = float(rows.sum()) / n_cells
    while True:
        starts = _sweep(rows, target, min(heavy_rows, target))
        if len(starts) <= n_cells:
            return starts
        if heavy_rows < target:
            heavy_rows *= 1.5
        else:
            target *= 1.1


def _sweep(rows: np.ndarray, target: float, heavy_rows: float) -> np.ndarray:
    before = np.concatenate([[0.0], np.cumsum(rows)])
    heavy = np.append(np.flatnonzero(rows >= heavy_rows), len(rows))
    starts: list[int] = []
    place = 0
    while place < len(rows):
        starts.append(place)
        wall = int(heavy[np.searchsorted(heavy, place)])
        if wall == place:
            place += 1
            continue
        left = before[wall] - before[place]
        if left < SMALL_RUN * min(target, heavy_rows) and wall < len(rows):
            place = wall + 1
            continue
        n_parts = max(1, round(left / target))
        place = int(np.searchsorted(before, before[place] + left / n_parts * (1 + 1e-9), "right"))
        place = min(max(place - 1, starts[-1] + 1), wall)
    return np.array(starts, dtype=np.int64)


def label_cells(rows: np.ndarray, n_cells: int) -> tuple[np.ndarray, Cells]:
    """An order of labels, from frequent to rare, and their cells: the rarest share the last one.

    Arguments:
        rows: The rows of every label.
        n_cells: The number of cells, at most.
    """
    order = np.argsort(-rows, kind="stable")
    place = np.arange(len(rows), dtype=np.float64)
    counted = np.where(rows[order] > 0, rows[order], UNSEEN)
    return order, Cells(place, place, counted, np.arange(min(n_cells, len(rows))))

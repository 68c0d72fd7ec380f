r"""Integer-linear laws: a variable is an integer combination of its parents plus noise.

.. math:: x = \sum_j c_j u_j + \epsilon, \qquad \epsilon \sim N

The coefficients are those of least squares where they are close to whole numbers. A law becomes an
:class:`fspn.model.cpt.backoff.LinearLaw`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fspn.jit import patient
from fspn.learn.network.cell_counts import ParentCells, TableCounts

MAX_OFFSETS = 512
BLOCK_CELLS = 200_000


class Laws:
    """The integer-linear laws of a table.

    Arguments:
        counts: The counts of its variables.
    """

    def __init__(self, counts: TableCounts):
        self.counts = counts
        self.table = counts.table
        self._covariance = self._covariances()

    def _covariances(self) -> np.ndarray:
        """Of the integers behind the codes, by blocks of rows; 0 where there are none."""
        table = self.table
        centred = []
        for size, values, held in zip(table.sizes, table.values, self.counts.single, strict=True):
            numbers = np.zeros(size) if values is None else values.astype(np.float64)
            centred.append(numbers - held @ numbers / table.n_rows)
        step = max(BLOCK_CELLS // len(table), 1024)
        total = np.zeros((len(table), len(table)))
        for start in range(0, table.n_rows, step):
            rows = slice(start, start + step)
            block = np.array(
                [c[codes[rows]] for c, codes in zip(centred, table.codes, strict=True)]
            )
            total += block @ block.T
        return total / table.n_rows

    def coefficients(self, child: int, parents: tuple[int, ...]) -> np.ndarray | None:
        """The whole-number coefficients of the child on its parents, where there are any."""
        if any(self.table.values[v] is None for v in (child, *parents)):
            return None
        slopes = self._slopes(child, parents)
        if slopes is None:
            return None
        rounded = [round(slope) for slope in slopes]
        near = all(abs(s - r) <= 0.2 for s, r in zip(slopes, rounded, strict=True))
        return np.array(rounded, dtype=np.int64) if near and all(rounded) else None

    def _slopes(self, child: int, parents: tuple[int, ...]) -> list[float] | None:
        """Least squares; one and two parents written out, as this is asked for every pair."""
        cov = self._covariance
        p, q = parents[0], parents[-1]
        a, b, c = float(cov[p, p]), float(cov[p, q]), float(cov[q, q])
        x, y = float(cov[p, child]), float(cov[q, child])
        if len(parents) == 1:
            return [x / a] if a > 0 else None
        if len(parents) == 2:
            det = a * c - b * b
            return [(c * x - b * y) / det, (a * y - b * x) / det] if det > 1e-12 * a * c else None
        try:
            found = np.linalg.solve(cov[np.ix_(parents, parents)], cov[list(parents), child])
        except np.linalg.LinAlgError:
            return None
        return [float(slope) for slope in found] if np.isfinite(found).all() else None

    def residuals(
        self, child: int, parents: tuple[int, ...], coefficients: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """The counts of the residuals, and the smallest one."""
        return self._residuals(self.counts.cells(child, parents), child, parents, coefficients)

    def _residuals(
        self, cells: ParentCells, child: int, parents: tuple[int, ...], coefficients: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Arguments as in :meth:`residuals`; ``parents`` in the order of the cells."""
        numbers = self._numbers(child)[cells.codes]
        *others, last = parents
        before, at = np.divmod(cells.rows, self.table.sizes[last])
        numbers = numbers - coefficients[-1] * self._numbers(last)[at]
        if cells.examples is not None:
            combined = sum(
                c * self._numbers(p)[self.table.codes[p][cells.examples]]
                for c, p in zip(coefficients, others, strict=False)
            )
            numbers -= np.asarray(combined, dtype=np.int64)[before]
        elif others:
            numbers -= coefficients[0] * self._numbers(others[0])[before]
        counts, lowest = _residual_counts(numbers, cells.counts, MAX_OFFSETS)
        return counts, int(lowest)

    def _numbers(self, variable: int) -> np.ndarray:
        return np.asarray(self.table.values[variable], dtype=np.int64)

    def score(self, cells: ParentCells, child: int, parents: tuple[int, ...]) -> float:
        """BIC of the law; minus infinity where there is none."""
        coefficients = self.coefficients(child, parents)
        if coefficients is None:
            return -np.inf
        counts, _ = self._residuals(cells, child, parents, coefficients)
        filled = counts[counts > 0]
        if len(filled) == 0:
            return -np.inf
        n = filled.sum()
        paid = 0.5 * np.log(n) * (len(filled) + len(parents))
        return float(filled @ np.log(filled / n) - paid)


@patient
@njit(cache=True, nogil=True)
def _residual_counts(
    residuals: np.ndarray, counts: np.ndarray, limit: int
) -> tuple[np.ndarray, np.integer]:
    """Counts of the residuals, and the smallest one; empty where they spread."""
    low, high = residuals.min(), residuals.max()
    if high - low >= limit:
        return np.zeros(0, dtype=np.int64), low
    found = np.zeros(high - low + 1, dtype=np.int64)
    for i in range(len(counts)):
        found[residuals[i] - low] += counts[i]
    return found, low

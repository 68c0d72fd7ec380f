"""The rows of a table of two-valued columns, each distinct one once, with its weight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

CERTAIN = 1e-6


@dataclass(frozen=True)
class BinaryRows:
    """Weighted rows.

    Arguments:
        cells: Zeros and ones (uint8), one row per distinct row of the table.
        weights: How often each occurs; under a sum node, how much of it belongs to one child.
    """

    cells: np.ndarray
    weights: np.ndarray

    @classmethod
    def distinct(cls, cells: np.ndarray) -> BinaryRows:
        """The distinct rows of a table, in a fixed order, with their counts."""
        packed = np.ascontiguousarray(np.packbits(cells, axis=1))
        as_one = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, counts = np.unique(as_one, return_index=True, return_counts=True)
        return cls(np.ascontiguousarray(cells[first]), counts.astype(np.float64))

    @property
    def n_columns(self) -> int:
        return self.cells.shape[1]

    @cached_property
    def total(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def columns(self) -> np.ndarray:
        """The cells column by column."""
        return np.ascontiguousarray(self.cells.T)

    @cached_property
    def ones(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows in which each column is 1, one column after the other, and where each begins."""
        column, row = np.nonzero(self.columns)
        counts = np.bincount(column, minlength=self.n_columns)
        return np.concatenate([[0], np.cumsum(counts)]), row.astype(np.int32)

    @cached_property
    def means(self) -> np.ndarray:
        """The share of ones per column, half a row of each value added."""
        return (self.weights @ self.cells + 0.5) / (self.total + 1.0)

    def weighted(self, weights: np.ndarray, least: float) -> BinaryRows:
        """The rows that keep at least the fraction ``least`` of their weight, reweighted."""
        kept = weights > least * self.weights
        return BinaryRows(np.ascontiguousarray(self.cells[kept]), weights[kept])

    @cached_property
    def pairs(self) -> np.ndarray:
        """The weight of the rows in which two columns are both 1, for all pairs at once."""
        floats = self.cells.astype(np.float32)
        weighted = floats * self.weights[:, None].astype(np.float32)
        return np.asarray((floats.T @ weighted).astype(np.float64))

    def information(self, table: BinaryRows, strength: float) -> np.ndarray:
        """The mutual information of all pairs of columns, times the number of rows, in nats.

        Arguments:
            table: The whole table.
            strength: How many rows with the distribution of the whole table are added to these.
        """
        n = self.total + strength
        pairs = self.pairs + strength / table.total * table.pairs if strength else self.pairs
        one = (np.diag(pairs) + 0.5) / (n + 1.0)
        cell = (pairs + 0.25) / (n + 1.0)
        found = np.zeros_like(cell)
        for left, right, joint in (
            (one, one, cell),
            (one, 1 - one, one[:, None] - cell),
            (1 - one, one, one[None, :] - cell),
            (1 - one, 1 - one, 1 - one[:, None] - one[None, :] + cell),
        ):
            joint = np.maximum(joint, 1e-12)
            found += joint * np.log(joint / np.outer(left, right))
        np.fill_diagonal(found, 0.0)
        return np.asarray(n * np.maximum(found, 0.0))

    def without(self, part: BinaryRows, v: int) -> np.ndarray:
        r""":math:`\Pr(X_v = 1 \mid X_u = 0)` and :math:`\Pr(X_v = 1 \mid X_u = 1)` for all u.

        From the rows of this table without those of a part of it, smoothed by two rows at the mean.
        """
        both = np.maximum(self.pairs[v] - part.pairs[v], 0.0)
        ones = np.maximum(np.diag(self.pairs) - np.diag(part.pairs), both)
        rest = max(self.total - part.total, 0.0)
        prior = 2.0 * self.means[v]
        given_one = (both + prior) / (ones + 2.0)
        given_zero = (np.maximum(ones[v] - both, 0.0) + prior) / (
            np.maximum(rest - ones, 0.0) + 2.0
        )
        return np.clip(np.column_stack([given_zero, given_one]), CERTAIN, 1 - CERTAIN)

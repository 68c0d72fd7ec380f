"""Weighted rows of a table of coded columns: what the search in pools asks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from fspn.learn.pools.family import Family, Limits, Prices

START_STRENGTH = 10.0
"""Rows of the whole table that smooth the columns of a mixture of independent ones."""


@dataclass(frozen=True)
class Rows(ABC):
    """Weighted rows.

    Arguments:
        cells: The codes (uint8), one row per distinct row of the table.
        weights: How often each occurs; under a sum node, how much of it belongs to one child.
        sizes: The number of values of each column.
    """

    cells: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray

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

    def weighted(self, weights: np.ndarray, least: float) -> Self:
        """The rows that keep at least the fraction ``least`` of their weight, reweighted."""
        kept = weights > least * self.weights
        return type(self)(np.ascontiguousarray(self.cells[kept]), weights[kept], self.sizes)

    def split(self, share: float, rng: np.random.Generator) -> tuple[Self, Self]:
        """The rows without a random share of them, and that share; weights are whole numbers.

        Equal rows are drawn one by one: if all copies of a row were held out together, the share
        would hold rows that nobody has seen before, which rows to come need not be.
        """
        held_out = rng.binomial(self.weights.astype(np.int64), share).astype(np.float64)
        return self.weighted(self.weights - held_out, 0.0), self.weighted(held_out, 0.0)

    @abstractmethod
    def independent_logs(self, shares: np.ndarray) -> np.ndarray:
        """Ln (w_k Pr_k(row)) under a mixture of independent columns that is fitted to shares."""

    @abstractmethod
    def bases(self, table: Self, strength: float) -> Sequence[np.ndarray]:
        """The distribution of each column, smoothed by so many rows of the whole table."""

    @abstractmethod
    def information(self, table: Self, strength: float) -> np.ndarray:
        """The mutual information of all pairs of columns, times the number of rows, in nats.

        Arguments:
            table: The whole table.
            strength: How many rows with the distribution of the whole table are added to these.
        """

    @abstractmethod
    def ceilings(self, bases: Sequence[np.ndarray]) -> np.ndarray:
        r"""What a parent can gain over a distribution without parents, at most, child by parent.

        The evidence of a table is below its largest likelihood, so that a gain is below

        .. math:: \max_\theta \ln \Pr(x_v \mid x_u, \theta) - \ln \Pr(x_v \mid b_v)
        """

    @abstractmethod
    def best_family(
        self,
        v: int,
        base: np.ndarray,
        table: Self,
        ceilings: np.ndarray,
        prices: Prices,
        options: Sequence[np.ndarray],
        limits: Limits,
    ) -> tuple[Family, int]:
        """The best parents of a column out of one of some pools, and which pool that is.

        Arguments:
            v: The column.
            base: Its distribution without parents.
            table: The whole table, whose other rows may anchor the first level.
            ceilings: What each column can gain as first parent at most.
            prices: What parents must gain.
            options: The pools.
            limits: The bounds on a table.
        """


def distinct(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of codes (uint8) in a fixed order, and how often each occurs."""
    packed = np.ascontiguousarray(np.packbits(cells, axis=1) if cells.max(initial=0) < 2 else cells)
    as_one = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, counts = np.unique(as_one, return_index=True, return_counts=True)
    return np.ascontiguousarray(cells[first]), counts.astype(np.float64)


def stacked(pools: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Pools as the rows of one array, and the number of columns of each."""
    sizes = np.array([len(pool) for pool in pools])
    found = np.zeros((len(pools), sizes.max()), dtype=np.int64)
    for row, pool in zip(found, pools, strict=True):
        row[: len(pool)] = pool
    return found, sizes

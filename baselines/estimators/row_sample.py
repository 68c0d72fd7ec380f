"""A uniform sample of the rows, scanned for every question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import Footprint
from baselines.estimators.base import Estimator, Question, condition_of
from fspn.io.container import compress

CLOSE = 0.01
"""Samples of so many bytes are sought up to this share of their rows."""


class RowSample(Estimator):
    r"""\(\hat s = \frac{1}{n} \sum_{r \in \text{sample}} [r \models c]\).

    Its size is that of the rows in packed codes, \(\lceil \log_2 d_i \rceil\) bits per column;
    names and domains are not counted. As a file it is the shorter of these bits and of its codes,
    column by column in the table's order, compressed as a model file is.

    Arguments:
        share: share of the rows that is kept.
        size_bytes: as many rows as fit into so many bytes, in place of a share.
        stored_bytes: as many rows as fit into a file of so many bytes, in place of both.
    """

    name: ClassVar[str] = "row_sample"
    engine = "numpy scan of a sample"

    def __init__(
        self,
        share: float = 0.01,
        size_bytes: int | None = None,
        stored_bytes: int | None = None,
    ) -> None:
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {share}")
        for key, budget in (("size_bytes", size_bytes), ("stored_bytes", stored_bytes)):
            if budget is not None and budget < 1:
                raise ValueError(f"{key} must be at least 1, got {budget}")
        self.share, self.budget, self.file_budget = share, size_bytes, stored_bytes

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Draws the sample, without replacement."""
        columns = [_codes(table[name]) for name in table.columns]
        order = np.random.default_rng(seed).permutation(len(table))
        states = [int(codes.max(initial=0)) + 1 for codes in columns]
        self._bits = max(1, sum(max(1, math.ceil(math.log2(n))) for n in states))
        n = self._most_rows(columns, order)
        rows = np.sort(order[:n])
        self._sample = table.iloc[rows].reset_index(drop=True)
        self._bytes = math.ceil(n * self._bits / 8)
        self._file_bytes = self._stored(columns, rows)
        return self

    def _most_rows(self, columns: list[np.ndarray], order: np.ndarray) -> int:
        if self.file_budget is not None:
            return self._most_stored(columns, order, self.file_budget)
        wanted = self.share * len(order)
        if self.budget is not None:
            wanted = 8 * self.budget / self._bits
        return int(np.clip(round(wanted), 1, len(order)))

    def _most_stored(self, columns: list[np.ndarray], order: np.ndarray, budget: int) -> int:
        """The most of the first rows of an order that a file of so many bytes holds."""
        low, high = 1, int(np.clip(8 * budget // self._bits, 1, len(order)))
        while self._stored(columns, np.sort(order[:high])) <= budget:
            if high == len(order):
                return high
            low, high = high, min(2 * high, len(order))
        while high - low > max(1.0, CLOSE * low):
            middle = (low + high) // 2
            fits = self._stored(columns, np.sort(order[:middle])) <= budget
            low, high = (middle, high) if fits else (low, middle)
        return low

    def _stored(self, columns: list[np.ndarray], rows: np.ndarray) -> int:
        body = b"".join(codes[rows].tobytes() for codes in columns)
        return min(math.ceil(len(rows) * self._bits / 8), len(compress(body)))

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """The share of the sample for which each condition holds."""
        n = len(self._sample)
        return np.array([condition_of(each).count(self._sample) / n for each in questions])

    @property
    def footprint(self) -> Footprint:
        """One node, no parameters, the bytes of the rows."""
        return Footprint(1, 0, self._bytes, stored_bytes=self._file_bytes)


def _codes(column: pd.Series) -> np.ndarray:
    """The position of every value among the column's values; missing is one more."""
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))

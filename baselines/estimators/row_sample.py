"""A uniform sample of the rows, scanned for every question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import Footprint
from baselines.estimators.base import Estimator, Question, condition_of


class RowSample(Estimator):
    r"""\(\hat s = \frac{1}{n} \sum_{r \in \text{sample}} [r \models c]\).

    Its size is that of the rows in packed codes, \(\lceil \log_2 d_i \rceil\) bits per column;
    names and domains are not counted, as for all models.

    Arguments:
        share: share of the rows that is kept.
        size_bytes: as many rows as fit into so many bytes, in place of a share.
    """

    name: ClassVar[str] = "row_sample"
    engine = "numpy scan of a sample"

    def __init__(self, share: float = 0.01, size_bytes: int | None = None) -> None:
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {share}")
        if size_bytes is not None and size_bytes < 1:
            raise ValueError(f"size_bytes must be at least 1, got {size_bytes}")
        self.share, self.budget = share, size_bytes

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Draws the sample, without replacement."""
        states = [table[name].nunique(dropna=False) for name in table.columns]
        bits = max(1, sum(max(1, math.ceil(math.log2(max(n, 1)))) for n in states))
        wanted = self.share * len(table) if self.budget is None else 8 * self.budget / bits
        n = int(np.clip(round(wanted), 1, len(table)))
        rows = np.random.default_rng(seed).choice(len(table), n, replace=False)
        self._sample = table.iloc[np.sort(rows)].reset_index(drop=True)
        self._bytes = math.ceil(n * bits / 8)
        return self

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """The share of the sample for which each condition holds."""
        n = len(self._sample)
        return np.array([condition_of(each).count(self._sample) / n for each in questions])

    @property
    def footprint(self) -> Footprint:
        """One node, no parameters, the bytes of the rows."""
        return Footprint(1, 0, self._bytes)

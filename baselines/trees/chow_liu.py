"""A Chow-Liu tree that scales to thousands of binary columns (Chow, Liu 1968)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from baselines.distinct import compact
from baselines.trees.counts import Indicators
from baselines.trees.mixture import Edges, TreeMixture, Trees


class ChowLiuTree(TreeMixture):
    r"""The tree of the highest likelihood, smoothed by a row spread evenly over all cells.

    Structure and tables come from the same counts
    \(N_{ij}(a, b) + \frac{\alpha}{d_i d_j}\), so that a pair of binary columns gets a quarter
    pseudo-count per cell at \(\alpha = 1\).

    Arguments:
        alpha: Rows that the uniform distribution counts for.
    """

    name: ClassVar[str] = "chow_liu"

    def __init__(self, alpha: float = 1.0) -> None:
        if alpha <= 0:
            raise ValueError(f"alpha must be positive, got {alpha}")
        self.alpha = alpha

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        cards, rows = self.encoder.cards, np.ones(len(codes))
        seen = Indicators.of(codes, cards).counts(rows)
        edges = Edges.best([seen.plus(seen.uniform(), self.alpha)], cards)
        counts = edges.count(compact(codes), rows[:, None]) + self.alpha * edges.uniform()
        self.trees = Trees.fitted(edges, counts, np.ones(1))

"""A tree-structured sum-product network in the manner of LearnSPN: FSPN with factorize off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import chi2

from baselines.ours.fspn_model import FSPNModel
from baselines.trees.counts import Indicators
from fspn.learn.dependence.rdc import Column

NEVER = 2.0


@dataclass(frozen=True)
class GTest:
    r"""LearnSPN's test of independence: \(G = 2 N I(X_i; X_j)\) against a chi-square quantile.

    Arguments:
        level: Significance level of the test of one pair.
    """

    level: float

    def matrix(self, first: Sequence[Column], second: Sequence[Column]) -> np.ndarray:
        """1 where the test finds two columns dependent, else 0."""
        if first is second:
            return self._dependent(first)
        return self._dependent([*first, *second])[: len(first), len(first) :]

    def _dependent(self, columns: Sequence[Column]) -> np.ndarray:
        cards = np.array([max(column.size, 1) for column in columns])
        codes = np.stack([column.values for column in columns], axis=1)
        seen = Indicators.of(codes, cards).counts(np.ones(len(codes)))
        free = np.maximum(cards - 1, 1)
        critical = chi2.isf(self.level, np.arange(free.max() ** 2 + 1))[np.outer(free, free)]
        return (2.0 * seen.mutual_information() > critical).astype(np.float64)


class SPNTree(FSPNModel):
    """Row clusters and independent groups of columns in turn (Gens, Domingos 2013).

    No dependence reaches `tau_high`, so the learner never factorizes.

    Arguments:
        level: Significance level of the test of independence.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: Pseudo-count per value of a leaf.
    """

    name: ClassVar[str] = "spn_tree"

    def __init__(
        self,
        level: float = 0.001,
        min_rows: int | None = None,
        alpha: float | None = None,
    ) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        super().__init__(tau_low=0.5, tau_high=NEVER, min_rows=min_rows, alpha=alpha)
        self.level = level
        self.settings["oracle"] = GTest(level)

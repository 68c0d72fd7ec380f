"""MSPN (Molina et al. 2018): SPFlow's learner, at the speed that a grid search needs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from baselines.base import DensityModel, Footprint, ImpossibleEvidence
from baselines.encoding import FREE
from baselines.spflow.evaluate import ENGINE, SpflowEvaluator
from baselines.spflow.learn import learn


class SpflowModel(DensityModel):
    """What the two MSPN models share; subclasses learn the root.

    Columns with a single value are left out of SPFlow (its histograms refuse them).

    Arguments:
        threshold: Columns with a smaller RDC are independent.
        min_rows: Slices of at most so many rows are fully factorised (`min_instances_slice`).
        alpha: Laplace pseudo-count of the leaves.
    """

    engine = ENGINE

    def __init__(self, threshold: float, min_rows: int, alpha: float) -> None:
        if not 0 < threshold < 1:
            raise ValueError(f"threshold must lie between 0 and 1, got {threshold}")
        if min_rows < 1:
            raise ValueError(f"min_rows must be at least 1, got {min_rows}")
        if alpha <= 0:
            raise ValueError(f"alpha must be positive (0 forbids unseen values), got {alpha}")
        self.threshold, self.min_rows, self.alpha = threshold, min_rows, alpha

    @abstractmethod
    def _learn(self, codes: np.ndarray, cards: np.ndarray, seed: int) -> Any:
        """SPFlow's root for a table of codes."""

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        cards = self.encoder.cards
        self.varying = np.flatnonzero(cards > 1)
        if not len(self.varying):
            raise ValueError(f"{self.name} needs a column with at least two values")
        self.root = self._learn(codes[:, self.varying], cards[self.varying], seed)
        self._evaluator = SpflowEvaluator(self.root)

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        return self._evaluator.log_points(codes[:, self.varying])

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return self._evaluator.boxes(first[:, self.varying], last[:, self.varying])

    def expectation(self, weights: Mapping[int, np.ndarray]) -> float:
        """Columns with a single value count by their weight."""
        position = {int(c): k for k, c in enumerate(self.varying)}
        inner = {position[i]: w for i, w in weights.items() if i in position}
        fixed = [float(w[0]) for i, w in weights.items() if i not in position]
        return float(np.prod(fixed)) * self._evaluator.expectation(inner)

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        position = {int(c): k for k, c in enumerate(self.varying)}
        inner = tuple(position[i] for i in target if i in position)
        joint = self._evaluator.table(inner, given[self.varying])
        total = joint.sum()
        if not total > 0:
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        return (joint / total).reshape(self.encoder.cards[list(target)])

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        joint = np.where(asked == FREE, given, asked)[:, self.varying]
        both = np.concatenate([joint, given[:, self.varying]])
        part, whole = np.split(self._evaluator.points(both), 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, part / whole, np.nan)

    def _footprint(self) -> Footprint:
        return self._evaluator.footprint()


class MSPN(SpflowModel):
    """SPFlow's `learn_structure` with the equal, faster RDC of `baselines.spflow.rdc`.

    Arguments:
        threshold: Columns with a smaller RDC are independent.
        min_rows: Slices of at most so many rows are fully factorised (`min_instances_slice`).
        alpha: Laplace pseudo-count of the leaves.
        cluster_first: Whether the first step clusters rows, as `learn_mspn` does; False starts with
            the columns and gives the paper's single product on independent data.
    """

    name: ClassVar[str] = "mspn"

    def __init__(
        self,
        threshold: float = 0.3,
        min_rows: int = 1000,
        alpha: float = 0.1,
        cluster_first: bool = False,
    ) -> None:
        super().__init__(threshold, min_rows, alpha)
        self.cluster_first = cluster_first

    def _learn(self, codes: np.ndarray, cards: np.ndarray, seed: int) -> Any:
        return learn(
            codes, cards, self.threshold, self.min_rows, self.alpha, self.cluster_first, seed
        )

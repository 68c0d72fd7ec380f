"""The product of the columns' own distributions: the ceiling line of every figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from baselines.base import DensityModel, Footprint
from baselines.encoding import FREE


class Independent(DensityModel):
    r"""\(P(x) = \prod_i \frac{N(x_i) + \alpha}{N + \alpha d_i}\).

    Arguments:
        alpha: Pseudo-count of every value.
    """

    name: ClassVar[str] = "independent"
    engine = "numpy product of marginals"

    def __init__(self, alpha: float = 1.0) -> None:
        if alpha <= 0:
            raise ValueError(f"alpha must be positive, got {alpha}")
        self.alpha = alpha

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        cards = self.encoder.cards
        counts = [np.bincount(codes[:, i], minlength=d) for i, d in enumerate(cards)]
        self.marginals = [(c + self.alpha) / (c + self.alpha).sum() for c in counts]
        self._cumulative = [np.concatenate(([0.0], np.cumsum(p))) for p in self.marginals]

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        logs = [np.log(p)[codes[:, i]] for i, p in enumerate(self.marginals)]
        return np.sum(logs, axis=0)

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        result = np.ones(len(first))
        for i, cumulative in enumerate(self._cumulative):
            result *= cumulative[last[:, i] + 1] - cumulative[first[:, i]]
        return result

    def expectation(self, weights: Mapping[int, np.ndarray]) -> float:
        """The product of the columns' own expectations."""
        return float(np.prod([self.marginals[i] @ w for i, w in weights.items()]))

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        table = np.ones(())
        for i in target:
            table = np.multiply.outer(table, self.marginals[i])
        return table

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        result = np.ones(len(asked))
        for i in np.flatnonzero((asked != FREE).any(axis=0)):
            codes = asked[:, i]
            result *= np.where(codes == FREE, 1.0, self.marginals[i][codes])
        return result

    def _footprint(self) -> Footprint:
        leaves = len(self.marginals)
        return Footprint.of(leaves + 1, self.marginals, links=2 * leaves)

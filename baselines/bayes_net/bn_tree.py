"""BN-Tree: a Chow-Liu tree."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from baselines.bayes_net.chow_liu import Parents, chow_liu
from baselines.bayes_net.network import PomegranateFitted


class BNTree(PomegranateFitted):
    """The tree of the highest likelihood, or the forest of the highest penalised likelihood.

    Arguments:
        alpha: Pseudo-count per value of a child.
        prior: What the pseudo-counts are spread by: "uniform", "marginal" or "backoff".
        penalty: 0 = Chow-Liu tree; 1 = only edges that raise the BIC.
        engine: "pyagrum" or "pomegranate".
    """

    name: ClassVar[str] = "bn_tree"

    def __init__(
        self,
        alpha: float = 0.01,
        prior: str = "marginal",
        penalty: float = 0.0,
        engine: str = "pyagrum",
    ) -> None:
        super().__init__(alpha, prior, engine)
        if penalty < 0:
            raise ValueError(f"penalty must not be negative, got {penalty}")
        self.penalty = penalty

    def _structure(self, codes: np.ndarray, seed: int) -> Parents:
        return chow_liu(codes, self.encoder.cards, self.penalty)

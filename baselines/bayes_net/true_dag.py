"""The generating structure with fitted parameters: the floor line of every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from baselines.bayes_net.chow_liu import Parents
from baselines.bayes_net.network import BayesNet


class TrueDag(BayesNet):
    """A network whose structure is told, by `bind(dataset)` or by the argument.

    Arguments:
        alpha: Pseudo-count per value of a child.
        prior: What the pseudo-counts are spread by: "uniform", "marginal" or "backoff".
        structure: Parents of every column by name; None = taken from `dataset.truth.structure`.
    """

    name: ClassVar[str] = "true_dag"

    def __init__(
        self,
        alpha: float = 0.001,
        prior: str = "marginal",
        structure: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(alpha, prior)
        self.structure = structure

    def bind(self, dataset: Any) -> None:
        """Takes the generating structure of a dataset that has a known truth."""
        if dataset.truth is None:
            raise ValueError(
                f"true_dag needs a dataset with a known truth; {dataset.name!r} has none"
            )
        self.structure = dataset.truth.structure

    def _structure(self, codes: np.ndarray, seed: int) -> Parents:
        if self.structure is None:
            raise ValueError("true_dag has no structure: call bind(dataset) before fit")
        known = self.structure
        return tuple(
            tuple(self.encoder.index(p) for p in known.get(column, ()))
            for column in self.encoder.columns
        )

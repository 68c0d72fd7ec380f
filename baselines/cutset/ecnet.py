"""ECNet: an ensemble of cutset networks (Rahman, Gogate 2016), by bagging."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from baselines.bagging import bagged, mixture_scores
from baselines.base import Footprint
from baselines.compiled import Converted
from baselines.cutset.network import Learner, Scored
from baselines.distinct import Distinct
from baselines.validation import Validated
from fspn.model.ensemble import average
from fspn.model.nodes import Node


class ECNet(Validated, Converted):
    """An even mixture of cutset networks, each learned on a bootstrap sample of the rows.

    Arguments:
        n_bags: How many are learned; as many of the first of them are kept as is best on the
            validation rows. 1 = a single network of all rows.
        min_rows: Slices of fewer rows become Chow-Liu trees.
        alpha: Pseudo-count per cell of a binary table.
        min_features: Slices of fewer columns become Chow-Liu trees.
        max_depth: Cuts on a path, at most.
        feature_share: Share of the columns that a cut may choose from, drawn anew each time.
        time_limit: Seconds after which no further bag is begun; None = no limit.
    """

    name: ClassVar[str] = "ecnet"

    def __init__(
        self,
        n_bags: int = 40,
        min_rows: int = 500,
        alpha: float = 0.5,
        min_features: int = 4,
        max_depth: int = 50,
        feature_share: float = 1.0,
        time_limit: float | None = None,
    ) -> None:
        if n_bags < 1 or min_rows < 1 or max_depth < 0:
            raise ValueError("n_bags and min_rows must be at least 1, max_depth not negative")
        if alpha <= 0 or not 0 < feature_share <= 1:
            raise ValueError(
                f"alpha must be positive and feature_share in (0, 1], got {alpha}, {feature_share}"
            )
        self.n_bags, self.min_rows, self.alpha = n_bags, min_rows, alpha
        self.min_features, self.max_depth = min_features, max_depth
        self.feature_share, self.time_limit = feature_share, time_limit

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        self._forget()
        codes, valid = self._train_and_valid(codes, seed)
        rows, rng = Distinct.of(codes), np.random.default_rng(seed)

        def learn(weights: np.ndarray) -> Scored:
            learner = Learner(
                rows.codes, weights, self.encoder.cards, self.min_rows,
                max(self.min_features, 2), self.max_depth, self.feature_share,
            )  # fmt: skip
            return Scored(learner.learn(rng), self.alpha)

        if self.n_bags == 1:
            self.members = [learn(rows.weights)]
            return
        self.members = bagged(
            learn, Scored.log_scores, rows, Distinct.of(valid), rng,
            self.n_bags, self.time_limit, self.name,
        )  # fmt: skip

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        rows = Distinct.of(codes)
        logs = np.stack([member.log_scores(rows.codes) for member in self.members])
        return mixture_scores(logs)[rows.place]

    def _nodes(self) -> Node:
        return average([member.fspn_root() for member in self.members])

    def _footprint(self) -> Footprint:
        return Footprint.mixture([member.footprint() for member in self.members])

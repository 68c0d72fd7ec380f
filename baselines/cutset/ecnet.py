"""ECNet: an ensemble of cutset networks (Rahman, Gogate 2016), by bagging or by EM.

The publication has bags, boosting and sequential EM, and shows the best of them. Here are bags of
single networks, and an average of a few mixtures by EM that start from different clusters: with
the same number of networks the second is better on most tables, and no slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from baselines.bagging import bagged, mixture_scores
from baselines.base import Footprint
from baselines.compiled import Converted
from baselines.cutset.mixture import Mixture, by_em
from baselines.cutset.network import Learner, Scored
from baselines.distinct import Distinct
from baselines.trees.counts import Indicators
from baselines.validation import Validated
from fspn.model.ensemble import average
from fspn.model.nodes import Node

Member = Scored | Mixture


def _scores(member: Member, codes: np.ndarray) -> np.ndarray:
    return member.log_scores(codes)


class ECNet(Validated, Converted):
    """An even mixture of members: cutset networks of bootstrap samples, or mixtures of all rows.

    Arguments:
        n_bags: Members to learn; as many of the first of them are kept as is best on the
            validation rows. 1 = a single member of all rows.
        min_rows: Slices of fewer rows become Chow-Liu trees.
        alpha: Pseudo-count per cell of a binary table.
        min_features: Slices of fewer columns become Chow-Liu trees.
        max_depth: Cuts on a path, at most.
        feature_share: Share of the columns that a cut may choose from, drawn anew each time.
        n_components: Networks of each member. With more than one, a member is a mixture by EM of
            all rows (see `baselines.cutset.mixture`), with one a network of a bootstrap sample.
        em_steps: Steps of EM.
        strength: Rows of the whole table that every network of a mixture gets besides its own.
        time_limit: Seconds after which no further member is begun; None = no limit.
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
        n_components: int = 1,
        em_steps: int = 3,
        strength: float = 10.0,
        time_limit: float | None = None,
    ) -> None:
        if n_bags < 1 or min_rows < 1 or max_depth < 0:
            raise ValueError("n_bags and min_rows must be at least 1, max_depth not negative")
        if alpha <= 0 or not 0 < feature_share <= 1:
            raise ValueError(
                f"alpha must be positive and feature_share in (0, 1], got {alpha}, {feature_share}"
            )
        if n_components < 1 or em_steps < 1 or strength < 0:
            raise ValueError(
                "n_components and em_steps must be at least 1 and strength not negative, got "
                f"{n_components}, {em_steps}, {strength}"
            )
        self.n_components, self.em_steps, self.strength = n_components, em_steps, strength
        self.n_bags, self.min_rows, self.alpha = n_bags, min_rows, alpha
        self.min_features, self.max_depth = min_features, max_depth
        self.feature_share, self.time_limit = feature_share, time_limit

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        self._forget()
        codes, valid = self._train_and_valid(codes, seed)
        rows, rng = Distinct.of(codes), np.random.default_rng(seed)

        def network(weights: np.ndarray) -> Scored:
            learner = Learner(
                rows.codes, weights, self.encoder.cards, self.min_rows,
                max(self.min_features, 2), self.max_depth, self.feature_share,
            )  # fmt: skip
            return Scored(learner.learn(rng), self.alpha)

        learn = network if self.n_components == 1 else self._mixtures(rows, network, rng)
        if self.n_bags == 1:
            self.members = [learn(rows.weights)]
            return
        self.members = bagged(
            learn, _scores, rows, Distinct.of(valid), rng, self.n_bags, self.time_limit, self.name
        )

    def _mixtures(
        self, rows: Distinct, network: Callable[[np.ndarray], Scored], rng: np.random.Generator
    ) -> Callable[[np.ndarray], Member]:
        points = Indicators.of(rows.codes, self.encoder.cards).matrix

        def learn(_: np.ndarray) -> Member:
            """All rows whatever the sample: the starts of EM make the members differ."""
            return by_em(
                rows, points, network, self.n_components, self.em_steps, self.strength, rng
            )

        return learn

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        rows = Distinct.of(codes)
        logs = np.stack([member.log_scores(rows.codes) for member in self.members])
        return mixture_scores(logs)[rows.place]

    def _nodes(self) -> Node:
        return average([member.fspn_root() for member in self.members])

    def _footprint(self) -> Footprint:
        return Footprint.mixture([member.footprint() for member in self.members])

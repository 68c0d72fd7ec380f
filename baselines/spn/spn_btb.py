"""SPN-BT and SPN-BTB: LearnSPN with binary splits and tree leaves, alone and bagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from baselines.bag_programs import Bags
from baselines.bagging import bagged, mixture_scores
from baselines.base import Footprint
from baselines.distinct import Distinct
from baselines.spn.flat import Flat
from baselines.spn.learn import Learner
from baselines.spn.nodes import SPN, footprint
from baselines.spn.to_fspn import spn_root
from baselines.validation import Validated
from fspn.model.nodes import Node

ALPHAS = (0.1, 0.2, 0.5, 1.0, 2.0)


KEPT_CELLS = 1_000_000
"""Arrays for scoring that hold more cells are made anew for every call: most are empty."""


@dataclass(frozen=True)
class Member:
    """One network, with the smoothing of its leaves."""

    root: SPN
    alpha: float
    kept: Flat | None

    @classmethod
    def of(cls, root: SPN, alpha: float) -> Member:
        """With its arrays, if they are small."""
        flat = Flat.of(root, alpha)
        return cls(root, alpha, flat if len(flat.tables) <= KEPT_CELLS else None)

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities of rows."""
        flat = Flat.of(self.root, self.alpha) if self.kept is None else self.kept
        return flat.log_scores(codes)


class SPNBT(Validated, Bags):
    """One network; see `baselines.spn.learn` for the algorithm.

    Arguments:
        g: Strictness of the G-test of independence.
        min_rows: Slices of at most so many rows become Chow-Liu trees.
        alpha: Pseudo-count per cell of a binary table; None = the best of `ALPHAS` on the
            validation rows.
    """

    name: ClassVar[str] = "spn_bt"

    def __init__(self, g: float = 5.0, min_rows: int = 100, alpha: float | None = None) -> None:
        if g < 0 or min_rows < 1:
            raise ValueError(f"g must not be negative and min_rows at least 1, got {g}, {min_rows}")
        if alpha is not None and alpha <= 0:
            raise ValueError(f"alpha must be positive, got {alpha}")
        self.g, self.min_rows, self.alpha = g, min_rows, alpha

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        self._forget()
        codes, valid = self._train_and_valid(codes, seed)
        rng = np.random.default_rng(seed)
        self.smoothing = self.alpha
        self.members = self._grow(Distinct.of(codes), Distinct.of(valid), rng)

    def _grow(self, rows: Distinct, valid: Distinct, rng: np.random.Generator) -> list[Member]:
        return [self._learn(rows, rows.weights, valid, rng)]

    def _learn(
        self, rows: Distinct, weights: np.ndarray, valid: Distinct, rng: np.random.Generator
    ) -> Member:
        learner = Learner(rows.codes, weights, self.encoder.cards, self.g, self.min_rows)
        root = learner.learn(rng)
        if self.smoothing is None:
            means = [valid.mean(Flat.of(root, a).log_scores(valid.codes)) for a in ALPHAS]
            self.smoothing = ALPHAS[int(np.argmax(means))]
        return Member.of(root, self.smoothing)

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        rows = Distinct.of(codes)
        logs = np.stack([member.log_scores(rows.codes) for member in self.members])
        return mixture_scores(logs)[rows.place]

    def _member_nodes(self) -> list[Node]:
        return [spn_root(member.root, member.alpha) for member in self.members]

    def _footprint(self) -> Footprint:
        return Footprint.mixture([footprint(member.root) for member in self.members])


class SPNBTB(SPNBT):
    """An even mixture of networks, each learned on a bootstrap sample of the rows.

    Arguments:
        g: Strictness of the G-test of independence.
        min_rows: Slices of at most so many rows become Chow-Liu trees.
        alpha: Pseudo-count per cell of a binary table; None = the best of `ALPHAS` on the
            validation rows for the first bag.
        n_bags: How many are learned; as many of the first of them are kept as is best on the
            validation rows.
        time_limit: Seconds after which no further bag is begun; None = no limit.
    """

    name: ClassVar[str] = "spn_btb"

    def __init__(
        self,
        g: float = 5.0,
        min_rows: int = 100,
        alpha: float | None = None,
        n_bags: int = 50,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(g, min_rows, alpha)
        if n_bags < 1:
            raise ValueError(f"n_bags must be at least 1, got {n_bags}")
        self.n_bags, self.time_limit = n_bags, time_limit

    def _grow(self, rows: Distinct, valid: Distinct, rng: np.random.Generator) -> list[Member]:
        return bagged(
            lambda weights: self._learn(rows, weights, valid, rng),
            lambda member, codes: member.log_scores(codes),
            rows,
            valid,
            rng,
            self.n_bags,
            self.time_limit,
            self.name,
        )

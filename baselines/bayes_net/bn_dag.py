"""BN-DAG: a directed acyclic graph found by pyAgrum's score-based search."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd

from baselines.bayes_net.chow_liu import Parents
from baselines.bayes_net.network import PomegranateFitted

SCORES = ("BDeu", "BIC", "AIC", "K2")
SEARCHES = ("hill_climb", "tabu")


class BNDag(PomegranateFitted):
    """Greedy search over graphs for the best score.

    BIC charges for every cell of a dense table; BDeu is a marginal likelihood and in effect charges
    only for parent configurations that occur, which suits strongly dependent data.

    Arguments:
        alpha: Pseudo-count per value of a child.
        prior: What the pseudo-counts are spread by: "uniform", "marginal" or "backoff".
        score: "BDeu", "BIC", "AIC" or "K2".
        search: "hill_climb" or "tabu" (local search with a tabu list).
        max_parents: Most parents of one variable.
        engine: "pyagrum" or "pomegranate".
    """

    name: ClassVar[str] = "bn_dag"

    def __init__(
        self,
        alpha: float = 0.01,
        prior: str = "marginal",
        score: str = "BDeu",
        search: str = "hill_climb",
        max_parents: int = 2,
        engine: str = "pyagrum",
    ) -> None:
        super().__init__(alpha, prior, engine)
        if score not in SCORES:
            raise ValueError(f"score must be one of {SCORES}, got {score!r}")
        if search not in SEARCHES:
            raise ValueError(f"search must be one of {SEARCHES}, got {search!r}")
        if max_parents < 1:
            raise ValueError(f"max_parents must be at least 1, got {max_parents}")
        self.score, self.search, self.max_parents = score, search, max_parents

    def _structure(self, codes: np.ndarray, seed: int) -> Parents:
        import pyagrum

        template = pyagrum.BayesNet()
        for i, card in enumerate(self.encoder.cards):
            template.add(pyagrum.RangeVariable(f"v{i}", "", 0, int(card) - 1))
        names = [f"v{i}" for i in range(codes.shape[1])]
        learner = pyagrum.BNLearner(pd.DataFrame(codes, columns=names), template)
        self._configure(learner)
        dag = learner.learnDAG()
        return tuple(tuple(sorted(dag.parents(i))) for i in range(codes.shape[1]))

    def _configure(self, learner: Any) -> None:
        learner.setNumberOfThreads(1)
        getattr(learner, f"useScore{self.score}")()
        if self.score in ("BIC", "AIC"):
            learner.useNoPrior()
        if self.search == "tabu":
            learner.useLocalSearchWithTabuList()
        else:
            learner.useGreedyHillClimbing()
        learner.setMaxIndegree(self.max_parents)

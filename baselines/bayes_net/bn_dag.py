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
        restarts: Further searches from random graphs; the graph of the best score is kept.
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
        restarts: int = 0,
        engine: str = "pyagrum",
    ) -> None:
        super().__init__(alpha, prior, engine)
        if score not in SCORES:
            raise ValueError(f"score must be one of {SCORES}, got {score!r}")
        if search not in SEARCHES:
            raise ValueError(f"search must be one of {SEARCHES}, got {search!r}")
        if max_parents < 1:
            raise ValueError(f"max_parents must be at least 1, got {max_parents}")
        if restarts < 0:
            raise ValueError(f"restarts must not be negative, got {restarts}")
        self.score, self.search, self.max_parents = score, search, max_parents
        self.restarts = restarts

    def _structure(self, codes: np.ndarray, seed: int) -> Parents:
        import pyagrum

        template = pyagrum.BayesNet()
        for i, card in enumerate(self.encoder.cards):
            template.add(pyagrum.RangeVariable(f"v{i}", "", 0, int(card) - 1))
        names = [f"v{i}" for i in range(codes.shape[1])]
        learner = pyagrum.BNLearner(pd.DataFrame(codes, columns=names), template)
        self._configure(learner)
        found = [self._parents(learner, len(names))]
        rng = np.random.default_rng(seed)
        for _ in range(self.restarts):
            learner.setInitialDAG(_random_dag(len(names), rng))
            found.append(self._parents(learner, len(names)))
        if len(found) == 1:
            return found[0]
        return max(found, key=lambda parents: _score(learner, names, parents))

    @staticmethod
    def _parents(learner: Any, n: int) -> Parents:
        dag = learner.learnDAG()
        return tuple(tuple(sorted(dag.parents(i))) for i in range(n))

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


def _random_dag(n: int, rng: np.random.Generator) -> Any:
    """A random tree: every variable but the first of a random order has one earlier parent."""
    import pyagrum

    dag = pyagrum.DAG()
    for i in range(n):
        dag.addNodeWithId(i)
    order = rng.permutation(n)
    for k in range(1, n):
        dag.addArc(int(order[rng.integers(k)]), int(order[k]))
    return dag


def _score(learner: Any, names: list[str], parents: Parents) -> float:
    """The score of a graph, which is the sum over its variables given their parents."""
    return sum(
        learner.score(name, [names[p] for p in above])
        for name, above in zip(names, parents, strict=True)
    )

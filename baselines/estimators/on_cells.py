"""Density models as estimators: they learn on the cells into which FSPN codes the table.

Every column becomes codes: its values, or cells with a law inside where there are many, and
"missing" as a code of its own. A condition weighs the codes, and its probability is the expected
product of the weights. So all models see the same discretisation, and differ in what they learn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import SCORE, DensityModel, Footprint
from baselines.bayes_net.bn_dag import BNDag
from baselines.estimators.base import Estimator, Question, condition_of
from baselines.estimators.unseen import bounded
from baselines.independent import Independent
from baselines.spflow.mspn import MSPN
from fspn.learn.coding import code_domain
from fspn.schema.domain import Domain
from fspn.schema.events import CodeRange, CodeWeights
from fspn.schema.infer import infer_domain
from fspn.sql import Condition
from fspn.sql.answer import term_events


class OnCells(Estimator):
    """A density model on FSPN's cells; subclasses say which."""

    answers = frozenset({SCORE})

    @abstractmethod
    def _model(self) -> DensityModel:
        """The unfitted model."""

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Codes the table, then learns from the codes."""
        self._domain = code_domain(infer_domain(table), table)
        sizes = {str(v.name): np.arange(v.size) for v in self._domain}
        self._fitted = self._model().fit(self._learned_from(self._codes(table)), sizes, seed)
        self.engine, self._n_rows = self._fitted.engine, len(table)
        return self

    def _codes(self, table: pd.DataFrame) -> pd.DataFrame:
        columns = zip(self._domain.names, self._domain.encode(table), strict=True)
        return pd.DataFrame({str(name): codes for name, codes in columns})

    def _learned_from(self, codes: pd.DataFrame) -> pd.DataFrame:
        """All rows, unless a subclass cannot."""
        return codes

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """Probabilities of the conditions."""
        return np.array([self._probability(question) for question in questions])

    def _probability(self, question: Question) -> float:
        weights = condition_weights(self._domain, condition_of(question))
        total = sum(sign * self._fitted.expectation(each) for sign, each in weights)
        return float(np.clip(total, 0.0, 1.0))

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        """Log-probabilities of the rows' cells, bounded where a value was never seen."""
        scores = self._fitted.score_samples(self._codes(table))
        return bounded(scores, self._n_rows, table.shape[1])

    @property
    def footprint(self) -> Footprint:
        """That of the model, and the bytes of the cells."""
        inner = self._fitted
        cells = sum(variable.nbytes for variable in self._domain)
        return Footprint(inner.n_nodes, inner.n_parameters, inner.size_bytes + cells)


def condition_weights(
    domain: Domain, condition: Condition
) -> list[tuple[int, dict[int, np.ndarray]]]:
    """Per term its sign, and the weights of the codes of each column that it names."""
    if not condition.terms:
        return []
    events = term_events(domain, condition.terms)
    found = []
    for row, term in enumerate(condition.terms):
        named = {domain.index(name) for name in term.sets}
        weights = {v: _row(domain, events.constraints[v], v, row) for v in named}
        found.append((term.sign, weights))
    return found


def _row(domain: Domain, constraint: Any, v: int, row: int) -> np.ndarray:
    assert isinstance(constraint, CodeRange | CodeWeights)
    weights: np.ndarray = constraint.weights(domain[v].size)[row]
    return weights


class Histograms(OnCells):
    """Per-column histograms under independence.

    Arguments:
        alpha: Pseudo-count of every cell.
    """

    name: ClassVar[str] = "histograms"
    engine = Independent.engine

    def __init__(self, alpha: float = 0.01) -> None:
        self.alpha = alpha

    def _model(self) -> DensityModel:
        return Independent(self.alpha)


class BNDagOnCells(OnCells):
    """A Bayesian network found by hill-climbing; the arguments are those of `BNDag`."""

    name: ClassVar[str] = "bn_dag"
    engine = "pyAgrum"

    def __init__(
        self,
        alpha: float = 0.01,
        score: str = "BDeu",
        search: str = "hill_climb",
        max_parents: int = 2,
    ) -> None:
        self.settings = {
            "alpha": alpha,
            "score": score,
            "search": search,
            "max_parents": max_parents,
        }

    def _model(self) -> DensityModel:
        return BNDag(**self.settings)  # type: ignore[arg-type]


class MSPNOnCells(OnCells):
    """SPFlow's learner; the arguments are those of `MSPN`, and a bound on the rows.

    Arguments:
        threshold: Columns with a smaller RDC are independent.
        min_rows: Slices of at most so many rows are fully factorised.
        alpha: Laplace pseudo-count of the leaves.
        max_rows: Learn from a random sample of so many rows, at most.
    """

    name: ClassVar[str] = "mspn"
    engine = "SPFlow"

    def __init__(
        self,
        threshold: float = 0.3,
        min_rows: int = 1000,
        alpha: float = 0.1,
        max_rows: int = 100_000,
    ) -> None:
        self.threshold, self.min_rows, self.alpha = threshold, min_rows, alpha
        self.max_rows = max_rows

    def _model(self) -> DensityModel:
        return MSPN(self.threshold, self.min_rows, self.alpha)

    def _learned_from(self, codes: pd.DataFrame) -> pd.DataFrame:
        if len(codes) <= self.max_rows:
            return codes
        return codes.sample(self.max_rows, random_state=0)

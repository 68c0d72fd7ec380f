"""What all discrete Bayesian networks share: fitting tables, scoring rows, exact inference."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from baselines.base import (
    CONDITIONAL_TABLE,
    SCORE,
    DensityModel,
    Footprint,
    ImpossibleEvidence,
)
from baselines.bayes_net.agrum_engine import AgrumEngine
from baselines.bayes_net.agrum_engine import engine_name as agrum_name
from baselines.bayes_net.chow_liu import Parents
from baselines.bayes_net.cpt import PRIORS, check_cells, count_table, smooth
from baselines.bayes_net.pomegranate_engine import PomegranateEngine, fit_counts
from baselines.bayes_net.pomegranate_engine import engine_name as loopy_name

ENGINES = ("pyagrum", "pomegranate")
NOT_STRUCTURE = frozenset({"alpha", "prior", "_known", "structure_seconds"})
"""What a network has before its fit and its structure does not depend on."""


class Engine(Protocol):
    """Inference in a network whose tables are known; all arguments are codes."""

    def boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray: ...

    def table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray: ...

    def conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray: ...


class BayesNet(DensityModel):
    r"""\(P(x) = \prod_i \theta_i(x_i \mid x_{\mathrm{pa}(i)})\); subclasses choose the structure.

    Arguments:
        alpha: Pseudo-count per value of a child, see `baselines.bayes_net.cpt.smooth`.
        prior: What the pseudo-counts are spread by: "uniform", "marginal" or "backoff".
        engine: "pyagrum" (exact) or "pomegranate" (its loopy belief propagation).
    """

    def __init__(
        self, alpha: float = 0.01, prior: str = "marginal", engine: str = "pyagrum"
    ) -> None:
        if alpha <= 0:
            raise ValueError(f"alpha must be positive, got {alpha}")
        if prior not in PRIORS:
            raise ValueError(f"prior must be one of {PRIORS}, got {prior!r}")
        if engine not in ENGINES:
            raise ValueError(f"engine must be one of {ENGINES}, got {engine!r}")
        self.alpha, self.prior = alpha, prior
        self.loopy = engine == "pomegranate"
        self.engine = loopy_name() if self.loopy else agrum_name()
        if self.loopy:
            self.answers = frozenset({SCORE, CONDITIONAL_TABLE})
        self._known: Parents | None = None
        self.structure_seconds = 0.0

    def resume(self, earlier: DensityModel) -> float:
        """Takes over the structure of a network that differs in its smoothing only."""
        if type(earlier) is not type(self):
            return 0.0
        mine, other = vars(self), vars(earlier)
        if any(mine[key] != other[key] for key in mine.keys() - NOT_STRUCTURE):
            return 0.0
        self._known, self.structure_seconds = other["parents"], other["structure_seconds"]
        return self.structure_seconds

    @abstractmethod
    def _structure(self, codes: np.ndarray, seed: int) -> Parents:
        """Parents of every column."""

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        cards = self.encoder.cards
        if self._known is None:
            started = time.perf_counter()
            self.parents = self._structure(codes, seed)
            self.structure_seconds = time.perf_counter() - started
        else:
            self.parents = self._known
        check_cells(cards, self.parents, self.encoder.columns)
        counts = self._counts(codes, cards)
        self.cpts = [smooth(c, self.alpha, self.prior) for c in counts]
        self._infer = self._build_engine(cards)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the engine, which holds objects of another language."""
        return {key: value for key, value in vars(self).items() if key != "_infer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Builds the engine anew."""
        vars(self).update(state)
        if "cpts" in state:
            self._infer = self._build_engine(self.encoder.cards)

    def _counts(self, codes: np.ndarray, cards: np.ndarray) -> list[np.ndarray]:
        return [count_table(codes, cards, (*above, i)) for i, above in enumerate(self.parents)]

    def _build_engine(self, cards: np.ndarray) -> Engine:
        if self.loopy:
            return PomegranateEngine(self.parents, self.cpts)
        return AgrumEngine(cards, self.parents, self.cpts)

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        scores = np.zeros(len(codes))
        for child, (above, cpt) in enumerate(zip(self.parents, self.cpts, strict=True)):
            scores += np.log(cpt[tuple(codes[:, a] for a in (*above, child))])
        return scores

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return self._infer.boxes(first, last)

    def expectation(self, weights: Mapping[int, np.ndarray]) -> float:
        """By the exact engine only: loopy propagation has no probability of evidence."""
        if not isinstance(self._infer, AgrumEngine):
            return super().expectation(weights)
        return self._infer.expectation(weights)

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        table = self._infer.table(target, given)
        total = table.sum()
        if not total > 0:
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        return table / total

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        return self._infer.conditional(asked, given)

    def _footprint(self) -> Footprint:
        arcs = sum(len(above) for above in self.parents)
        return Footprint.of(len(self.parents), self.cpts, links=arcs)


class PomegranateFitted(BayesNet):
    """A network whose parameters pomegranate fits; for structures learned from the data."""

    def _counts(self, codes: np.ndarray, cards: np.ndarray) -> list[np.ndarray]:
        return fit_counts(codes, cards, self.parents)

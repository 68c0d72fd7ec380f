"""SPGM: a mixture of sum-product graphical models by expectation maximisation."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from baselines.base import INDEX_BYTES, Footprint
from baselines.clusters import soft_clusters
from baselines.distinct import Distinct
from baselines.log_boxes import LogBoxes
from baselines.spgm.build import Builder
from baselines.spgm.graph import SUM, Graph, Spgm
from baselines.spgm.kernels import expected_counts, log_boxes, log_scores, pair_counts
from baselines.trees.counts import Indicators
from baselines.trees.information import (
    NARROW,
    binary_information,
    pair_information,
    pairs_of_ones,
)
from baselines.validation import Validated

log = logging.getLogger(__name__)
PATIENCE = 3
SHARPNESS = 0.3
REPORT_SECONDS = 20.0
LEAST = 1e-4
"""Shares of a row below this count as none."""
LEAN = 0.02
GAIN = 5e-5
"""What the mean validation likelihood must gain for a step to count as an improvement."""


@dataclass(frozen=True)
class Mixture:
    """Components and their weights."""

    parts: tuple[Spgm, ...]
    weights: np.ndarray

    def log_scores(self, columns: np.ndarray) -> np.ndarray:
        """Logarithm of weight times probability of each row under each component."""
        logs = [log_scores(columns, part) for part in self.parts]
        return np.stack(logs, axis=1) + np.log(self.weights)

    def log_boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Log-probabilities of closed ranges of codes."""
        logs = [log_boxes(first, last, part) for part in self.parts]
        return np.asarray(logsumexp(np.stack(logs, axis=1) + np.log(self.weights), axis=1))


class SPGM(Validated, LogBoxes):
    """Structure EM, then parameter EM, each stopped by the validation rows.

    Arguments:
        n_components: Number of components.
        n_insert: Edges inserted into the spanning tree of each component.
        prior: Share of a component's rows that every cell of a binary table gets; four times this
            share is spread over the cells of any other.
        structure_steps: Steps in which the graphs are built anew, at most.
        parameter_steps: Further steps, at most.
        start: What the first responsibilities are: "random", or softened "clusters" of the rows.
        strength: Rows of the whole table that every component gets besides its own.
        time_limit: Seconds after which no further step is begun; None = no limit.
    """

    name: ClassVar[str] = "spgm"
    engine = "numba SPGM messages"

    def __init__(
        self,
        n_components: int = 10,
        n_insert: int = 100,
        prior: float = 1e-3,
        structure_steps: int = 200,
        parameter_steps: int = 200,
        start: str = "random",
        strength: float = 0.0,
        time_limit: float | None = None,
    ) -> None:
        if n_components < 1 or n_insert < 0 or structure_steps < 1 or parameter_steps < 0:
            raise ValueError(
                "n_components and structure_steps must be at least 1, n_insert and "
                "parameter_steps not negative"
            )
        if prior <= 0:
            raise ValueError(f"prior must be positive, got {prior}")
        if start not in ("random", "clusters") or strength < 0:
            raise ValueError(
                f"start must be random or clusters and strength not negative, got {start!r}, "
                f"{strength}"
            )
        self.start, self.strength = start, strength
        self.n_components, self.n_insert, self.prior = n_components, n_insert, prior
        self.structure_steps, self.parameter_steps = structure_steps, parameter_steps
        self.time_limit = time_limit

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        codes, valid = self._train_and_valid(codes, seed)
        rows, held_out = Distinct.of(codes), Distinct.of(valid)
        self._rows, self._pairs = rows, _pairs_of_table(rows, self.encoder.cards)
        self._columns = np.ascontiguousarray(rows.codes.T)
        self._valid_columns = np.ascontiguousarray(held_out.codes.T)
        rng = np.random.default_rng(seed)
        shares = self._first_shares(rng)
        self._deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        first = self._with_new_graphs(shares)
        best = self._climb(first, held_out, self.structure_steps - 1, self._with_new_graphs)
        self.mixture = self._climb(best, held_out, self.parameter_steps, None)
        del self._rows, self._pairs, self._columns, self._valid_columns

    def _first_shares(self, rng: np.random.Generator) -> np.ndarray:
        if self.start == "random":
            size = len(self._rows.codes)
            return rng.dirichlet(np.full(self.n_components, SHARPNESS), size=size)
        points = Indicators.of(self._rows.codes, self.encoder.cards).matrix
        n_clusters = min(self.n_components, len(points))
        return soft_clusters(points, self._rows.weights, n_clusters, rng)

    def _weighted(self, shares: np.ndarray) -> np.ndarray:
        """The weights of the rows in each component."""
        return np.ascontiguousarray((shares * self._rows.weights[:, None]).T)

    def _of_table(self, graph: Graph) -> np.ndarray | float:
        """`strength` rows of the whole table, as counts of the cells of a graph's tables."""
        if self.strength == 0:
            return 0.0
        every = pair_counts(self._columns, self._rows.weights, graph)
        return np.asarray(every * (self.strength / self._rows.weights.sum()))

    def _climb(
        self,
        mixture: Mixture,
        valid: Distinct,
        steps: int,
        rebuild: Callable[[np.ndarray], Mixture] | None,
    ) -> Mixture:
        """EM until the validation rows have not improved for `PATIENCE` steps; the best mixture."""
        best, best_mean, waited = mixture, self._validate(mixture, valid), 0
        reported = time.monotonic()
        for step in range(steps):
            now = time.monotonic()
            if self._deadline is not None and now > self._deadline:
                log.info("spgm: stopped by its time limit at step %d", step)
                break
            if now - reported > REPORT_SECONDS:
                reported = now
                log.info("spgm: step %d of at most %d, %.4f on validation", step, steps, best_mean)
            logs = mixture.log_scores(self._columns)
            shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            mixture = rebuild(shares) if rebuild else self._with_new_parameters(mixture, shares)
            mean = self._validate(mixture, valid)
            waited = 0 if mean > best_mean + GAIN * abs(best_mean) else waited + 1
            if mean > best_mean:
                best, best_mean = mixture, mean
            if waited >= PATIENCE:
                break
        return best

    def _validate(self, mixture: Mixture, valid: Distinct) -> float:
        return valid.mean(logsumexp(mixture.log_scores(self._valid_columns), axis=1))

    def _with_new_graphs(self, shares: np.ndarray) -> Mixture:
        parts = tuple(self._learn(own) for own in self._weighted(shares))
        return Mixture(parts, self._mixture_weights(shares))

    def _learn(self, weights: np.ndarray) -> Spgm:
        """Structure and first parameters of one component from weighted rows."""
        used, cards = weights > LEAST, self.encoder.cards
        builder = Builder(self._information(weights, used), cards)
        builder.insert_best(self.n_insert)
        graph = builder.graph()
        counts = pair_counts(self._columns[:, used], weights[used], graph)
        more = self._of_table(graph)
        return Spgm.fitted(graph, counts, graph.first_weights, self.prior, more)

    def _information(self, weights: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Mutual information of all pairs in a component's rows and `strength` of the table."""
        rows, cards = self._rows, self.encoder.cards
        total, every = float(weights.sum()), float(rows.weights.sum())
        spread = 4.0 * self.prior * total + 1e-6
        share = self.strength / every
        if self._pairs is None:
            return pair_information(rows.codes, weights + share * rows.weights, cards, spread)
        pairs = pairs_of_ones(rows.codes[used], weights[used]) + share * self._pairs
        return np.asarray(binary_information(pairs, total + self.strength, spread))

    def _with_new_parameters(self, mixture: Mixture, shares: np.ndarray) -> Mixture:
        parts = []
        for part, own in zip(mixture.parts, self._weighted(shares), strict=True):
            used, graph = own > LEAST, part.graph
            columns, own = self._columns[:, used], own[used]
            counts, chosen = expected_counts(columns, own, part)
            # A path that few rows take leans on how its pairs of columns go in all rows.
            counts += LEAN * pair_counts(columns, own, graph)
            more = self._of_table(graph)
            parts.append(Spgm.fitted(graph, counts, chosen, self.prior, more))
        return Mixture(tuple(parts), self._mixture_weights(shares))

    def _mixture_weights(self, shares: np.ndarray) -> np.ndarray:
        sums = self._rows.weights @ shares + 1e-6
        return np.asarray(sums / sums.sum())

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        rows = Distinct.of(codes)
        columns = np.ascontiguousarray(rows.codes.T)
        return np.asarray(logsumexp(self.mixture.log_scores(columns), axis=1)[rows.place])

    def _log_boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return self.mixture.log_boxes(first, last)

    def _footprint(self) -> Footprint:
        return Footprint.mixture([_footprint(part.graph) for part in self.mixture.parts])


def _pairs_of_table(rows: Distinct, cards: np.ndarray) -> np.ndarray | None:
    """Pairs of ones of a wide binary table, which say everything; None of others."""
    if len(cards) <= NARROW or not (cards == 2).all():
        return None
    return pairs_of_ones(rows.codes, rows.weights)


def _footprint(graph: Graph) -> Footprint:
    """All nodes; a table that several nodes share is counted once."""
    nodes, choices = len(graph.kinds), len(graph.first_weights)
    mixed = int(graph.cards[graph.above[graph.kinds == SUM]].sum())
    parameters = graph.n_cells - graph.n_table_rows + choices - mixed
    links = len(graph.children) + int((graph.variable >= 0).sum())
    return Footprint(
        nodes, parameters, 8 * (graph.n_cells + choices) + INDEX_BYTES * (nodes + links)
    )

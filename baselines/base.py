"""The protocol that every model obeys, and the one rule by which their sizes are compared.

**The size rule.** `size_bytes` of every model is the bytes of its parameter arrays, at the
precision in which the model keeps them, plus `INDEX_BYTES` for every integer of its structure: one
per node, one per link (child of a node, parent of a variable) and one per variable that a leaf
names. Names and domains are not counted: they are the same for all models. `Footprint.of` applies
the rule; `fspn.model.size` is the same rule for FSPN's nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd

from baselines.encoding import FREE, OUTSIDE, Encoder

SCORE = "score"
PROBABILITY = "probability"
CONDITIONAL_TABLE = "conditional_table"
ALL_ANSWERS = frozenset({SCORE, PROBABILITY, CONDITIONAL_TABLE})

INDEX_BYTES = 4
MAX_TABLE_CELLS = 50_000_000
"""Largest conditional table that is built: 400 MB of float64."""

Point = Mapping[str, Hashable]


class Answering(Protocol):
    """What an error says about a model."""

    name: ClassVar[str]
    engine: str
    answers: frozenset[str]


class UnsupportedQuery(ValueError):
    """A question that the model cannot answer."""

    def __init__(self, model: Answering, question: str) -> None:
        can = ", ".join(sorted(model.answers)) or "nothing of the kind"
        super().__init__(
            f"{model.name} ({model.engine}) cannot answer {question}; it answers: {can}"
        )


class ImpossibleEvidence(ValueError):
    """Conditioning on an event of probability zero."""


class FitTimeout(TimeoutError):
    """A fit that ran into its stated time limit."""


class ModelTooLarge(MemoryError):
    """A model or an answer that would not fit the stated memory limit."""


@dataclass(frozen=True)
class Footprint:
    """How large a fitted model is.

    Arguments:
        n_nodes: Number of nodes (for a Bayesian network: of variables).
        n_parameters: Number of free parameters.
        size_bytes: Bytes by the rule of this module.
        n_factorize: Number of factorize nodes (the paper's f), where the model is an FSPN.
        n_multi_leaves: Number of multi-leaves (the paper's l), where the model is an FSPN.
        depth: Nodes on the longest way from the root to a leaf, where there is a tree.
        compiled_bytes: Bytes of the form that answers queries, where that is another one.
        stored_bytes: Bytes of the file that keeps the model, where there is one.
    """

    n_nodes: int
    n_parameters: int
    size_bytes: int
    n_factorize: int | None = None
    n_multi_leaves: int | None = None
    depth: int | None = None
    compiled_bytes: int | None = None
    stored_bytes: int | None = None

    @classmethod
    def of(cls, n_nodes: int, distributions: Iterable[np.ndarray], links: int) -> Footprint:
        """Applies the size rule.

        Arguments:
            n_nodes: Number of nodes.
            distributions: The parameter arrays; each sums to one along its last axis.
            links: Number of links between nodes and of variables named by leaves.
        """
        arrays = list(distributions)
        free = sum(int(a.size - a.size // a.shape[-1]) for a in arrays)
        size = sum(int(a.nbytes) for a in arrays) + INDEX_BYTES * (n_nodes + links)
        return cls(n_nodes, free, size)

    @classmethod
    def mixture(cls, parts: Sequence[Footprint]) -> Footprint:
        """A sum node over the parts, with its weights; a single part is itself."""
        if len(parts) == 1:
            return parts[0]
        weights = np.full((1, len(parts)), 1.0 / len(parts))
        own = cls.of(1, [weights], links=len(parts))
        return cls(
            own.n_nodes + sum(p.n_nodes for p in parts),
            own.n_parameters + sum(p.n_parameters for p in parts),
            own.size_bytes + sum(p.size_bytes for p in parts),
        )


class DensityModel(ABC):
    r"""A joint distribution \(P(X_1, \dots, X_m)\) over discrete columns, learned from a table.

    Adapters implement the methods that start with an underscore; those see integer codes only
    (code k = k-th value of the column's sorted domain). Constructor arguments are hyper-parameters.
    """

    name: ClassVar[str]
    answers: frozenset[str] = ALL_ANSWERS
    engine: str
    encoder: Encoder

    def bind(self, dataset: Any) -> None:  # noqa: B027
        """Hook that the runner calls before `fit`; only models that use the truth override it."""

    def resume(self, earlier: DensityModel) -> float:
        """Hook before `fit`: takes over what a model fitted on the same rows and seed has learned.

        Returns the seconds which that took there, so that a training time can count them; 0 where
        nothing is taken over.
        """
        return 0.0

    def fit(self, table: pd.DataFrame, domains: Mapping[str, np.ndarray], seed: int = 0) -> Self:
        """Learns the model from the rows of `table`; `domains` may hold values not seen there."""
        if table.empty:
            raise ValueError(f"{self.name}: the training table is empty")
        self.encoder = Encoder.build(table, domains)
        codes = self.encoder.table(table)
        self._check_training(codes, table)
        self._fit(codes, seed)
        return self

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        """Log-probability (nats) of each complete row; -inf for values outside the domain."""
        self._require(SCORE, "log-probabilities of rows")
        codes = self.encoder.table(table)
        inside = (codes != OUTSIDE).all(axis=1)
        scores = np.full(len(codes), -np.inf)
        if inside.any():
            scores[inside] = self._log_score(codes[inside])
        return scores

    def probability(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        r"""\(P(l \le X \le u)\) of closed boxes, shape (n, m); NaN or infinity = unconstrained."""
        self._require(PROBABILITY, "box probabilities")
        low, high = self._check_box(lower), self._check_box(upper)
        first, last = self.encoder.box(low, high)
        return self._non_empty_boxes(first, last)

    def conditional_table(self, query: Sequence[str], evidence: Point) -> np.ndarray:
        r"""\(P(Q \mid E = e)\), one axis per query column in the order of its sorted domain."""
        self._require(CONDITIONAL_TABLE, "conditional tables")
        target = tuple(self.encoder.index(c) for c in query)
        given = self.encoder.point(evidence)
        if not target or len(set(target)) < len(target):
            raise ValueError(f"query columns must be distinct and at least one, got {list(query)}")
        if any(given[i] != FREE for i in target):
            raise ValueError(f"a column is both in the query {list(query)} and in the evidence")
        if (given == OUTSIDE).any():
            raise ImpossibleEvidence(f"{self.name}: evidence {dict(evidence)} is not in the domain")
        self._check_cells(query, target)
        return self._table(target, given)

    def conditional(self, query: Sequence[Point], evidence: Sequence[Point]) -> np.ndarray:
        r"""Batch of \(P(Q = q \mid E = e)\); NaN where the evidence has probability zero."""
        if not self.answers & {PROBABILITY, CONDITIONAL_TABLE}:
            raise UnsupportedQuery(self, "conditional probabilities")
        asked, given = self.encoder.points(query), self.encoder.points(evidence)
        if asked.shape != given.shape:
            raise ValueError(f"{len(query)} queries but {len(evidence)} evidence assignments")
        if ((asked != FREE) & (given != FREE)).any():
            raise ValueError("a column is both in a query and in its evidence")
        result = np.zeros(len(asked))
        result[(given == OUTSIDE).any(axis=1)] = np.nan
        possible = ~((asked == OUTSIDE) | (given == OUTSIDE)).any(axis=1)
        if possible.all():
            return self._conditional(asked, given)
        if possible.any():
            result[possible] = self._conditional(asked[possible], given[possible])
        return result

    @property
    def fitted_params(self) -> dict[str, Any]:
        """The values that hyper-parameters left open (None) took when the model was fitted."""
        return {}

    @property
    def footprint(self) -> Footprint:
        """How large the fitted model is."""
        return self._footprint()

    def expectation(self, weights: Mapping[int, np.ndarray]) -> float:
        r"""\(E[\prod_i w_i(X_i)]\) for weights of the codes of some columns, each in [0, 1].

        The probability of a set of codes per column, or of shares of them.
        """
        raise UnsupportedQuery(self, "expectations of weights")

    @property
    def n_nodes(self) -> int:
        """Number of nodes (for a Bayesian network: of variables)."""
        return self._footprint().n_nodes

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self._footprint().n_parameters

    @property
    def size_bytes(self) -> int:
        """Size by the rule of this module."""
        return self._footprint().size_bytes

    @abstractmethod
    def _footprint(self) -> Footprint: ...

    @abstractmethod
    def _fit(self, codes: np.ndarray, seed: int) -> None: ...

    @abstractmethod
    def _log_score(self, codes: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Probabilities of non-empty closed code ranges, both of shape (n, m)."""

    @abstractmethod
    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        """Normalised table of the target columns; `given` holds codes or `FREE`."""

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        r"""\(P(q, e) / P(e)\) from two batches of boxes; adapters override with a faster path."""
        last = self.encoder.cards - 1
        joint = np.where(asked == FREE, given, asked)
        part = self._boxes(_first(joint), np.where(joint == FREE, last, joint))
        whole = self._boxes(_first(given), np.where(given == FREE, last, given))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, part / whole, np.nan)

    def _non_empty_boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        filled = (first <= last).all(axis=1)
        result = np.zeros(len(first))
        if filled.any():
            result[filled] = self._boxes(first[filled], last[filled])
        return result

    def _require(self, answer: str, question: str) -> None:
        if answer not in self.answers:
            raise UnsupportedQuery(self, question)

    def _check_training(self, codes: np.ndarray, table: pd.DataFrame) -> None:
        outside = np.argwhere(codes == OUTSIDE)
        if len(outside):
            row, column = outside[0]
            name = self.encoder.columns[column]
            value = table[name].iloc[row]
            raise ValueError(f"column {name!r}: training value {value!r} is not in its domain")

    def _check_box(self, bounds: np.ndarray) -> np.ndarray:
        array = np.asarray(bounds, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.encoder.columns):
            raise ValueError(
                f"box bounds must have shape (n, {len(self.encoder.columns)}), got {array.shape}"
            )
        return array

    def _check_cells(self, query: Sequence[str], target: tuple[int, ...]) -> None:
        cells = float(np.prod(self.encoder.cards[list(target)], dtype=np.float64))
        if cells > MAX_TABLE_CELLS:
            raise ModelTooLarge(
                f"{self.name}: the table of {list(query)} has {cells:.3g} cells, more than "
                f"{MAX_TABLE_CELLS:.3g}; ask `conditional` for single cells instead"
            )


def _first(codes: np.ndarray) -> np.ndarray:
    return np.where(codes == FREE, 0, codes)

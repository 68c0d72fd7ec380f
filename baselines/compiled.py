"""Models that answer through the compiled FSPN engine: their time is their model's own."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from baselines.base import DensityModel, Footprint, ImpossibleEvidence, Point
from baselines.encoding import FREE, Encoder
from fspn import FSPN
from fspn.model.nodes import Node
from fspn.schema.domain import Domain, Variable

log = logging.getLogger(__name__)
MAX_SAVED_NODES = 50_000


class Compiled(DensityModel):
    """A model whose questions are answered by the FSPN in `model`; subclasses provide it."""

    engine = "fspn numba"
    model: FSPN

    @cached_property
    def _values(self) -> list[np.ndarray]:
        """The integers that the FSPN knows: a learner may use what they mean; else codes."""
        return [d if d.dtype.kind in "iu" else np.arange(len(d)) for d in self.encoder.domains]

    @property
    def _knows_values(self) -> bool:
        return all(d.dtype.kind in "iu" for d in self.encoder.domains)

    def _decoded(self, codes: np.ndarray) -> pd.DataFrame:
        columns = zip(self.encoder.columns, self._values, codes.T, strict=True)
        return pd.DataFrame({name: values[column] for name, values, column in columns})

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        return self.model.score_samples(self._decoded(codes))

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The compiled model works on codes itself, so they go straight to its engine."""
        return np.exp(self.model.log_probability_of_codes(first, last))

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        columns, values = self.encoder.columns, self._values
        fixed = np.flatnonzero(given != FREE)
        evidence: dict[Hashable, int] = {columns[i]: int(values[i][given[i]]) for i in fixed}
        table = self.model.conditional_table([columns[i] for i in target], evidence)
        if np.isnan(table).any():
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        return table

    def conditional(self, query: Sequence[Point], evidence: Sequence[Point]) -> np.ndarray:
        """The library's own call, where it knows the values as they are."""
        if not self._knows_values:
            return super().conditional(query, evidence)
        if any(q.keys() & e.keys() for q, e in zip(query, evidence, strict=True)):
            raise ValueError("a column is both in a query and in its evidence")
        if not query:
            return np.empty(0)
        return np.asarray(self.model.conditional(list(query), list(evidence)))

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        codes = np.concatenate([np.where(asked == FREE, given, asked), given])
        free = codes == FREE
        last = np.where(free, self.encoder.cards - 1, codes)
        part, whole = np.split(self._boxes(np.where(free, 0, codes), last), 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, part / whole, np.nan)

    def save(self, path: Path) -> None:
        """Writes the fitted FSPN; `FSPN.load` reads it."""
        self.model.save(path)

    def _footprint(self) -> Footprint:
        model, census = self.model, self.model.census_
        return Footprint(
            census.n_nodes,
            model.n_parameters_,
            model.size_bytes_,
            census.n_factorize,
            census.n_multi_leaves,
            census.depth,
            model.compiled_bytes_,
        )


class Converted(Compiled):
    """A model with a form of its own, written out as an FSPN when the first question comes.

    Scores and sizes come from its own form: a bag of wide trees has millions of tables, and a
    benchmark asks for nothing but scores.
    """

    def save(self, path: Path) -> None:
        """Writes the FSPN, unless writing it out would take more memory than it is worth."""
        if self.n_nodes > MAX_SAVED_NODES:
            log.info("%s: not saved, it has %d nodes", self.name, self.n_nodes)
            return
        super().save(path)

    @abstractmethod
    def _nodes(self) -> Node:
        """The root of the FSPN that answers as this model does."""

    def _forget(self) -> None:
        """To be called by a fit: nothing of an earlier one stays."""
        for name in ("model", "_values"):
            self.__dict__.pop(name, None)

    @cached_property
    def model(self) -> FSPN:  # type: ignore[override]
        """The FSPN, compiled."""
        return FSPN.from_root(domain_of(self.encoder, self._values), self._nodes())


def domain_of(encoder: Encoder, values: Sequence[np.ndarray]) -> Domain:
    """The schema of the columns, with the kinds that their values suggest."""
    return Domain(
        tuple(
            Variable(name, "ordered" if own.dtype.kind in "iu" else "unordered", known)
            for name, own, known in zip(encoder.columns, encoder.domains, values, strict=True)
        )
    )

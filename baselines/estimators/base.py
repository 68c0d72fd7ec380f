"""What every estimator of row counts offers.

An estimator is built from hyper-parameters, learns from a table of mixed columns with missing
values, and says for each question which share of the rows it holds for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import Footprint, UnsupportedQuery

Where = Mapping[Hashable, Any]
Question = Where | str
"""A dictionary ``{column: value, (low, high), {values} or None}``, or an SQL condition."""


class Unavailable(RuntimeError):
    """An estimator that cannot run here; the message says why. A gap, not a failure."""


class Estimator(ABC):
    """Estimated selectivities of conditions on one table.

    Attributes:
        name: its name in the results.
        engine: what answers, with its version.
        answers: as of a density model; `score` where rows can be scored.
        learning_seconds: the time that learning took, where `fit` also loads the table somewhere.
    """

    name: ClassVar[str]
    engine: str
    answers: frozenset[str] = frozenset()
    learning_seconds: float | None = None

    def bind(self, dataset: Any) -> None:  # noqa: B027
        """Hook that the runner calls before `fit`."""

    @abstractmethod
    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Learns from all rows; `domains` is there for the sake of density models."""

    @abstractmethod
    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """The share of the rows for which each condition is estimated to hold."""

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        """Log-likelihood of rows, by those that have one."""
        raise UnsupportedQuery(self, "log-likelihoods of rows")

    @property
    @abstractmethod
    def footprint(self) -> Footprint:
        """Nodes, parameters and bytes."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.footprint.n_nodes

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.footprint.n_parameters

    @property
    def size_bytes(self) -> int:
        """Bytes of what is kept to answer."""
        return self.footprint.size_bytes

    def close(self) -> None:  # noqa: B027
        """Gives back what the estimator holds outside this process."""


def closes(model: object) -> None:
    """Close a model if there is anything to close."""
    if isinstance(model, Estimator):
        model.close()

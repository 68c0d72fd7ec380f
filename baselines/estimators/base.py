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
from fspn.sql import Condition, read_condition

Where = Mapping[Hashable, Any]
Question = Where | str
"""A dictionary ``{column: value, (low, high), {values} or None}``, or an SQL condition."""


def condition_of(question: Question) -> Condition:
    """What a question asks, in either form."""
    if isinstance(question, str):
        return read_condition(question)
    return Condition.of_question(question)


class Unavailable(RuntimeError):
    """An estimator that cannot run here; the message says why. A gap, not a failure."""


class Estimator(ABC):
    """Estimated selectivities of conditions on one table.

    Attributes:
        name: its name in the results.
        engine: what answers, with its version.
        answers: as of a density model; `score` where rows can be scored.
        learning_seconds: the time that learning took, where `fit` also loads the table somewhere.
        in_process: whether it computes here; False for one that asks a server of its own.
    """

    name: ClassVar[str]
    engine: str
    answers: frozenset[str] = frozenset()
    learning_seconds: float | None = None
    in_process: bool = True

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
    def fitted_params(self) -> dict[str, Any]:
        """The values that hyper-parameters left open (None) took when it learned."""
        return {}

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


class Absent(Estimator):
    """Stands for an estimator that is not available here: it answers nothing, and says why.

    Arguments:
        name: the estimator that is meant.
        reason: why it is not there.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name  # type: ignore[misc]
        self.engine = reason

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """There is nothing to learn."""
        return self

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """Nothing is answered."""
        raise UnsupportedQuery(self, "anything")

    @property
    def footprint(self) -> Footprint:
        """Nothing is kept."""
        return Footprint(0, 0, 0)

"""The values that pass between the stages of the study."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

Evidence = Mapping[str, int]
QueryKey = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]


def query_key(query: Sequence[str], evidence: Evidence) -> QueryKey:
    """A hashable name of the question Pr(Q | E = e)."""
    return tuple(query), tuple(sorted(evidence.items()))


@dataclass(frozen=True)
class EvidenceQuery:
    """Pr(Q | E = e): the columns Q, the evidence e, and the values that a fresh row has on Q."""

    query: tuple[str, ...]
    evidence: dict[str, int]
    target: dict[str, int]

    @property
    def key(self) -> QueryKey:
        """What identifies the question Pr(Q | E = e)."""
        return query_key(self.query, self.evidence)


@dataclass(frozen=True)
class Workload:
    """The evidence queries that every model answers on one dataset."""

    queries: tuple[EvidenceQuery, ...]

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True)
class WeightedPoints:
    """Cells of a conditional distribution and their true probabilities.

    Arguments:
        points: (n, |Q|) values of the query columns.
        probability: (n,) true Pr(Q = point | E = e).
        whole_table: whether the distribution is positive on every cell of the full table.
    """

    points: np.ndarray
    probability: np.ndarray
    whole_table: bool


class Truth(Protocol):
    """The distribution that a dataset was drawn from (exact, or counted in a population)."""

    @property
    def structure(self) -> dict[str, tuple[str, ...]]:
        """The generating DAG: every column with its parents."""
        ...

    def conditional_table(self, query: Sequence[str], evidence: Evidence) -> np.ndarray:
        """Pr(Q | E = e): one axis per query column in sorted domain order; sums to 1."""
        ...

    def support(
        self, query: Sequence[str], evidence: Evidence, limit: int
    ) -> WeightedPoints | None:
        """All cells with Pr(Q | E = e) > 0, or None if there are more than `limit`."""
        ...

    def draw(self, query: Sequence[str], evidence: Evidence, n: int, seed: int) -> WeightedPoints:
        """`n` independent draws of Q from Pr(Q | E = e), with their probabilities."""
        ...

    def log_probability(self, table: pd.DataFrame) -> np.ndarray:
        """Natural logarithm of Pr(row) of complete rows."""
        ...


@dataclass(frozen=True)
class CountWorkload:
    """Conjunctions on a real table and how many of its rows each one holds for.

    Arguments:
        questions: dictionaries ``{column: value, (low, high), {values} or None}``, or SQL texts.
        counts: (n,) true numbers of rows.
        n_rows: rows of the table.
        digest: digest of the questions, the counts and the table.
    """

    questions: tuple[Mapping[Hashable, Any] | str, ...]
    counts: np.ndarray
    n_rows: int
    digest: str

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True)
class Dataset:
    """One dataset of the study: rows, domains and, where it is known, the truth.

    Arguments:
        name: name of the configuration, e.g. `rdc_65`.
        family: `sparse`, `smooth`, `hidden`, `dense`, `context`, `csv`, `debd` or `table`.
        target_rdc: the level of average pairwise RDC that was asked for.
        measured_rdc: the level on a sample that calibration did not use.
        seed: which of the datasets of this level.
        train, valid, test: rows of real values (not codes).
        domains: sorted values of every discrete column, also those unseen in `train`.
        truth: the generating distribution, or None for a table from outside.
        workload: evidence queries; without a truth they serve to measure time only.
        digest: digest of everything that the dataset was made from.
        counting: questions of a database, on a real table. `train` then is the whole table, mixed
            and with missing values, and `valid` some of its rows.
    """

    name: str
    family: str
    target_rdc: float | None
    measured_rdc: float | None
    seed: int
    train: pd.DataFrame
    valid: pd.DataFrame
    test: pd.DataFrame
    domains: dict[str, np.ndarray]
    truth: Truth | None
    workload: Workload | None
    digest: str
    counting: CountWorkload | None = None


@dataclass(frozen=True)
class Trial:
    """One setting of a search: what was tried and how it went."""

    number: int
    params: dict[str, Any]
    status: str
    error: str
    valid_ll: float
    train_seconds: float
    seconds: float

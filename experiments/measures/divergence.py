r"""How far a model is from the truth: KL of evidence queries, and log-likelihood of rows.

For one query, with p the true and m the model's Pr(Q | E = e), in nats:

.. math:: KL(p || m) = \sum_q p(q) \ln \frac{p(q)}{m(q)}

*The floor.* A model probability below `FLOOR` counts as `FLOOR` where the truth is above it (the
query is then reported as floored), and as equal to the truth where that is below it too.
Evidence to which the model gives probability zero leaves it without an answer: all its
probabilities count as zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
import pandas as pd

from baselines.base import ImpossibleEvidence
from experiments.types import Dataset, EvidenceQuery, Truth

FLOOR = 1e-12
SUM_TOLERANCE = 1e-4


class ConditionalModel(Protocol):
    """What the KL needs of a model."""

    def conditional_table(self, query: Sequence[str], evidence: Mapping[str, int]) -> np.ndarray:
        """Pr(Q | E = e) on all cells."""
        ...

    def conditional(
        self, query: Sequence[Mapping[str, int]], evidence: Sequence[Mapping[str, int]]
    ) -> np.ndarray:
        """Pr(Q = q | E = e) of single cells."""
        ...


class ScoringModel(Protocol):
    """What the log-likelihood needs of a model."""

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        """Natural logarithm of the probability of every row."""
        ...


@dataclass(frozen=True)
class KLConfig:
    """When a KL is summed exactly and when it is sampled.

    Arguments:
        few_cells: if the truth has at most so many possible cells, the model is asked for each.
        max_cells: else tables up to this size are compared as a whole.
        max_support: in larger ones the model is asked for each of the truth's possible cells,
            if there are at most this many.
        draws: else so many cells are drawn from the truth.
        seed: seed of the draws.
    """

    few_cells: int = 256
    max_cells: int = 6_000_000
    max_support: int = 10_000
    draws: int = 1_000
    seed: int = 0


DEFAULT = KLConfig()


@dataclass(frozen=True)
class QueryKL:
    """KL of one query.

    Arguments:
        index: place in the workload.
        kl, se: the value in nats and its standard error; 0 where it is exact.
        method: `table` or `support` (both exact), or `sampled`.
        cells: size of the whole table.
        floored_mass: true probability of the cells at which the model was floored.
    """

    index: int
    kl: float
    se: float
    method: str
    cells: int
    floored_mass: float

    @property
    def floored(self) -> bool:
        """Whether the floor was used."""
        return self.floored_mass > 0


@dataclass(frozen=True)
class KLSummary:
    """KL over a workload.

    Arguments:
        mean, median, p95, max: over the queries.
        se: standard error of the mean, from the spread between queries.
        sampling_se: what sampled queries add to the uncertainty of the mean; 0 if all are exact.
        floored: number of queries with a floored cell.
        records: the single queries, in order.
    """

    mean: float
    median: float
    p95: float
    max: float
    se: float
    sampling_se: float
    floored: int
    records: tuple[QueryKL, ...]

    @classmethod
    def of(cls, records: Sequence[QueryKL]) -> KLSummary:
        """Sums up single queries."""
        values = np.array([r.kl for r in records])
        n = len(values)
        return cls(
            mean=float(values.mean()),
            median=float(np.median(values)),
            p95=float(np.quantile(values, 0.95)),
            max=float(values.max()),
            se=float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
            sampling_se=float(np.sqrt(sum(r.se**2 for r in records)) / n),
            floored=sum(r.floored for r in records),
            records=tuple(records),
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.records)

    def table(self) -> pd.DataFrame:
        """One row per query."""
        return pd.DataFrame([{**vars(r), "floored": r.floored} for r in self.records])


@dataclass(frozen=True)
class LogLikelihood:
    """Mean ln Pr(row) in nats, its standard error, and how many rows had probability zero."""

    mean: float
    se: float
    rows: int
    impossible: int


def kl_divergence(
    model: ConditionalModel, dataset: Dataset, config: KLConfig = DEFAULT
) -> KLSummary:
    """KL(truth || model) of every query in the dataset's workload."""
    truth, workload = dataset.truth, dataset.workload
    if truth is None or workload is None:
        raise ValueError(f"dataset {dataset.name!r} has no known truth: its KL cannot be measured")
    sizes = {c: len(d) for c, d in dataset.domains.items()}
    return KLSummary.of(
        [query_kl(model, truth, q, sizes, i, config) for i, q in enumerate(workload.queries)]
    )


def query_kl(
    model: ConditionalModel,
    truth: Truth,
    query: EvidenceQuery,
    sizes: Mapping[str, int],
    index: int = 0,
    config: KLConfig = DEFAULT,
) -> QueryKL:
    """KL of one query by the cheapest way that is exact, or sampled where none is."""
    cells = prod(sizes[c] for c in query.query)
    support = truth.support(query.query, query.evidence, config.few_cells)
    if support is not None:
        kl, floored = exact_kl(support.probability, _model_cells(model, query, support.points))
        return QueryKL(index, kl, 0.0, "support", cells, floored)
    if cells <= config.max_cells:
        p = truth.conditional_table(query.query, query.evidence)
        kl, floored = exact_kl(p, _model_table(model, query, p.shape))
        return QueryKL(index, kl, 0.0, "table", cells, floored)
    support = truth.support(query.query, query.evidence, config.max_support)
    if support is not None:
        kl, floored = exact_kl(support.probability, _model_cells(model, query, support.points))
        return QueryKL(index, kl, 0.0, "support", cells, floored)
    drawn = truth.draw(query.query, query.evidence, config.draws, config.seed + index)
    m = _model_cells(model, query, drawn.points)
    kl, se, floored = sampled_kl(drawn.probability, m, drawn.whole_table)
    return QueryKL(index, kl, se, "sampled", cells, floored)


def exact_kl(p: np.ndarray, m: np.ndarray) -> tuple[float, float]:
    """The sum of p ln(p / m) over the cells with p > 0, and the mass of the floored ones."""
    possible = p > 0
    p, m = p[possible], m[possible]
    lifted, floored = _lift(p, m)
    return float(p @ np.log(p / lifted)), float(p[floored].sum())


def sampled_kl(p: np.ndarray, m: np.ndarray, whole_table: bool) -> tuple[float, float, float]:
    r"""KL, its standard error and the floored mass from cells of the truth, with r = m / p.

    Where the truth is positive on the whole table, E[r] = 1, and the mean of
    :math:`r - 1 - \ln r` estimates the KL with far less variance than the mean of
    :math:`-\ln r`. Where it is not, E[r] is less than 1 by the mass that the model has outside
    the truth's support, which that mean would miss; there the plain mean is taken. Cells that
    the truth makes all but impossible are missed in the same way, which is why tables are
    compared as a whole as far as memory allows.
    """
    lifted, floored = _lift(p, m)
    ratio = lifted / p
    terms = (ratio - 1 if whole_table else 0.0) - np.log(ratio)
    return (
        float(terms.mean()),
        float(terms.std(ddof=1) / np.sqrt(len(terms))),
        float(floored.mean()),
    )


def log_likelihood(model: ScoringModel, table: pd.DataFrame) -> LogLikelihood:
    """Mean log-probability of the rows; minus infinity if the model rules out one of them."""
    scores = np.asarray(model.score_samples(table), dtype=float)
    impossible = int(np.isneginf(scores).sum())
    se = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 and not impossible else np.nan
    return LogLikelihood(float(scores.mean()), float(se), len(scores), impossible)


def _lift(p: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Applies the floor; also says at which cells it was needed."""
    low = m < FLOOR
    return np.where(low, np.minimum(p, FLOOR), m), low & (p > FLOOR)


def _model_table(
    model: ConditionalModel, query: EvidenceQuery, shape: tuple[int, ...]
) -> np.ndarray:
    try:
        table = np.asarray(model.conditional_table(list(query.query), query.evidence), dtype=float)
    except ImpossibleEvidence:
        return np.zeros(shape)
    if table.shape != shape:
        raise ValueError(
            f"the model's table of {query.query} has shape {table.shape}, not {shape}: "
            "was it fitted with the dataset's domains?"
        )
    if np.isnan(table).all():
        return np.zeros(shape)
    if not abs(table.sum() - 1) < SUM_TOLERANCE:
        raise ValueError(f"the model's table of {query.query} sums to {table.sum():.6g}, not 1")
    return table


def _model_cells(model: ConditionalModel, query: EvidenceQuery, points: np.ndarray) -> np.ndarray:
    asked = [dict(zip(query.query, point, strict=True)) for point in points.tolist()]
    answers = np.asarray(model.conditional(asked, [query.evidence] * len(asked)), dtype=float)
    return np.nan_to_num(answers, nan=0.0)

r"""Is one model better than another, or is it chance? Paired intervals over draws and queries.

Two models answer the same queries on the same draws of a dataset. The ratio of their means,

.. math:: \rho = \frac{\sum_d \bar a_d}{\sum_d \bar b_d}, \qquad
          \bar a_d = \frac{1}{Q} \sum_q a_{dq},

is resampled in two stages: draws with replacement, then queries within each drawn draw, the same
for both models (a hierarchical paired bootstrap). Several comparisons made for one statement are
corrected by Holm's method. A bootstrap of few draws rejects too often (three draws that differ by a
half: 23% at a nominal 5%), so with fewer than `FEW` of them all must agree besides. With one draw
only the queries are resampled: such an interval says nothing about other draws, and carries their
number so that a reader can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUNDS = 2_000
LEVEL = 0.05

SAME = 1e-5
"""Ratios this close to 1 are no difference: single queries are kept to five or six digits."""

FEW = 5
"""With fewer draws than this a bootstrap over them is too sure: all of them must agree besides."""

Draw = tuple[np.ndarray, np.ndarray]
"""The values of the other model and of the subject on the queries of one draw."""


@dataclass(frozen=True)
class Comparison:
    """The ratio of two models' means with its 95% interval.

    Arguments:
        ratio: The other model's mean over the subject's; above 1 the subject is better.
        low: The lower end.
        high: The upper end.
        p: Two-sided, of a ratio of 1.
        draws: The number of dataset draws behind it.
    """

    ratio: float
    low: float
    high: float
    p: float
    draws: int


def compare(draws: Sequence[Draw], rounds: int = ROUNDS, seed: int = 0) -> Comparison | None:
    """The hierarchical paired bootstrap; None where a mean is not positive."""
    values = [np.stack(draw) for draw in draws]
    whole = np.mean([v.mean(axis=1) for v in values], axis=0)
    if not values or not (whole > 0).all():
        return None
    rng = np.random.default_rng(seed)
    means = np.zeros((2, rounds))
    for _ in values:
        means += _slot(values, rounds, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(means[0]) - np.log(means[1])
    logs = logs[~np.isnan(logs)]
    low, high = np.exp(np.quantile(logs, [LEVEL / 2, 1 - LEVEL / 2]))
    below, above = int((logs <= SAME).sum()), int((logs >= -SAME).sum())
    p = min(1.0, 2 * (1 + min(below, above)) / (len(logs) + 1))
    if 1 < len(values) < FEW and not _agree(values):
        p = 1.0
    return Comparison(float(whole[0] / whole[1]), float(low), float(high), p, len(values))


def _agree(values: Sequence[np.ndarray]) -> bool:
    """Whether every draw has the same model ahead."""
    ahead = [float(np.sign(a - b)) for a, b in (both.mean(axis=1) for both in values)]
    return len(set(ahead)) == 1


def _slot(values: Sequence[np.ndarray], rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Per round one draw, and the means of both models on a resample of its queries."""
    means = np.empty((2, rounds))
    chosen = rng.integers(len(values), size=rounds)
    for d, both in enumerate(values):
        mine = np.flatnonzero(chosen == d)
        queries = rng.integers(both.shape[1], size=(len(mine), both.shape[1]))
        means[:, mine] = both[:, queries].mean(axis=2)
    return means


def mean_interval(
    draws: Sequence[np.ndarray], rounds: int = ROUNDS, seed: int = 0
) -> tuple[float, float]:
    """The 95% interval of one model's mean by the same two-stage resampling."""
    values = [np.stack([draw, draw]) for draw in draws]
    rng = np.random.default_rng(seed)
    means = sum(_slot(values, rounds, rng)[0] for _ in values) / len(values)
    low, high = np.quantile(means, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def holm(p_values: Sequence[float]) -> np.ndarray:
    r"""Holm's adjusted p-values, :math:`\max_{j \le i} (m - j) \, p_{(j)}`, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(scaled, 1.0)
    return adjusted

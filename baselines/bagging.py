r"""Bags: an even mixture of models of bootstrap samples, their number chosen on validation rows.

.. math:: P(x) = \frac{1}{B} \sum_{b=1}^{B} P_b(x)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from baselines.distinct import Distinct

log = logging.getLogger(__name__)
Member = TypeVar("Member")
REPORT_SECONDS = 20.0


def bagged(
    learn: Callable[[np.ndarray], Member],
    score: Callable[[Member, np.ndarray], np.ndarray],
    rows: Distinct,
    valid: Distinct,
    rng: np.random.Generator,
    n_bags: int,
    time_limit: float | None,
    name: str,
) -> list[Member]:
    """The first B of `n_bags` members, with the B of the highest validation likelihood.

    Arguments:
        learn: A member from the weights of the distinct rows.
        score: Log-probabilities of rows under a member.
        rows: The training rows.
        valid: The validation rows.
        rng: Draws the bootstrap samples.
        n_bags: How many are learned.
        time_limit: Seconds after which no further bag is begun; None = no limit.
        name: The model, for the log.
    """
    started = reported = time.monotonic()
    members: list[Member] = []
    total = np.full(len(valid.codes), -np.inf)
    best, best_mean = 1, -np.inf
    for number in range(1, n_bags + 1):
        members.append(learn(rows.bootstrap(rng)))
        total = np.logaddexp(total, score(members[-1], valid.codes))
        mean = valid.mean(total) - np.log(number)
        if mean > best_mean:
            best, best_mean = number, mean
        now = time.monotonic()
        if now - reported > REPORT_SECONDS:
            reported = now
            left = (now - started) / number * (n_bags - number)
            log.info("%s: bag %d of %d, %.0f s left", name, number, n_bags, left)
        if time_limit is not None and now - started > time_limit:
            log.info("%s: stopped after %d bags by its time limit", name, number)
            break
    return members[:best]


def mixture_scores(logs: np.ndarray) -> np.ndarray:
    """Log-probabilities under the even mixture, from those under each member (first axis)."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))

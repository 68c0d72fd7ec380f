r"""The two semirings of elimination, on logarithms.

Both multiply (add logarithms); :math:`(\sum, \times)` gives probabilities and
:math:`(\max, \times)` gives most probable completions. A variable is summed out or maximised out
over the last axis of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


class TooWide(MemoryError):
    """An exact answer needs a larger intermediate result than is allowed."""


@dataclass(frozen=True)
class Semiring:
    """How the last axis of a table of logarithms is eliminated."""

    name: str
    plus: Callable[[np.ndarray], np.ndarray]


def log_sum(logs: np.ndarray) -> np.ndarray:
    r""":math:`\ln \sum_x e^{a_x}` over the last axis; minus infinity where all terms are."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


def log_max(logs: np.ndarray) -> np.ndarray:
    """The maximum over the last axis."""
    return np.asarray(np.maximum.reduce(logs, axis=-1))


SUM_PRODUCT = Semiring("sum-product", log_sum)
MAX_PRODUCT = Semiring("max-product", log_max)

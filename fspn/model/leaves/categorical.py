"""Uni-leaf of a coded variable: a multinomial with Dirichlet smoothing (Section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fspn.model.leaves.base import State, Univariate, log_of
from fspn.model.leaves.registry import register
from fspn.schema.events import CodeRange, CodeWeights, Constraint

if TYPE_CHECKING:
    from fspn.schema.domain import Variable


@register
@dataclass(frozen=True)
class Categorical(Univariate):
    r"""A distribution over codes, :math:`\Pr(X = k) = p_k`.

    Arguments:
        p: The probabilities of the codes 0 .. d-1.
    """

    p: np.ndarray
    family: ClassVar[str] = "categorical"
    coded: ClassVar[bool] = True

    @classmethod
    def fit(cls, codes: np.ndarray, size: int, alpha: float) -> Categorical:
        r""":math:`p_k = (n_k + \alpha) / (n + \alpha d)`."""
        return cls.from_counts(np.bincount(codes, minlength=size), alpha)

    @classmethod
    def from_counts(cls, counts: np.ndarray, alpha: float) -> Categorical:
        smoothed = counts + (alpha if counts.any() else max(alpha, 1.0))
        return cls(smoothed / smoothed.sum())

    @cached_property
    def cumulative(self) -> np.ndarray:
        """Prefix sums, so that a range costs two look-ups."""
        return np.concatenate([[0.0], np.cumsum(self.p)])

    def log_probability(self, constraint: Constraint) -> np.ndarray:
        if isinstance(constraint, CodeRange):
            return log_of(self._range(constraint))
        if isinstance(constraint, CodeWeights):
            return log_of(constraint.weights(len(self.p)) @ self.p)
        raise TypeError("a range of reals was asked of a coded variable")

    def _range(self, constraint: CodeRange) -> np.ndarray:
        lower = np.maximum(constraint.lower, 0)
        upper = np.minimum(constraint.upper, len(self.p) - 1)
        filled = lower <= upper
        lower, upper = np.where(filled, lower, 0), np.where(filled, upper, -1)
        mass = self.cumulative[upper + 1] - self.cumulative[lower]
        return np.where(lower == upper, self.p[lower], mass)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(len(self.p), size=n, p=self.p / self.p.sum()).astype(np.int32)

    def pmf(self) -> np.ndarray:
        return self.p

    def faults(self, variable: Variable) -> Iterator[str]:
        if len(self.p) != variable.size:
            yield f"{len(self.p)} probabilities for the {variable.size} codes of {variable.name!r}"
        else:
            yield from super().faults(variable)

    @property
    def n_parameters(self) -> int:
        return len(self.p) - 1

    def state(self) -> State:
        return {"p": self.p}

    @classmethod
    def from_state(cls, state: State) -> Categorical:
        return cls(np.asarray(state["p"]))

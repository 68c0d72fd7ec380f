r"""Graded laws of ordered children: the parents shift the child's distribution (ordinal logit).

Cumulative logits (McCullagh, 1980). With cut points :math:`\theta_0 < \dots < \theta_{d-2}`
between neighbouring codes and the location :math:`g(u)` of a configuration of the parents,

.. math:: \Pr(X \le k \mid u) = \sigma(\theta_k - g(u)), \qquad
          g(u) = \sum_i e_i(u_i) + \delta(u),

so a table of r rows over d codes has d - 1 cuts and at most r + sum of the parents' sizes other
parameters in place of r (d - 1). Only the child's codes have to be in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit

from fspn.model.cpt.rows import Rows, row_keys, tilt_faults
from fspn.model.leaves.base import State


@dataclass(frozen=True)
class GradedLaw:
    r"""A level of a back-off table whose location follows the parents.

    .. math:: P(x \mid u) = (1 - \epsilon) [\sigma(\theta_x - g(u)) - \sigma(\theta_{x-1} - g(u))]
              + \epsilon P_{below}(x)

    A tilt multiplies the law's own part per code, and the rows are made to sum to 1 again.

    Arguments:
        effects: What each code of each parent adds to the location.
        deviation: What each configuration adds to that; empty = nothing.
        cuts: The growing cut points, one fewer than the child has codes.
        epsilon: The weight of the level below.
        tilt: A factor per code of the law; None = 1.
    """

    effects: tuple[np.ndarray, ...]
    deviation: np.ndarray
    cuts: np.ndarray
    epsilon: float
    tilt: np.ndarray | None = None
    family: ClassVar[str] = "graded"

    @property
    def width(self) -> int:
        return len(self.effects)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(effect) for effect in self.effects)

    def location(self, parents: np.ndarray) -> np.ndarray:
        """The location g(u) of configurations of shape (n, number of parents)."""
        location = np.zeros(len(parents))
        for effect, codes in zip(self.effects, parents.T, strict=False):
            location += effect[codes]
        if len(self.deviation):
            location += self.deviation[row_keys(list(parents.T[: self.width]), self.sizes)]
        return location

    def _own(self, parents: np.ndarray) -> np.ndarray:
        table = graded_rows(self.location(parents), self.cuts)
        if self.tilt is not None:
            table *= self.tilt
            table /= table.sum(axis=1, keepdims=True)
        return table

    @cached_property
    def rows(self) -> Rows:
        """The law written out for every configuration of the parents."""
        table = self._own(np.indices(self.sizes).reshape(self.width, -1).T)
        n_rows, size = table.shape
        keys = np.arange(n_rows, dtype=np.int64)
        start = np.arange(n_rows + 1, dtype=np.int32) * size
        codes = np.tile(np.arange(size), n_rows)
        share = (1 - self.epsilon) * table.ravel()
        return Rows(keys, start, codes, share, np.full(n_rows, self.epsilon))

    def refine(self, below: np.ndarray, parents: np.ndarray) -> np.ndarray:
        r""":math:`P_\ell` from :math:`P_{\ell-1}`, dense, one row per configuration."""
        return (1 - self.epsilon) * self._own(parents) + self.epsilon * below

    def tilted(self, factors: np.ndarray) -> GradedLaw:
        """With every code multiplied by a factor; rows still sum to 1."""
        return replace(self, tilt=factors if self.tilt is None else self.tilt * factors)

    @property
    def n_parameters(self) -> int:
        """Cuts, effects and deviations, less one shift per parent that the cuts absorb."""
        effects = sum(len(effect) - 1 for effect in self.effects)
        return len(self.cuts) + effects + len(self.deviation)

    def state(self) -> State:
        return {
            "effects": np.concatenate(self.effects),
            "sizes": np.array(self.sizes, dtype=np.int32),
            "deviation": self.deviation,
            "cuts": self.cuts,
            "epsilon": np.array([self.epsilon]),
            **({} if self.tilt is None else {"tilt": self.tilt}),
        }

    @classmethod
    def from_state(cls, state: State) -> GradedLaw:
        effects = np.split(state["effects"], np.cumsum(state["sizes"])[:-1])
        epsilon = float(state["epsilon"][0])
        return cls(tuple(effects), state["deviation"], state["cuts"], epsilon, state.get("tilt"))

    def faults(self, size: int) -> Iterator[str]:
        """What is wrong with the cuts and the locations."""
        locations = (*self.effects, self.deviation)
        if len(self.cuts) != size - 1 or len(self.deviation) not in (0, np.prod(self.sizes)):
            yield "a graded law whose cuts or deviations do not fit its variables"
        elif not (np.diff(self.cuts) > 0).all() or not np.isfinite(self.cuts).all():
            yield "a graded law whose cuts do not grow"
        elif not all(np.isfinite(part).all() for part in locations) or not 0 <= self.epsilon <= 1:
            yield "a graded law whose locations or epsilon do not fit"
        yield from tilt_faults(self.tilt, size)


def graded_rows(location: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    r""":math:`\Pr(X = x \mid g)` of every code, one row per location.

    The difference of two logistic functions is written as the product :math:`\sigma(a) - \sigma(b)
    = (1 - e^{b-a}) \, \sigma(a) \, \sigma(-b)`, which is accurate in both tails.
    """
    z = cuts - location[:, None]
    below, above = expit(z), expit(-z)
    table = np.ones((len(location), len(cuts) + 1))
    table[:, :-1] *= below
    table[:, 1:] *= above
    table[:, 1:-1] *= -np.expm1(-np.diff(cuts))
    table /= table.sum(axis=1, keepdims=True)
    return table

"""Multi-leaf of independent variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fspn.model.leaves.base import Multivariate, State, Univariate, leaf_faults
from fspn.schema.events import Events

if TYPE_CHECKING:
    from fspn.schema.domain import Variable


@dataclass(frozen=True)
class Independent(Multivariate):
    r"""Univariate distributions side by side, :math:`\Pr(h) = \prod_i \Pr(h_i)`."""

    parts: tuple[Univariate, ...]
    family: ClassVar[str] = "independent"

    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        total = np.zeros(events.n)
        for part, variable in zip(self.parts, scope, strict=True):
            constraint = events.constraints.get(variable)
            if constraint is not None:
                total += part.log_probability(constraint)
        return total

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([part.sample(n, rng) for part in self.parts])

    @property
    def n_parameters(self) -> int:
        return sum(part.n_parameters for part in self.parts)

    def state(self) -> State:
        return {}

    @property
    def size_bytes(self) -> int:
        return sum(part.size_bytes for part in self.parts)

    def as_independent(self) -> tuple[Univariate, ...]:
        return self.parts

    def summary(self) -> str:
        return ", ".join(sorted({part.summary() for part in self.parts}))

    def faults(self, scope: tuple[int, ...], variables: Sequence[Variable]) -> Iterator[str]:
        for part, variable in zip(self.parts, variables, strict=True):
            yield from leaf_faults(part, variable)

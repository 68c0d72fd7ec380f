"""Multi-leaves made of simpler distributions: independent variables, or a small FSPN inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fspn.event import Events
from fspn.leaves.base import State, Univariate

if TYPE_CHECKING:
    from fspn.nodes import Node


@dataclass(frozen=True)
class Independent:
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


@dataclass(frozen=True)
class Nested:
    r"""An FSPN over the leaf's own variables, such as a Chow-Liu tree or a mixture.

    Section 3 leaves open how a multi-leaf keeps :math:`\Pr(H)`; a small FSPN is the form that
    needs no further machinery.
    """

    root: Node
    family: ClassVar[str] = "nested"

    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        from fspn.infer import log_probability

        return log_probability(self.root, events.restrict(frozenset(scope)))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        from fspn.sample import sample_columns

        columns: dict[int, Any] = sample_columns(self.root, n, rng)
        return np.column_stack([columns[variable] for variable in sorted(self.root.scope)])

    @property
    def n_parameters(self) -> int:
        from fspn.nodes import count_parameters

        return count_parameters(self.root)

    def state(self) -> State:
        return {}

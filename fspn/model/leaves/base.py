"""What every leaf family must offer: one protocol for one variable, one for several.

A family is dropped in by writing a class with these methods and naming it in
:data:`fspn.io.model_file.FAMILIES`; nothing else in the package knows the families by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from fspn.schema.events import Constraint, Events

State = Mapping[str, np.ndarray]


@runtime_checkable
class Univariate(Protocol):
    """The distribution of one variable."""

    family: ClassVar[str]

    def log_probability(self, constraint: Constraint) -> np.ndarray:
        r""":math:`\ln \Pr(X \in R)` (the log-density for a point of reals), one per event."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` codes or reals."""
        ...

    @property
    def n_parameters(self) -> int: ...

    def state(self) -> State:
        """The arrays that define the distribution: what is stored, and what is counted."""
        ...

    @classmethod
    def from_state(cls, state: State) -> Univariate: ...


@runtime_checkable
class Multivariate(Protocol):
    """The joint distribution of several variables."""

    family: ClassVar[str]

    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        r""":math:`\ln \Pr(X_{scope} \in E)`, one per event."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` rows of codes or reals, one column per variable of the scope."""
        ...

    @property
    def n_parameters(self) -> int: ...

    def state(self) -> State: ...


def log_of(probability: np.ndarray) -> np.ndarray:
    """The logarithm of probabilities, minus infinity for those that are not positive."""
    logs = np.full(np.shape(probability), -np.inf)
    np.log(probability, out=logs, where=np.asarray(probability) > 0)
    return logs


def bytes_of(state: State) -> int:
    """The size rule of the library: the bytes of the arrays that are stored."""
    return int(sum(array.nbytes for array in state.values()))

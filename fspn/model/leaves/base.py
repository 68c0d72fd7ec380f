"""What every leaf family offers: one base class for one variable, one for several.

A family is a subclass that :func:`fspn.model.leaves.registry.register` knows; nothing else in the
package lists the families. What a subclass must write is abstract here; the rest (how it is
validated, drawn, compiled, learned) has a default that holds for any family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fspn.model.leaves.checks import total_fault
from fspn.schema.events import CodeRange, Events, RealRange

if TYPE_CHECKING:
    from fspn.model.leaves.joint import SparseJoint
    from fspn.model.nodes import Node
    from fspn.schema.domain import Variable
    from fspn.schema.events import Constraint

State = Mapping[str, np.ndarray]


class Family(ABC):
    """A distribution that can be stored: named arrays, and its construction from them."""

    family: ClassVar[str]

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number of free parameters."""

    @abstractmethod
    def state(self) -> State:
        """The arrays that define the distribution: what is stored, and what is counted."""

    @classmethod
    def from_state(cls, state: State) -> Family:
        """The distribution of such arrays."""
        raise TypeError(f"{cls.__name__} holds other distributions and is stored part by part")

    def summary(self) -> str:
        """A few words for pictures."""
        return self.family.replace("_", " ")

    @property
    def size_bytes(self) -> int:
        """The bytes of the arrays that are stored."""
        return bytes_of(self.state())


class Univariate(Family):
    """The distribution of one variable, coded or real."""

    coded: ClassVar[bool] = False
    """Whether the family is over codes; else it is over reals."""

    @abstractmethod
    def log_probability(self, constraint: Constraint) -> np.ndarray:
        r""":math:`\ln \Pr(X \in R)` (the log-density for a point of reals), one per event."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` codes or reals."""

    @classmethod
    def fit_reals(cls, values: np.ndarray, alpha: float) -> Univariate | None:
        """Learn from reals; None = the family cannot be learned. The lowest BIC of all wins."""
        return None

    @property
    def peaks(self) -> np.ndarray:
        """For reals, points near which the density may have a maximum; none = a search finds it."""
        return np.empty(0)

    @property
    def is_unimodal(self) -> bool:
        """Whether the density of reals falls on both sides of a single peak, the only one named."""
        return False

    def pmf(self) -> np.ndarray | None:
        """The kernel form, the probabilities of all codes; None = the reference answers."""
        return None

    def faults(self, variable: Variable) -> Iterator[str]:
        """What is wrong with it as a distribution of ``variable``, a sentence each."""
        codes = np.arange(variable.size)
        line = RealRange(np.array([-np.inf]), np.array([np.inf]))
        everything = CodeRange(codes, codes) if variable.is_coded else line
        mass = float(np.exp(self.log_probability(everything)).sum())
        yield from total_fault(mass, f"the probabilities of {variable.name!r}")


class Multivariate(Family):
    """The joint distribution of several variables."""

    @abstractmethod
    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        r""":math:`\ln \Pr(X_{scope} \in E)`, one per event."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` rows of codes or reals, one column per variable of the scope."""

    @classmethod
    def fit_codes(
        cls, codes: np.ndarray, sizes: Sequence[int], alpha: float
    ) -> Multivariate | None:
        """Learn from rows of codes; None = the family cannot be learned."""
        return None

    def as_node(self, scope: tuple[int, ...]) -> Node | None:
        """The kernel form, equivalent nodes; None = one of the next two, or no kernel form."""
        return None

    def as_independent(self) -> tuple[Univariate, ...] | None:
        """The distributions of the variables, where they are independent."""
        return None

    def as_joint(self) -> SparseJoint | None:
        """The table of the rows with a probability of their own, where it is one."""
        return None

    def faults(self, scope: tuple[int, ...], variables: Sequence[Variable]) -> Iterator[str]:
        """What is wrong with it as a distribution of ``variables``, a sentence each."""
        mass = float(np.exp(self.log_probability(Events(1, {}), scope))[0])
        yield from total_fault(mass, "the probabilities")


def leaf_faults(dist: Univariate, variable: Variable) -> Iterator[str]:
    """What is wrong with a leaf of one variable: numbers, kind, then what its family checks."""
    if not all(np.isfinite(array).all() for array in dist.state().values()):
        yield "a parameter is not a finite number"
    elif dist.coded != variable.is_coded:
        yield f"the leaf family {dist.family!r} does not fit {variable.name!r}"
    else:
        yield from dist.faults(variable)


def log_of(probability: np.ndarray) -> np.ndarray:
    """The logarithm of probabilities, minus infinity for those that are not positive."""
    logs = np.full(np.shape(probability), -np.inf)
    np.log(probability, out=logs, where=np.asarray(probability) > 0)
    return logs


def bytes_of(state: State) -> int:
    """The size rule of the library: the bytes of the arrays that are stored."""
    return int(sum(array.nbytes for array in state.values()))

"""Multi-leaf that is an FSPN of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fspn.model.infer import log_probability
from fspn.model.leaves.base import Multivariate, State
from fspn.model.nodes import Node, Sum, count_parameters, walk
from fspn.model.sample import sample_columns
from fspn.model.size import size_bytes
from fspn.schema.events import Events

if TYPE_CHECKING:
    from fspn.schema.domain import Variable


@dataclass(frozen=True)
class Nested(Multivariate):
    r"""An FSPN over the leaf's own variables, such as a Chow-Liu tree or a mixture.

    Section 3 leaves open how a multi-leaf keeps :math:`\Pr(H)`; a small FSPN is the form that
    needs no further machinery.
    """

    root: Node
    family: ClassVar[str] = "nested"

    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        return log_probability(self.root, events.restrict(frozenset(scope)))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        columns = sample_columns(self.root, n, rng)
        return np.column_stack([columns[variable] for variable in sorted(self.root.scope)])

    @property
    def n_parameters(self) -> int:
        return count_parameters(self.root)

    def state(self) -> State:
        return {}

    @property
    def size_bytes(self) -> int:
        return size_bytes(self.root)

    def as_node(self, scope: tuple[int, ...]) -> Node:
        return self.root

    def summary(self) -> str:
        if isinstance(self.root, Sum):
            return f"a mixture of {len(self.root.children)} components"
        return f"an FSPN of {sum(1 for _ in walk(self.root))} nodes"

    def faults(self, scope: tuple[int, ...], variables: Sequence[Variable]) -> Iterator[str]:
        if self.root.scope != frozenset(scope):
            yield "the FSPN inside is over other variables than the leaf"

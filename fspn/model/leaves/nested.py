"""Multi-leaf that is an FSPN of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fspn.model.infer import log_probability
from fspn.model.leaves.base import State
from fspn.model.nodes import Node, count_parameters
from fspn.model.sample import sample_columns
from fspn.schema.events import Events


@dataclass(frozen=True)
class Nested:
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

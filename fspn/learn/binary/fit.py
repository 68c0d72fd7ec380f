"""Learning on a whole table of two-valued columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fspn.learn.binary.build import mixture_node
from fspn.learn.binary.mixture import Mixture, learn_mixture
from fspn.learn.binary.rows import BinaryRows
from fspn.learn.binary.structure import Limits
from fspn.learn.slices import Slice
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Node, Product, UniLeaf
from fspn.model.query_cost import query_cost

COMPONENTS = (1, 4, 12)
ROWS_PER_COMPONENT = 100
HELD_OUT = 0.1


@dataclass(frozen=True)
class BinarySettings:
    """The settings of the learner of two-valued columns.

    Arguments:
        n_components: The number of networks under the sum node; None = chosen on held-out rows.
        limits: The bounds on each network.
        max_cost: At most so many cells in all intermediate results of a query, over all networks.
    """

    n_components: int | None
    limits: Limits
    max_cost: float = np.inf

    def limits_of(self, n_components: int, n_columns: int) -> Limits:
        """The limits of each of some networks: a clique of w columns costs 2^w cells a column."""
        if self.max_cost == np.inf:
            return self.limits
        width = int(np.log2(max(self.max_cost / (n_components * n_columns), 2.0)))
        return replace(self.limits, width=min(self.limits.width, width))


def is_binary(data: Slice) -> bool:
    """Whether no column has more than two values, and at least two columns have two."""
    described = data.domain.variables
    if not all(v.is_coded and v.size <= 2 for v in described):
        return False
    return sum(v.size == 2 for v in described) > 1


def learn_binary(
    data: Slice,
    settings: BinarySettings,
    rng: np.random.Generator,
    report: Callable[[int], None] = lambda _: None,
) -> Node:
    """The FSPN of a table for which :func:`is_binary` holds.

    Arguments:
        data: The whole table.
        settings: How to learn.
        rng: The only source of randomness.
        report: Called with the number of (row, variable) cells that have become leaves.
    """
    scope = [v for v, described in enumerate(data.domain.variables) if described.size == 2]
    constants = [v for v, described in enumerate(data.domain.variables) if described.size == 1]
    cells = np.column_stack([data.values(v).astype(np.uint8) for v in scope])
    n_components = settings.n_components or _choose(cells, settings, rng)
    limits = settings.limits_of(n_components, len(scope))
    rows, sizes = BinaryRows.distinct(cells), [v.size for v in data.domain.variables]
    node = mixture_node(learn_mixture(rows, n_components, limits, rng), scope)
    while limits.width > 1 and query_cost(node, sizes) > settings.max_cost - len(constants):
        limits = replace(limits, width=limits.width - 1)
        node = mixture_node(learn_mixture(rows, n_components, limits, rng), scope)
    report(data.n_rows * len(data.domain))
    if not constants:
        return node
    return Product((*(UniLeaf(v, Categorical(np.ones(1))) for v in constants), node))


def _choose(cells: np.ndarray, settings: BinarySettings, rng: np.random.Generator) -> int:
    """The number of networks: increased while the held-out likelihood grows."""
    held_out = rng.random(len(cells)) < HELD_OUT
    if held_out.sum() < ROWS_PER_COMPONENT:
        return 1
    rows = BinaryRows.distinct(cells[~held_out])
    best, best_score = 1, -np.inf
    for n_components in COMPONENTS:
        if len(cells) < ROWS_PER_COMPONENT * n_components:
            break
        if settings.max_cost < 2 * cells.shape[1] * n_components:
            break
        limits = settings.limits_of(n_components, cells.shape[1])
        score = _mean(learn_mixture(rows, n_components, limits, rng), cells[held_out])
        if score <= best_score:
            break
        best, best_score = n_components, score
    return best


def _mean(mixture: Mixture, cells: np.ndarray) -> float:
    return float(mixture.log_likelihood(cells).mean())

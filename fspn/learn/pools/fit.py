"""Networks of narrow pools for a whole table, and the choice of two-valued tables.

Held-out rows choose the number of networks under the sum node. Where the table is not too large,
they compete with the one network that a search over orders finds, as on any other table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fspn.learn.gains import Gains
from fspn.learn.pools.binary_rows import BinaryRows
from fspn.learn.pools.build import mixture_node
from fspn.learn.pools.family import Limits
from fspn.learn.pools.mixture import learn_mixture
from fspn.learn.pools.rows import Rows
from fspn.learn.slices import Slice
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Node, Product, UniLeaf
from fspn.model.query_cost import query_cost
from fspn.model.score import row_scores

COMPONENTS = (1, 4, 12)
ROWS_PER_COMPONENT = 100
HELD_OUT = 0.1
ORDERED_COLUMNS, ORDERED_CELLS = 80, 8_000_000
"""The largest table on which networks by counting ones are compared with one over orders."""
ORDERED_PARENTS = 8
"""At most so many parents has a variable of that network."""
QUICK_COLUMNS, PROBE_ROWS, PROBE_PARENTS, CLOSE = 20, 20_000, 2, 1.0
"""With more columns it takes long, so a quick one must come within so many nats of the others."""
LearnNetwork = Callable[[Slice, Gains, int], Node]
Code = Callable[[np.ndarray], Rows]
"""The distinct rows of some cells."""


@dataclass(frozen=True)
class PoolSettings:
    """The settings of sums over networks of narrow pools.

    Arguments:
        n_components: The number of networks under the sum node; None = chosen on held-out rows.
        limits: The bounds on each network.
        max_cost: At most so many cells in all intermediate results of a query, over all networks.
    """

    n_components: int | None
    limits: Limits
    max_cost: float = np.inf

    def limits_of(self, n_components: int, n_columns: int) -> Limits:
        """The limits of each of some networks: a clique of c cells costs as many a column."""
        if self.max_cost == np.inf:
            return self.limits
        cells = 2 ** int(np.log2(max(self.max_cost / (n_components * n_columns), 2.0)))
        return replace(self.limits, max_cells=min(self.limits.max_cells, cells))


def is_binary(data: Slice) -> bool:
    """Whether no column has more than two values, and at least two columns have two."""
    described = data.domain.variables
    if not all(v.is_coded and v.size <= 2 for v in described):
        return False
    return sum(v.size == 2 for v in described) > 1


def learn_binary(
    data: Slice,
    settings: PoolSettings,
    rng: np.random.Generator,
    report: Callable[[int], None] = lambda _: None,
    gains: Gains | None = None,
    ordered: LearnNetwork | None = None,
) -> Node:
    """The FSPN of a table for which :func:`is_binary` holds.

    Arguments:
        data: The whole table.
        settings: How to learn.
        rng: The only source of randomness.
        report: Called with the number of (row, variable) cells that have become leaves.
        gains: Filled with what the nodes gained.
        ordered: Learns one network of some rows by search over orders, with at most so many
            parents a variable; None = no such rival.
    """
    gains = Gains() if gains is None else gains
    scope = open_columns(data)
    cells = cells_of(data, scope)
    choice = choose(cells, BinaryRows.distinct, settings, rng)
    most = min(settings.limits.max_parents, ORDERED_PARENTS)
    if ordered is not None and choice.yields_to(ordered, data, cells, most):
        root = ordered(data, gains, most)
    else:
        rows = BinaryRows.distinct(cells)
        root = mixture_of(data, scope, rows, choice.n_components, settings, rng)
        if choice.n_components > 1 and choice.gained is not None:
            gains.sums[frozenset(scope)] = choice.gained * data.n_rows
    gains.add_together(root, data)
    report(data.n_rows * len(data.domain))
    return root


def open_columns(data: Slice) -> list[int]:
    """The columns that have more than one value."""
    return [v for v, described in enumerate(data.domain.variables) if described.size > 1]


def cells_of(data: Slice, scope: list[int]) -> np.ndarray:
    """The codes of some columns, of at most 256 values each."""
    return np.column_stack([data.values(v).astype(np.uint8) for v in scope])


def mixture_of(
    data: Slice,
    scope: list[int],
    rows: Rows,
    n_components: int,
    settings: PoolSettings,
    rng: np.random.Generator,
) -> Node:
    """A sum node over networks of narrow pools, beside the leaves of constant columns."""
    constants = [v for v, described in enumerate(data.domain.variables) if described.size == 1]
    limits = settings.limits_of(n_components, len(scope))
    sizes = [v.size for v in data.domain.variables]
    node = mixture_node(learn_mixture(rows, n_components, limits, rng), scope)
    while limits.max_cells > 1 and query_cost(node, sizes) > settings.max_cost - len(constants):
        limits = replace(limits, max_cells=limits.max_cells // 2)
        node = mixture_node(learn_mixture(rows, n_components, limits, rng), scope)
    if not constants:
        return node
    return Product((*(UniLeaf(v, Categorical(np.ones(1))) for v in constants), node))


@dataclass(frozen=True)
class Choice:
    """A number of networks, and what it was chosen by.

    Arguments:
        n_components: The number.
        held_out: Which rows were held out.
        scores: Their log-likelihoods; None where nothing was judged.
        gained: What these networks gained over the fewest tried, per held-out row.
    """

    n_components: int
    held_out: np.ndarray
    scores: np.ndarray | None = None
    gained: float | None = None

    def yields_to(
        self, ordered: LearnNetwork, data: Slice, cells: np.ndarray, max_parents: int
    ) -> bool:
        """Whether held-out rows prefer one network by search over orders."""
        if self.scores is None or cells.shape[1] > ORDERED_COLUMNS or cells.size > ORDERED_CELLS:
            return False
        seen, unseen = data.take(~self.held_out), data.take(self.held_out)
        if cells.shape[1] > QUICK_COLUMNS:
            some = seen.take(np.arange(seen.n_rows) < PROBE_ROWS)
            probe = _scores(ordered(some, Gains(), min(max_parents, PROBE_PARENTS)), unseen)
            if probe.mean() < self.scores.mean() - CLOSE:
                return False
        rival = _scores(ordered(seen, Gains(), max_parents), unseen)
        return bool(rival.mean() > self.scores.mean())


def choose(
    cells: np.ndarray, code: Code, settings: PoolSettings, rng: np.random.Generator
) -> Choice:
    """The number of networks, on a tenth of the rows; the one that is asked for is not judged."""
    if (settings.n_components or 1) > 1:
        return Choice(settings.n_components or 1, np.zeros(len(cells), dtype=bool))
    held_out = rng.random(len(cells)) < HELD_OUT
    if held_out.sum() < ROWS_PER_COMPONENT:
        return Choice(1, held_out)
    counts = COMPONENTS if settings.n_components is None else (1,)
    return judged(cells, held_out, code, counts, settings, rng)


def judged(
    cells: np.ndarray,
    held_out: np.ndarray,
    code: Code,
    counts: Sequence[int],
    settings: PoolSettings,
    rng: np.random.Generator,
) -> Choice:
    """The best of growing numbers of networks: tried while the held-out likelihood grows."""
    rows = code(cells[~held_out])
    tried: dict[int, np.ndarray] = {}
    for n_components in counts:
        too_few = len(cells) < ROWS_PER_COMPONENT * n_components
        if too_few or settings.max_cost < n_components * rows.sizes.sum():
            break
        limits = settings.limits_of(n_components, cells.shape[1])
        mixture = learn_mixture(rows, n_components, limits, rng)
        tried[n_components] = mixture.log_likelihood(cells[held_out])
        if tried[n_components].mean() < max(scores.mean() for scores in tried.values()):
            break
    if not tried:
        return Choice(1, held_out)
    best = max(tried, key=lambda k: float(tried[k].mean()))
    return Choice(best, held_out, tried[best], float(tried[best].mean() - tried[counts[0]].mean()))


def _scores(root: Node, data: Slice) -> np.ndarray:
    return row_scores(root, {v: data.values(v) for v in range(len(data.domain))})

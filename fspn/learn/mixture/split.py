"""Is a sum node over the regions of a column better than the one network within the same bound?

That is asked where the bound on the width keeps edges out of the one network: a search without it
would go on. Trees say which columns are worth a try, quick networks on a sample which one is best,
and networks of a longer search on most of the rows whether it pays. A split of the rows costs all
tables rows, so that what it brings shows on many of them only; on fewer it is not tried.

Columns of hundreds of values are left out: their tables are read sparsely as it is, and those of
several networks would not fit where tables are written out for fast answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fspn.learn.leaves import NetworkSettings
from fspn.learn.mixture.columns import Regions, promising_regions
from fspn.learn.mixture.networks import NetworkSearch
from fspn.learn.mixture.screen import is_network
from fspn.learn.mixture.search import SAMPLE_ROWS, Judge, split_rows
from fspn.learn.network.order_search import QUICK
from fspn.learn.network.score import MANY_VALUES
from fspn.learn.slices import Slice
from fspn.model.graph import elimination_order
from fspn.model.nodes import Node, TableSplit, walk
from fspn.model.query_cost import query_cost

LEAST_ROWS, TRIAL_ROWS = 100_000, 300_000
"""With how many rows a split is tried at all, and on how many at most."""
LEAST_GAIN = 0.1
"""Nats a row that it must bring: several networks take longer to learn and are larger."""
TRIAL = replace(QUICK, restarts=20, pair_candidates=24)
COLUMNS_TRIED = 5
LEAST_HOPE = -1.0
"""Nats a row, on the sample, below which the best column is not tried on all rows."""
NEAR = 4
"""The bound counts as reached where a product has more than this fraction of its cells."""


def best_regions(
    data: Slice,
    scope: Sequence[int],
    limits: NetworkSettings,
    one: Node,
    rng: np.random.Generator,
) -> Regions | None:
    """The column whose regions gain most, or None where one network is as good.

    Arguments:
        data: All rows.
        scope: The variables.
        limits: The bounds on one network; the networks of the regions share them.
        one: The network of all rows.
        rng: The only source of randomness.
    """
    widest = max(data.domain[v].size for v in scope)
    if data.n_rows < LEAST_ROWS or widest > MANY_VALUES or not is_network(one):
        return None
    if not reaches_bound(one, data, limits):
        return None
    sample, held_out = split_rows(data, SAMPLE_ROWS, rng)
    room = limits.max_cost / sum(data.domain[v].size for v in scope)
    tried = promising_regions(sample, scope, COLUMNS_TRIED, room)
    if not tried:
        return None
    counts = replace(
        limits, max_parents=min(2, limits.max_parents), graded=False, trees=False, offsets=False
    )
    quick = NetworkSearch(sample, scope, counts, rng)
    judge = Judge(quick.refitted(one), held_out, scope)
    gains = [judge(quick.from_regions(regions)).gain for regions in tried]
    if max(gains) < LEAST_HOPE:
        return None
    best = tried[int(np.argmax(gains))]
    seen, unseen = split_rows(data, TRIAL_ROWS, rng)
    search = NetworkSearch(seen, scope, limits, rng, TRIAL)
    judge = Judge(search.refitted(one), unseen, scope)
    found = judge(search.from_regions(best))
    return best if found.pays and found.gain > LEAST_GAIN else None


def reaches_bound(one: Node, data: Slice, limits: NetworkSettings) -> bool:
    """Whether a network is about as wide, or costs about as much, as it may."""
    tables = [part for part in walk(one) if isinstance(part, TableSplit)]
    sizes = [variable.size for variable in data.domain.variables]
    parents: list[tuple[int, ...]] = [()] * len(sizes)
    for table in tables:
        parents[table.variable] = tuple(table.given)
    widest = elimination_order(parents, sizes, np.inf)[1]
    return NEAR * widest >= limits.max_cells or NEAR * query_cost(one, sizes) >= limits.max_cost

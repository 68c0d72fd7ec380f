"""Do networks of narrow pools explain a table of few values a column better than what was learned?

The search over orders finds the best network, the search for classes those that few columns show.
With many columns of few values a class shows in every column, a row belongs to several classes in
part, and many small networks explain more than one or a few large ones. So on a sample it is asked
whether several networks of pools are better than one; most tables end there. Where they are, they
are held against a model of the kind that was learned, on rows that neither has seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fspn.learn.gains import Gains
from fspn.learn.pools.coded_rows import CodedRows
from fspn.learn.pools.fit import (
    COMPONENTS,
    HELD_OUT,
    PoolSettings,
    cells_of,
    judged,
    mixture_of,
    open_columns,
)
from fspn.learn.slices import Slice
from fspn.model.nodes import Node
from fspn.model.score import row_scores

MANY_COLUMNS, FEW_VALUES = 24, 4.0
"""From more columns, or from fewer values a column in the geometric mean, on, it is tried."""
MOST_VALUES, MOST_PAIRS = 1_500, 5e10
"""Not where columns have more values together, or rows times pairs of columns are more."""
SAMPLE_ROWS, SAMPLE_PAIRS = 20_000, 1e9
"""The sample has so many rows, or so many rows times pairs of columns."""
LEAST_ROWS = 1_000
"""Of fewer rows a tenth says too little."""
LEAST_GAIN, DEVIATIONS = 0.01, 2.0
"""Nats per held-out row, and standard errors, that the networks must gain."""
LearnModel = Callable[[Slice], Node]


def has_few_values(data: Slice) -> bool:
    """Whether the columns of a table are such that networks of pools may pay."""
    scope = open_columns(data)
    described = [data.domain[v] for v in scope]
    if len(scope) < 3 or not all(v.is_coded and v.size <= 256 for v in described):
        return False
    if data.n_rows < LEAST_ROWS or data.n_rows * len(scope) ** 2 > MOST_PAIRS:
        return False
    sizes = np.array([v.size for v in described], dtype=np.float64)
    few = len(scope) > MANY_COLUMNS or np.log(sizes).mean() <= np.log(FEW_VALUES)
    return bool(few and sizes.sum() <= MOST_VALUES)


def try_pools(
    data: Slice,
    root: Node,
    learn: LearnModel,
    settings: PoolSettings,
    rng: np.random.Generator,
    report: Callable[[int], None],
    gains: Gains,
) -> Node:
    """The model that was learned, or a sum over networks of pools where those are better.

    Arguments:
        data: All rows.
        root: The model.
        learn: Learns such a model on some rows.
        settings: How to learn networks of pools.
        rng: The only source of randomness.
        report: Called with the number of (row, variable) cells, once the sample is judged and at
            the end.
        gains: What the nodes of the model gained; told anew where it is replaced.
    """
    cells = data.n_rows * len(data.domain)
    n_components = 0 if settings.n_components == 1 else _that_pay(data, learn, settings, rng)
    report(cells // 2)
    if n_components > 0:
        scope = open_columns(data)
        rows = CodedRows.distinct(cells_of(data, scope), _sizes(data, scope))
        found = mixture_of(data, scope, rows, n_components, settings, rng)
        _tell(gains, found, root, data)
        root = found
    report(cells - cells // 2)
    return root


def _tell(gains: Gains, found: Node, root: Node, data: Slice) -> None:
    """Record that networks of pools took the place of a model."""
    every, own = range(len(data.domain)), Gains()
    own.add_sum(every, found, root, data)
    own.sums[frozenset(every)] += sum(gains.sums.values())
    own.add_together(found, data)
    gains.tables, gains.sums, gains.together = own.tables, own.sums, own.together


def _sizes(data: Slice, scope: list[int]) -> np.ndarray:
    return np.array([data.domain[v].size for v in scope])


def _that_pay(
    data: Slice, learn: LearnModel, settings: PoolSettings, rng: np.random.Generator
) -> int:
    """The number of networks of pools that are better than a model; 0 = none are."""
    scope = open_columns(data)
    n_rows = min(data.n_rows, SAMPLE_ROWS, int(SAMPLE_PAIRS) // len(scope) ** 2)
    part = data.take(np.sort(rng.choice(data.n_rows, n_rows, replace=False)))
    sizes, held_out = _sizes(data, scope), np.zeros(n_rows, dtype=bool)
    held_out[rng.choice(n_rows, round(HELD_OUT * n_rows), replace=False)] = True
    wanted = settings.n_components
    choice = judged(
        cells_of(part, scope),
        held_out,
        lambda cells: CodedRows.distinct(cells, sizes),
        COMPONENTS if wanted is None else (wanted,),
        settings,
        rng,
    )
    if choice.scores is None or choice.n_components == 1:
        return 0
    unseen = part.take(held_out)
    columns = {v: unseen.values(v) for v in range(len(data.domain))}
    gains = choice.scores - row_scores(learn(part.take(~held_out)), columns)
    least = DEVIATIONS * float(gains.std()) / np.sqrt(len(gains))
    return choice.n_components if gains.mean() > max(LEAST_GAIN, least) else 0

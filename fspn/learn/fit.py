"""From a table and the estimator's parameters to a domain and the nodes of a model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fspn.learn.coding import MAX_VALUES, code_domain
from fspn.learn.gains import Gains
from fspn.learn.interrupt import Interrupt
from fspn.learn.keep_marginals import PRIOR, TOLERANCE, keep_marginals
from fspn.learn.missing_patterns import split_by_missing
from fspn.learn.mixture.fit import MixtureSettings, learn_mixture
from fspn.learn.paper import Learner, Settings
from fspn.learn.parameters import Parameters
from fspn.learn.pools.fit import PoolSettings, is_binary, learn_binary
from fspn.learn.pools.trial import has_few_values, try_pools
from fspn.learn.progress import progress
from fspn.learn.settings import resolve, resolve_mixture, resolve_pools, seed_of, share_cost
from fspn.learn.slices import Slice
from fspn.model.nodes import Node, Sum
from fspn.schema.cells import OUTSIDE
from fspn.schema.domain import Domain
from fspn.schema.infer import infer_domain
from fspn.schema.variable import Variable

Report = Callable[[int], None]
Learn = Callable[[MixtureSettings | None, Slice, np.random.Generator, Report, Gains], Node]


def learn_model(
    table: pd.DataFrame, domains: Any, params: Parameters, gains: Gains | None = None
) -> tuple[Domain, Node]:
    """Learn structure and parameters.

    Arguments:
        table: The training rows.
        domains: What the estimator's ``fit`` takes; see :func:`named_domains`.
        params: The estimator's parameters.
        gains: Filled with what each kind of node gained.
    """
    gains = Gains() if gains is None else gains
    named = named_domains(domains, list(table.columns), len(table))
    seed = seed_of(params.random_state)
    domain = infer_domain(table, named, params.kinds)
    settings = resolve(params, len(table), seed)
    all_cells = params.own.bins
    domain = code_domain(domain, table, params.max_bins, all_cells)
    data = Slice.of_table(domain, table)
    pools = resolve_pools(params)
    mixture = resolve_mixture(params, settings)
    cells = len(table) * len(domain)
    if pools is not None and mixture is not None and is_binary(data):
        with progress(cells, params.verbose) as report:
            return domain, _two_valued(data, pools, mixture, settings, seed, report, gains)
    learn = partial(_by_parts, settings, all_cells)
    few = pools is not None and has_few_values(data)
    with progress(cells * (1 if mixture is None else 2 + few), params.verbose) as report:
        root = learn(mixture, data, np.random.default_rng(seed), report, gains)
        if pools is not None and mixture is not None and few:
            root = _few_valued(data, root, learn, mixture, pools, seed, report, gains)
    if all_cells and any(_may_shift(v, data.n_rows) for v in domain):
        root = keep_marginals(root, data)
    return domain, root


def _by_parts(
    settings: Settings,
    all_cells: bool,
    mixture: MixtureSettings | None,
    data: Slice,
    rng: np.random.Generator,
    report: Report,
    gains: Gains,
) -> Node:
    """A model of every pattern of missing values."""
    scope, parts = range(len(data.domain)), split_by_missing(data) if all_cells else [data]
    settings, mixture = share_cost(settings, mixture, data.domain, len(parts))
    roots = [
        Learner(settings, rng, report, gains).learn(part, scope)
        if mixture is None
        else learn_mixture(part, scope, mixture, settings, rng, report, gains)
        for part in parts
    ]
    weights = np.array([part.n_rows for part in parts]) / data.n_rows
    return roots[0] if len(roots) == 1 else Sum(weights, tuple(roots))


def _two_valued(
    data: Slice,
    pools: PoolSettings,
    mixture: MixtureSettings,
    settings: Settings,
    seed: int,
    report: Report,
    gains: Gains,
) -> Node:
    """Networks of pools, or one over orders where held-out rows prefer it."""
    settings, _ = share_cost(settings, mixture, data.domain, 1)
    narrow = replace(settings, max_cells=min(settings.max_cells, pools.limits.max_cells))
    rng, ordered = np.random.default_rng(seed), partial(_network, narrow, seed)
    return learn_binary(data, pools, rng, report, gains, ordered)


def _few_valued(
    data: Slice,
    root: Node,
    learn: Learn,
    mixture: MixtureSettings,
    pools: PoolSettings,
    seed: int,
    report: Report,
    gains: Gains,
) -> Node:
    """What was learned, or networks of pools where held-out rows prefer them."""
    if mixture.interrupt.asked:
        return root

    def again(part: Slice) -> Node:
        own = replace(mixture, interrupt=Interrupt())
        found = learn(own, part, np.random.default_rng(seed), lambda _: None, Gains())
        if own.interrupt.asked:
            raise KeyboardInterrupt
        return found

    try:
        return try_pools(data, root, again, pools, np.random.default_rng([seed, 1]), report, gains)
    except KeyboardInterrupt:
        warnings.warn(
            "interrupted while looking for more components: the model is the one found so far",
            stacklevel=2,
        )
        return root


def _network(settings: Settings, seed: int, data: Slice, gains: Gains, max_parents: int) -> Node:
    """One network of all columns, the same for the same rows."""
    bounded = replace(settings, max_parents=max_parents)
    learner = Learner(bounded, np.random.default_rng(seed), gains=gains)
    return learner.learn(data, range(len(data.domain)))


def _may_shift(variable: Variable, n_rows: int) -> bool:
    """Whether smoothing may shift a marginal by more than half a row and TOLERANCE."""
    shifts = variable.cells is not None or variable.missing is not None
    shifts |= variable.n_values > MAX_VALUES
    return shifts or PRIOR * variable.size > max(0.5, TOLERANCE * n_rows)


def named_domains(
    domains: Any, names: Sequence[Hashable], n_rows: int
) -> Mapping[Hashable, Iterable[Any]]:
    """Values per column from a dictionary, or from a list with one entry per column."""
    if domains is None or not names or not n_rows:  # An empty table is refused later on.
        return {}
    if isinstance(domains, Mapping):
        return domains
    listed = isinstance(domains, list | tuple)
    if listed and len(domains) == len(names) and all(_is_domain(entry) for entry in domains):
        pairs = zip(names, domains, strict=True)
        return {name: values for name, values in pairs if values is not None}
    raise ValueError(
        f"domains={_abridged(domains)} must be a dictionary {{column: values}}, or a list of "
        f"{len(names)} entries, one per column, each the values of that column or None"
    )


def _is_domain(entry: Any) -> bool:
    return entry is None or (isinstance(entry, Iterable) and not isinstance(entry, str | bytes))


def _abridged(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def row_codes(domain: Domain, table: pd.DataFrame) -> list[np.ndarray]:
    """The codes of training rows; every value must have one."""
    columns = []
    for variable in domain.variables:
        if not variable.is_coded:
            raise ValueError(
                f"column {variable.name!r} is kept as reals by this preset, so that its leaves "
                "cannot take new rows; fit the model anew on all rows"
            )
        _refuse_infinities(variable, table[variable.name])
        codes = _nearest(variable, table[variable.name], variable.encode(table[variable.name]))
        wrong = np.flatnonzero(codes < 0)
        if len(wrong):
            value = table[variable.name].iloc[wrong[0]]
            raise ValueError(
                f"column {variable.name!r}: the model has no cell for {value!r}; name values to "
                "come with fit(X, domains={...}), or fit the model anew on all rows"
            )
        columns.append(codes.astype(np.int64))
    return columns


def _refuse_infinities(variable: Variable, column: pd.Series) -> None:
    if variable.kind in ("continuous", "mixed") and np.isinf(variable.places(column)).any():
        raise ValueError(
            f"column {variable.name!r} has infinite values; clip or drop them before update"
        )


def _nearest(variable: Variable, column: pd.Series, codes: np.ndarray) -> np.ndarray:
    """Numbers between or beyond the cells of a column count for the nearest cell.

    So do those of a column of many values with a cell each: further values are likely there.
    """
    if not variable.is_ordered or variable.has_labels:
        return codes
    if variable.cells is None and variable.n_values <= MAX_VALUES:
        return codes
    line = variable.places(column)
    lost = np.flatnonzero((codes == OUTSIDE) & np.isfinite(line))
    found = codes.copy()
    found[lost] = _next_codes(variable, line[lost])
    return found


def _next_codes(variable: Variable, line: np.ndarray) -> np.ndarray:
    cells = variable.cells
    if cells is None:
        return np.minimum(np.searchsorted(variable.line_values, line), variable.n_values - 1)
    return cells.cell_of_piece[np.minimum(np.searchsorted(cells.right, line), len(cells.right) - 1)]


def storable(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a file can hold: all but plug-ins and random states that are objects."""
    kinds = (str, int, float, bool, type(None), np.generic, Mapping)
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in params.items()
        if isinstance(value, kinds)
    }

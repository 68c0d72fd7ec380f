"""Bayesian networks of other libraries as plain tables. None of them is imported before use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fspn.convert.tables import BayesNet


def network_of(source: Any) -> BayesNet:
    """The network behind a pyAgrum, pgmpy or pomegranate object (or a :class:`BayesNet`)."""
    if isinstance(source, BayesNet):
        return source
    library = type(source).__module__.split(".")[0].lower()
    if library not in READERS:
        raise TypeError(
            f"cannot read a Bayesian network from {type(source).__name__} of {library!r}; give a "
            "BIF file, cardinalities with parents and cpts, or a pyAgrum, pgmpy or pomegranate "
            "network"
        )
    return READERS[library](source)


def _from_pyagrum(source: Any) -> BayesNet:
    nodes = sorted(source.nodes())
    place = {source.variable(node).name(): i for i, node in enumerate(nodes)}
    tables = [source.cpt(node) for node in nodes]
    return BayesNet(
        tuple(place),
        tuple(_pyagrum_values(source.variable(node)) for node in nodes),
        # The axes of an array are the table's names from the last to the first, the variable.
        tuple(tuple(place[name] for name in reversed(table.names[1:])) for table in tables),
        tuple(np.asarray(table.toarray(), dtype=np.float64) for table in tables),
    )


def _pyagrum_values(variable: Any) -> tuple[Any, ...]:
    import pyagrum

    whole = (pyagrum.VarType_RANGE, pyagrum.VarType_INTEGER)
    labels = variable.labels()
    return tuple(int(label) for label in labels) if variable.varType() in whole else tuple(labels)


def _from_pgmpy(source: Any) -> BayesNet:
    names = list(source.nodes())
    place = {name: i for i, name in enumerate(names)}
    tables = [source.get_cpds(name) for name in names]
    lacking = [name for name, table in zip(names, tables, strict=True) if table is None]
    if lacking:
        raise ValueError(f"the network has no table for {lacking}; add them with add_cpds")
    return BayesNet(
        tuple(names),
        tuple(tuple(table.state_names[table.variable]) for table in tables),
        tuple(tuple(place[name] for name in table.variables[1:]) for table in tables),
        tuple(np.moveaxis(np.asarray(table.values, dtype=np.float64), 0, -1) for table in tables),
    )


def _from_pomegranate(source: Any) -> BayesNet:
    parents = tuple(tuple(int(p) for p in own) for own in source._parents)
    # A conditional table is a list of tables per output column; a network has one each.
    tables = [
        distribution.probs[0].detach().cpu().numpy().astype(np.float64)
        for distribution in source.distributions
    ]
    values = tuple(tuple(range(table.shape[-1])) for table in tables)
    return BayesNet(tuple(range(len(tables))), values, parents, tuple(tables))


READERS: dict[str, Callable[[Any], BayesNet]] = {
    "pyagrum": _from_pyagrum,
    "pgmpy": _from_pgmpy,
    "pomegranate": _from_pomegranate,
}

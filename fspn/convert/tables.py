"""BN-to-FSPN (Appendix A) on plain tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError
from typing import Any

import numpy as np

from fspn.model.cpt.full import FullTable
from fspn.model.graph import topological_order
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, Product, TableSplit, UniLeaf
from fspn.schema.domain import Domain, Variable

TOLERANCE = 1e-3
"""Rows may miss 1 by this much (rounded text files) and are divided by their sum."""


@dataclass(frozen=True)
class BayesNet:
    """A discrete Bayesian network.

    Arguments:
        names: The variables.
        values: The values of each variable, in the order of its tables.
        parents: The parents of each variable, as positions.
        cpts: The tables: axes of the parents in their order, then the variable's own values.
    """

    names: tuple[Hashable, ...]
    values: tuple[tuple[Any, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    cpts: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.values) == len(self.parents) == len(self.cpts):
            raise ValueError(
                f"{len(self.names)} names, {len(self.values)} domains, {len(self.parents)} lists "
                f"of parents and {len(self.cpts)} tables; there must be one of each per variable"
            )
        if len(self.names) == 0 or len(set(self.names)) < len(self.names):
            raise ValueError("a network has at least one variable, and no name twice")
        for v in range(len(self.names)):
            self._check_table(v)
        self._check_acyclic()

    def _check_table(self, v: int) -> None:
        name, own, cpt = self.names[v], self.parents[v], self.cpts[v]
        if len(set(own)) < len(own) or not all(0 <= p < len(self.names) and p != v for p in own):
            raise ValueError(f"{name!r}: its parents {own} are not other variables, each once")
        if len(self.values[v]) == 0 or len(set(self.values[v])) < len(self.values[v]):
            raise ValueError(f"{name!r}: no values, or one of them twice")
        shape = tuple(len(self.values[u]) for u in (*own, v))
        if cpt.shape != shape:
            raise ValueError(f"{name!r}: its table has the shape {cpt.shape}, expected {shape}")
        if not (cpt >= 0).all() or not np.isfinite(cpt).all():
            raise ValueError(f"{name!r}: its table has negative or non-finite entries")
        sums = cpt.sum(axis=-1)
        worst = np.unravel_index(np.argmax(np.abs(sums - 1.0)), sums.shape)
        if abs(sums[worst] - 1.0) > TOLERANCE:
            given = {self.names[p]: self.values[p][c] for p, c in zip(own, worst, strict=True)}
            raise ValueError(f"{name!r}: its row given {given} sums to {sums[worst]:g}, not 1")

    def _check_acyclic(self) -> None:
        try:
            topological_order(self.parents)
        except CycleError as error:
            cycle = [self.names[v] for v in sorted(set(error.args[1]))]
            raise ValueError(f"the arcs among {cycle} form a cycle") from error

    def renamed(self, names: Sequence[Hashable] | None) -> BayesNet:
        """The network with other names (None = unchanged)."""
        return self if names is None else replace(self, names=tuple(names))


def network_of_tables(
    cardinalities: Sequence[int],
    parents: Sequence[Sequence[int]],
    cpts: Sequence[np.ndarray],
    names: Sequence[Hashable] | None = None,
) -> BayesNet:
    """A network over the integers 0 .. d-1 of each variable."""
    return BayesNet(
        tuple(range(len(cardinalities)) if names is None else names),
        tuple(tuple(range(int(size))) for size in cardinalities),
        tuple(tuple(int(p) for p in own) for own in parents),
        tuple(np.asarray(cpt, dtype=np.float64) for cpt in cpts),
    )


def network_nodes(network: BayesNet) -> tuple[Domain, Node]:
    """The domain and the FSPN of a network.

    A product node where the network has several connected components. Otherwise the last variable,
    which has no children, is split off by a factorize node whose right child is its table. A single
    variable is a uni-leaf.
    """
    orders = [_sorted_order(values) for values in network.values]
    domain = Domain(
        tuple(
            _variable(name, [values[i] for i in order])
            for name, values, order in zip(network.names, network.values, orders, strict=True)
        )
    )
    stack: list[Node] = []
    for variable, n_parts in reversed(_plan(network.parents)):
        if n_parts > 1:
            stack.append(Product(tuple(stack.pop() for _ in range(n_parts))))
            continue
        own = network.parents[variable]
        table = network.cpts[variable][np.ix_(*(orders[v] for v in (*own, variable)))]
        if own:
            right = TableSplit(variable, own, FullTable.from_probabilities(table))
            stack.append(Factorize(stack.pop(), right))
        else:
            stack.append(UniLeaf(variable, Categorical(table / table.sum())))
    return domain, stack[0]


def _plan(parents: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """The recursion of BN-to-FSPN, parents first: (-1, number of parts) or (variable, 1)."""
    waiting = Counter(p for own in parents for p in own)
    pending = [set(range(len(parents)))]
    plan: list[tuple[int, int]] = []
    connected = False
    while pending:
        variables = pending.pop()
        parts = [variables] if connected else _components(variables, parents)
        if len(parts) > 1:
            plan.append((-1, len(parts)))
            pending.extend(reversed(parts))
            continue
        last = max(v for v in variables if waiting[v] == 0)
        plan.append((last, 1))
        for p in parents[last]:
            waiting[p] -= 1
        # With one neighbour less, an end of the graph, the rest still hangs together.
        connected = len(parents[last]) == 1
        if parents[last]:
            variables.discard(last)
            pending.append(variables)
    return plan


def _components(variables: set[int], parents: Sequence[tuple[int, ...]]) -> list[set[int]]:
    """The connected components, by their smallest variable."""
    near: dict[int, list[int]] = {v: [] for v in sorted(variables)}
    for v in near:
        for p in parents[v]:
            near[v].append(p)
            near[p].append(v)
    parts: list[set[int]] = []
    while near:
        pending = [next(iter(near))]
        part: set[int] = set()
        while pending:
            v = pending.pop()
            part.add(v)
            pending.extend(u for u in near.pop(v, []) if u in near)
        parts.append(part)
    return parts


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _sorted_order(values: tuple[Any, ...]) -> list[int]:
    """The order in which a domain lists the values."""
    return sorted(range(len(values)), key=lambda i: (str(type(values[i])), values[i]))


def _variable(name: Hashable, values: list[Any]) -> Variable:
    if all(_is_whole(value) for value in values):
        return Variable(name, "ordered", np.array(values, dtype=np.int64))
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return Variable(name, "unordered", labels)

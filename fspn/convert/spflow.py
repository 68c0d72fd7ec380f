"""Tree SPNs of SPFlow as FSPNs (Appendix A): the same tree, with the factorize operation unused.

Importing SPFlow opens a pool of processes, so its classes are recognised by name only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from fspn.model.leaves.base import Univariate
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture, Histogram
from fspn.model.nodes import Node, Product, Sum, UniLeaf
from fspn.schema.domain import Domain, Variable

DISCRETE = ("Bernoulli", "Categorical", "Histogram of integers")
CONTINUOUS = ("Gaussian", "Histogram of reals")
TOLERANCE = 1e-9


def spn_nodes(
    root: Any, names: Sequence[Hashable] | None = None, normalize: bool = False
) -> tuple[Domain, Node]:
    """The domain and the FSPN of an SPFlow tree; see :func:`fspn.convert.spn_to_fspn`."""
    scope = sorted(int(v) for v in root.scope)
    names = scope if names is None else list(names)
    if len(names) != len(scope):
        raise ValueError(f"{len(names)} names for the {len(scope)} columns of the SPN")
    order = list(_below(root))
    leaves = [node for node in order if not hasattr(node, "children")]
    domain = Domain(
        tuple(
            _variable(name, [leaf for leaf in leaves if leaf.scope[0] == v])
            for name, v in zip(names, scope, strict=True)
        )
    )
    built: dict[int, Node] = {}
    for node in reversed(order):
        if id(node) not in built:
            built[id(node)] = _node(node, built, scope, domain, normalize)
    return domain, built[id(root)]


def _below(root: Any) -> Iterator[Any]:
    """All nodes; a node that is shared in a DAG comes last after all of its parents."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(getattr(node, "children", [])))


def _node(
    node: Any, built: dict[int, Node], scope: list[int], domain: Domain, normalize: bool
) -> Node:
    kind = type(node).__name__
    children = tuple(built[id(child)] for child in getattr(node, "children", []))
    if kind == "Product":
        return children[0] if len(children) == 1 else Product(children)
    if kind == "Sum":
        return _sum(np.asarray(node.weights, dtype=np.float64), children)
    variable = scope.index(node.scope[0])
    return UniLeaf(variable, _leaf(node, domain[variable], normalize))


def _sum(weights: np.ndarray, children: tuple[Node, ...]) -> Node:
    """A sum node; children of weight 0 are left out."""
    kept = tuple(child for child, weight in zip(children, weights, strict=True) if weight > 0)
    weights = weights[weights > 0]
    return kept[0] if len(kept) == 1 else Sum(weights / weights.sum(), kept)


def _kind(leaf: Any) -> str:
    kind = type(leaf).__name__
    if kind == "Histogram":
        return f"Histogram of {'reals' if leaf.meta_type.name == 'REAL' else 'integers'}"
    return kind


def _variable(name: Hashable, leaves: list[Any]) -> Variable:
    kinds = sorted({_kind(leaf) for leaf in leaves})
    unknown = [kind for kind in kinds if kind not in (*DISCRETE, *CONTINUOUS)]
    if unknown:
        raise TypeError(
            f"column {name!r} has leaves {unknown}, which cannot be converted; "
            f"known are {', '.join((*DISCRETE, *CONTINUOUS))}"
        )
    if all(kind in CONTINUOUS for kind in kinds):
        return Variable(name, "continuous")
    if any(kind in CONTINUOUS for kind in kinds):
        raise TypeError(f"column {name!r} has discrete and continuous leaves: {kinds}")
    values = np.unique(np.concatenate([_points(leaf)[0] for leaf in leaves]))
    return Variable(name, "ordered", values.astype(np.int64))


def _leaf(leaf: Any, variable: Variable, normalize: bool) -> Univariate:
    kind = _kind(leaf)
    if kind == "Gaussian":
        return GaussianMixture(np.ones(1), np.array([leaf.mean]), np.array([leaf.stdev]))
    if kind == "Histogram of reals":
        edges = np.asarray(leaf.breaks, dtype=np.float64)
        mass = np.asarray(leaf.densities, dtype=np.float64) * np.diff(edges)
        middle = GaussianMixture(np.ones(1), edges[:1], np.ones(1))
        return Histogram(edges, _whole(mass, variable, normalize), middle, 0.0)
    values, mass = _points(leaf)
    p = np.zeros(variable.size)
    p[np.searchsorted(variable.values, values)] = mass
    return Categorical(_whole(p, variable, normalize))


def _points(leaf: Any) -> tuple[np.ndarray, np.ndarray]:
    """The integers that a discrete leaf knows, and their probabilities."""
    kind = _kind(leaf)
    if kind == "Bernoulli":
        return np.arange(2), np.array([1.0 - leaf.p, leaf.p])
    if kind == "Categorical":
        return np.arange(len(leaf.p)), np.asarray(leaf.p, dtype=np.float64)
    breaks = np.asarray(leaf.breaks, dtype=np.float64)
    values = np.arange(np.ceil(breaks[0]), breaks[-1])
    bins = np.searchsorted(breaks, values, side="right") - 1
    return values, np.asarray(leaf.densities, dtype=np.float64)[bins]


def _whole(mass: np.ndarray, variable: Variable, normalize: bool) -> np.ndarray:
    total = float(mass.sum())
    if abs(total - 1.0) > TOLERANCE and not normalize:
        raise ValueError(
            f"a leaf of column {variable.name!r} has the total mass {total:.9g}, not 1 (SPFlow's "
            "smoothing does this to histograms of reals); normalize=True divides by it"
        )
    return mass / total

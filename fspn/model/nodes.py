r"""The six node types of the paper (Section 3), immutable; they can also be built by hand.

A node stands for a distribution :math:`\Pr(S)` (uni-leaf, product, sum, factorize) or for a
conditional one :math:`\Pr(S \mid C)` (split, multi-leaf). :class:`TableSplit` is a split node that
has one region per value of its conditioning variables, kept as one table instead of thousands of
objects; :func:`expand` writes it out.

Every kind has ``scope``, ``children``, ``given`` (the conditioning variables that it names itself)
and ``n_parameters`` (its own, without those of its children). Every further operation on nodes is a
:class:`fspn.model.dispatch.ByKind`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, get_args

import numpy as np

from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.full import FullTable
from fspn.model.leaves.base import Multivariate, Univariate
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.schema.events import Region, Span, narrow


@dataclass(frozen=True, eq=False)
class UniLeaf:
    r""":math:`\Pr(X_v)`, the distribution of one variable."""

    variable: int
    dist: Univariate
    given: ClassVar[tuple[int, ...]] = ()
    children: ClassVar[tuple[Node, ...]] = ()

    @property
    def scope(self) -> frozenset[int]:
        return frozenset([self.variable])

    @property
    def n_parameters(self) -> int:
        return self.dist.n_parameters


@dataclass(frozen=True, eq=False)
class MultiLeaf:
    r""":math:`\Pr(H \mid c)`, the same for all c in the leaf's region."""

    variables: tuple[int, ...]
    dist: Multivariate
    given: ClassVar[tuple[int, ...]] = ()
    children: ClassVar[tuple[Node, ...]] = ()

    @property
    def scope(self) -> frozenset[int]:
        return frozenset(self.variables)

    @property
    def n_parameters(self) -> int:
        return self.dist.n_parameters

    @property
    def inner(self) -> Node | None:
        """The FSPN inside a multi-leaf that is one (:class:`fspn.model.leaves.nested.Nested`)."""
        return getattr(self.dist, "root", None)


@dataclass(frozen=True, eq=False)
class Product:
    r""":math:`\Pr(S) = \prod_j \Pr(S_j)` over independent parts."""

    children: tuple[Node, ...]
    given: ClassVar[tuple[int, ...]] = ()
    n_parameters: ClassVar[int] = 0

    @cached_property
    def scope(self) -> frozenset[int]:
        return _gather_scope(self)


@dataclass(frozen=True, eq=False)
class Sum:
    r""":math:`\Pr(S) = \sum_i w_i \Pr_i(S)`, a mixture."""

    weights: np.ndarray
    children: tuple[Node, ...]
    given: ClassVar[tuple[int, ...]] = ()

    @cached_property
    def scope(self) -> frozenset[int]:
        return _gather_scope(self)

    @property
    def n_parameters(self) -> int:
        return len(self.weights) - 1


@dataclass(frozen=True, eq=False)
class Split:
    r""":math:`\Pr(H \mid c) = \Pr_\ell(H \mid c)` for the one region :math:`\ell` that holds c.

    Arguments:
        regions: One region per child. A variable that a region does not name is free in it.
        children: Split nodes or multi-leaves.
    """

    regions: tuple[Region, ...]
    children: tuple[Node, ...]
    n_parameters: ClassVar[int] = 0

    @cached_property
    def scope(self) -> frozenset[int]:
        return _gather_scope(self)

    @cached_property
    def given(self) -> tuple[int, ...]:
        return tuple(sorted({v for region in self.regions for v in region}))


@dataclass(frozen=True, eq=False)
class TableSplit:
    r""":math:`\Pr(X_v \mid C)` with one region per value of C, as a table.

    Arguments:
        variable: The variable that is modelled.
        given: The conditioning variables C, in the cpt's order.
        cpt: The rows of the table: smoothed and sparse, or full.
    """

    variable: int
    given: tuple[int, ...]
    cpt: BackoffTable | FullTable
    children: ClassVar[tuple[Node, ...]] = ()

    @property
    def scope(self) -> frozenset[int]:
        return frozenset([self.variable])

    @property
    def n_parameters(self) -> int:
        return self.cpt.n_parameters


@dataclass(frozen=True, eq=False)
class Factorize:
    r""":math:`\Pr(S) = \Pr(W) \cdot \Pr(H \mid W)`: left child times right child."""

    left: Node
    right: Node
    given: ClassVar[tuple[int, ...]] = ()
    n_parameters: ClassVar[int] = 0

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def scope(self) -> frozenset[int]:
        return _gather_scope(self)


Node = UniLeaf | MultiLeaf | Product | Sum | Split | TableSplit | Factorize
NODE_KINDS: tuple[type, ...] = get_args(Node)
ONLY_RIGHT = (Split, TableSplit)
"""The kinds that stand only under a factorize node's right."""


def table_of(node: object) -> TableSplit | None:
    """The table on the right of a factorize node; None for regions there, and for other nodes."""
    right = node.right if isinstance(node, Factorize) else None
    return right if isinstance(right, TableSplit) else None


def below(node: Node) -> tuple[Node, ...]:
    """The children of a node, or the root inside a multi-leaf that is an FSPN of its own."""
    inner = node.inner if isinstance(node, MultiLeaf) else None
    return node.children if inner is None else (inner,)


def _gather_scope(root: Node) -> frozenset[int]:
    """The union of the scopes below, without recursion: chains of factorize nodes are deep."""
    found: set[int] = set()
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if not node.children or "scope" in node.__dict__:
            found |= node.scope
        elif isinstance(node, Sum | Split):
            pending.append(node.children[0])
        else:
            pending.extend(node.children)
    return frozenset(found)


def walk(root: Node) -> Iterator[Node]:
    """All nodes, parents before children, left to right."""
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def leaves_of(right: Node) -> Iterator[tuple[Region, MultiLeaf]]:
    """The multi-leaves under a factorize node's right child, each with its whole region."""
    pending: list[tuple[Region, Node]] = [({}, right)]
    while pending:
        region, node = pending.pop()
        if isinstance(node, TableSplit):
            node = expand(node)
        if isinstance(node, MultiLeaf):
            yield region, node
        elif isinstance(node, Split):
            parts = list(zip(node.regions, node.children, strict=True))
            pending.extend((narrow(region, inner), child) for inner, child in reversed(parts))
        else:
            raise TypeError(
                "the right child of a factorize node must consist of split nodes and multi-leaves, "
                f"not {type(node).__name__}"
            )


def expand(node: TableSplit) -> Split:
    """The split node and the multi-leaves that a table stands for."""
    configurations = np.array(list(product(*(range(size) for size in node.cpt.sizes))))
    rows = node.cpt.table(configurations.reshape(len(configurations), len(node.given)))
    regions = tuple(
        {variable: Span(int(c), int(c)) for variable, c in zip(node.given, cells, strict=True)}
        for cells in configurations
    )
    leaves = tuple(MultiLeaf((node.variable,), Independent((Categorical(row),))) for row in rows)
    return Split(regions, leaves)


def count_parameters(root: Node) -> int:
    """The number of free parameters: those of the leaves and tables, and the sum weights."""
    return sum(node.n_parameters for node in walk(root))

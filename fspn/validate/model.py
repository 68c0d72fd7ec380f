"""Is this a proper FSPN? Scopes, weights, leaves, and regions that tile (Section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from fspn.model.dispatch import ByKind
from fspn.model.leaves.base import leaf_faults
from fspn.model.leaves.checks import share_faults
from fspn.model.nodes import (
    ONLY_RIGHT,
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    below,
)
from fspn.schema.domain import Domain
from fspn.schema.events import Region, narrow
from fspn.validate.domain import domain_faults, table_faults
from fspn.validate.tiling import tiling_fault

RIGHT = (*ONLY_RIGHT, MultiLeaf)


class ModelError(ValueError):
    """A model that is not a proper FSPN; the message names the node and the fault."""


@dataclass(frozen=True)
class Place:
    """A node's place in the tree, written out only where it is needed."""

    step: str
    above: Place | None = None

    def __str__(self) -> str:
        steps: list[str] = []
        place: Place | None = self
        while place is not None:
            steps.append(place.step)
            place = place.above
        return "".join(reversed(steps))


def validate(root: Node, domain: Domain) -> None:
    """Raise :class:`ModelError` unless ``root`` is a proper FSPN of all variables of ``domain``.

    Arguments:
        root: The root node; neither a split node nor a table.
        domain: The variables.
    """
    _raise("domain", partial(domain_faults, domain))
    for place, node in _places(root):
        _raise(place, partial(_faults, node, domain))
    _raise("root", partial(_root_faults, root, domain))


def _raise(place: object, check: Callable[[], Iterator[str]]) -> None:
    try:
        faults = list(check())
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        faults = [f"malformed: {error}"]
    if faults:
        raise ModelError(f"{place}: {faults[0]}")


def _places(root: Node) -> Iterator[tuple[Place, Node]]:
    """All nodes with their places, children first: a parent is judged once its parts are sound."""
    found: list[tuple[Place, Node]] = []
    pending = [(Place("root"), root)]
    while pending:
        place, node = pending.pop()
        found.append((place, node))
        pending.extend((Place(step, place), child) for step, child in _steps(node))
    yield from reversed(found)


def _root_faults(root: Node, domain: Domain) -> Iterator[str]:
    if isinstance(root, ONLY_RIGHT):
        yield f"a {type(root).__name__} stands only under a factorize node"
    missing = [domain[v].name for v in range(len(domain)) if v not in root.scope]
    if missing:
        yield f"the column(s) {missing} are not modelled"


def _steps(node: Node) -> list[tuple[str, Node]]:
    steps: Iterable[str] = (f"[{i}]" for i in range(len(node.children)))
    if isinstance(node, Factorize | MultiLeaf):
        steps = (".left", ".right") if node.children else (".dist.root",)
    return list(zip(steps, below(node), strict=False))


def _faults(node: Node, domain: Domain) -> Iterator[str]:
    own = () if node.children else sorted(node.scope)
    outside = [v for v in (*own, *node.given) if not 0 <= v < len(domain)]
    if outside:
        yield f"the variable(s) {outside} do not exist; the domain has {len(domain)}"
    else:
        yield from FAULTS(node, domain)


def _names(variables: frozenset[int], domain: Domain) -> str:
    return ", ".join(repr(domain[v].name) for v in sorted(variables))


def _multi_leaf_faults(node: MultiLeaf, domain: Domain) -> Iterator[str]:
    variables = [domain[v] for v in node.variables]
    if len(node.scope) != len(node.variables) or not variables:
        yield "a multi-leaf that names no variable, or one of them twice"
    else:
        yield from node.dist.faults(node.variables, variables)


def _unconditional(children: tuple[Node, ...]) -> Iterator[str]:
    for child in children:
        if isinstance(child, ONLY_RIGHT):
            yield f"a {type(child).__name__} child; it stands only under a factorize node's right"


def _product_faults(node: Product, domain: Domain) -> Iterator[str]:
    yield from _unconditional(node.children)
    if len(node.children) < 2:
        yield f"{len(node.children)} children; a product node has at least 2"
    seen: frozenset[int] = frozenset()
    for index, child in enumerate(node.children):
        if seen & child.scope:
            yield f"child {index} shares {_names(seen & child.scope, domain)} with an earlier child"
        seen |= child.scope


def _sum_faults(node: Sum, _: Domain) -> Iterator[str]:
    yield from _unconditional(node.children)
    if len(node.children) != len(node.weights) or not node.children:
        yield f"{len(node.weights)} weights for {len(node.children)} children"
        return
    if not (node.weights > 0).all():
        yield "the weights must be positive"
    yield from share_faults(node.weights, "the weights")
    yield from _same_scope(node.children)


def _same_scope(children: tuple[Node, ...]) -> Iterator[str]:
    for index, child in enumerate(children):
        if child.scope != children[0].scope:
            yield f"child {index} is over other variables than child 0"


def _split_faults(node: Split, _: Domain) -> Iterator[str]:
    if len(node.children) != len(node.regions) or not node.children:
        yield f"{len(node.regions)} regions for {len(node.children)} children"
    for child in node.children:
        if not isinstance(child, RIGHT):
            yield f"a {type(child).__name__} child; only splits and multi-leaves may follow a split"
    yield from _same_scope(node.children)


def _factorize_faults(node: Factorize, domain: Domain) -> Iterator[str]:
    yield from _unconditional((node.left,))
    if not isinstance(node.right, RIGHT):
        yield f"a {type(node.right).__name__} on the right; it must be a split or a multi-leaf"
        return
    if node.left.scope & node.right.scope:
        yield f"left and right share {_names(node.left.scope & node.right.scope, domain)}"
    given, regions = _conditions(node.right)
    if not given <= node.left.scope:
        yield f"the right child asks for {_names(given - node.left.scope, domain)}, not on the left"
    fault = tiling_fault(regions, domain)
    if fault:
        yield fault


def _conditions(right: Node) -> tuple[frozenset[int], list[Region]]:
    """The conditioning variables of a right child, and the regions of its leaves and tables."""
    given: set[int] = set()
    regions: list[Region] = []
    pending: list[tuple[Region, Node]] = [({}, right)]
    while pending:
        region, node = pending.pop()
        given.update(node.given)
        if isinstance(node, Split):
            parts = zip(node.regions, node.children, strict=True)
            pending.extend((narrow(region, inner), child) for inner, child in parts)
        else:
            regions.append(region)
    return frozenset(given), regions


FAULTS: ByKind[Iterator[str]] = ByKind(
    "validation",
    {
        UniLeaf: lambda node, domain: leaf_faults(node.dist, domain[node.variable]),
        MultiLeaf: _multi_leaf_faults,
        TableSplit: table_faults,
        Product: _product_faults,
        Sum: _sum_faults,
        Split: _split_faults,
        Factorize: _factorize_faults,
    },
)

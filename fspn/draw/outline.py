"""What a picture of a model shows: one card per node, and for large models summaries.

Up to ``max_nodes`` nodes everything is shown. Above that, nested factorize nodes with tables become
one card, many leaves side by side become one card, and subtrees beyond the limit are folded into a
card that counts their nodes; nodes near the root take precedence.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fspn.model.dispatch import ByKind
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    table_of,
    walk,
)
from fspn.schema.domain import Domain
from fspn.schema.events import Codes, Interval, Region, Side

KINDS = {
    Factorize: "factorize",
    Sum: "sum",
    Product: "product",
    Split: "split",
    TableSplit: "table",
    UniLeaf: "uni-leaf",
    MultiLeaf: "multi-leaf",
}
LINES: ByKind[list[str]] = ByKind(
    "drawing",
    {
        **dict.fromkeys((UniLeaf, MultiLeaf), lambda leaf: [leaf.dist.summary()]),
        TableSplit: lambda table: [f"{table.n_parameters} parameters"],
        **dict.fromkeys((Factorize, Sum, Product, Split), lambda _: []),
    },
)
MAX_NAMES = 4
MAX_LINES = 24
MAX_BRANCHES = 8
MAX_TEXT = 30


@dataclass
class Card:
    """One element of the picture.

    Arguments:
        kind: A node kind, or ``"chain"``, ``"leaves"``, ``"folded"``.
        title: What it is about.
        lines: Further lines of text.
        edge: The text on the link from the parent.
        children: The cards below.
    """

    kind: str
    title: str
    lines: list[str] = field(default_factory=list)
    edge: str = ""
    children: list[Card] = field(default_factory=list)


def outline(root: Node, domain: Domain | None, max_nodes: int) -> Card:
    """The cards of a model; see the module's text."""
    maker = _Maker(domain, summarise=sum(1 for _ in walk(root)) > max_nodes)
    top = maker.card(root, "")
    waiting = deque([(top, root)])
    shown = 1
    while waiting:
        card, node = waiting.popleft()
        parts = maker.parts(node)
        if maker.summarise and shown + len(parts) > max_nodes:
            _fold(card, node)
            continue
        shown += len(parts)
        card.children = [part for part, _ in parts]
        waiting.extend((part, child) for part, child in parts if child is not None)
    return top


def _fold(card: Card, node: Node) -> None:
    if node.children:
        card.kind = "folded"
        card.lines = _census([node])


def _census(nodes: Iterable[Node]) -> list[str]:
    counts = Counter(KINDS[type(part)] for node in nodes for part in walk(node))
    listed = [f"{counts[kind]} {kind}" for kind in KINDS.values() if counts[kind]]
    head = f"{sum(counts.values())} nodes" if sum(counts.values()) > 1 else "1 node"
    return [f"{head}:", *(", ".join(listed[i : i + 3]) for i in range(0, len(listed), 3))]


class _Maker:
    def __init__(self, domain: Domain | None, summarise: bool):
        self._domain = domain
        self.summarise = summarise

    def card(self, node: Node, edge: str) -> Card:
        chain = self._chain(node)
        if len(chain) > 2:
            lines = [self._conditional(table.variable, table.given) for table in chain]
            more = [f"... and {len(lines) - MAX_LINES} more"] if len(lines) > MAX_LINES else []
            title = f"{len(chain)} factorize nodes with tables"
            return Card("chain", title, lines[:MAX_LINES] + more, edge)
        return Card(KINDS[type(node)], self._title(node), LINES(node), edge)

    def _chain(self, node: Node) -> list[TableSplit]:
        """The tables of nested factorize nodes, where they are to be summarised."""
        tables: list[TableSplit] = []
        while self.summarise and (table := table_of(node)) is not None:
            tables.append(table)
            node = node.children[0]
        return tables

    def parts(self, node: Node) -> list[tuple[Card, Node | None]]:
        """The cards below a node, each with the node that it still has to expand."""
        chain = self._chain(node)
        if len(chain) > 2:
            for _ in chain:
                node = node.children[0]
            return [(self.card(node, ""), node)]
        children = list(zip(node.children, self._edges(node), strict=True))
        if self.summarise:
            return self._grouped(children)
        return [(self.card(child, edge), child) for child, edge in children]

    def _grouped(self, children: list[tuple[Node, str]]) -> list[tuple[Card, Node | None]]:
        """Leaves side by side as one card, and only the first of many branches."""
        leaves = [child for child, edge in children if isinstance(child, UniLeaf) and not edge]
        parts: list[tuple[Card, Node | None]] = []
        if len(leaves) > 3:
            scope = sorted(leaf.variable for leaf in leaves)
            rows = [self._names(scope[i : i + MAX_NAMES]) for i in range(0, len(scope), MAX_NAMES)]
            more = ["..."] if len(rows) > 3 else []
            parts.append((Card("leaves", f"{len(leaves)} uni-leaves", rows[:3] + more), None))
            children = [pair for pair in children if pair[0] not in leaves]
        shown = children if len(children) <= MAX_BRANCHES else children[: MAX_BRANCHES - 1]
        parts += [(self.card(child, edge), child) for child, edge in shown]
        rest = [child for child, _ in children[len(shown) :]]
        if rest:
            parts.append((Card("folded", f"{len(rest)} more children", _census(rest)), None))
        return parts

    def _name(self, variable: int) -> str:
        return f"X{variable + 1}" if self._domain is None else str(self._domain[variable].name)

    def _names(self, variables: Sequence[int]) -> str:
        names = [_truncated(self._name(v), 14) for v in variables[:MAX_NAMES]]
        more = [f"+{len(variables) - MAX_NAMES}"] if len(variables) > MAX_NAMES else []
        return ", ".join(names + more)

    def _conditional(self, variable: int, given: Sequence[int]) -> str:
        return f"{_truncated(self._name(variable), 14)} | {self._names(given)}"

    def _title(self, node: Node) -> str:
        given = f" | {self._names(node.given)}" if node.given else ""
        own = node.variables if isinstance(node, MultiLeaf) else sorted(node.scope)
        return self._names(own) + given

    def _edges(self, node: Node) -> list[str]:
        if isinstance(node, Sum):
            return [f"{weight:.2g}" for weight in node.weights]
        if isinstance(node, Split):
            return [self._region(region) for region in node.regions]
        return [""] * len(node.children)

    def _region(self, region: Region) -> str:
        sides = [self._side(v, side) for v, side in sorted(region.items())]
        more = f" +{len(sides) - 2}" if len(sides) > 2 else ""
        return ", ".join(sides[:2]) + more

    def _side(self, variable: int, side: Side) -> str:
        name = _truncated(self._name(variable), 14)
        if isinstance(side, Codes):
            labels = [self._value(variable, code) for code in sorted(side.codes)]
            more = [f"+{len(labels) - 3}"] if len(labels) > 3 else []
            return _truncated(f"{name} in {{{', '.join(labels[:3] + more)}}}")
        if isinstance(side, Interval):
            return _range(name, side.lower, side.upper)
        described = None if self._domain is None else self._domain[variable]
        if described is not None and described.cells is not None:
            return _truncated(f"{name} in {described.describe(side.lower, side.upper)}")
        low, high = self._value(variable, side.lower), self._value(variable, side.upper)
        if side.lower == side.upper:
            return _truncated(f"{name} = {low}")
        if side.lower == 0:
            return _truncated(f"{name} ≤ {high}")
        if described is not None and side.upper >= described.size - 1:
            return _truncated(f"{name} ≥ {low}")
        return _truncated(f"{low} ≤ {name} ≤ {high}")

    def _value(self, variable: int, code: int) -> str:
        if self._domain is None or not 0 <= code < self._domain[variable].size:
            return str(code)
        return _truncated(self._domain[variable].describe(code), 10)


def _range(name: str, lower: float, upper: float) -> str:
    if np.isneginf(lower):
        return f"{name} ≤ {upper:.4g}" if np.isfinite(upper) else f"any {name}"
    return f"{name} > {lower:.4g}" if np.isposinf(upper) else f"{lower:.4g} < {name} ≤ {upper:.4g}"


def _truncated(text: str, limit: int = MAX_TEXT) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

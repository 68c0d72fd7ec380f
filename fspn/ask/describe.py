r"""What a fitted model consists of, in a few lines: its nodes, its size, what depends on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd

from fspn.model.nodes import Node, TableSplit, count_parameters, walk
from fspn.schema.domain import Domain

MAX_PAIRS = 60
SHOWN_PAIRS = 10

PairTable = Callable[[int, int], np.ndarray]


@dataclass(frozen=True)
class Description:
    """A model in words.

    Arguments:
        nodes: How many nodes there are of each kind.
        tables: How many conditional tables there are of each kind: rows of counts, integer-linear
            laws, graded laws, decision trees, full tables; "a + b" is level b on level a.
        n_parameters: The number of free parameters.
        size_bytes: The size of the model.
        dependences: The strongest dependences between columns that share a table: the mutual
            information in nats, and as a fraction of the smaller entropy.
        columns: The columns, as :meth:`fspn.schema.domain.Domain.summary` lists them.
        gains: What each kind of node gained, in nats per training row: sum nodes compared with one
            network, factorize nodes (tables) with independent columns, laws and trees with tables
            of counts over the same parents. Tables are judged by leave-one-out likelihood.
    """

    nodes: dict[str, int]
    tables: dict[str, int]
    n_parameters: int
    size_bytes: int
    dependences: pd.DataFrame
    columns: pd.DataFrame
    gains: dict[str, float]

    def __str__(self) -> str:
        parts = [self._headline(), "", self.columns.to_string(justify="left")]
        if len(self.dependences):
            table = self.dependences.to_string(index=False, float_format=lambda x: f"{x:.3f}")
            parts += ["", "strongest dependences:", table]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def _headline(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.nodes.items())
        if self.tables:
            shown = ", ".join(f"{count} {kind}" for kind, count in self.tables.items())
            kinds += f" (tables: {shown})"
        size = f"{self.n_parameters} parameters, {self.size_bytes / 1024:.1f} KB"
        gained = ", ".join(f"{kind} {nats:.3f}" for kind, nats in self.gains.items())
        ending = f"; gained in nats a row: {gained}" if gained else ""
        return f"FSPN of {len(self.columns)} columns: {kinds}; {size}{ending}"

    def _repr_html_(self) -> str:
        tables = [self.columns.map(str).to_html(escape=True)]
        if len(self.dependences):
            tables.append(self.dependences.round(3).to_html(index=False, escape=True))
        return "".join([f"<p>{escape(self._headline())}</p>", *tables])


def describe(
    root: Node,
    domain: Domain,
    size_bytes: int,
    pair: PairTable,
    gains: Mapping[str, float] | None = None,
) -> Description:
    """Describe a model.

    Arguments:
        root: The model.
        domain: Its columns.
        size_bytes: Its size.
        pair: A function that gives the joint table of two coded columns.
        gains: What each kind of node gained, in nats per row.
    """
    kinds = Counter(_kind(node) for node in walk(root))
    found = [_dependence(domain, v, u, pair(v, u)) for v, u in _pairs(root)]
    found.sort(key=lambda row: -row[2])
    names = ["column", "depends on", "nats", "share of entropy"]
    dependences = pd.DataFrame(found[:SHOWN_PAIRS], columns=names)
    return Description(
        dict(kinds.most_common()),
        dict(Counter(_table_kinds(root)).most_common()),
        count_parameters(root),
        size_bytes,
        dependences,
        domain.summary(),
        {GAIN_WORDS.get(kind, kind): nats for kind, nats in (gains or {}).items()},
    )


def _kind(node: Node) -> str:
    words = {"UniLeaf": "uni-leaf", "MultiLeaf": "multi-leaf", "TableSplit": "conditional table"}
    name = type(node).__name__
    return words.get(name, name.lower())


TABLE_WORDS = {
    "counts": "counts",
    "offset": "integer law",
    "graded": "graded law",
    "tree": "decision tree",
    "full": "whole table",
}


GAIN_WORDS = {
    "sum": "sum nodes over one network",
    "factorize": "factorize nodes over independence",
    "offset": "integer laws over counts",
    "graded": "graded laws over counts",
    "tree": "decision trees over counts",
    "all": "all nodes over independence",
}


def _table_kinds(root: Node) -> Iterator[str]:
    """The levels of each conditional table, from the first up."""
    for node in walk(root):
        if isinstance(node, TableSplit):
            families = dict.fromkeys(level.family for level in node.cpt.levels)
            yield " + ".join(TABLE_WORDS.get(family, family) for family in families)


def _pairs(root: Node) -> list[tuple[int, int]]:
    """Pairs of columns that share a table, the most frequent pairs first."""
    counted = Counter(_table_pairs(root))
    return [pair for pair, _ in counted.most_common(MAX_PAIRS)]


def _table_pairs(root: Node) -> Iterator[tuple[int, int]]:
    for node in walk(root):
        if isinstance(node, TableSplit):
            for parent in node.given:
                yield node.variable, parent


def _dependence(
    domain: Domain, child: int, parent: int, table: np.ndarray
) -> tuple[str, str, float, float]:
    joint = table / table.sum()
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    filled = joint > 0
    nats = float((joint[filled] * np.log(joint[filled] / expected[filled])).sum())
    least = min(_entropy(joint.sum(axis=1)), _entropy(joint.sum(axis=0)))
    share = nats / least if least > 0 else 0.0
    return str(domain[child].name), str(domain[parent].name), max(nats, 0.0), max(share, 0.0)


def _entropy(row: np.ndarray) -> float:
    filled = row[row > 0]
    return float(-(filled * np.log(filled)).sum())

"""What each kind of node gained while a model was learned, in nats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fspn.learn.network.counting import code_counts
from fspn.learn.network.score import TableGain
from fspn.learn.slices import Slice
from fspn.model.nodes import Node
from fspn.model.score import row_scores

SAMPLE_ROWS = 5_000
TOGETHER = "all"


@dataclass
class Gains:
    """The gains of the nodes of a model, in nats over all rows.

    Arguments:
        tables: The tables of each variable, one per network that it is in.
        sums: What sum nodes gained over one network, by their scope.
        together: What all nodes gained over independent columns, where only that is known.
    """

    tables: dict[int, list[TableGain]] = field(default_factory=dict)
    sums: dict[frozenset[int], float] = field(default_factory=dict)
    together: float | None = None

    def add_tables(self, found: Mapping[int, TableGain]) -> None:
        """Record the tables of a network."""
        for variable, gain in found.items():
            self.tables.setdefault(variable, []).append(gain)

    def add_sum(self, scope: Iterable[int], node: Node, one: Node, data: Slice) -> None:
        """Record a sum node that replaced one network."""
        rows = _some(data)
        columns = {v: rows.values(v) for v in scope}
        gained = (row_scores(node, columns) - row_scores(one, columns)).mean()
        self.sums[frozenset(scope)] = float(gained) * data.n_rows

    def replace(self, scope: Iterable[int], found: Gains) -> None:
        """Record that other nodes now model some variables."""
        for variable in scope:
            self.tables.pop(variable, None)
        self.tables |= found.tables

    def add_together(self, root: Node, data: Slice) -> None:
        """Record what a whole model gained over independent columns."""
        rows, total = _some(data), 0.0
        columns = {v: rows.values(v) for v in range(len(data.domain))}
        for v, codes in columns.items():
            counts = code_counts(data.values(v), data.domain[v].size)
            shares = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
            total += float(np.log(shares[codes.astype(np.int64)]).mean())
        self.together = (float(row_scores(root, columns).mean()) - total) * data.n_rows

    def per_row(self, n_rows: int) -> dict[str, float]:
        """Nats per row: "sum", "factorize", families of laws, or "all" where only that is known."""
        found: defaultdict[str, float] = defaultdict(float)
        for nats in self.sums.values():
            found["sum"] += nats
        for gain in (gain for own in self.tables.values() for gain in own):
            found["factorize"] += gain.over_independence
            if gain.families:
                found[gain.families[0]] += gain.over_counts
        if self.together is not None:
            found[TOGETHER] = self.together
        return {kind: nats / n_rows for kind, nats in found.items()}


def _some(data: Slice) -> Slice:
    """At most ``SAMPLE_ROWS`` rows, evenly spaced."""
    if data.n_rows <= SAMPLE_ROWS:
        return data
    return data.take(np.linspace(0, data.n_rows - 1, SAMPLE_ROWS).astype(np.int64))

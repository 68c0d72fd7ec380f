"""Random DAGs of treewidth at most two."""

from __future__ import annotations

import numpy as np


class Graph:
    """A DAG grown column by column whose moral graph is a partial 2-tree.

    A new column hangs below one earlier column, below two that are already joined in the moral
    graph, or below two of different components. Each of these keeps the treewidth at two, so
    that exact inference stays cheap whatever is observed.
    """

    def __init__(self) -> None:
        self.parents: list[tuple[int, ...]] = []
        self._component: list[int] = []
        self._joined: set[tuple[int, int]] = set()

    def add(self, parents: tuple[int, ...]) -> None:
        """Adds a column below `parents` (none for a root)."""
        column = len(self.parents)
        self.parents.append(parents)
        merged = {self._component[p] for p in parents}
        self._component.append(column)
        self._component = [column if c in merged else c for c in self._component]
        family = sorted((*parents, column))
        self._joined |= {(a, b) for a in family for b in family if a < b}

    def propose(self, rng: np.random.Generator, pair_probability: float) -> tuple[int, ...]:
        """One random earlier column or, with the given probability, an allowed pair."""
        first = int(rng.integers(len(self.parents)))
        if rng.random() >= pair_probability:
            return (first,)
        partners = [b for b in range(len(self.parents)) if self._allowed(first, b)]
        if not partners:
            return (first,)
        a, b = sorted((first, int(rng.choice(partners))))
        return (a, b)

    def _allowed(self, a: int, b: int) -> bool:
        apart = self._component[a] != self._component[b]
        return a != b and (apart or (min(a, b), max(a, b)) in self._joined)

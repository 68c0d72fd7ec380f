"""Exact answers Pr(Q | E = e) from a network, by contracting its evidence-reduced tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import opt_einsum as oe
import pandas as pd

from experiments.datasets.network import Network
from experiments.types import Evidence, WeightedPoints

MAX_TABLE_CELLS = 20_000_000
MAX_DRAWN_CELLS = 5_000_000


@dataclass(frozen=True)
class ReducedTable:
    """Pr(Q | E = e) on the product of the values that each query column can still take."""

    values: tuple[np.ndarray, ...]
    table: np.ndarray


@dataclass(frozen=True)
class ExactTruth:
    """The generating network as an oracle for evidence queries.

    Columns that are no ancestors of Q or E are dropped, every other column is restricted to the
    values that are possible given e, and what is left is summed out by `opt_einsum`.
    """

    network: Network

    @property
    def structure(self) -> dict[str, tuple[str, ...]]:
        """The generating DAG: every column with its parents."""
        return self.network.structure

    def log_probability(self, table: pd.DataFrame) -> np.ndarray:
        """Natural logarithm of Pr(row) of complete rows."""
        return self.network.log_probability(self.network.encode(table))

    def conditional_table(self, query: Sequence[str], evidence: Evidence) -> np.ndarray:
        """Pr(Q | E = e) on all cells; one axis per query column in sorted domain order."""
        columns, codes = self._encode(query, evidence)
        shape = tuple(self.network.sizes[q] for q in columns)
        check_cells(shape)
        reduced = self._reduced(columns, codes)
        full = np.zeros(shape)
        full[np.ix_(*reduced.values)] = reduced.table
        return full

    def support(
        self, query: Sequence[str], evidence: Evidence, limit: int
    ) -> WeightedPoints | None:
        """All cells with positive probability, or None if there are more than `limit`."""
        columns, codes = self._encode(query, evidence)
        cells = prod(len(v) for v in self._possible_values(columns, codes))
        if cells > (limit if self._is_dense(columns, codes) else MAX_TABLE_CELLS):
            return None
        reduced = self._reduced(columns, codes)
        places = np.nonzero(reduced.table)
        if len(places[0]) > limit:
            return None
        whole = len(places[0]) == prod(self.network.sizes[q] for q in columns)
        return WeightedPoints(self._values(columns, reduced, places), reduced.table[places], whole)

    def draw(self, query: Sequence[str], evidence: Evidence, n: int, seed: int) -> WeightedPoints:
        """Draws of Q given e, the columns in two steps where their table would be too large."""
        columns, codes = self._encode(query, evidence)
        lengths = [len(v) for v in self._possible_values(columns, codes)]
        order = sorted(range(len(columns)), key=lengths.__getitem__)
        drawn, probability = self._draw_codes(
            [columns[i] for i in order], codes, n, np.random.default_rng(seed)
        )
        points = np.empty_like(drawn)
        points[:, order] = drawn
        values = [self.network.domains[q][points[:, i]] for i, q in enumerate(columns)]
        return WeightedPoints(np.column_stack(values), probability, self._is_dense(columns, codes))

    def _is_dense(self, query: Sequence[int], evidence: dict[int, int]) -> bool:
        """Every cell is possible if no table above the query and the evidence has a zero."""
        return all(self.network.dense[j] for j in _ancestors(self.network, (*query, *evidence)))

    def _draw_codes(
        self, columns: list[int], codes: dict[int, int], n: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        if prod(len(v) for v in self._possible_values(columns, codes)) <= MAX_DRAWN_CELLS:
            return _draw_from(self._reduced(columns, codes), n, rng)
        head, tail = columns[: len(columns) // 2], columns[len(columns) // 2 :]
        first, weight = self._draw_codes(head, codes, n, rng)
        states, which, counts = np.unique(first, axis=0, return_inverse=True, return_counts=True)
        rest = np.empty((n, len(tail)), dtype=np.int64)
        for s, (state, count) in enumerate(zip(states, counts, strict=True)):
            given = codes | dict(zip(head, map(int, state), strict=True))
            rows = np.flatnonzero(which.ravel() == s)
            rest[rows], conditional = self._draw_codes(tail, given, int(count), rng)
            weight[rows] *= conditional
        return np.column_stack([first, rest]), weight

    def _encode(self, query: Sequence[str], evidence: Evidence) -> tuple[list[int], dict[int, int]]:
        index = {name: j for j, name in enumerate(self.network.columns)}
        unknown = [name for name in (*query, *evidence) if name not in index]
        if unknown:
            raise ValueError(f"unknown column {unknown[0]!r}: the columns are {list(index)}")
        if not query or len(set(query) | set(evidence)) < len(query) + len(evidence):
            raise ValueError("the query needs at least one column, none twice or in the evidence")
        codes = {
            index[c]: int(self.network.code_of(index[c], np.asarray(v)))
            for c, v in evidence.items()
        }
        return [index[c] for c in query], codes

    def _possible(self, query: Sequence[int], evidence: dict[int, int]) -> dict[int, np.ndarray]:
        """Values that relevant columns can take given e, by passing supports to a fixed point."""
        relevant = _ancestors(self.network, (*query, *evidence))
        possible = {j: np.arange(self.network.sizes[j]) for j in relevant}
        possible |= {j: np.array([code]) for j, code in evidence.items()}
        pending = {j for j in relevant if not self.network.dense[j]}
        while pending:
            j = pending.pop()
            for v in _narrow(self.network, j, possible):
                pending |= {f for f in self.network.factors_of[v] if f in possible and f != j}
                pending -= {f for f in pending if self.network.dense[f]}
        return possible

    def _possible_values(self, query: Sequence[int], evidence: dict[int, int]) -> list[np.ndarray]:
        possible = self._possible(query, evidence)
        return [possible[q] for q in query]

    def evidence_probability(self, evidence: Evidence) -> float:
        """Pr(E = e); 1 without evidence."""
        index = {name: j for j, name in enumerate(self.network.columns)}
        codes = {
            index[c]: int(self.network.code_of(index[c], np.asarray(v)))
            for c, v in evidence.items()
        }
        return float(self._contracted((), self._possible((), codes))) if codes else 1.0

    def _reduced(self, query: Sequence[int], evidence: dict[int, int]) -> ReducedTable:
        possible = self._possible(query, evidence)
        values = tuple(possible[q] for q in query)
        check_cells(tuple(len(v) for v in values))
        table = self._contracted(query, possible)
        return ReducedTable(values, (table / table.sum()).reshape([len(v) for v in values]))

    def _contracted(self, query: Sequence[int], possible: dict[int, np.ndarray]) -> np.ndarray:
        """Pr(Q, E = e) on the possible values of Q; columns of one value have no axis."""
        free = {j for j, v in possible.items() if len(v) > 1}
        operands: list[object] = []
        for j in possible:
            scope = (*self.network.parents[j], j)
            block = self.network.cpts[j][np.ix_(*(possible[v] for v in scope))]
            axes = [v for v in scope if v in free]
            operands += [block.reshape([len(possible[v]) for v in axes]), axes]
        return np.asarray(oe.contract(*operands, [q for q in query if q in free]))

    def _values(
        self, columns: list[int], reduced: ReducedTable, cells: tuple[np.ndarray, ...]
    ) -> np.ndarray:
        return np.column_stack(
            [
                self.network.domains[q][v[c]]
                for q, v, c in zip(columns, reduced.values, cells, strict=True)
            ]
        )


def _ancestors(network: Network, columns: Sequence[int] | range) -> list[int]:
    """The columns and all columns above them, in order."""
    found = set(columns)
    for j in reversed(range(len(network.columns))):
        if j in found:
            found |= set(network.parents[j])
    return sorted(found)


def _narrow(network: Network, j: int, possible: dict[int, np.ndarray]) -> list[int]:
    """Drops the values that the table of column j rules out; returns the columns that shrank."""
    scope = (*network.parents[j], j)
    allowed = network.cpts[j][np.ix_(*(possible[v] for v in scope))] > 0
    shrunk = []
    for axis, v in enumerate(scope):
        keep = allowed.any(axis=tuple(a for a in range(len(scope)) if a != axis))
        if not keep.any():
            raise ValueError("the evidence has probability zero under the truth")
        if not keep.all():
            possible[v] = possible[v][keep]
            shrunk.append(v)
    return shrunk


def _draw_from(
    reduced: ReducedTable, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    flat = reduced.table.ravel()
    cells = rng.choice(len(flat), size=n, p=flat / flat.sum())
    places = np.unravel_index(cells, reduced.table.shape)
    codes = np.column_stack([v[p] for v, p in zip(reduced.values, places, strict=True)])
    return codes, flat[cells]


def check_cells(shape: tuple[int, ...]) -> None:
    """Refuses a dense table that would not fit in memory with room to spare."""
    if prod(shape) > MAX_TABLE_CELLS:
        raise ValueError(
            f"the table {shape} has {prod(shape):,} cells, more than {MAX_TABLE_CELLS:,}: "
            "ask for fewer query columns, or use `support` or `draw`"
        )

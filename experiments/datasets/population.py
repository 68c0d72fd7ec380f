"""The truth as the paper took it: counted in a large population that is never held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd

from experiments.datasets.network import Network
from experiments.datasets.truth import check_cells
from experiments.types import (
    Evidence,
    EvidenceQuery,
    QueryKey,
    WeightedPoints,
    Workload,
    query_key,
)


@dataclass(frozen=True)
class CountedQuery:
    """Codes of Q among the rows of the population that match E = e, and how often each came."""

    codes: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class CountedTruth:
    """Relative frequencies in a streamed population, for the queries of one workload.

    With few matching rows the frequencies are themselves uncertain: an exact model then has a
    KL of about (cells - 1) / (2 matching rows). The exact truth has no such error.
    """

    network: Network
    answers: dict[QueryKey, CountedQuery]

    @property
    def structure(self) -> dict[str, tuple[str, ...]]:
        """The generating DAG: every column with its parents."""
        return self.network.structure

    def log_probability(self, table: pd.DataFrame) -> np.ndarray:
        """Natural logarithm of Pr(row) of complete rows under the generating network."""
        return self.network.log_probability(self.network.encode(table))

    def conditional_table(self, query: Sequence[str], evidence: Evidence) -> np.ndarray:
        """Relative frequencies of Q among the rows that match the evidence."""
        answer, shape = self._answer(query, evidence), self._shape(query)
        check_cells(shape)
        table = np.zeros(shape)
        table[tuple(answer.codes.T)] = answer.counts / answer.counts.sum()
        return table

    def support(
        self, query: Sequence[str], evidence: Evidence, limit: int
    ) -> WeightedPoints | None:
        """All cells that came at least once, or None if there are more than `limit`."""
        answer = self._answer(query, evidence)
        if len(answer.counts) > limit:
            return None
        return self._points(query, answer, np.arange(len(answer.counts)))

    def draw(self, query: Sequence[str], evidence: Evidence, n: int, seed: int) -> WeightedPoints:
        """Draws from the matching rows, with replacement."""
        answer = self._answer(query, evidence)
        rng = np.random.default_rng(seed)
        weights = answer.counts / answer.counts.sum()
        return self._points(query, answer, rng.choice(len(weights), n, p=weights))

    def _answer(self, query: Sequence[str], evidence: Evidence) -> CountedQuery:
        found = self.answers.get(query_key(query, evidence))
        if found is None:
            raise ValueError(
                f"the population was not counted for Pr({', '.join(query)} | {dict(evidence)}): "
                "ask a query of the dataset's workload, or set dataset.population_rows=0"
            )
        return found

    def _shape(self, query: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.network.sizes[self.network.columns.index(c)] for c in query)

    def _points(
        self, query: Sequence[str], answer: CountedQuery, rows: np.ndarray
    ) -> WeightedPoints:
        columns = [self.network.columns.index(c) for c in query]
        values = [self.network.domains[j][answer.codes[rows, i]] for i, j in enumerate(columns)]
        weights = answer.counts / answer.counts.sum()
        whole = len(answer.counts) == prod(self._shape(query))
        return WeightedPoints(np.column_stack(values), weights[rows], whole)


def count_population(
    network: Network, workload: Workload, rows: int, rng: np.random.Generator
) -> CountedTruth:
    """Streams `rows` rows and counts the values of Q among those that match each query."""
    asked = [_asked_codes(network, query) for query in workload.queries]
    tallies: list[dict[int, int]] = [{} for _ in asked]
    for chunk in network.stream_codes(rows, rng):
        by_column = np.asfortranarray(chunk)
        for (columns, evidence), tally in zip(asked, tallies, strict=True):
            _tally(network, by_column, columns, evidence, tally)
    answers = {
        query.key: _counted(network, columns, tally)
        for query, (columns, _), tally in zip(workload.queries, asked, tallies, strict=True)
    }
    return CountedTruth(network, answers)


def _asked_codes(network: Network, query: EvidenceQuery) -> tuple[list[int], dict[int, int]]:
    index = {c: j for j, c in enumerate(network.columns)}
    evidence = {
        index[c]: int(network.code_of(index[c], np.asarray(v))) for c, v in query.evidence.items()
    }
    return [index[c] for c in query.query], evidence


def _tally(
    network: Network,
    chunk: np.ndarray,
    columns: list[int],
    evidence: dict[int, int],
    tally: dict[int, int],
) -> None:
    rows: np.ndarray | None = None
    for j, code in evidence.items():
        kept = chunk[:, j] == code if rows is None else chunk[rows, j] == code
        rows = np.flatnonzero(kept) if rows is None else rows[kept]
    matching = chunk[:, columns] if rows is None else chunk[rows][:, columns]
    cells = np.ravel_multi_index(
        tuple(matching.T.astype(np.int64)), [network.sizes[j] for j in columns]
    )
    for cell, count in zip(*np.unique(cells, return_counts=True), strict=True):
        tally[int(cell)] = tally.get(int(cell), 0) + int(count)


def _counted(network: Network, columns: list[int], tally: dict[int, int]) -> CountedQuery:
    cells = np.array(sorted(tally), dtype=np.int64)
    if not len(cells):
        raise ValueError("no row of the population matches the evidence of a query")
    codes = np.column_stack(np.unravel_index(cells, [network.sizes[j] for j in columns]))
    return CountedQuery(codes, np.array([tally[int(c)] for c in cells], dtype=np.int64))

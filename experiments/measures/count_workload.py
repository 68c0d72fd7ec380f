"""Random conjunctions on a real table, centred on its rows and spread over sizes.

A query picks a row and 1 to 6 columns. A column of numbers gets a range around the row's value (its
share of the rows log-uniform, now and then open on one side) or the value itself; any other column
gets the value, or a set that holds it; a missing value asks for missing. Of many such queries
those are kept that fill the cells *number of predicates x selectivity* most evenly. Further queries
mix predicates of several rows until nothing matches.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.measures.table_index import TableIndex

Where = dict[Hashable, Any]

BANDS = (1e-4, 1e-3, 1e-2, 1e-1)
"""Borders between the classes of selectivity; a class of its own is a single row."""
FEW_VALUES = 50
LEAST_SHARE = -2.5
ROUND = 2_000
MAX_ROUNDS = 6
EMPTY_ROUNDS = 20


@dataclass(frozen=True)
class CountConfig:
    """How many queries are drawn.

    Arguments:
        queries: queries that at least one row matches.
        empty: queries that no row matches.
        max_columns: most columns of a query.
    """

    queries: int = 900
    empty: int = 100
    max_columns: int = 6


def draw_counts(
    index: TableIndex, config: CountConfig, rng: np.random.Generator
) -> tuple[list[Where], np.ndarray]:
    """Queries and their true counts; those without a match come last."""
    questions, counts = _candidates(index, config, rng)
    kept = _spread(_strata(index, questions, counts), config.queries, rng)
    empty = list(_without_match(index, config, rng))
    chosen = [questions[k] for k in kept] + empty
    return chosen, np.concatenate([counts[kept], np.zeros(len(empty), dtype=np.int64)])


def band(selectivity: np.ndarray, n_rows: int | np.ndarray) -> np.ndarray:
    """The class of each selectivity: 0 = no row, 1 = one row, then by `BANDS`."""
    rows = np.rint(np.asarray(selectivity) * n_rows)
    return np.where(rows <= 1, rows, 2 + np.searchsorted(BANDS, selectivity)).astype(int)


def band_names() -> list[str]:
    """What a reader calls the classes."""
    edges = [f"{100 * border:g}%" for border in BANDS]
    middle = [f"{low} to {high}" for low, high in pairwise(edges)]
    return ["no row", "one row", f"up to {edges[0]}", *middle, f"over {edges[-1]}"]


def _candidates(
    index: TableIndex, config: CountConfig, rng: np.random.Generator
) -> tuple[list[Where], np.ndarray]:
    questions: dict[frozenset[Any], Where] = {}
    for _ in range(MAX_ROUNDS):
        for _ in range(ROUND):
            where = _centred(index, int(rng.integers(index.n_rows)), config, rng)
            questions.setdefault(frozenset(where.items()), where)
        if len(questions) >= 8 * config.queries:
            break
    drawn = list(questions.values())
    return drawn, index.count_all(drawn)


def _strata(index: TableIndex, questions: list[Where], counts: np.ndarray) -> np.ndarray:
    sizes = np.array([len(where) for where in questions])
    return 100 * sizes + band(counts / index.n_rows, index.n_rows)


def _spread(strata: np.ndarray, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Members of all strata in turn, until enough are taken; in the order of drawing."""
    order = rng.permutation(len(strata))
    turn = np.empty(len(strata), dtype=np.int64)
    for stratum in np.unique(strata):
        members = order[strata[order] == stratum]
        turn[members] = np.arange(len(members))
    first = order[np.argsort(turn[order], kind="stable")]
    return np.sort(first[:wanted])


def _without_match(
    index: TableIndex, config: CountConfig, rng: np.random.Generator
) -> Iterator[Where]:
    found = 0
    for _ in range(EMPTY_ROUNDS * config.empty):
        if found == config.empty:
            return
        rows = rng.integers(index.n_rows, size=len(index.columns))
        where = _question(index, rows, max(2, _size(index, config, rng)), rng)
        if index.count(where) == 0:
            found += 1
            yield where


def _centred(index: TableIndex, row: int, config: CountConfig, rng: np.random.Generator) -> Where:
    rows = np.full(len(index.columns), row)
    return _question(index, rows, _size(index, config, rng), rng)


def _size(index: TableIndex, config: CountConfig, rng: np.random.Generator) -> int:
    return int(rng.integers(1, min(config.max_columns, len(index.columns)) + 1))


def _question(index: TableIndex, rows: np.ndarray, size: int, rng: np.random.Generator) -> Where:
    """Predicates on `size` columns, each around the value that its row has."""
    chosen = np.sort(rng.choice(len(index.columns), min(size, len(index.columns)), replace=False))
    names = [index.columns[c] for c in chosen]
    codes = [int(index.codes[name][rows[c]]) for name, c in zip(names, chosen, strict=True)]
    return {n: _predicate(index, n, code, rng) for n, code in zip(names, codes, strict=True)}


def _predicate(index: TableIndex, name: str, code: int, rng: np.random.Generator) -> Any:
    value = index.value(name, code)
    if value is None:
        return None
    if index.is_number(name):
        equal = 0.4 if len(index.values[name]) <= FEW_VALUES else 0.15
        return value if rng.random() < equal else _range(index, name, code, rng)
    return value if rng.random() < 0.6 else _set(index, name, value, rng)


def _range(index: TableIndex, name: str, code: int, rng: np.random.Generator) -> Any:
    """An interval around a code that holds a log-uniform share of the rows, or one side of it."""
    counts = index.counts[name][:-1]
    above = np.cumsum(counts)
    total, share = above[-1], 10.0 ** rng.uniform(LEAST_SHARE, 0.0)
    left = rng.random() * share
    low = int(np.searchsorted(above, max(above[code] - counts[code] - left * total, 0)))
    high = int(np.searchsorted(above, min(above[code] + (share - left) * total, total)))
    low, high = min(low, code), max(min(high, len(counts) - 1), code)
    side = rng.random()
    ends = index.value(name, low), index.value(name, high)
    if side < 0.15:
        return (None, ends[1])
    if side < 0.3:
        return (ends[0], None)
    return ends[0] if low == high else ends


def _set(index: TableIndex, name: str, value: Hashable, rng: np.random.Generator) -> Any:
    """A few labels, the given one among them."""
    others = len(index.values[name])
    drawn = rng.integers(others, size=int(rng.integers(1, 5)))
    return frozenset({value, *(index.value(name, int(code)) for code in drawn)})

"""Models of many columns that all hang together: every question is asked, none may be too wide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.bench.clock import seconds_of
from experiments.bench.options import Options
from experiments.measures.timing import one_thread
from fspn import FSPN
from fspn.engine.limits import TooWide

ASKED = 20
SIZE = 6
FAR = 3


@dataclass(frozen=True)
class Kind:
    """One kind of question: how often asked, its median milliseconds, how often `TooWide`."""

    kind: str
    asked: int
    milliseconds: float
    too_wide: int


@dataclass(frozen=True)
class WidePart:
    """One table."""

    columns: int
    train_seconds: float
    kinds: tuple[Kind, ...]


def measure_wide(columns: int, options: Options) -> WidePart:
    """Learn a table with the default settings, then ask every kind of question."""
    table = tangled_table(options.wide_rows, columns, options.seed)
    model = FSPN(random_state=options.seed)
    with one_thread():
        train_seconds = seconds_of(lambda: model.fit(table))
        model.compile_kernels()
        rng = np.random.default_rng(options.seed)
        kinds = tuple(ask_often(kind, ask, rng) for kind, ask in questions(model, table).items())
    return WidePart(columns, train_seconds, kinds)


def tangled_table(rows: int, columns: int, seed: int) -> pd.DataFrame:
    r"""Every column is the sum of three earlier ones, drawn from all, and noise, modulo d.

    Its moral graph has a treewidth that grows with the columns, so an exact answer is in reach
    only where the learner bounds the width.
    """
    rng = np.random.default_rng([seed, columns])
    values = rng.integers(0, SIZE, size=(rows, columns))
    for j in range(FAR, columns):
        parents = rng.choice(j, size=FAR, replace=False)
        noise = rng.choice(2, size=rows, p=[0.8, 0.2])
        values[:, j] = (values[:, parents].max(axis=1) + values[:, parents[0]] + noise) % SIZE
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])


def questions(
    model: FSPN, table: pd.DataFrame
) -> dict[str, Callable[[np.random.Generator], object]]:
    """A random question of every kind."""
    names = list(table.columns)

    def some(rng: np.random.Generator, n: int) -> list[str]:
        return [str(name) for name in rng.choice(names, size=min(n, len(names)), replace=False)]

    def ranges(rng: np.random.Generator, n: int) -> dict[Any, Any]:
        return {name: (1, int(rng.integers(2, SIZE))) for name in some(rng, n)}

    def table_given(rng: np.random.Generator) -> object:
        asked, given = np.split(np.array(some(rng, 6)), [2])
        row = table.iloc[int(rng.integers(len(table)))]
        return model.conditional_table(
            [str(name) for name in asked], {str(name): int(row[name]) for name in given}
        )

    return {
        "a range of 5 columns": lambda rng: model.probability(ranges(rng, 5)),
        "a range of every second column": lambda rng: model.probability(
            ranges(rng, len(names) // 2)
        ),
        "`conditional_table` of 2 columns given 4": table_given,
        "`conditional_table` of 2 columns": lambda rng: model.conditional_table(some(rng, 2)),
    }


def ask_often(
    kind: str, ask: Callable[[np.random.Generator], object], rng: np.random.Generator
) -> Kind:
    """One kind of question, so often; those that are too wide are counted."""
    seconds, too_wide = [], 0
    for _ in range(ASKED):
        try:
            seconds.append(seconds_of(lambda: ask(rng)))
        except TooWide:
            too_wide += 1
    return Kind(kind, ASKED, 1e3 * float(np.median(seconds)) if seconds else np.nan, too_wide)

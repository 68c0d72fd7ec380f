"""One number per level, model and measure: the mean over seeds, and how far they spread.

Behind it are the values of single queries, where they were recorded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.names import (
    ANSWERING,
    COMPILED,
    JUDGED,
    LEVELS,
    PAPER_NAMES,
    TIMES,
    Measure,
)
from experiments.report.statistics import Comparison, compare, mean_interval

Key = tuple[float, str, str]
PER_QUERY = {"kl": "kl", "latency": "latency_ms", "engine": "engine_ms"}
"""Measures that are recorded query by query, and their columns."""


@dataclass(frozen=True)
class Spread:
    """The mean over seeds of one measure of one model on one level, and its range.

    Arguments:
        values: the value of each seed.
        other_code: whether a value comes from another version of the code.
        nodes: the node types on which times were measured.
    """

    values: Mapping[int, float]
    other_code: bool = False
    nodes: frozenset[str] = frozenset()

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(list(self.values.values())))

    @property
    def low(self) -> float:
        """The smallest value of a seed."""
        return min(self.values.values())

    @property
    def high(self) -> float:
        """The largest value of a seed."""
        return max(self.values.values())


@dataclass(frozen=True)
class Numbers:
    """All numbers of one study, ours or the paper's.

    Arguments:
        cells: by level (nominal average RDC), model, measure.
        rdc: the average RDC at which a level is drawn.
        queries: the values of single queries, by seed.
        names: the datasets where they have no level and are numbered instead; else empty.
    """

    cells: Mapping[Key, Spread]
    rdc: Mapping[float, float]
    queries: Mapping[Key, Mapping[int, np.ndarray]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    _resampled: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def levels(self) -> list[float]:
        """The levels that have any number."""
        return sorted({level for level, _, _ in self.cells})

    def name(self, level: float) -> str:
        """What a reader calls a level."""
        return self.names[int(level)] if self.names else f"RDC {level:g}"

    def listed(self, levels: Iterable[float]) -> str:
        """Several levels in words."""
        listed = ", ".join(self.names[int(x)] if self.names else f"{x:g}" for x in levels)
        return listed if self.names else f"RDC {listed}"

    @property
    def models(self) -> frozenset[str]:
        """The models that have any number."""
        return frozenset(model for _, model, _ in self.cells)

    def get(self, level: float, model: str, measure: str) -> Spread | None:
        """A cell, None where nothing was measured."""
        return self.cells.get((level, model, measure))

    def mean(self, level: float, model: str, measure: str) -> float:
        """The mean of a cell, NaN where nothing was measured."""
        cell = self.get(level, model, measure)
        return float("nan") if cell is None else cell.mean

    def ratio(self, level: float, other: str, subject: str, measure: str) -> float:
        """mean(other) / mean(subject) over the seeds that both have; above 1: subject is better."""
        a, b = self.get(level, other, measure), self.get(level, subject, measure)
        shared = set(a.values) & set(b.values) if a and b else set()
        if a is None or b is None or not shared:
            return float("nan")
        above = float(np.mean([a.values[seed] for seed in shared]))
        below = float(np.mean([b.values[seed] for seed in shared]))
        return above / below if below > 0 else float("nan")

    def factor(self, level: float, other: str, subject: str, measure: str) -> float:
        """The ratio over the queries that both answered, where these are known, else of means.

        A slow model is not timed on every query, so its mean is of others than the subject's.
        """
        found = self.compare(level, other, subject, measure)
        return self.ratio(level, other, subject, measure) if found is None else found.ratio

    def same_node(self, level: float, other: str, subject: str, measure: str) -> bool:
        """Whether two cells may be compared: no times, or times of one node type."""
        cells = [self.get(level, model, measure) for model in (other, subject)]
        return len({node for cell in cells if cell is not None for node in cell.nodes}) < 2

    def interval(self, level: float, model: str, measure: str) -> tuple[float, float] | None:
        """The 95% interval of a mean over draws and queries, else the range over draws.

        None where there is a single number.
        """
        found = self.queries.get((level, model, measure), {}).values()
        draws = [values[~np.isnan(values)] for values in found]  # a slow model is not timed on all
        if draws and all(len(values) and np.isfinite(values).all() for values in draws):
            key = (level, model, measure)
            if key not in self._resampled:
                self._resampled[key] = mean_interval(draws)
            low, high = self._resampled[key]
            return low, high
        cell = self.get(level, model, measure)
        return None if cell is None or len(cell.values) < 2 else (cell.low, cell.high)

    def compare(self, level: float, other: str, subject: str, measure: str) -> Comparison | None:
        """The ratio with its interval, over the draws whose queries both models answered."""
        key = (level, other, subject, measure)
        if key not in self._resampled:
            a = self.queries.get((level, other, measure), {})
            b = self.queries.get((level, subject, measure), {})
            pairs = same_queries([(a[seed], b[seed]) for seed in sorted(a) if seed in b])
            self._resampled[key] = compare(pairs) if pairs else None
        result: Comparison | None = self._resampled[key]
        return result


def same_queries(
    draws: Sequence[tuple[np.ndarray, np.ndarray]],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each draw the values of the queries that both were measured on, where there are any.

    Values of different workloads, told by their number, are left out.
    """
    same = [(a, b) for a, b in draws if len(a) == len(b)]
    known = [(a, b, ~(np.isnan(a) | np.isnan(b))) for a, b in same]
    return [(a[here], b[here]) for a, b, here in known if here.any()]


def ours(
    rows: pd.DataFrame, queries: pd.DataFrame | None = None, *, levelless: bool = False
) -> Numbers:
    """The numbers of recorded rows that all belong to one family of datasets.

    Arguments:
        rows: the rows.
        queries: values of single queries of these and other rows, where there are any.
        levelless: whether the family has no levels of dependence: its datasets are numbered.
    """
    names = tuple(sorted(set(rows["dataset"]))) if levelless else ()
    cells: dict[Key, dict[int, list[float]]] = {}
    marked: set[Key] = set()
    nodes: dict[Key, set[str]] = {}
    rdc: dict[float, list[float]] = {}
    for row in rows.to_dict("records"):
        level = _level(row["dataset"], row["target_rdc"], names)
        if level is None:
            continue
        drawn = row["measured_rdc"] if np.isfinite(row["measured_rdc"]) else row["target_rdc"]
        rdc.setdefault(level, []).append(float(drawn))
        for measure in (*JUDGED.values(), COMPILED):
            if row["status"] != "failed" and np.isfinite(row[measure.column]):
                key = (level, str(row["model"]), measure.key)
                value = _measured(row, measure) * measure.scale
                cells.setdefault(key, {}).setdefault(int(row["seed"]), []).append(value)
                if row["other_code"]:
                    marked.add(key)
                if measure.key in TIMES:
                    nodes.setdefault(key, set()).add(str(row.get("node_type", "")))
    spreads = {
        key: Spread(
            {seed: float(np.mean(fits)) for seed, fits in values.items()},
            key in marked,
            frozenset(nodes.get(key, ())),
        )
        for key, values in cells.items()
    }
    levels = {level: float(np.mean(x)) for level, x in rdc.items()}
    by_query = {} if queries is None else _by_query(rows, queries, names)
    return Numbers(spreads, levels, by_query, names)


def _measured(row: Mapping[Hashable, Any], measure: Measure) -> float:
    """A measure of a row; what is compiled before it answers is as large as its compiled form."""
    compiled = row.get(COMPILED.column, np.nan)
    if measure is ANSWERING and np.isfinite(compiled):
        return float(compiled)
    return float(row[measure.column])


def _level(dataset: str, target: float, names: tuple[str, ...]) -> float | None:
    """The number of a dataset where datasets are named, else its level of dependence."""
    return float(names.index(dataset)) if names else nearest_level(target)


def _by_query(
    rows: pd.DataFrame, queries: pd.DataFrame, named: tuple[str, ...]
) -> dict[Key, dict[int, np.ndarray]]:
    """The values of single queries of the given rows, in the order of the workload.

    Several fits to one draw count as their mean.
    """
    found: dict[Key, dict[int, np.ndarray]] = {}
    parts = dict(tuple(queries.groupby(["experiment", "dataset", "model", "seed"], sort=False)))
    jobs = rows[rows["status"] != "failed"]
    names = ["experiment", "dataset", "model", "seed"]
    groups: dict[tuple[Any, ...], pd.DataFrame] = dict(tuple(jobs.groupby(names, sort=False)))
    for job, fits in groups.items():
        target = float(fits["target_rdc"].iloc[0])
        level, model, seed = _level(str(job[1]), target, named), str(job[2]), int(job[3])
        part = parts.get(job)
        if level is None or part is None or len(part) % len(fits):
            continue
        for measure, column in PER_QUERY.items():
            if column in part:
                values = part[column].to_numpy(dtype=np.float64).reshape(len(fits), -1)
                if not np.isnan(values).all():
                    found.setdefault((level, model, measure), {})[seed] = values.mean(axis=0)
    return found


def published(table: pd.DataFrame) -> Numbers:
    """The numbers of the paper's Figures 2 and 5 and of its table of node counts."""
    cells: dict[Key, Spread] = {}
    for row in table.to_dict("records"):
        level, model = float(row["avg_rdc"]), PAPER_NAMES[row["model"]]
        for measure in _in_the_paper():
            cells[level, model, measure.key] = Spread({0: float(row[measure.paper])})
    return Numbers(cells, {level: level for level, _, _ in cells})


def nearest_level(target: float) -> float | None:
    """The paper's level that a target stands for; None if it is none of the six."""
    if not np.isfinite(target):
        return None
    level = min(LEVELS, key=lambda known: abs(known - target))
    return level if abs(level - target) < 0.02 else None


def _in_the_paper() -> list[Measure]:
    return [measure for measure in JUDGED.values() if measure.paper]

"""One number per level, model and measure: the mean over seeds, and how far they spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.report.names import LEVELS, MEASURES, PAPER_NAMES, Measure

Key = tuple[float, str, str]


@dataclass(frozen=True)
class Spread:
    """The mean over seeds of one measure of one model on one level, and its range.

    Arguments:
        values: the value of each seed.
        other_code: whether a value comes from another version of the code.
    """

    values: Mapping[int, float]
    other_code: bool = False

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
    """

    cells: Mapping[Key, Spread]
    rdc: Mapping[float, float]

    @property
    def levels(self) -> list[float]:
        """The levels that have any number."""
        return sorted({level for level, _, _ in self.cells})

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


def ours(rows: pd.DataFrame) -> Numbers:
    """The numbers of recorded rows that all belong to one family of datasets."""
    cells: dict[Key, dict[int, float]] = {}
    marked: set[Key] = set()
    rdc: dict[float, list[float]] = {}
    for row in rows.to_dict("records"):
        level = nearest_level(row["target_rdc"])
        if level is None:
            continue
        drawn = row["measured_rdc"] if np.isfinite(row["measured_rdc"]) else row["target_rdc"]
        rdc.setdefault(level, []).append(float(drawn))
        for measure in MEASURES.values():
            if row["status"] != "failed" and np.isfinite(row[measure.column]):
                key = (level, str(row["model"]), measure.key)
                value = float(row[measure.column]) * measure.scale
                cells.setdefault(key, {})[int(row["seed"])] = value
                if row["other_code"]:
                    marked.add(key)
    spreads = {key: Spread(values, key in marked) for key, values in cells.items()}
    return Numbers(spreads, {level: float(np.mean(x)) for level, x in rdc.items()})


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
    return [measure for measure in MEASURES.values() if measure.paper]

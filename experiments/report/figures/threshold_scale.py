"""Colours of the threshold maps: one scale per measure over all datasets, and no noise in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.tables.writing import readable

MAX_LEVELS = 24
SEED_SPREAD = 0.25
"""How far apart training times are taken to lie where no dataset was trained more than once."""


@dataclass(frozen=True)
class Panel:
    """A measure of the threshold study.

    Arguments:
        column: its column in the rows.
        title: its heading.
        scale: the rows' unit to the shown one.
        counted: whether its values are whole numbers.
    """

    column: str
    title: str
    scale: float = 1.0
    counted: bool = False

    def words(self, value: float) -> str:
        """A value as it is written into the maps."""
        if self.counted and value < 100:
            return f"{value:.0f}"
        return readable(value, 2)


PANELS = (
    Panel("kl_mean", "KL-divergence"),
    Panel("latency_single_ms", "Inference Time (ms)"),
    Panel("n_nodes", "Number of Nodes", counted=True),
    Panel("size_bytes", "Model Size (KB)", 1 / 1024),
    Panel("compiled_bytes", "Compiled Size (KB)", 1 / 1024),
    Panel("train_seconds", "Training Time (s)"),
)


@dataclass(frozen=True)
class Scale:
    """Where the values of a measure lie between the smallest and the largest, on a log scale.

    Arguments:
        low, high: the ends.
        ratio: values within this ratio of each other are not told apart.
    """

    low: float
    high: float
    ratio: float

    def shades(self, values: np.ndarray) -> np.ndarray:
        """Positions from 0 to 1, the same for values of one level; NaN for what is not positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(values > 0, np.log(values / self.low), np.nan)
        levels = np.floor(logs / np.log(self.ratio) + 1e-9)
        shades: np.ndarray = np.clip(levels / max(self.n_levels - 1, 1), 0.0, 1.0)
        return shades

    @property
    def n_levels(self) -> int:
        """How many shades there are."""
        return 1 + int(np.floor(np.log(self.high / self.low) / np.log(self.ratio) + 1e-9))

    def norm(self) -> Any:
        """The bar beside a map: steps where its colours change."""
        from matplotlib.colors import BoundaryNorm

        edges = self.low * self.ratio ** np.arange(self.n_levels + 1)
        return BoundaryNorm(edges, 256)


def scale_of(rows: pd.DataFrame, panel: Panel) -> Scale | None:
    """The scale of a measure over all rows; None where nothing positive was measured."""
    values = rows[panel.column].to_numpy(dtype=float) * panel.scale
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    finest = (high / low) ** (1 / MAX_LEVELS)
    return Scale(low, high, max(1.0 + spread_of(rows, panel.column), finest, 1.0 + 1e-6))


def spread_of(rows: pd.DataFrame, column: str) -> float:
    """How much of a measure is noise, relative to it: 0 for what is counted, not timed.

    A latency was repeated, and its interquartile range is recorded; a training time was not, but
    the draws of one dataset with one setting differ by chance alone.
    """
    if column == "latency_single_ms":
        share = rows["latency_single_iqr_ms"] / rows["latency_single_ms"]
        return float(np.nan_to_num(share.median()))
    if column == "train_seconds":
        cells = rows.groupby(["model", "dataset", "tau_low", "tau_high"])["train_seconds"]
        ratios = (cells.max() / cells.min())[cells.count() > 1] - 1.0
        return float(ratios.median()) if len(ratios) else SEED_SPREAD
    return 0.0

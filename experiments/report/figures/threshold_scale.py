"""Colours of the threshold maps: one scale per measure over what is shown, and no noise in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from experiments.report.tables.writing import readable

COLOURS = "YlGnBu"
"""From the best values to the worst."""
MAX_LEVELS = 24
EQUAL_LL = 0.01
"""Nats per row within which two test log-likelihoods count as equal."""
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
        is_log_likelihood: whether more is better, and differences rather than ratios count.
    """

    column: str
    title: str
    scale: float = 1.0
    counted: bool = False
    is_log_likelihood: bool = False

    def words(self, value: float) -> str:
        """A value as it is written into the maps."""
        if self.is_log_likelihood:
            return f"{value:.2f}"
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

LOG_LIKELIHOOD = Panel("test_ll", "Test Log-Likelihood (higher is better)", is_log_likelihood=True)
"""Shown in place of the KL-divergence where the truth is not known."""


class Scale(Protocol):
    """Where values lie between the best, 0, and the worst, 1; and the bar that says so."""

    colours: str
    """The colour map, from the lowest value of the bar to the highest."""
    spacing: str
    """How the bar is divided: `log` or `linear`."""

    def shades(self, values: np.ndarray) -> np.ndarray:
        """Positions from 0 to 1; NaN for what has none."""

    def norm(self) -> Any:
        """From the values of the bar to its colours."""

    def ticks(self) -> list[float]:
        """The values that the bar names."""


@dataclass(frozen=True)
class LogScale:
    """Where the values of a measure lie between the smallest and the largest, on a log scale.

    Arguments:
        low, high: the ends.
        ratio: values within this ratio of each other are not told apart.
    """

    low: float
    high: float
    ratio: float
    colours = COLOURS
    spacing = "log"

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
        n_colours = 256 if self.n_levels > 1 else 1  # A single level is the first colour.
        return BoundaryNorm(edges, n_colours)

    def ticks(self) -> list[float]:
        """The ends and the powers of ten between them."""
        inside = [10.0**k for k in range(-12, 13) if self.low * 1.5 < 10.0**k < self.high / 1.5]
        return [self.low, *inside, *([self.high] if self.n_levels > 1 else [])]


@dataclass(frozen=True)
class LinearScale:
    """Where log-likelihoods lie between the largest, which is best, and the smallest.

    Arguments:
        low, high: the ends, at least `EQUAL_LL` apart: less is no difference to be seen.
    """

    low: float
    high: float
    colours = f"{COLOURS}_r"
    spacing = "linear"

    def shades(self, values: np.ndarray) -> np.ndarray:
        """Positions from 0 for the largest to 1; NaN where nothing was measured."""
        shades: np.ndarray = np.clip((self.high - values) / (self.high - self.low), 0.0, 1.0)
        return shades

    def norm(self) -> Any:
        """The bar beside a map: an even course of colours."""
        from matplotlib.colors import Normalize

        return Normalize(self.low, self.high)

    def ticks(self) -> list[float]:
        """The ends."""
        return [self.low, self.high]


def panels_of(rows: pd.DataFrame) -> tuple[Panel, ...]:
    """The measures of some rows: the log-likelihood where no KL is known."""
    return PANELS if (rows["kl_mean"] > 0).any() else (LOG_LIKELIHOOD, *PANELS[1:])


def scale_of(rows: pd.DataFrame, panel: Panel) -> Scale | None:
    """The scale of a measure over some rows; None where nothing that has a colour was measured."""
    values = rows[panel.column].to_numpy(dtype=float) * panel.scale
    values = values[np.isfinite(values) & ((values > 0) | panel.is_log_likelihood)]
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    if panel.is_log_likelihood:
        return LinearScale(min(low, high - EQUAL_LL), high)
    finest = (high / low) ** (1 / MAX_LEVELS)
    return LogScale(low, high, max(1.0 + spread_of(rows, panel.column), finest, 1.0 + 1e-6))


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

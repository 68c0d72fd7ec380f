"""The threshold study: KL, query time, nodes and training time over tau_low x tau_high."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.figures.style import Picture, draw_inline, paper_style, save
from experiments.report.names import label
from experiments.report.tables.writing import readable

EXPERIMENT = "thresholds"
IN_PAPER = (0.3, 0.7)
PANELS = {
    "kl_mean": "KL-divergence",
    "latency_single_ms": "Inference Time (ms)",
    "n_nodes": "Number of Nodes",
    "train_seconds": "Training Time (s)",
}


def threshold_pictures(rows: pd.DataFrame, folder: Path) -> list[Picture]:
    """One row of heat maps per dataset and model."""
    known = rows[rows["tau_low"].notna() & rows["tau_high"].notna()]
    return [
        figure_thresholds(found, str(dataset), str(model), folder)
        for (dataset, model), found in known.groupby(["dataset", "model"], sort=True)
    ]


def figure_thresholds(rows: pd.DataFrame, dataset: str, model: str, folder: Path) -> Picture:
    """Heat maps of one dataset; the paper's (0.3, 0.7) is framed."""
    name = f"thresholds_{dataset}_{model}"
    with paper_style():
        svg = save(_figure(rows, 1, 4, (10.4, 2.5)), folder, name)
        narrow = draw_inline(_figure(rows, 2, 2, (5.4, 5.0)), f"{name}-narrow")
    caption = (
        f"{label(model)} on {dataset} over the two thresholds. Darker is worse. Framed: the "
        "paper's (0.3, 0.7). Blank: not run, or tau_low above tau_high. A tau_high above 1 "
        "switches factorize off."
    )
    return Picture(name, f"Thresholds on {dataset}", caption, svg, narrow, _gaps(rows))


def grid_of(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The mean of a measure by tau_low (down) and tau_high (across); NaN where not run."""
    return rows.pivot_table(
        index="tau_low", columns="tau_high", values=column, aggfunc="mean", dropna=False
    ).sort_index(ascending=False)


def _figure(rows: pd.DataFrame, down: int, across: int, size: tuple[float, float]) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(down, across, figsize=size)
    for axis, (column, title) in zip(axes.flat, PANELS.items(), strict=True):
        _heat_map(axis, grid_of(rows, column), title)
    figure.tight_layout(w_pad=1.2, h_pad=1.4)
    return figure


def _heat_map(axis: Any, grid: pd.DataFrame, title: str) -> None:
    values = grid.to_numpy(dtype=float)
    shades = _shades(values)
    edges = [np.arange(size + 1) - 0.5 for size in shades.shape[::-1]]
    axis.pcolormesh(*edges, np.ma.masked_invalid(shades), cmap="YlGnBu", vmin=-0.05, vmax=1.15)
    axis.invert_yaxis()
    axis.grid(False)
    axis.set_title(title)
    axis.set_xticks(range(grid.shape[1]), [_tau_text(float(x)) for x in grid.columns])
    axis.set_yticks(range(grid.shape[0]), [f"{y:g}" for y in grid.index])
    axis.set_xlabel(r"$\tau_H$")
    axis.set_ylabel(r"$\tau_L$", rotation=0, va="center", labelpad=8)
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            color = "white" if shades[i, j] > 0.6 else "black"
            axis.text(j, i, readable(value, 2), ha="center", va="center", color=color, fontsize=8)
    _frame(axis, grid)


def _tau_text(tau: float) -> str:
    """Above 1 no pair of columns is highly correlated: factorize is off."""
    return f"{tau:g}" if tau <= 1 else "off"


def _shades(values: np.ndarray) -> np.ndarray:
    """Positions of log values between the smallest (0) and the largest (1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(values > 0, np.log(values), np.nan)
    if not np.isfinite(logs).any():
        return logs
    low, high = np.nanmin(logs), np.nanmax(logs)
    scaled: np.ndarray = (logs - low) / max(high - low, 1e-9)
    return scaled


def _frame(axis: Any, grid: pd.DataFrame) -> None:
    from matplotlib.patches import Rectangle

    row = np.flatnonzero(np.isclose(grid.index.to_numpy(dtype=float), IN_PAPER[0]))
    column = np.flatnonzero(np.isclose(grid.columns.to_numpy(dtype=float), IN_PAPER[1]))
    if len(row) and len(column):
        corner = (column[0] - 0.5, row[0] - 0.5)
        axis.add_patch(
            Rectangle(corner, 1, 1, fill=False, edgecolor="#c83200", linewidth=2.0, clip_on=False)
        )


def _gaps(rows: pd.DataFrame) -> tuple[str, ...]:
    bad = rows[rows["status"] != "ok"]
    return tuple(
        f"tau_low {row['tau_low']:g}, tau_high {row['tau_high']:g}: {row['status']} {row['error']}"
        for row in bad.to_dict("records")
    )

"""The threshold study: what tau_low and tau_high do to accuracy, time and size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.figures.data_names import with_datasets_apart
from experiments.report.figures.style import Picture, draw_inline, paper_style, save
from experiments.report.figures.threshold_scale import (
    COLOURS,
    PANELS,
    Panel,
    Scale,
    panels_of,
    scale_of,
)
from experiments.report.names import label
from experiments.report.rows import TABLES_OF_USERS

EXPERIMENT = "thresholds"
IN_PAPER = (0.3, 0.7)
HOW = (
    "Darker is worse; one scale per measure over {}. Times that differ by less than "
    "their measured spread share a colour. Framed: the paper's (0.3, 0.7). Blank: not run, or "
    "tau_low above tau_high."
)


def threshold_pictures(rows: pd.DataFrame, folder: Path) -> list[Picture]:
    """Per model the KL on all datasets as maps and as lines, then all measures per dataset."""
    rows = with_datasets_apart(with_taus(rows))
    known = rows[rows["tau_low"].notna() & rows["tau_high"].notna()]
    pictures = []
    for model, found in known.groupby("model", sort=True):
        pictures += _kl_pictures(with_truth(found), str(model), folder)
        pictures += [
            figure_thresholds(mine, _shown_beside(found, mine), str(dataset), str(model), folder)
            for dataset, mine in found.groupby("dataset", sort=True)
        ]
    return pictures


def _kl_pictures(rows: pd.DataFrame, model: str, folder: Path) -> list[Picture]:
    scale = scale_of(rows, PANELS[0])
    if scale is None:
        return []
    return [figure_kl_maps(rows, model, scale, folder), figure_kl_lines(rows, model, folder)]


def with_truth(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the datasets that have a KL: a user's own table has no truth to compare with."""
    known = (rows["kl_mean"] > 0).groupby(rows["dataset"]).transform("any")
    return rows[known.astype(bool)]


def _shown_beside(rows: pd.DataFrame, mine: pd.DataFrame) -> pd.DataFrame:
    """The rows that share their colour scales with a dataset's: its own, if it is a user's table.

    Datasets of the study are compared with each other, which no other table must change.
    """
    if mine["family"].isin(TABLES_OF_USERS).any():
        return mine
    return rows[~rows["family"].isin(TABLES_OF_USERS)]


def with_taus(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the thresholds that their labels name, where a failed fit has recorded none."""
    named = {
        tau: rows["label"].str.extract(rf"{tau}=([\d.]+)", expand=False).astype(float)
        for tau in ("tau_low", "tau_high")
    }
    return rows.assign(**{tau: rows[tau].fillna(given) for tau, given in named.items()})


def figure_thresholds(
    rows: pd.DataFrame, beside: pd.DataFrame, dataset: str, model: str, folder: Path
) -> Picture:
    """All measures of one dataset.

    Arguments:
        rows: of the dataset and the model.
        beside: the rows whose values the colours span; log-likelihoods compare on one table only.
        dataset: its name here.
        model: its name in the rows.
        folder: where the picture goes.
    """
    name = f"thresholds_{re.sub('[^A-Za-z0-9_.]+', '-', dataset).strip('-')}_{model}"
    scales = {
        panel: scale_of(rows if panel.is_log_likelihood else beside, panel)
        for panel in panels_of(rows)
    }
    with paper_style():
        svg = save(_measures(rows, scales, 2, 3, (9.6, 5.6)), folder, name)
        narrow = draw_inline(_measures(rows, scales, 3, 2, (6.4, 8.4)), f"{name}-narrow")
    over = "all datasets" if len(beside) > len(rows) else "this dataset"
    caption = f"{label(model)} on {dataset} over the two thresholds. {HOW.format(over)}"
    return Picture(name, f"Thresholds on {dataset}", caption, svg, narrow, _gaps(rows))


def figure_kl_maps(rows: pd.DataFrame, model: str, scale: Scale, folder: Path) -> Picture:
    """The KL-divergence on every dataset, side by side."""
    name = f"thresholds_kl_{model}"
    with paper_style():
        svg = save(_kl_maps(rows, scale, 3, (9.6, 5.2)), folder, name)
        narrow = draw_inline(_kl_maps(rows, scale, 2, (6.2, 7.6)), f"{name}-narrow")
    how = HOW.format("all datasets")
    caption = f"Mean KL-divergence of {label(model)} over the two thresholds. {how}"
    return Picture(name, f"Thresholds and KL: {label(model)}", caption, svg, narrow)


def figure_kl_lines(rows: pd.DataFrame, model: str, folder: Path) -> Picture:
    """The KL-divergence over tau_low, a line per tau_high."""
    name = f"thresholds_lines_{model}"
    with paper_style():
        svg = save(_kl_lines(rows, 3, (9.6, 5.0)), folder, name)
        narrow = draw_inline(_kl_lines(rows, 2, (6.2, 7.4)), f"{name}-narrow")
    caption = (
        f"Mean KL-divergence of {label(model)} over tau_low, one line per tau_high; bars from the "
        "smallest to the largest seed where there are several."
    )
    return Picture(name, f"KL over tau_low: {label(model)}", caption, svg, narrow)


def grid_of(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The mean of a measure by tau_low (down) and tau_high (across); NaN where not run.

    Over the draws that most cells have: one cell's mean over others would differ by the data.
    """
    return (
        of_shared_draws(rows)
        .pivot_table(
            index="tau_low", columns="tau_high", values=column, aggfunc="mean", dropna=False
        )
        .sort_index(ascending=False)
    )


def of_shared_draws(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the draws (seeds) that the most cells of each dataset were run on."""
    cells = rows.groupby(["dataset", "seed"])["label"].transform("nunique")
    return rows[cells == cells.groupby(rows["dataset"]).transform("max")]


def _measures(
    rows: pd.DataFrame,
    scales: Mapping[Panel, Scale | None],
    down: int,
    across: int,
    size: tuple[float, float],
) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(down, across, figsize=size, layout="constrained")
    for axis, (panel, scale) in zip(axes.flat, scales.items(), strict=True):
        if scale is None:
            axis.set_axis_off()
        else:
            _heat_map(axis, rows, panel, scale, panel.title)
            _bar(figure, [axis], scale, panel)
    return figure


def _kl_maps(rows: pd.DataFrame, scale: Scale, across: int, size: tuple[float, float]) -> Any:
    figure, axes = _panels(rows, across, size)
    for axis, (dataset, mine) in zip(axes, rows.groupby("dataset", sort=True), strict=False):
        _heat_map(axis, mine, PANELS[0], scale, str(dataset))
    _bar(figure, axes, scale, PANELS[0])
    return figure


def _kl_lines(rows: pd.DataFrame, across: int, size: tuple[float, float]) -> Any:
    figure, axes = _panels(rows, across, size)
    taus = sorted(set(rows["tau_low"]))
    markers = dict(zip(sorted(set(rows["tau_high"])), cycle("osD^v*xP"), strict=False))
    for axis, (dataset, mine) in zip(axes, rows.groupby("dataset", sort=True), strict=False):
        spread = mine.pivot_table(
            index="tau_low",
            columns="tau_high",
            values="kl_mean",
            aggfunc=["min", "max"],
            dropna=False,
        )
        grid = grid_of(mine, "kl_mean")
        for tau in [each for each in markers if each in grid]:
            kl = grid[tau][grid[tau] > 0].sort_index()
            low, high = (spread[side, tau].reindex(kl.index) for side in ("min", "max"))
            name = rf"$\tau_H$ {_tau_text(tau)}"
            bars = np.stack([kl - low, high - kl])
            axis.errorbar(kl.index, kl, yerr=bars, marker=markers[tau], label=name)
        axis.set_title(str(dataset))
        axis.set_xticks(taus, [f"{tau:g}" for tau in taus], fontsize=8)
        axis.set_xlabel(r"$\tau_L$")
        axis.set_ylabel("KL-divergence")
    _share_scale(axes)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def _share_scale(axes: list[Any]) -> None:
    """One log scale for all panels, its ticks as plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in axes:
        axis.set_yscale("log")
    ends = np.array([axis.get_ylim() for axis in axes])
    for axis in axes:
        axis.set_ylim(ends[:, 0].min(), ends[:, 1].max())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())


def _panels(rows: pd.DataFrame, across: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """A panel per dataset; those too many stay blank."""
    from matplotlib import pyplot as plt

    count = rows["dataset"].nunique()
    down = -(-count // across)
    height = size[1] * down / (-(-6 // across))
    figure, axes = plt.subplots(
        down, across, figsize=(size[0], height), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def _heat_map(axis: Any, rows: pd.DataFrame, panel: Panel, scale: Scale, title: str) -> None:
    grid = grid_of(rows, panel.column) * panel.scale
    values = grid.to_numpy(dtype=float)
    shades = scale.shades(values)
    edges = [np.arange(size + 1) - 0.5 for size in shades.shape[::-1]]
    axis.pcolormesh(*edges, np.ma.masked_invalid(shades), cmap=COLOURS, vmin=0.0, vmax=1.0)
    axis.invert_yaxis()
    axis.grid(False)
    axis.set_title(title)
    axis.set_xticks(range(grid.shape[1]), [_tau_text(float(x)) for x in grid.columns])
    axis.set_yticks(range(grid.shape[0]), [f"{y:g}" for y in grid.index])
    axis.set_xlabel(r"$\tau_H$")
    axis.set_ylabel(r"$\tau_L$", rotation=0, va="center", labelpad=8)
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            color = "white" if shades[i, j] > 0.55 else "black"
            words = panel.words(value)
            axis.text(j, i, words, ha="center", va="center", color=color, fontsize=8)
    _frame(axis, grid)


def _bar(figure: Any, axes: list[Any], scale: Scale, panel: Panel) -> None:
    """The colour bar: which values share a colour; beside many maps it says of what."""
    from matplotlib.cm import ScalarMappable

    bar = figure.colorbar(
        ScalarMappable(scale.norm(), scale.colours), ax=axes, spacing="proportional", pad=0.03
    )
    bar.ax.set_yscale(scale.spacing)
    ticks = scale.ticks()
    bar.set_ticks(ticks, labels=[panel.words(tick) for tick in ticks])
    if len(axes) > 1:
        bar.set_label(panel.title)
    bar.ax.minorticks_off()
    bar.outline.set_linewidth(0.5)


def _tau_text(tau: float) -> str:
    """Above 1 no pair of columns is highly correlated: factorize is off."""
    return f"{tau:g}" if tau <= 1 else "off"


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

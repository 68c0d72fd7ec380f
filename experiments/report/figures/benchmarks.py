"""How far each model is from the best published value on every benchmark: a dot plot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.report.figures.style import Look, Picture, draw_inline, look, paper_style, save
from experiments.report.names import CEILING
from experiments.report.paper import TABLE1_NAMES, Paper
from experiments.report.tables.loglik import LogLikelihoods, models_of, ours, published, short
from experiments.report.tables.writing import fixed

LEFT, RIGHT = -14.0, 6.0
QUOTED_FSPN = Look("#c83200", "o", 6.5)
QUOTED_LEARNSPN = Look("#0072b2", "s", 5.0)
CAPTION = (
    "Test log-likelihood relative to the best value that the paper quotes for any method (the "
    "line at 0), in percent of it; right of the line is better. Filled: this run. Open: quoted "
    "by the paper. Small ticks: its other methods. A triangle at the left edge stands for a "
    "value further left. On BBC the best quoted value (SPN-BTB) lies 22 nats above all others."
)


@dataclass(frozen=True)
class Point:
    """A value in the plot.

    Arguments:
        x: percent of the best published value.
        y: row of the dataset.
        label: whose it is.
        style: how it is drawn.
        filled: whether it is ours.
    """

    x: float
    y: int
    label: str
    style: Look
    filled: bool


def figure_benchmarks(rows: pd.DataFrame, paper: Paper, folder: Path) -> Picture:
    """The dot plot, wide and narrow."""
    name = "table1"
    with paper_style():
        svg = save(_figure(rows, paper, (7.4, 5.4), 4), folder, name)
        narrow = draw_inline(_figure(rows, paper, (3.9, 6.2), 2), f"{name}-narrow")
    return Picture(name, "Table 1 at a glance", CAPTION, svg, narrow)


def _figure(rows: pd.DataFrame, paper: Paper, size: tuple[float, float], columns: int) -> Any:
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=size)
    quoted = LogLikelihoods({}, published(paper))
    _draw_ticks(axis, quoted)
    points = _points(rows, quoted)
    for point in points:
        _draw(axis, point)
    _dress(axis, quoted, max([RIGHT, *(point.x + 0.5 for point in points)]))
    figure.tight_layout()
    _legend(figure, points, columns)
    return figure


def _points(rows: pd.DataFrame, quoted: LogLikelihoods) -> list[Point]:
    """Quoted values first, ours over them, FSPN on top."""
    found = []
    for method, style in (("LearnSPN", QUOTED_LEARNSPN), ("FSPN", QUOTED_FSPN)):
        values = quoted.published.get(method, {})
        found += _series(values, quoted, f"{method} (quoted)", style, filled=False)
    for model in reversed(_drawn(models_of(rows))):
        found += _series(ours(rows, model), quoted, short(model), look(model), filled=True)
    return found


def _drawn(models: list[str]) -> list[str]:
    """Without the ceiling, and without the second of two Chow-Liu trees: they nearly coincide."""
    hidden = {CEILING, "bn_tree"} if "chow_liu" in models else {CEILING}
    return [model for model in models if model not in hidden]


def _series(
    values: Mapping[str, float], quoted: LogLikelihoods, label: str, style: Look, *, filled: bool
) -> list[Point]:
    found = []
    for y, name in enumerate(TABLE1_NAMES.values()):
        x = _percent(values.get(name, math.nan), quoted.best(name)[1])
        if math.isfinite(x):
            found.append(Point(x, y, label, style, filled))
    return found


def _percent(value: float, best: float) -> float:
    return 100.0 * (value - best) / abs(best)


def _draw(axis: Any, point: Point) -> None:
    inside = point.x >= LEFT
    axis.plot(
        [max(point.x, LEFT)],
        [point.y],
        marker=point.style.marker if inside else "<",
        markersize=point.style.size if inside else 4.5,
        color=point.style.color,
        markerfacecolor=point.style.color if point.filled else "white",
        markeredgewidth=1.0,
        linestyle="",
        clip_on=False,
        zorder=4 if point.filled else 3,
    )


def _draw_ticks(axis: Any, quoted: LogLikelihoods) -> None:
    for y, name in enumerate(TABLE1_NAMES.values()):
        best = quoted.best(name)[1]
        for values in quoted.published.values():
            x = _percent(values.get(name, math.nan), best)
            if math.isfinite(x) and x >= LEFT:
                axis.plot([x, x], [y - 0.22, y + 0.22], color="#b8b8b8", linewidth=0.9, zorder=2)


def _dress(axis: Any, quoted: LogLikelihoods, right: float) -> None:
    names = list(TABLE1_NAMES.values())
    axis.axvline(0, color="#333333", linewidth=0.9, zorder=1)
    axis.set_xlim(LEFT, right)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), names)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", color="#eeeeee")
    axis.grid(axis="x", color="#eeeeee")
    axis.set_xlabel("test log-likelihood, % above the best quoted value")
    for y, name in enumerate(names):
        method, best = quoted.best(name)
        said = f"{method} {fixed(best).text}" if method else ""
        axis.text(
            1.01, y, said, transform=axis.get_yaxis_transform(), fontsize=7, va="center",
            color="#777777",
        )  # fmt: skip


def _legend(figure: Any, points: list[Point], columns: int) -> None:
    from matplotlib.lines import Line2D

    unique = {point.label: point for point in reversed(points)}
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=point.style.marker,
            markersize=point.style.size,
            color=point.style.color,
            markerfacecolor=point.style.color if point.filled else "white",
            label=name,
        )
        for name, point in unique.items()
    ]
    handles.append(
        Line2D([], [], linestyle="", marker="|", color="#b8b8b8", label="others (quoted)")
    )
    figure.legend(
        handles=handles,
        ncols=columns,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.99),
        columnspacing=1.2,
        handletextpad=0.3,
    )

"""How far each model is from the best published value on every benchmark: a dot plot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.report.figures.style import Look, Picture, draw_inline, look, paper_style, save
from experiments.report.names import CEILING
from experiments.report.paper import TABLE1_NAMES, Paper
from experiments.report.tables.loglik import LogLikelihoods, models_of, ours, published, short
from experiments.report.tables.writing import fixed

LEFT, RIGHT = -17.0, 6.0
SAME_SYSTEM = {
    "FSPN": "fspn",
    "LearnSPN": "spn_tree",
    "SPN-BTB": "spn_btb",
    "SPGM": "spgm",
    "MT": "mixture_trees",
    "WinMine": "tree_network",
    "ECNet": "ecnet",
}
"""Quoted systems that were rerun here as well: the same sign, hollow."""
QUOTED_ONLY = {
    "ID-SPN": Look("#444444", "D", 4.0),
    "EM-PSDD": Look("#444444", "s", 4.5),
    "BayesSPN": Look("#444444", "^", 4.5),
}
ABOVE, BELOW = -0.18, 0.2
"""Where ours and the quoted values lie, off the middle of a dataset's row."""
UNFILLED, FAINT = ("+", "1", "2", "3", "4", "x"), 0.5
"""Signs without an inside are faint where others are hollow."""
SHORT = {"chow_liu": "Chow-Liu", "fspn_paper": "recipe"}
CAPTION = (
    "Test log-likelihood relative to the best value that the paper quotes for any method (the "
    "line at 0), in percent of it; right of the line is better. In each row above and filled: this "
    "run. Below and hollow: quoted by the paper, in the sign of our rerun where there is one. A "
    "triangle at the left edge stands for a value further left, which is printed beside it. On "
    "BBC the best quoted value (SPN-BTB) lies 22 nats above all others."
)


@dataclass(frozen=True)
class Point:
    """A value in the plot.

    Arguments:
        x: percent of the best published value.
        y: row of the dataset.
        model: whose it is.
        label: as a reader sees it.
        style: how it is drawn.
        filled: whether it is ours.
    """

    x: float
    y: int
    model: str
    label: str
    style: Look
    filled: bool


def figure_benchmarks(rows: pd.DataFrame, paper: Paper, folder: Path) -> Picture:
    """The dot plot, wide and narrow."""
    name = "table1"
    with paper_style():
        svg = save(_figure(rows, paper, (7.6, 7.4), 4), folder, name)
        narrow = draw_inline(_figure(rows, paper, (3.9, 7.4), 2), f"{name}-narrow")
    return Picture(name, "Table 1 at a glance", CAPTION, svg, narrow)


def _figure(rows: pd.DataFrame, paper: Paper, size: tuple[float, float], columns: int) -> Any:
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=size)
    quoted = LogLikelihoods({}, published(paper))
    points = _points(rows, quoted)
    for point in points:
        _draw(axis, point)
    _print_clipped(axis, points)
    _dress(axis, quoted, max([RIGHT, *(point.x + 0.5 for point in points)]))
    figure.tight_layout()
    _legend(figure, points, columns)
    return figure


def _points(rows: pd.DataFrame, quoted: LogLikelihoods) -> list[Point]:
    """Quoted values first, ours over them, FSPN on top."""
    found = []
    for method, values in reversed(list(quoted.published.items())):
        style = QUOTED_ONLY.get(method) or look(SAME_SYSTEM.get(method, method))
        smaller = replace(style, size=0.8 * style.size)
        found += _series(values, quoted, (method, f"{method} (quoted)"), smaller, filled=False)
    for model in reversed(_drawn(models_of(rows))):
        names = (model, short(model))
        found += _series(ours(rows, model), quoted, names, look(model), filled=True)
    return found


def _drawn(models: list[str]) -> list[str]:
    """Without the ceiling, and without the second of two Chow-Liu trees: they nearly coincide."""
    hidden = {CEILING, "bn_tree"} if "chow_liu" in models else {CEILING}
    return [model for model in models if model not in hidden]


def _series(
    values: Mapping[str, float],
    quoted: LogLikelihoods,
    names: tuple[str, str],
    style: Look,
    *,
    filled: bool,
) -> list[Point]:
    """The points of one model or system, given as its key and its name."""
    found = []
    for y, name in enumerate(TABLE1_NAMES.values()):
        x = _percent(values.get(name, math.nan), quoted.best(name)[1])
        if math.isfinite(x):
            found.append(Point(x, y, *names, style, filled))
    return found


def _percent(value: float, best: float) -> float:
    return 100.0 * (value - best) / abs(best)


def _draw(axis: Any, point: Point) -> None:
    inside = point.x >= LEFT
    axis.plot(
        [max(point.x, LEFT)],
        [point.y + (ABOVE if point.filled else BELOW)],
        marker=point.style.marker if inside else "<",
        markersize=point.style.size if inside else 4.5,
        color=point.style.color,
        markerfacecolor=point.style.color if point.filled else "white",
        markeredgewidth=1.0,
        linestyle="",
        alpha=1.0 if point.filled or point.style.marker not in UNFILLED else FAINT,
        clip_on=False,
        zorder=4 if point.filled else 3,
    )


def _print_clipped(axis: Any, points: list[Point]) -> None:
    """The values that lie left of the axis, beside their triangles."""
    rows = ((y, filled) for y in sorted({point.y for point in points}) for filled in (True, False))
    for y, filled in rows:
        here = (p for p in points if p.y == y and p.filled is filled and p.x < LEFT)
        names = [f"{_brief(p)} {fixed(p.x, 0).text}%" for p in sorted(here, key=_place)]
        axis.text(
            LEFT + 0.15, y + (ABOVE - 0.26 if filled else BELOW + 0.24),
            ", ".join(names), fontsize=6, va="center", color="#555555", zorder=5,
        )  # fmt: skip


def _brief(point: Point) -> str:
    return SHORT.get(point.model, point.label.removesuffix(" (quoted)"))


def _place(point: Point) -> float:
    return point.x


def _dress(axis: Any, quoted: LogLikelihoods, right: float) -> None:
    names = list(TABLE1_NAMES.values())
    axis.axvline(0, color="#333333", linewidth=0.9, zorder=1)
    axis.set_xlim(LEFT, right)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), names)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", color="#eeeeee")
    axis.grid(axis="x", color="#eeeeee")
    axis.set_xlabel(
        "test log-likelihood, % above the best quoted value\n"
        "in each row above and filled: run here; below, hollow or faint: quoted"
    )
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
            alpha=1.0 if point.filled or point.style.marker not in UNFILLED else FAINT,
            label=name,
        )
        for name, point in unique.items()
    ]
    figure.legend(
        handles=handles,
        ncols=columns,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.99),
        columnspacing=1.2,
        handletextpad=0.3,
    )

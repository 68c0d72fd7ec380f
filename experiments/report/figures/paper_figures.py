"""The paper's Figures 2 and 5: our values, and the published ones in panels of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.report.figures.style import LINES, Picture, draw_inline, look, paper_style, save
from experiments.report.names import (
    CEILING,
    COMPILED,
    FLOOR,
    LAWS,
    MEASURES,
    PUBLISHED,
    RERUN,
    in_order,
    label,
)
from experiments.report.numbers import Numbers

HOW = (
    'Panels headed "this run": mean over draws of the dataset; bars are 95% bootstrap intervals '
    "over draws and queries, or from the lowest to the highest draw where queries are not "
    "recorded; no bar: a single number. A line is broken where nothing was measured. "
    'Panels headed "paper": its published values, on other data that were never published. '
)
LIMITS = {
    "kl": (8e-5, 0.2),
    "latency": (0.3, 700.0),
    "latency_batch": (0.3, 700.0),
    "size": (2.0, 2000.0),
    "train": (0.3, 100.0),
}


@dataclass(frozen=True)
class Shape:
    """How the panels and the legend are laid out.

    Arguments:
        rows: of panels, the paper's among them.
        columns: of panels.
        order: the places of our two panels, then of the paper's two.
        size: in inches.
        legend_columns: of the legend.
    """

    rows: int
    columns: int
    order: tuple[int, int, int, int]
    size: tuple[float, float]
    legend_columns: int


WIDE = Shape(2, 2, (0, 1, 2, 3), (7.4, 5.3), 4)
NARROW = Shape(4, 1, (0, 2, 1, 3), (3.7, 9.8), 2)


def figure2(ours: Numbers, paper: Numbers, folder: Path, suffix: str = "") -> Picture:
    """KL-divergence and inference time over the average RDC (the paper's Figure 2)."""
    return _panels(
        ours,
        paper,
        folder,
        f"figure2{suffix}",
        ("kl", "latency"),
        "Figure 2: accuracy and inference time",
        "KL-divergence of Pr(Q | E = e) in nats, mean over the queries, and time of one query "
        "asked alone, over the average RDC of the dataset. ",
    )


def figure5(ours: Numbers, paper: Numbers, folder: Path, suffix: str = "") -> Picture:
    """Model size and training time over the average RDC (the paper's Figure 5)."""
    return _panels(
        ours,
        paper,
        folder,
        f"figure5{suffix}",
        ("size", "train"),
        "Figure 5: model size and training time",
        "Bytes of parameters and structure by one rule for all models (finely dotted, hollow "
        "markers: of the compiled form that answers queries, where there is one), and the time to "
        "fit the chosen setting, over the average RDC of the dataset. ",
    )


def figure_batch(ours: Numbers, paper: Numbers, folder: Path, suffix: str = "") -> Picture:
    """Time per query asked one by one and in a batch; the paper has one by one only."""
    return _panels(
        ours,
        paper,
        folder,
        f"latency_batch{suffix}",
        ("latency", "latency_batch"),
        "Inference time, one by one and batched",
        "Time per query, asked alone and as one batch. The paper does not say which it measured; "
        "its values are drawn on the left. ",
    )


def _panels(
    ours: Numbers,
    paper: Numbers,
    folder: Path,
    name: str,
    measures: tuple[str, str],
    title: str,
    caption: str,
) -> Picture:
    with paper_style():
        svg = save(_figure(ours, paper, measures, WIDE), folder, name)
        narrow = draw_inline(_figure(ours, paper, measures, NARROW), f"{name}-narrow")
    gaps = tuple(gap for measure in measures for gap in _gaps(ours, measure))
    return Picture(name, title, caption + HOW + _lines_text(ours), svg, narrow, gaps)


def _figure(ours: Numbers, paper: Numbers, measures: tuple[str, str], shape: Shape) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(shape.rows, shape.columns, figsize=shape.size)
    places = [axes.flat[place] for place in shape.order]
    for axis, measure in zip(places[:2], measures, strict=True):
        _draw(axis, ours, measure)
    for axis, measure in zip(places[2:], measures, strict=True):
        _draw_paper(axis, ours, paper, measure)
    figure.tight_layout(w_pad=2.0, h_pad=1.5)
    _legend(figure, ours, paper, shape)
    return figure


def _draw(axis: Any, ours: Numbers, measure: str) -> None:
    for model in (FLOOR, CEILING):
        _draw_line(axis, ours, model, measure)
    for model in in_order(ours.models - {FLOOR, CEILING}):
        _draw_ours(axis, ours, model, measure)
        if measure == "size":
            _draw_compiled(axis, ours, model)
    _dress(axis, ours, measure, "this run")


def _draw_paper(axis: Any, ours: Numbers, paper: Numbers, measure: str) -> None:
    """The published values at the scale of ours; an empty panel where the paper has none."""
    for model in PUBLISHED:
        _draw_published(axis, paper, model, measure)
    axis.set_facecolor("#f7f5ef")
    nothing = not MEASURES[measure].paper
    _dress(axis, ours, measure, "paper: not measured" if nothing else "paper")


def _dress(axis: Any, ours: Numbers, measure: str, title: str) -> None:
    axis.set_title(title, fontsize=9, loc="left")
    axis.set_yscale("log")
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axis.set_ylim(*_limits(ours, measure))
    axis.set_xlabel("Average RDC Score")
    axis.set_ylabel(MEASURES[measure].label)
    axis.minorticks_off()


def _draw_published(axis: Any, paper: Numbers, model: str, measure: str) -> None:
    x, y, _, _ = _series(paper, model, measure)
    style = look(model)
    axis.plot(
        x,
        y,
        linestyle=(0, (4, 2.5)),
        linewidth=1.1,
        color=style.color,
        marker=style.marker,
        markersize=style.size * 0.8,
        markerfacecolor="white" if style.marker != "+" else style.color,
        markeredgewidth=0.7,
        zorder=2,
    )


def _draw_line(axis: Any, ours: Numbers, model: str, measure: str) -> None:
    x, y, _, _ = _series(ours, model, measure)
    color, dashes = LINES[model]
    axis.plot(x, y, linestyle=dashes, linewidth=1.3, color=color, zorder=3)


def _draw_ours(axis: Any, ours: Numbers, model: str, measure: str) -> None:
    x, y, low, high = _series(ours, model, measure)
    if not len(x):
        return
    style = look(model)
    axis.errorbar(
        x,
        y,
        yerr=np.stack([y - low, high - y]),
        color=style.color,
        marker=style.marker,
        markersize=style.size,
        markeredgewidth=1.2,
        capsize=2.2,
        elinewidth=0.9,
        zorder=5 if model == "fspn" else 4,
    )


def _draw_compiled(axis: Any, ours: Numbers, model: str) -> None:
    """The bytes of the form that answers queries, beside those of the model itself."""
    x, y, _, _ = _series(ours, model, COMPILED.key)
    style = look(model)
    axis.plot(
        x,
        y,
        linestyle=(0, (1, 1.5)),
        linewidth=1.1,
        color=style.color,
        marker=style.marker,
        markersize=style.size * 0.7,
        markerfacecolor="white",
        zorder=3,
    )


def _series(numbers: Numbers, model: str, measure: str) -> tuple[np.ndarray, ...]:
    """RDC, mean and interval of one line; NaN, where the line is broken, at levels without it.

    Only positive values have a place on a log axis. Empty where nothing was measured at all.
    """
    means = np.array([numbers.mean(level, model, measure) for level in numbers.levels])
    means = np.where(means > 0, means, np.nan)
    if np.isnan(means).all():
        return tuple(np.empty((4, 0)))
    found = [numbers.interval(level, model, measure) for level in numbers.levels]
    ends = [pair or (m, m) for pair, m in zip(found, means, strict=True)]
    rdc = np.array([numbers.rdc[level] for level in numbers.levels])
    low, high = np.array(ends).T
    return rdc, means, np.minimum(low, means), np.maximum(high, means)


def _limits(ours: Numbers, measure: str) -> tuple[float, float]:
    """The paper's limits, widened where our values lie outside."""
    low, high = LIMITS[measure]
    drawn = {measure, COMPILED.key} if measure == "size" else {measure}
    values = [c.mean for (_, _, key), c in ours.cells.items() if key in drawn and c.mean > 0]
    lowest, highest = (
        min([low, *(v / 1.6 for v in values)]),
        max([high, *(v * 1.6 for v in values)]),
    )
    return lowest, highest


def _legend(figure: Any, ours: Numbers, paper: Numbers, shape: Shape) -> None:
    from matplotlib.lines import Line2D

    drawn = [m for m in in_order(ours.models | paper.models) if m not in (FLOOR, CEILING)]
    models = [
        Line2D(
            [],
            [],
            color=look(model).color,
            marker=look(model).marker,
            markersize=look(model).size,
            linestyle="-" if model in ours.models else (0, (4, 2.5)),
            linewidth=1.6 if model in ours.models else 0.8,
            markerfacecolor=None if model in ours.models else "white",
            label=label(model),
        )
        for model in drawn
    ]
    kinds = [
        Line2D([], [], color="#222222", linewidth=1.6, label="this run"),
        Line2D([], [], color="#222222", linewidth=1.1, linestyle=(0, (4, 2.5)), label="paper"),
        *(
            Line2D([], [], color=LINES[m][0], linestyle=LINES[m][1], linewidth=1.3, label=label(m))
            for m in (FLOOR, CEILING)
            if m in ours.models
        ),
    ]
    where = {"loc": "lower center", "columnspacing": 1.4, "handlelength": 2.2}
    lines = math.ceil(len(kinds) / shape.legend_columns)
    above = 0.99 + (0.2 * lines + 0.03) / shape.size[1]
    columns = shape.legend_columns
    figure.legend(
        handles=_by_row(models, columns), ncols=columns, bbox_to_anchor=(0.5, above), **where
    )
    figure.legend(
        handles=_by_row(kinds, columns), ncols=columns, bbox_to_anchor=(0.5, 0.985), **where
    )


def _by_row(handles: list[Any], columns: int) -> list[Any]:
    """Matplotlib fills a legend column by column; this order makes it read row by row."""
    return [handle for start in range(columns) for handle in handles[start::columns]]


def _lines_text(ours: Numbers) -> str:
    texts = {
        FLOOR: "Dotted: the generating DAG with one fitted table per variable, the floor of "
        "models that keep such tables; sharing parameters between their rows can go below it. ",
        LAWS: "FSPN with integer-linear laws is a line of its own: the sparse tables are drawn "
        "from such laws and no other model has them, so it says what knowing the form is worth. ",
        CEILING: "Dash-dotted grey: independent columns, the ceiling. ",
    }
    return "".join(text for model, text in texts.items() if model in ours.models)


def _gaps(ours: Numbers, measure: str) -> list[str]:
    """Models of the paper's study without a value at some level that other models have."""
    gaps = []
    for model in (*RERUN, FLOOR, CEILING):
        absent = [f"{x:g}" for x in ours.levels if not ours.mean(x, model, measure) > 0]
        if absent:
            what = MEASURES[measure].short
            gaps.append(f"{label(model)}: no {what} at RDC {', '.join(absent)}")
    return gaps

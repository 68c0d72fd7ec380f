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
    'Panels headed "this run": the mean over draws of the dataset; a bar is what its panel says, '
    "and without one there is a single number. A line is broken where nothing was measured. "
)
THEIRS = 'Panels headed "paper": its published values, on other data that were never published. '
LIMITS = {
    "kl": (8e-5, 0.2),
    "latency": (0.3, 700.0),
    "engine": (0.3, 700.0),
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
        order: the places of our two panels, then of the paper's two where it has some.
        size: in inches.
        legend_columns: of the legend.
    """

    rows: int
    columns: int
    order: tuple[int, ...]
    size: tuple[float, float]
    legend_columns: int


WIDE = Shape(2, 2, (0, 1, 2, 3), (7.4, 5.3), 4)
NARROW = Shape(4, 1, (0, 2, 1, 3), (3.7, 9.8), 2)
OURS_WIDE = Shape(1, 2, (0, 1), (7.4, 2.7), 4)
OURS_NARROW = Shape(2, 1, (0, 1), (3.7, 5.0), 2)


@dataclass(frozen=True)
class Companion:
    """A second value of a model in the same panel: hollow markers, finely dotted.

    Arguments:
        measure: its key.
        name: as the legend says it.
    """

    measure: str
    name: str


COMPANIONS = {
    "engine": Companion("latency", "own program, where it is not our engine"),
    "size": Companion(COMPILED.key, "compiled form that answers queries"),
}
HOLLOW = (0, (1, 1.5))
PUBLISHED_AS = {"engine": "latency"}
"""What the paper's values are called where it does not tell programs and models apart."""


def figure2(ours: Numbers, paper: Numbers, folder: Path, suffix: str = "") -> Picture:
    """KL-divergence and inference time over the average RDC (the paper's Figure 2)."""
    return _panels(
        ours,
        paper,
        folder,
        f"figure2{suffix}",
        ("kl", "engine"),
        "Figure 2: accuracy and inference time",
        "KL-divergence of Pr(Q | E = e) in nats, mean over the queries, and time of one query "
        "asked alone, over the average RDC of the dataset. Times are of the models: all converted "
        "to FSPNs and answered by our engine; finely dotted with hollow markers is each model's "
        "own program, where it has another (SPGM has no conversion). The paper has own programs. ",
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
    """Time per query asked one by one and in a batch; the paper does not tell which it has."""
    return _panels(
        ours,
        paper,
        folder,
        f"latency_batch{suffix}",
        ("latency", "latency_batch"),
        "Inference time, one by one and batched",
        "Time per query by each model's own program, asked alone and as one batch. The paper does "
        "not say which it measured; Figure 2 has its values. ",
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
    told = all(_published_as(measure) for measure in measures)
    wide, small = (WIDE, NARROW) if told else (OURS_WIDE, OURS_NARROW)
    with paper_style():
        svg = save(_figure(ours, paper, measures, wide), folder, name)
        narrow = draw_inline(_figure(ours, paper, measures, small), f"{name}-narrow")
    gaps = tuple(gap for measure in measures for gap in _gaps(ours, measure))
    text = caption + HOW + (THEIRS if told else "") + _lines_text(ours)
    return Picture(name, title, text, svg, narrow, gaps)


def _published_as(measure: str) -> str:
    """The measure by which the paper's values stand beside ours; empty where it has none."""
    key = PUBLISHED_AS.get(measure, measure)
    return key if MEASURES[key].paper else ""


def _figure(ours: Numbers, paper: Numbers, measures: tuple[str, str], shape: Shape) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(shape.rows, shape.columns, figsize=shape.size)
    places = [axes.flat[place] for place in shape.order]
    for axis, measure in zip(places[:2], measures, strict=True):
        _draw(axis, ours, measure)
    for axis, measure in zip(places[2:], measures, strict=False):
        _draw_paper(axis, ours, paper, measure)
    figure.tight_layout(w_pad=2.0, h_pad=1.5)
    _legend(figure, ours, paper if places[2:] else None, measures, shape)
    return figure


def _draw(axis: Any, ours: Numbers, measure: str) -> None:
    for model in (FLOOR, CEILING):
        _draw_line(axis, ours, model, measure)
    for model in in_order(ours.models - {FLOOR, CEILING}):
        _draw_ours(axis, ours, model, measure)
        if measure in COMPANIONS:
            _draw_companion(axis, ours, model, measure)
    _dress(axis, ours, measure, _heading(ours, measure))


def _heading(ours: Numbers, measure: str) -> str:
    """What a panel's points are means of, and what its bars are."""
    cells = [key for key in ours.cells if key[2] == measure]
    counts = sorted({len(ours.cells[key].values) for key in cells})
    bars = any(ours.interval(*key) for key in cells)
    if not counts:
        return "this run"
    if counts[-1] == 1:
        return "this run, first draw" + ("; bars: 95% over its queries" if bars else "")
    draws = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    by_query = any(key in ours.queries for key in cells)
    what = "95% over draws, queries" if by_query else "lowest and highest draw"
    return f"this run, {draws} draws; bars: {what}"


def _draw_paper(axis: Any, ours: Numbers, paper: Numbers, measure: str) -> None:
    """The published values at the scale of ours."""
    for model in PUBLISHED:
        _draw_published(axis, paper, model, _published_as(measure))
    axis.set_facecolor("#f7f5ef")
    _dress(axis, ours, measure, "paper")
    axis.set_ylabel(MEASURES[_published_as(measure)].label)


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


def _draw_companion(axis: Any, ours: Numbers, model: str, measure: str) -> None:
    """A second value beside the first; nothing where the two are the same."""
    x, y, _, _ = _series(ours, model, COMPANIONS[measure].measure)
    _, first, _, _ = _series(ours, model, measure)
    if len(first) and np.array_equal(first, y):
        return
    style = look(model)
    axis.plot(
        x,
        y,
        linestyle=HOLLOW,
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
    drawn = {measure} | ({COMPANIONS[measure].measure} if measure in COMPANIONS else set())
    values = [c.mean for (_, _, key), c in ours.cells.items() if key in drawn and c.mean > 0]
    lowest, highest = (
        min([low, *(v / 1.6 for v in values)]),
        max([high, *(v * 1.6 for v in values)]),
    )
    return lowest, highest


def _legend(
    figure: Any, ours: Numbers, paper: Numbers | None, measures: tuple[str, str], shape: Shape
) -> None:
    """Models above, kinds of lines below; the paper's only where it has panels."""
    from matplotlib.lines import Line2D

    theirs = paper.models if paper else frozenset()
    drawn = [m for m in in_order(ours.models | theirs) if m not in (FLOOR, CEILING)]
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
    kinds = _kinds(ours, measures, with_paper=paper is not None)
    where = {"loc": "lower center", "columnspacing": 1.4, "handlelength": 2.2}
    columns, few = shape.legend_columns, shape.legend_columns - 1
    lines = math.ceil(len(kinds) / few)
    above = 0.99 + (0.2 * lines + 0.03) / shape.size[1]
    figure.legend(
        handles=_by_row(models, columns), ncols=columns, bbox_to_anchor=(0.5, above), **where
    )
    figure.legend(handles=_by_row(kinds, few), ncols=few, bbox_to_anchor=(0.5, 0.985), **where)


def _kinds(ours: Numbers, measures: tuple[str, str], *, with_paper: bool) -> list[Any]:
    """What the lines are: whose, of which program or form, and the two reference lines."""
    from matplotlib.lines import Line2D

    black: dict[str, Any] = {"color": "#222222", "linewidth": 1.1}
    run = "this run" + ("; times in our engine" if "engine" in measures else "")
    paper = [Line2D([], [], linestyle=(0, (4, 2.5)), label="paper", **black)]
    hollow = [
        Line2D([], [], linestyle=HOLLOW, marker="o", markersize=4, markerfacecolor="white",
               label=COMPANIONS[measure].name, **black)
        for measure in measures
        if measure in COMPANIONS
    ]  # fmt: skip
    references = [
        Line2D([], [], color=LINES[m][0], linestyle=LINES[m][1], linewidth=1.3, label=label(m))
        for m in (FLOOR, CEILING)
        if m in ours.models
    ]
    solid = Line2D([], [], label=run, **black | {"linewidth": 1.6})
    return [solid, *hollow, *(paper if with_paper else []), *references]


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

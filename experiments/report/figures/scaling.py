"""Query time over node count, t = a * n^b: near-linear inference means b close to 1 or below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.report.figures.style import Picture, look, paper_style, save
from experiments.report.names import label
from experiments.report.numbers import Numbers
from experiments.report.rows import Rows

MIN_SPAN = 4.0
MIN_POINTS = 4
LARGE = 1_000
"""Nodes from which on a query's time is that of its nodes: below, most of it is a fixed cost."""


@dataclass(frozen=True)
class PowerFit:
    """Least squares of log t on log n.

    Arguments:
        exponent: b.
        error: its standard error.
        factor: a, in ms.
        nodes: n of each point.
        milliseconds: t of each point.
        source: where the points come from.
    """

    exponent: float
    error: float
    factor: float
    nodes: tuple[float, ...]
    milliseconds: tuple[float, ...]
    source: str

    @property
    def span(self) -> float:
        """Largest over smallest node count."""
        return max(self.nodes) / min(self.nodes)


def fit_power(nodes: np.ndarray, milliseconds: np.ndarray, source: str) -> PowerFit | None:
    """Fit the exponent; None where there are too few points or they do not vary enough."""
    keep = np.isfinite(nodes) & np.isfinite(milliseconds) & (nodes > 0) & (milliseconds > 0)
    n, t = nodes[keep].astype(float), milliseconds[keep].astype(float)
    if len(n) < MIN_POINTS or n.max() / n.min() < MIN_SPAN:
        return None
    x, y = np.log(n), np.log(t)
    spread = ((x - x.mean()) ** 2).sum()
    slope = ((x - x.mean()) * (y - y.mean())).sum() / spread
    start = y.mean() - slope * x.mean()
    residual = ((y - start - slope * x) ** 2).sum() / max(len(n) - 2, 1)
    error = float(np.sqrt(residual / spread))
    order = np.argsort(n)
    return PowerFit(
        float(slope), error, float(np.exp(start)), tuple(n[order]), tuple(t[order]), source
    )


def fits_rows(rows: Rows, model: str) -> tuple[PowerFit, ...]:
    """The exponents of a model: one per study that varies its nodes, the main one included.

    Models of a single node say nothing about growth and are left out.
    """
    studies = dict.fromkeys(("nodes", "thresholds", "query_cost", rows.study))
    found = [_fit(rows.of(study), model, f"experiment={study}") for study in studies]
    return tuple(fit for fit in found if fit is not None)


def fit_rows(rows: Rows, model: str) -> PowerFit | None:
    """The steepest of a model's exponents, by which Proposition 2 is judged."""
    return max(fits_rows(rows, model), key=lambda fit: fit.exponent, default=None)


def _fit(table: pd.DataFrame, model: str, source: str) -> PowerFit | None:
    mine = table[(table["model"] == model) & (table["status"] == "ok") & (table["n_nodes"] > 1)]
    return fit_power(mine["n_nodes"].to_numpy(), mine["latency_single_ms"].to_numpy(), source)


def fit_published(paper: Numbers) -> PowerFit | None:
    """The exponent by the paper's own six points."""
    levels = paper.levels
    nodes = np.array([paper.mean(level, "fspn", "nodes") for level in levels])
    times = np.array([paper.mean(level, "fspn", "latency") for level in levels])
    return fit_power(nodes, times, "the paper's six datasets")


def figure_scaling(
    fits: dict[str, PowerFit | None], paper: PowerFit | None, folder: Path
) -> Picture:
    """Query time over node count, with the fitted power laws."""
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    with paper_style():
        figure, axis = plt.subplots(figsize=(4.6, 3.2))
        if paper is not None:
            _draw(axis, paper, "#555555", "x", f"paper, $b={paper.exponent:.2f}$", (0, (4, 2.5)))
        for model, fit in fits.items():
            if fit is not None:
                style = look(model)
                words = f"{label(model)}, $b={fit.exponent:.2f}$"
                _draw(axis, fit, style.color, style.marker, words, "-")
        axis.set_xscale("log")
        axis.set_yscale("log")
        for side in (axis.xaxis, axis.yaxis):
            side.set_minor_formatter(NullFormatter())
        axis.set_xlabel("Number of nodes $n$")
        axis.set_ylabel("Inference Time (ms)")
        if axis.get_legend_handles_labels()[1]:
            axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
        svg = save(figure, folder, "scaling")
    sources = "; ".join(f"{label(m)}: {fit.source}" for m, fit in fits.items() if fit)
    gaps = tuple(
        f"{label(m)}: no rows whose node count varies by {MIN_SPAN:g}x or more"
        for m, fit in fits.items()
        if fit is None
    )
    caption = (
        "Time of one query over the number of nodes, log-log, with the fitted t = a · n^b; "
        f"b ≤ 1 is linear or better. Points of this run: {sources or 'none'}."
    )
    return Picture("scaling", "Inference time over node count", caption, svg, gaps=gaps)


def _draw(axis: object, fit: PowerFit, color: str, marker: str, words: str, line: object) -> None:
    n = np.array(fit.nodes)
    ends = np.array([n.min(), n.max()])
    plot = axis.plot  # type: ignore[attr-defined]
    plot(n, fit.milliseconds, linestyle="", marker=marker, color=color, markersize=4, alpha=0.7)
    plot(ends, fit.factor * ends**fit.exponent, color=color, linestyle=line, label=words)

"""Query time over node count, t = a * n^b: near-linear inference means b close to 1 or below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.report.call_cost import TIMES_THE_CALL, beyond_the_call
from experiments.report.figures.style import Picture, look, paper_style, save
from experiments.report.names import label
from experiments.report.numbers import Numbers
from experiments.report.rows import Rows

VARYING = ("query_cost", "thresholds", "nodes")
MIN_SPAN = 4.0
MIN_POINTS = 4
LARGE = 1_000
"""Nodes from which on a query's time is that of its nodes: below, most of it is a fixed cost."""


@dataclass(frozen=True)
class PowerFit:
    """Least squares of log t on log n.

    Arguments:
        exponent: b.
        error: its standard error; two of them are shown as ±.
        factor: a, in ms.
        nodes: n of each point.
        milliseconds: t of each point.
        source: where the points come from.
        fewest: nodes that a model has at least to be one of the points.
    """

    exponent: float
    error: float
    factor: float
    nodes: tuple[float, ...]
    milliseconds: tuple[float, ...]
    source: str
    fewest: int = 0

    @property
    def is_large(self) -> bool:
        """Whether it is fitted to large models alone."""
        return self.fewest >= LARGE

    @property
    def n_large(self) -> int:
        """The number of its points that are large models."""
        return sum(n >= LARGE for n in self.nodes)


def fit_power(
    nodes: np.ndarray, milliseconds: np.ndarray, source: str, least: int = MIN_POINTS
) -> PowerFit | None:
    """Fit the exponent; None where there are fewer than `least` points or they are too alike."""
    keep = np.isfinite(nodes) & np.isfinite(milliseconds) & (nodes > 0) & (milliseconds > 0)
    n, t = nodes[keep].astype(float), milliseconds[keep].astype(float)
    if len(n) < least or n.max() / n.min() < MIN_SPAN:
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


def fit_large(fit: PowerFit) -> PowerFit | None:
    """The exponent over the large models among the points of a fit.

    In small ones most of a query's time is a fixed cost, which flatters the exponent.
    """
    nodes, times = np.array(fit.nodes), np.array(fit.milliseconds)
    large = nodes >= LARGE
    found = fit_power(nodes[large], times[large], fit.source)
    return None if found is None else replace(found, fewest=LARGE)


def with_large(fit: PowerFit | None) -> tuple[PowerFit, ...]:
    """A fit, and the one to its large models where they are enough."""
    return () if fit is None else tuple(f for f in (fit, fit_large(fit)) if f is not None)


def fits_rows(rows: Rows, model: str) -> tuple[PowerFit, ...]:
    """The exponents of a model: of each study that varies its nodes, over all and large models.

    Models of a single node say nothing about growth and are left out. Where there are enough large
    models they are fitted alone too: the fixed cost of a call hides the growth of small ones.
    """
    studies = studies_of(rows.study)
    return tuple(fit for study in studies for fit in _fits(rows, model, study))


def shown_fits(rows: Rows, models: Sequence[str]) -> dict[str, tuple[PowerFit, ...]]:
    """The exponents of the models by one study: the first that has one of any of them."""
    found: dict[str, tuple[PowerFit, ...]] = dict.fromkeys(models, ())
    for study in studies_of(rows.study):
        found = {model: _fits(rows, model, study) for model in models}
        if any(found.values()):
            break
    return found


def studies_of(main: str) -> tuple[str, ...]:
    """The studies that vary node counts, the one that is made for it first."""
    return tuple(dict.fromkeys((*VARYING, main)))


def timed_models(table: pd.DataFrame, model: str, study: str) -> pd.DataFrame:
    """The rows of a model in a study that have more than one node."""
    done = (table["status"] == "ok") & (table["n_nodes"] > 1)
    return table[(table["experiment"] == study) & (table["model"] == model) & done]


def _fits(rows: Rows, model: str, study: str) -> tuple[PowerFit, ...]:
    """The exponents by one study, of times that are mostly work rather than the call.

    Without a user's own tables: the paper's statement is of its own kind of data.
    """
    mine = timed_models(rows.judged, model, study)
    times = mine["latency_single_ms"].to_numpy()
    kept = beyond_the_call(times)
    fit = fit_power(mine["n_nodes"].to_numpy()[kept], times[kept], f"experiment={study}")
    return with_large(fit)


def fit_published(paper: Numbers) -> tuple[PowerFit, ...]:
    """The exponent by the paper's own six points."""
    levels = paper.levels
    nodes = np.array([paper.mean(level, "fspn", "nodes") for level in levels])
    times = np.array([paper.mean(level, "fspn", "latency") for level in levels])
    return with_large(fit_power(nodes, times, "the paper's six datasets"))


def figure_scaling(
    fits: Mapping[str, Sequence[PowerFit]], paper: Sequence[PowerFit], folder: Path
) -> Picture:
    """Query time over node count, with the power laws fitted to all and to large models."""
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    with paper_style():
        figure, axis = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
        _draw(axis, paper, "#555555", "x", "paper", (0, (4, 2.5)))
        for model, own in fits.items():
            style = look(model)
            _draw(axis, own, style.color, style.marker, label(model), "-")
        axis.set_xscale("log")
        axis.set_yscale("log")
        for side in (axis.xaxis, axis.yaxis):
            side.set_minor_formatter(NullFormatter())
        axis.margins(x=0.08)
        axis.set_xlabel(f"number of nodes $n$ ({_source(fits)})")
        axis.set_ylabel("inference time (ms)")
        if axis.get_legend_handles_labels()[1]:
            axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
        svg = save(figure, folder, "scaling")
    gaps = tuple(
        f"{label(m)}: no rows there whose node count varies by {MIN_SPAN:g}x or more"
        for m, own in fits.items()
        if not own
    )
    caption = (
        "Time of one query over the number of nodes, log-log, with the fitted t = a · n^b; "
        f"b ≤ 1 is linear or better. Dotted: fitted to models of at least {LARGE:,} nodes alone. "
        f"± is two standard errors. All points of this run are of {_source(fits)}; times below "
        f"{TIMES_THE_CALL:g} times the smallest are left out, as they are mostly the fixed cost of "
        "a call. The ledger has the exponents of all studies."
    )
    return Picture("scaling", "Inference time over node count", caption, svg, gaps=gaps)


def _source(fits: Mapping[str, Sequence[PowerFit]]) -> str:
    """The study that the points of this run are of."""
    return next((own[0].source for own in fits.values() if own), "no study")


def _draw(
    axis: object, fits: Sequence[PowerFit], color: str, marker: str, who: str, line: object
) -> None:
    plot = axis.plot  # type: ignore[attr-defined]
    for fit in fits:
        n = np.array(fit.nodes)
        ends = np.array([n.min(), n.max()])
        if not fit.is_large:
            plot(n, fit.milliseconds, ls="", marker=marker, color=color, markersize=4, alpha=0.7)
        of = f", {len(n)} of {LARGE:,} nodes or more" if fit.is_large else ""
        style = ":" if fit.is_large else line
        words = f"{who}{of}, $b={fit.exponent:.2f} \\pm {2 * fit.error:.2f}$"
        plot(ends, fit.factor * ends**fit.exponent, color=color, linestyle=style, label=words)

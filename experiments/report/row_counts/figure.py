"""One picture: 95% q-errors table by table, and by selectivity and number of predicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.figures.style import Picture, paper_style, save
from experiments.report.row_counts.names import SUBJECT, in_order, label, look
from experiments.report.row_counts.summary import ALL

CAPTION = (
    "How far estimated row counts are off. Left: the 95% quantile of the q-error on each table, "
    "with a 95% interval over queries for FSPN; further left is better; hollow, at the right: no "
    "model within the limits of time and memory. Middle and right: the 95% "
    "quantile (solid) and the median (dotted) over the queries of all tables, by the share of rows "
    "that match and by the number of predicates; estimators with a gap on a table are left out "
    "there."
)
MOST = 2e4
GAP = 1.7
"""Between the signs of two estimators that have no model of a table, as a factor."""
LINES = (
    "fspn",
    "fspn_paper",
    "bn_dag",
    "mspn",
    "postgres_max_ext",
    "sample_bytes",
    "sample_file",
    "histograms",
)
"""Estimators in the two panels of lines: more would hide each other."""


def figure_row_counts(summary: pd.DataFrame, pooled: pd.DataFrame, folder: Path) -> Picture:
    """Draw and save the picture."""
    from matplotlib import pyplot as plt

    with paper_style():
        figure, axes = plt.subplots(
            1, 3, figsize=(9.6, 3.9), gridspec_kw={"width_ratios": [1.55, 1.15, 0.95]}
        )
        whole = summary[(summary["group"] == ALL) & (summary["status"] == "ok")]
        _dots(axes[0], whole)
        _unanswered(axes[0], summary, _by_error(whole))
        _lines(axes[1], pooled, "rows: ")
        _lines(axes[2], pooled, "predicates: ")
        axes[0].set_xlabel("q-error, 95% of the queries are below (hollow: no model)")
        axes[1].set_ylabel("q-error")
        _key(axes[1])
        axes[1].set_xlabel("rows that match")
        axes[2].set_xlabel("predicates")
        figure.tight_layout()
        _legend(figure, axes[0])
        svg = save(figure, folder, "row_counts")
    return Picture("row_counts", "Row counts of real tables", CAPTION, svg)


def _dots(axis: Any, whole: pd.DataFrame) -> None:
    datasets = _by_error(whole)
    places = {name: k for k, name in enumerate(datasets)}
    for model in reversed(in_order(set(whole["model"]))):
        mine = whole[whole["model"] == model]
        y = [places[name] for name in mine["dataset"]]
        style = look(model)
        axis.plot(
            np.minimum(mine["q_p95"], MOST),
            y,
            linestyle="none",
            marker=style.marker,
            markersize=style.size + (2 if model == SUBJECT else 0),
            color=style.color,
            label=label(model),
            zorder=5 if model == SUBJECT else 3,
        )
        if model == SUBJECT:
            ends = mine[["q_p95_low", "q_p95_high"]].to_numpy().T
            axis.hlines(y, ends[0], np.minimum(ends[1], MOST), color=style.color, linewidth=1.4)
    axis.set_xscale("log")
    axis.set_yticks(range(len(datasets)), datasets)
    axis.set_ylim(len(datasets) - 0.5, -0.5)
    axis.grid(axis="y", linewidth=0.3)
    axis.axvline(1, color="#333333", linewidth=0.6)


def _unanswered(axis: Any, summary: pd.DataFrame, datasets: list[str]) -> None:
    """Estimators that ended without a model of a table: hollow, at the right edge of its line."""
    axis.axvline(MOST / GAP, color="#999999", linewidth=0.6, linestyle=":")
    failed = summary[summary["status"] != "ok"].drop_duplicates(["dataset", "model"])
    for name, mine in failed.groupby("dataset"):
        for k, model in enumerate(in_order(set(mine["model"]))):
            style = look(model)
            axis.plot(
                MOST * GAP**k,
                datasets.index(str(name)),
                linestyle="none",
                marker=style.marker,
                markersize=style.size,
                color=style.color,
                markerfacecolor="white",
            )


def _key(axis: Any) -> None:
    """What solid and dotted lines are."""
    from matplotlib.lines import Line2D

    kinds = (("-", "95% of the queries"), (":", "median"))
    handles = [Line2D([], [], color="#333333", linestyle=s, label=words) for s, words in kinds]
    axis.legend(handles=handles, loc="upper right", frameon=False, fontsize=8)


def _legend(figure: Any, axis: Any) -> None:
    """The subject first, although it is drawn last, over the others."""
    handles, names = axis.get_legend_handles_labels()
    figure.legend(
        handles[::-1],
        names[::-1],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=4,
        frameon=False,
    )


def _by_error(whole: pd.DataFrame) -> list[str]:
    """Tables in the order of the subject's own error."""
    mine = whole[whole["model"] == SUBJECT].set_index("dataset")["q_p95"]
    return sorted(set(whole["dataset"]), key=lambda name: (mine.get(name, np.inf), name))


def _lines(axis: Any, pooled: pd.DataFrame, kind: str) -> None:
    part = pooled[pooled["group"].str.startswith(kind)]
    names = [str(group).removeprefix(kind) for group in dict.fromkeys(part["group"])]
    for model in (m for m in LINES if m in set(part["model"])):
        mine = part[part["model"] == model]
        style, x = look(model), range(len(mine))
        shared = {"color": style.color, "zorder": 5 if model == SUBJECT else 3}
        axis.plot(
            x,
            np.minimum(mine["q_p95"], MOST),
            marker=style.marker,
            markersize=style.size,
            linewidth=1.4 if model == SUBJECT else 0.9,
            **shared,
        )
        axis.plot(x, np.minimum(mine["q_median"], MOST), linestyle=":", linewidth=0.9, **shared)
    axis.set_yscale("log")
    turned = max(map(len, names), default=0) > 3
    axis.set_xticks(
        range(len(names)), names, rotation=35 if turned else 0, ha="right" if turned else "center"
    )
    axis.grid(axis="y", linewidth=0.3)

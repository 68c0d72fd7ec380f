"""What each kind of node brings: mean KL without it over mean KL with it, a panel per dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.report.figures.style import Picture, paper_style, save
from experiments.report.tables.node_kinds import VARIANTS

NAME = "node_kinds"
TITLE = "What each kind of node brings"
PAYS, SAME, HARMS = "#0072b2", "#888888", "#d55e00"
COLORS = {"costs": PAYS, "no difference": SAME, "not used": SAME, "gains": HARMS}
MARKERS = {"costs": "o", "no difference": "s", "not used": "|", "gains": "X"}
WORDS = {
    "costs": "it pays",
    "no difference": "no difference shown",
    "not used": "not used",
    "gains": "better without it",
}
"""What each sign says of an ingredient."""


def figure_node_kinds(found: pd.DataFrame, folder: Path) -> Picture:
    """Ratios with intervals, one row per ingredient.

    Arguments:
        found: Lines of `experiments.report.tables.node_kinds.node_kind_comparisons`.
        folder: Where the files go.
    """
    from matplotlib import pyplot as plt

    datasets = sorted(found["dataset"].unique())
    names = [name for name in VARIANTS if name in set(found["variant"])]
    with paper_style():
        figure, axes = plt.subplots(
            1, len(datasets), figsize=(1.5 + 1.45 * len(datasets), 0.5 + 0.32 * len(names)),
            sharey=True, squeeze=False, layout="constrained",
        )  # fmt: skip
        for axis, dataset in zip(axes[0], datasets, strict=True):
            own = found[found["dataset"] == dataset].set_index("variant")
            for name, row in own.iterrows():
                y, verdict = names.index(str(name)), str(row["verdict"])
                sides = np.array([[row["ratio"] - row["low"]], [row["high"] - row["ratio"]]])
                axis.errorbar(
                    row["ratio"], y, xerr=np.maximum(sides, 0.0), fmt=MARKERS[verdict],
                    color=COLORS[verdict], markersize=5.5, elinewidth=1.0, capsize=2.0,
                )  # fmt: skip
            axis.axvline(1.0, color="#333333", linewidth=0.8, zorder=0)
            axis.set_xscale("log")
            axis.set_xlim(min(0.8, own["low"].min() * 0.9), max(2.0, own["high"].max() * 1.4))
            axis.set_title(dataset)
            axis.grid(axis="x")
            axis.grid(visible=False, axis="y")
        axes[0][0].set_yticks(range(len(names)), names)
        axes[0][0].invert_yaxis()
        _legend(figure)
        figure.supxlabel("mean KL without it over mean KL with it (1 = no difference)", size=10)
        svg = save(figure, folder, NAME)
    draws = f"{int(found['draws'].min())} draws" if len(found) else "no draws"
    caption = (
        f"The default learner with one ingredient switched off, 20,000 rows, {draws} of each "
        "dataset; bars are 95% intervals by a paired bootstrap over draws and queries. Round and "
        "blue: it pays (Holm's correction); a grey square: no difference could be shown; a grey "
        "tick: it was not used; a red cross: the learner would do better without it."
    )
    return Picture(NAME, TITLE, caption, svg)


def _legend(figure: Any) -> None:
    """The key of the four signs."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[verdict], color=COLORS[verdict], label=words)
        for verdict, words in WORDS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))

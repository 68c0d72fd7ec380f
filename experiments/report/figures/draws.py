"""Mean KL of each model over FSPN's, draw by draw resampled: one point per level of dependence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.report.figures.style import Look, Picture, look, paper_style, save
from experiments.report.names import RERUN, in_order, label

NAME = "draws"
BOUNDS = {"true_dag": Look("#333333", "_", 9.0), "independent": Look("#888888", "x")}
"""Floor and ceiling, which are lines in other figures."""
TITLE = "Is it the draw?"
SHORT = {"fspn_paper": "recipe", "true_dag": "True DAG", "independent": "Independent"}


def figure_draws(found: pd.DataFrame, folder: Path) -> Picture:
    """Ratios to FSPN with intervals over draws and queries.

    Arguments:
        found: lines of `experiments.report.tables.draws.draw_comparisons`.
        folder: where the files go.
    """
    from matplotlib import pyplot as plt

    datasets = sorted(found["dataset"].unique())
    models = in_order(frozenset(found["model"]))
    with paper_style():
        figure, axis = plt.subplots(figsize=(6.4, 3.2))
        for i, model in enumerate(models):
            own = found[found["model"] == model].set_index("dataset").reindex(datasets)
            x = np.arange(len(datasets)) + 0.7 * ((i + 0.5) / len(models) - 0.5)
            sides = np.stack([own["ratio"] - own["low"], own["high"] - own["ratio"]])
            seen = BOUNDS.get(model, look(model))
            axis.errorbar(
                x, own["ratio"], yerr=np.maximum(sides, 0.0), fmt=seen.marker, color=seen.color,
                markersize=seen.size, elinewidth=1.0, capsize=2.0, label=label(model),
            )  # fmt: skip
            few = (own["draws"] < found["draws"].max()).to_numpy()
            axis.plot(
                x[few], own["ratio"].to_numpy()[few], linestyle="", marker=seen.marker,
                color=seen.color, markerfacecolor="white", markersize=seen.size, zorder=3,
            )  # fmt: skip
        axis.axhline(1.0, color="#c83200", linewidth=1.0, zorder=0, label="FSPN itself (1)")
        axis.set_yscale("log")
        axis.set_xticks(range(len(datasets)), [_tick(found, name, models) for name in datasets])
        axis.set_xlabel("average RDC of the dataset")
        axis.set_ylabel("mean KL over FSPN's (1 = equal)")
        most, least = int(found["draws"].max()), int(found["draws"].min())
        if least < most:
            label_few = f"hollow: fewer draws (from {least})"
            axis.plot([], [], "o", color="#333333", markerfacecolor="white", label=label_few)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        svg = save(figure, folder, NAME)
    count = str(most) if most == least else f"{least} to {most}"
    caption = (
        f"Mean KL of a model over FSPN's on the same {count} draws of each dataset; bars are 95% "
        "intervals by a paired bootstrap over draws and queries. Above the line, FSPN itself, FSPN "
        "is better. Hollow signs are of fewer draws. Below each level: models that were not run on "
        "several draws of it. "
        "Settings were searched on the first draw and frozen."
    )
    never = [name for name in RERUN if name not in {*models, "fspn"}]
    gaps = tuple(f"{label(name)}: no level has several draws of it" for name in never)
    return Picture(NAME, TITLE, caption, svg, gaps=gaps)


def _tick(found: pd.DataFrame, dataset: str, models: Sequence[str]) -> str:
    """A level of dependence, and the models that are missing there."""
    here = set(found.loc[found["dataset"] == dataset, "model"])
    absent = "".join(f"\nno {SHORT.get(m, label(m))}" for m in models if m not in here)
    return f"0.{dataset.rpartition('_')[2]}{absent}"

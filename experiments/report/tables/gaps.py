"""What a complete study would hold and this one does not, each with its reason."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from experiments.report.names import CEILING, FLOOR, LEVELS, RERUN, label

STUDY_MODELS = (*RERUN, FLOOR, CEILING)


@dataclass(frozen=True)
class Gap:
    """Something that is missing, and why as far as the rows tell.

    Either of them names the study or the family that it is of: the lines of all studies stand
    together, below the name of the main one.
    """

    what: str
    why: str


def study_gaps(rows: pd.DataFrame, family: str, prefix: str) -> list[Gap]:
    """Models x levels of one family without a complete row.

    Arguments:
        rows: of the family in the main study.
        family: its name.
        prefix: how its dataset names begin, e.g. `rdc`.
    """
    gaps: list[Gap] = []
    names = [f"{prefix}_{round(100 * level):02d}" for level in LEVELS]
    for model in STUDY_MODELS:
        mine = rows[rows["model"] == model]
        absent = [name for name in names if name not in set(mine["dataset"])]
        if absent:
            all_of_them = len(absent) == len(names)
            what = "all six datasets" if all_of_them else ", ".join(absent)
            gaps.append(
                Gap(f"{label(model)} on {what} of the {family} family", "no row was recorded")
            )
    return gaps + failed(rows)


def left_out(draws: pd.DataFrame) -> list[Gap]:
    """Draws that no number is of, since the main study has chosen other settings since."""
    why = "learned at other settings than the main study's: run experiment=draws again"
    return [
        Gap(f"{len(found)} further draws of {label(str(model))} on {dataset}", why)
        for (model, dataset), found in draws.groupby(["model", "dataset"])
    ]


def failed(rows: pd.DataFrame) -> list[Gap]:
    """Rows that hold no or not all measures."""
    bad = rows[rows["status"] != "ok"]
    return [
        Gap(
            f"{label(row['model'])} on {row['dataset']}, seed {row['seed']}, "
            f"experiment={row['experiment']}",
            _why(row),
        )
        for row in bad.to_dict("records")
    ]


def _why(row: dict[Hashable, Any]) -> str:
    error = str(row["error"])
    return f"{row['status']}: {error}" if error else str(row["status"])

"""How far FSPN is from the floor, dataset by dataset and seed by seed.

The floor is the generating structure with fitted tables (`true_dag`). Rows of all studies on
datasets with a known truth count, so that every seed that was run has its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from experiments.records.rows import without_variants
from experiments.report.names import FLOOR, label
from experiments.report.tables.writing import OTHER_CODE, Cell, Table, number, text, whole

STUDIES = ("draws", "reproduce", "smooth")  # a later one counts where two have a job
SUBJECT = "fspn"
LEARNED = ("mspn", "bn_dag", "bn_tree", "fspn_paper")
MOST_MEAN, MOST_P95 = 1.5, 2.0


@dataclass(frozen=True)
class Line:
    """FSPN on one dataset of one seed, the floor, and the best other learned model."""

    dataset: str
    seed: int
    subject: pd.Series
    floor: pd.Series
    rival: pd.Series
    all_run: bool

    @property
    def mean_ratio(self) -> float:
        """Mean KL over the floor's."""
        return float(self.subject["kl_mean"] / self.floor["kl_mean"])

    @property
    def p95_ratio(self) -> float:
        """95th percentile of KL over the floor's."""
        return float(self.subject["kl_p95"] / self.floor["kl_p95"])

    @property
    def at_floor(self) -> bool:
        """Mean and p95 near enough to the floor."""
        return self.mean_ratio <= MOST_MEAN and self.p95_ratio <= MOST_P95

    @property
    def is_best(self) -> bool:
        """All other learned models were run, and none has a lower mean KL; 5% count as equal."""
        return self.all_run and bool(self.subject["kl_mean"] <= 1.05 * self.rival["kl_mean"])


def floor_lines(rows: pd.DataFrame) -> list[Line]:
    """One line per dataset and seed that FSPN, the floor and another learned model have."""
    known = rows[rows["experiment"].isin(STUDIES) & (rows["status"] == "ok")]
    known = without_variants(known[known["kl_mean"].notna()])
    known = known[~known["label"].str.contains("fit_seed=")]
    rank = known["experiment"].map(STUDIES.index)
    known = known.assign(rank=rank).sort_values("rank", kind="stable")
    known = known.drop_duplicates(["dataset", "seed", "model"], keep="last")
    return list(_lines(known))


def _lines(rows: pd.DataFrame) -> Iterator[Line]:
    jobs: dict[tuple[str, int], dict[str, pd.Series]] = {}
    for _, row in rows.iterrows():
        jobs.setdefault((row["dataset"], row["seed"]), {})[row["model"]] = row
    for (dataset, seed), by_model in sorted(jobs.items()):
        rivals = [by_model[model] for model in LEARNED if model in by_model]
        if SUBJECT in by_model and FLOOR in by_model and rivals:
            rival = min(rivals, key=lambda row: float(row["kl_mean"]))
            all_run = len(rivals) == len(LEARNED)
            yield Line(dataset, int(seed), by_model[SUBJECT], by_model[FLOOR], rival, all_run)


def floor_table(rows: pd.DataFrame) -> Table:
    """The lines, and how often the bounds hold."""
    lines = floor_lines(rows)
    return Table(
        "floor",
        "FSPN and the floor, all seeds",
        "Mean KL in nats over the evidence queries. Floor: the generating structure with fitted "
        f"tables. Bold: FSPN has a mean KL no higher than {_named()} (5% count as equal).",
        (
            "dataset",
            "seed",
            "FSPN",
            "floor",
            "ratio",
            "p95 ratio",
            "floored",
            "best other",
            "its KL",
        ),
        tuple(_cells(line) for line in lines),
        tuple(_summary(lines)),
    )


def _named() -> str:
    return ", ".join(map(label, LEARNED[:-1])) + f" and {label(LEARNED[-1])}"


def _cells(line: Line) -> tuple[Cell, ...]:
    mark = OTHER_CODE if line.subject["other_code"] else ""
    return (
        text(line.dataset),
        number(line.seed, 4),
        number(line.subject["kl_mean"], 3, bold=line.is_best, mark=mark),
        number(line.floor["kl_mean"], 3),
        number(line.mean_ratio, 2),
        number(line.p95_ratio, 2),
        whole(line.subject["kl_floored"]),
        text(label(line.rival["model"])),
        number(line.rival["kl_mean"], 3),
    )


def _summary(lines: list[Line]) -> Iterator[str]:
    for prefix, family in (("rdc", "sparse"), ("smooth", "smooth")):
        own = [line for line in lines if line.dataset.startswith(prefix)]
        if own:
            near, best = sum(x.at_floor for x in own), sum(x.is_best for x in own)
            whole = sum(x.all_run for x in own)
            yield (
                f"{family}: mean KL at most {MOST_MEAN:g}x and p95 at most {MOST_P95:g}x the floor "
                f"on {near} of {len(own)}; mean KL no higher than {_named()} on {best} of the "
                f"{whole} that all of them were run on"
            )

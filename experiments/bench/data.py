"""What is measured on: the study's datasets with their queries, and tables of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from experiments.datasets import load
from experiments.measures.workload import WorkloadConfig, draw_workload
from experiments.study.plan import conf_dir
from experiments.types import Dataset, EvidenceQuery
from fspn import FSPN

GROUP = 5
NOT_SETTINGS = ("name", "_target_")


@dataclass(frozen=True)
class Boxes:
    """The events (q, e) and e of some queries, as closed boxes of values; NaN = no constraint."""

    joint: np.ndarray
    given: np.ndarray

    @property
    def stacked(self) -> np.ndarray:
        """All events in one array: first (q, e) of every query, then e of every query."""
        return np.concatenate([self.joint, self.given])


def settings(group: str, name: str) -> dict[str, Any]:
    """A node of `conf/<group>`, e.g. a model's settings."""
    path = conf_dir() / group / f"{name}.yaml"
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def study_fspn(seed: int) -> FSPN:
    """FSPN at the settings of the study, before any search."""
    known = settings("model", "fspn")
    return FSPN(**{k: v for k, v in known.items() if k not in NOT_SETTINGS}, random_state=seed)


def study_dataset(name: str, rows: int, seed: int, cache_dir: Path) -> Dataset:
    """A dataset of the study with so many training rows."""
    return load(settings("dataset", name) | {"train_rows": rows}, seed, cache_dir)


def more_queries(dataset: Dataset, n: int) -> tuple[EvidenceQuery, ...]:
    """Queries of the study's kind from the test rows."""
    rng = np.random.default_rng([dataset.seed, n])
    return draw_workload(dataset.test, WorkloadConfig(queries=n), rng).queries


def boxes(queries: Sequence[EvidenceQuery], columns: Sequence[str]) -> Boxes:
    """The boxes of Pr(Q = q | E = e) = Pr(q, e) / Pr(e)."""
    place = {column: j for j, column in enumerate(columns)}
    joint = np.full((len(queries), len(columns)), np.nan)
    given = joint.copy()
    for i, query in enumerate(queries):
        for column, value in query.evidence.items():
            joint[i, place[column]] = given[i, place[column]] = value
        for column, value in query.target.items():
            joint[i, place[column]] = value
    return Boxes(joint, given)


def additive_table(rows: int, columns: int, size: int, seed: int) -> pd.DataFrame:
    r"""Groups of five columns in the authors' style, every domain of the same size d.

    The first of a group is uniform; the others are :math:`x_p + x_q + \epsilon` or
    :math:`x_p + \epsilon` modulo d, with p, q earlier in the group and
    :math:`\epsilon \in \{0, 1, 2\}` with probabilities 0.7, 0.2, 0.1. Who
    depends on whom is the same for every size of the domains.
    """
    structure = np.random.default_rng([seed, columns])
    rng = np.random.default_rng([seed, columns, size])
    values = np.empty((rows, columns), dtype=np.int64)
    for j in range(columns):
        place = j % GROUP
        if place == 0:
            values[:, j] = rng.integers(0, size, rows)
            continue
        parents = j - place + structure.choice(place, size=min(place, 1 + j % 2), replace=False)
        noise = rng.choice(3, size=rows, p=[0.7, 0.2, 0.1])
        values[:, j] = (values[:, parents].sum(axis=1) + noise) % size
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])

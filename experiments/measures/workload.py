"""The evidence queries of a dataset: Pr(Q | E = e) with e from a fresh row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.types import EvidenceQuery, Workload


@dataclass(frozen=True)
class WorkloadConfig:
    """How many queries, and the bounds of |Q| and |E| (both uniform, bounds included)."""

    queries: int = 100
    query_size: tuple[int, int] = (2, 4)
    evidence_size: tuple[int, int] = (6, 10)

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise ValueError(f"workload.queries is {self.queries} but must be at least 1")
        for key, least in (("query_size", 1), ("evidence_size", 0)):
            low, high = getattr(self, key)
            if not least <= low <= high:
                raise ValueError(
                    f"workload.{key} is [{low}, {high}] but must be [low, high] "
                    f"with {least} <= low <= high"
                )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> WorkloadConfig:
        """Reads a plain mapping or a Hydra node; an unknown key is an error."""
        known = {"queries", "query_size", "evidence_size"}
        unknown = sorted(set(map(str, values)) - known)
        if unknown:
            raise ValueError(f"workload.{unknown[0]} is no known key: use one of {sorted(known)}")
        sizes = {k: _bounds(k, v) for k, v in values.items() if k != "queries"}
        return cls(queries=int(values.get("queries", cls.queries)), **sizes)


def _bounds(key: str, value: Any) -> tuple[int, int]:
    try:
        low, high = value
        return int(low), int(high)
    except (TypeError, ValueError):
        raise ValueError(f"workload.{key} is {value!r} but must be [low, high]") from None


def draw_workload(rows: pd.DataFrame, config: WorkloadConfig, rng: np.random.Generator) -> Workload:
    """One query per row of `rows` (in turn if there are fewer rows than queries).

    On a table with few columns |Q| and |E| are cut so that both fit.
    """
    columns = list(rows.columns)
    if len(columns) < 2:
        raise ValueError("a workload needs a table of at least 2 columns")
    return Workload(
        tuple(
            _draw_query(columns, rows.iloc[i % len(rows)], config, rng)
            for i in range(config.queries)
        )
    )


def _draw_query(
    columns: list[str], row: pd.Series, config: WorkloadConfig, rng: np.random.Generator
) -> EvidenceQuery:
    n_query = min(_uniform(config.query_size, rng), len(columns) - 1)
    n_evidence = min(_uniform(config.evidence_size, rng), len(columns) - n_query)
    order = [columns[i] for i in rng.permutation(len(columns))]
    query, evidence = order[:n_query], order[n_query : n_query + n_evidence]
    return EvidenceQuery(
        query=tuple(query),
        evidence={c: row[c].item() for c in evidence},
        target={c: row[c].item() for c in query},
    )


def _uniform(bounds: tuple[int, int], rng: np.random.Generator) -> int:
    return int(rng.integers(bounds[0], bounds[1] + 1))

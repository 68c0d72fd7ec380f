"""Datasets whose truth is made anew from its seed, and whose rows and queries are cached."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Protocol

import numpy as np
import pandas as pd

from experiments.datasets.cache import Arrays
from experiments.types import Dataset, EvidenceQuery, Truth, Workload

SPLITS = ("train", "valid", "test")


class Rows(Protocol):
    """What the settings of every such family have."""

    @property
    def name(self) -> str:
        """Name of the dataset."""
        ...

    @property
    def family(self) -> str:
        """Name of the family."""
        ...


def pack_queries(workload: Workload) -> Arrays:
    """Queries as a text that fits into the cached arrays."""
    return {"queries": np.array(json.dumps([asdict(q) for q in workload.queries]))}


def assemble(
    config: Rows,
    seed: int,
    digest: str,
    arrays: Arrays,
    truth: Truth,
    domains: dict[str, np.ndarray],
) -> Dataset:
    """The dataset of cached rows (coded, columns in the order of `domains`) and queries."""
    queries = json.loads(str(arrays["queries"]))
    train, valid, test = (
        pd.DataFrame(arrays[split].astype(np.int64), columns=list(domains)) for split in SPLITS
    )
    return Dataset(
        name=config.name,
        family=config.family,
        target_rdc=None,
        measured_rdc=None,
        seed=seed,
        train=train,
        valid=valid,
        test=test,
        domains=domains,
        truth=truth,
        workload=Workload(
            tuple(EvidenceQuery(tuple(q["query"]), q["evidence"], q["target"]) for q in queries)
        ),
        digest=digest,
    )

"""The 20 binary benchmarks of the paper's Table 1: real tables with a fixed split, no truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets.config import known_keys
from experiments.datasets.debd_files import SPLITS, checksums, file_name, read_splits
from experiments.datasets.seeds import digest_of
from experiments.types import Dataset

FAMILY = "debd"


@dataclass(frozen=True)
class BenchmarkConfig:
    """A benchmark and where its files are.

    Arguments:
        name: one of the names in `labels`.
        family: always `debd`.
        folder: local folder of npz or text files; relative to where the command is given.
        url: base address of the text files that the folder lacks; None = never fetch.
        labels: the paper's name of every benchmark.
    """

    name: str
    folder: str
    url: str | None = None
    family: str = FAMILY
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = sorted({file.partition("/")[0] for file in checksums()})
        if self.name not in known:
            raise ValueError(f"dataset.name is {self.name!r} but must be one of {known}")
        if not isinstance(self.folder, str) or not self.folder:
            raise ValueError(f"dataset.folder is {self.folder!r} but must be a path")
        if self.url is not None and not str(self.url).startswith(("http://", "https://")):
            raise ValueError(f"dataset.url is {self.url!r} but must be an address or null")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> BenchmarkConfig:
        """Reads a plain mapping or a Hydra node; an unknown or missing key is an error."""
        return cls(**known_keys(cls, values))


def load_benchmark(config: BenchmarkConfig, seed: int, cache_dir: Path) -> Dataset:
    """The three published splits; the seed changes nothing but the models' own randomness."""
    tables = read_splits(config.name, Path(config.folder), config.url, cache_dir)
    train, valid, test = (_table(tables[split]) for split in SPLITS)
    known = checksums()
    return Dataset(
        name=config.name,
        family=config.family,
        target_rdc=None,
        measured_rdc=None,
        seed=seed,
        train=train,
        valid=valid,
        test=test,
        domains={c: np.array([0, 1]) for c in train.columns},
        truth=None,
        workload=None,
        digest=digest_of(FAMILY, [known[file_name(config.name, split)] for split in SPLITS]),
    )


def _table(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])

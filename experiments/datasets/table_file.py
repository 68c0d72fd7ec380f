"""The user's own table: a CSV or Parquet file without a known truth."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets.config import checked_keys
from experiments.datasets.rdc import RDC_ROWS, average_rdc
from experiments.datasets.seeds import digest_of, generator
from experiments.measures.workload import WorkloadConfig, draw_workload
from experiments.types import Dataset
from fspn.learn.coding import code_domain
from fspn.schema.infer import infer_domain
from fspn.schema.variable import Variable

FAMILY = "csv"


@dataclass(frozen=True)
class TableConfig:
    """A table on disk and how to split and discretise it.

    Arguments:
        name: name of the dataset in the results.
        path: a `.csv` or `.parquet` file.
        family: always `csv`.
        valid_share, test_share: shares of the rows held out, by a random split of `seed`.
        max_values: a numeric column with more distinct values is cut into that many quantile
            bins, each named by the median of its rows; other columns keep at most as many codes.
    """

    name: str
    path: str
    family: str = FAMILY
    valid_share: float = 0.1
    test_share: float = 0.1
    max_values: int = 100

    def __post_init__(self) -> None:
        for key in ("valid_share", "test_share"):
            if not 0 < getattr(self, key) < 0.5:
                raise ValueError(f"dataset.{key} is {getattr(self, key)} but must be in (0, 0.5)")
        if self.max_values < 2:
            raise ValueError(f"dataset.max_values is {self.max_values} but must be at least 2")

        check_path(Path(self.path))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TableConfig:
        """Reads a plain mapping or a Hydra node; an unknown or missing key is an error."""
        return cls(**checked_keys(cls, values))


def load_table(config: TableConfig, workload: WorkloadConfig, seed: int) -> Dataset:
    """Reads, discretises and splits the file; evidence queries come from the test rows."""
    path = Path(config.path)
    table = discretise(read_table(path), config.max_values)
    order = generator("split", seed).permutation(len(table))
    n_valid, n_test = (int(s * len(table)) for s in (config.valid_share, config.test_share))
    if min(n_valid, n_test) < 1:
        raise ValueError(f"{path} has {len(table)} rows: too few for a split in three")
    test, valid, train = (
        table.iloc[rows].reset_index(drop=True)
        for rows in np.split(order, [n_test, n_test + n_valid])
    )
    domains = {str(c): np.unique(table[c]) for c in table.columns}
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return Dataset(
        name=config.name,
        family=config.family,
        target_rdc=None,
        measured_rdc=_measured_rdc(train, domains),
        seed=seed,
        train=train,
        valid=valid,
        test=test,
        domains=domains,
        truth=None,
        workload=draw_workload(test, workload, generator("queries", content, seed)),
        digest=digest_of(asdict(config) | {"path": content}, asdict(workload), seed),
    )


def check_path(path: Path) -> None:
    """Refuse a file that cannot be read, before anything else is done."""
    if not path.is_file():
        raise ValueError(f"dataset.path: there is no file {path}")
    if path.suffix not in (".csv", ".parquet"):
        raise ValueError(f"dataset.path {path} must end in .csv or .parquet")


def read_table(path: Path) -> pd.DataFrame:
    """A CSV or Parquet file as a table; missing values stay missing."""
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return table.rename(columns=str)


def discretise(table: pd.DataFrame, max_values: int) -> pd.DataFrame:
    """Numbers as they are or in quantile bins; anything else as the codes of the library.

    Columns with missing values (a code of their own, the last), datetimes and texts, of which the
    rare ones share a code, are coded as `fspn` codes them; so all models see the same integers.
    """
    domain = code_domain(infer_domain(table), table, max_values)
    return pd.DataFrame({v.name: _discretise_column(table[v.name], v, max_values) for v in domain})


def _discretise_column(column: pd.Series, variable: Variable, max_values: int) -> np.ndarray:
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not is_number or column.isna().any():
        return variable.encode(column).astype(np.int64)
    values = column.to_numpy()
    if len(np.unique(values)) <= max_values:
        return values
    edges = np.unique(np.quantile(values, np.arange(1, max_values) / max_values))
    bins = pd.Series(np.searchsorted(edges, values, side="right"))
    medians = pd.Series(values).groupby(bins).quantile(0.5, interpolation="lower")
    return medians.loc[bins].to_numpy()


def _measured_rdc(train: pd.DataFrame, domains: dict[str, np.ndarray]) -> float | None:
    if len(domains) < 2:
        return None
    rows = train.iloc[:RDC_ROWS]
    codes = [np.searchsorted(domain, rows[c].to_numpy()) for c, domain in domains.items()]
    return average_rdc(codes, [len(domain) for domain in domains.values()])

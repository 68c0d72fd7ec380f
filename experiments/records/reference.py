"""Rows outside `runs/`: the committed ones, a file for each study, and files that a user names."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.records.rows import COLUMNS, DTYPES, ResultRow

FOLDER = Path("reference")
"""Where committed records are, below the folder of results."""
ROWS = FOLDER / "rows"
NEEDED = ("dataset", "model")


class RowsError(ValueError):
    """The rows cannot be read; the message says what to do."""


def write_rows(table: pd.DataFrame, results_dir: Path) -> Path:
    """Keep rows as the committed ones, `reference/rows/<study>.csv`; returns that folder.

    Other files of the folder are removed. A column that a study leaves empty is not written.
    """
    folder = results_dir / ROWS
    folder.mkdir(parents=True, exist_ok=True)
    studies = {str(name): rows[list(COLUMNS)] for name, rows in table.groupby("experiment")}
    for old in folder.glob("*.csv"):
        if old.stem not in studies:
            old.unlink()
    for name, rows in studies.items():
        told = [column for column in COLUMNS if (rows[column].notna() & (rows[column] != "")).any()]
        rows[told].to_csv(folder / f"{name}.csv", index=False)
    return folder


def committed(results_dir: Path) -> pd.DataFrame | None:
    """The rows that came with the project; None in a results folder without them."""
    folder = results_dir / ROWS
    return read_rows(folder) if any(folder.glob("*.csv")) else None


def read_rows(path: Path) -> pd.DataFrame:
    """Rows of one CSV or Parquet file, or of all CSV files of a folder.

    Columns that a file leaves out get the default of `ResultRow`.
    """
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise RowsError(f"no rows at {path}; give a CSV or Parquet of recorded rows, or a folder")
    return pd.concat([_read(file) for file in files], ignore_index=True)


def _read(path: Path) -> pd.DataFrame:
    texts = [name for name, kind in DTYPES.items() if kind == "str"]
    if path.suffix == ".parquet":
        table = pd.read_parquet(path)
    else:  # A commit may look like a number.
        table = pd.read_csv(path, dtype=dict.fromkeys(texts, str))
    absent = [name for name in NEEDED if name not in table]
    if absent:
        raise RowsError(f"{path} has no column {absent[0]!r}: is it a file of recorded rows?")
    for known in fields(ResultRow):
        if known.name not in table:
            table[known.name] = _default(known.name, known.default)
    table[texts] = table[texts].astype(object).fillna("")
    table["label"] = [
        label or f"{dataset}/{model}/{seed}"
        for label, dataset, model, seed in table[["label", "dataset", "model", "seed"]].to_numpy()
    ]
    return table[list(DTYPES)].astype(DTYPES)


def _default(name: str, default: Any) -> Any:
    if default is not MISSING:
        return default
    return {"seed": 0, "experiment": "single"}.get(name, "")

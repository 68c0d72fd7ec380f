"""A file that may be large, read piece by piece: texts become categories before the next piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pandas.api.types import union_categoricals

from experiments.datasets.table_sources import plain_columns

CHUNK_ROWS = 250_000
SUFFIXES = (".csv", ".parquet")


def read_chunks(path: Path, rows: int = CHUNK_ROWS) -> pd.DataFrame:
    """A CSV or Parquet file as a table of numbers, truth values and categories.

    Arguments:
        path: the file.
        rows: rows that are read at a time.
    """
    if not path.is_file():
        raise ValueError(f"dataset.path: there is no file {path}")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"dataset.path {path} must end in .csv or .parquet")
    chunks = [plain_columns(chunk) for chunk in _chunks(path, rows)]
    if not chunks:
        raise ValueError(f"dataset.path: {path} has no rows")
    return pd.DataFrame({name: _joined([c[name] for c in chunks]) for name in chunks[0].columns})


def _chunks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    if path.suffix == ".csv":
        yield from pd.read_csv(path, chunksize=rows)
        return
    from pyarrow import parquet

    for batch in parquet.ParquetFile(path).iter_batches(rows):
        yield batch.to_pandas()


def _joined(pieces: list[pd.Series]) -> pd.Series:
    """One column; a piece that was all numbers by chance becomes text where others are text."""
    if not any(isinstance(piece.dtype, pd.CategoricalDtype) for piece in pieces):
        return pd.concat(pieces, ignore_index=True)
    texts = [_as_texts(piece) for piece in pieces]
    return pd.Series(union_categoricals(texts, sort_categories=True))


def _as_texts(piece: pd.Series) -> pd.Series:
    if isinstance(piece.dtype, pd.CategoricalDtype):
        return piece
    texts = piece.astype("object").where(piece.isna(), piece.map(_text))
    return texts.astype("category")


def _text(value: object) -> str:
    whole = isinstance(value, float) and value == int(value)
    return str(int(value)) if isinstance(value, float) and whole else str(value)

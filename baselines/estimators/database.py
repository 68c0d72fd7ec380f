"""What the two databases share: the table's types, its rows, and questions as SQL."""

from __future__ import annotations

import pandas as pd

from baselines.estimators.base import Question
from fspn.sql import write_condition

TABLE = "t"


def sql_of(question: Question) -> str:
    """The WHERE condition of a question."""
    return question if isinstance(question, str) else write_condition(question)


def sql_types(table: pd.DataFrame, real: str) -> dict[str, str]:
    """The type that a database would give each column; `real` is its name for doubles."""
    return {str(name): _type(table[name], real) for name in table.columns}


def nullable(table: pd.DataFrame) -> pd.DataFrame:
    """The table in types that tell missing values from numbers: whole numbers as integers."""
    return pd.DataFrame({str(name): _nullable(table[name]) for name in table.columns})


def create_table(table: pd.DataFrame, real: str) -> str:
    """The statement that makes the empty table."""
    columns = ", ".join(f"{quoted(n)} {kind}" for n, kind in sql_types(table, real).items())
    return f"CREATE TABLE {TABLE} ({columns})"


def quoted(name: str) -> str:
    """A column's name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _type(column: pd.Series, real: str) -> str:
    if pd.api.types.is_bool_dtype(column):
        return "BOOLEAN"
    if not pd.api.types.is_numeric_dtype(column):
        return "TEXT"
    return "BIGINT" if _is_whole(column) else real


def _nullable(column: pd.Series) -> pd.Series:
    if pd.api.types.is_bool_dtype(column):
        return column.astype("boolean")
    if not pd.api.types.is_numeric_dtype(column):
        return column.astype("object").where(column.notna(), None)
    return column.astype("Int64") if _is_whole(column) else column.astype("Float64")


def _is_whole(column: pd.Series) -> bool:
    known = column.dropna()
    return bool((known == known.round()).all())

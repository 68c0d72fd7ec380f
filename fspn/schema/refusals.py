"""Questions and tables that are refused, or answered with a warning, and why.

Nothing here changes an answer: a function raises, warns, or does nothing. So each of them is called
as a statement of its own, and the code versions of studies leave these calls out
(`experiments/records/fingerprint.py`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from fspn.schema.caution import warn_caller

if TYPE_CHECKING:
    from fspn.schema.variable import Variable

FULL_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}([T ].*)?$")
NEAREST = 3


# ------------------------------------------------------------------ values


def refuse_loose_dates(name: Hashable, value: Any) -> None:
    """Text that is no full ISO date: a month, a year, 'now', or a date in another order."""
    if isinstance(value, str) and not FULL_DATE.match(value.strip()):
        raise ValueError(
            f"column {name!r}: {value!r} is no full ISO date; write 2024-03-05 or 2024-03-05 14:30,"
            " and a month or a year as an interval (first, last)"
        )


def refuse_text_of_booleans(variable: Variable, value: Any) -> None:
    """A text where a truth value is meant."""
    if variable.kind == "boolean" and isinstance(value, str):
        raise ValueError(
            f"column {variable.name!r} holds truth values: ask for True or False, not {value!r}"
        )


def warn_of_unknown_label(variable: Variable, value: Any) -> None:
    """A label that the column never had: its probability is 0, but it may be misspelt."""
    is_label = isinstance(value, str) and variable.kind not in ("datetime", "boolean")
    if not is_label or not variable.has_labels or value in variable.positions:
        return
    labels = [label for label in variable.values.tolist() if isinstance(label, str)]
    same = [label for label in labels if label.lower() == value.lower()]
    near = (same + get_close_matches(value, labels, NEAREST))[:NEAREST]
    hint = f"; nearest: {', '.join(map(repr, dict.fromkeys(near)))}" if near else ""
    warn_caller(f"column {variable.name!r} never was {value!r}, so its probability is 0{hint}")


def refuse_no_values(variable: Variable) -> None:
    """A statistic of a column that has missing values alone."""
    if variable.is_coded and variable.n_values == 0:
        raise ValueError(f"column {variable.name!r} has no values, all of its rows are missing")


def refuse_other_kinds(variable: Variable, labels: Iterable[Any], intervals: Iterable[Any]) -> None:
    """SQL that compares a column with values of another kind, which would silently be 0.

    Arguments:
        variable: The column.
        labels: Texts and truth values that it is compared with.
        intervals: Of numbers that it is compared with; the whole line is no comparison.
    """
    texts = [label for label in labels if isinstance(label, str)]
    asks_for_numbers = any(np.isfinite([each.low, each.high]).any() for each in intervals)
    if variable.kind == "boolean":
        if texts or asks_for_numbers:
            raise ValueError(
                f"column {variable.name!r} holds truth values: write {variable.name} = TRUE or "
                f"{variable.name} = FALSE"
            )
    elif variable.kind == "datetime":
        if texts or asks_for_numbers:
            raise ValueError(
                f"column {variable.name!r} holds dates, which SQL conditions compare with nothing "
                "here; ask with a dictionary: {column: (first, last)}"
            )
    elif variable.has_labels:
        if asks_for_numbers and all(isinstance(label, str) for label in variable.values.tolist()):
            raise ValueError(f"column {variable.name!r} holds texts: write its values in quotes")
    elif texts:
        raise ValueError(f"column {variable.name!r} holds numbers: write {texts[0]} without quotes")


# ------------------------------------------------------------------ tables and arguments


def refuse_other_than_tables(data: Any) -> None:
    """A path, a dictionary or a single column in place of a table."""
    if isinstance(data, str | bytes | PathLike):
        raise TypeError(f"expected a table, got {data!r}; read it first: pd.read_csv(path)")
    if isinstance(data, Mapping) and not issparse(data):
        raise TypeError("expected a table, got a dictionary; write pd.DataFrame(data)")
    if isinstance(data, pd.Series):
        raise TypeError("expected a table, got one column; write series.to_frame()")


def refuse_other_columns(table: pd.DataFrame, names: Sequence[Hashable], has_names: bool) -> None:
    """A table with another number of columns than the model, by name."""
    if not has_names or table.shape[1] == len(names):
        return
    absent = [name for name in names if name not in table.columns]
    surplus = [name for name in table.columns if name not in set(names)]
    lacks = f"; it lacks {absent}" if absent else ""
    knows = f"; the model does not know {surplus}" if surplus else ""
    raise ValueError(
        f"X has {table.shape[1]} features, but FSPN is expecting {len(names)} features as input"
        f"{lacks}{knows}"
    )


def refuse_one_name(columns: Any) -> None:
    """A single name where a list of columns is meant."""
    if isinstance(columns, str):
        raise TypeError(f"a list of columns is meant: write [{columns!r}]")


def refuse_evidence(upper: Any) -> None:
    """Evidence as the second argument of a probability."""
    if isinstance(upper, Mapping):
        raise TypeError(
            "the second argument of probability is the upper side of a box; for evidence ask "
            "conditional(query, evidence)"
        )


def refuse_sample_sizes(n: Any) -> None:
    """A number of rows that is negative or not whole."""
    if isinstance(n, bool) or not isinstance(n, Integral | np.integer) or n < 0:
        raise ValueError(f"n_samples={n!r} must be a whole number of rows, 0 or more")

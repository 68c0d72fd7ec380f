"""A question as SQL text, for the databases that answer it too."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import inf
from typing import Any

import numpy as np
import pandas as pd


def write_condition(where: Mapping[Hashable, Any]) -> str:
    """The WHERE condition of a dictionary ``{column: value, (low, high), {values} or None}``.

    >>> print(write_condition({"age": (20, None), "sex": "F", "zip": None}))
    "age" >= 20 AND "sex" = 'F' AND "zip" IS NULL
    """
    return " AND ".join(_part(_quoted(name), wanted) for name, wanted in where.items()) or "TRUE"


def _part(column: str, wanted: Any) -> str:
    if wanted is None:
        return f"{column} IS NULL"
    if isinstance(wanted, set | frozenset):
        values = ", ".join(sorted(_value(each) for each in wanted))
        return f"{column} IN ({values})" if wanted else "FALSE"
    if isinstance(wanted, pd.Interval):
        low, high = (">" if wanted.open_left else ">="), ("<" if wanted.open_right else "<=")
        return _range(column, low, wanted.left, high, wanted.right)
    if isinstance(wanted, tuple):
        return _range(column, ">=", wanted[0], "<=", wanted[1])
    return f"{column} = {_value(wanted)}"


def _range(column: str, above: str, low: Any, below: str, high: Any) -> str:
    sides = []
    if low is not None and low != -inf:
        sides.append(f"{column} {above} {_value(low)}")
    if high is not None and high != inf:
        sides.append(f"{column} {below} {_value(high)}")
    return " AND ".join(sides) or f"{column} IS NOT NULL"


def _value(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    number = float(value)
    return str(int(number)) if number == int(number) else repr(number)


def _quoted(name: Hashable) -> str:
    return '"' + str(name).replace('"', '""') + '"'

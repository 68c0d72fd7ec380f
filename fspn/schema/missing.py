"""The two things that can be asked about missing values."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any, Final

import numpy as np
import pandas as pd


class State:
    """A named public constant, equal only to itself.

    Arguments:
        name: What it is called, also in error messages.
    """

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"fspn.{self._name}"

    def __reduce__(self) -> str:
        return self._name


MISSING: Final = State("MISSING")
"""Asks for the rows where a column is missing, as None, NaN, NaT and pandas' NA do."""

NOT_MISSING: Final = State("NOT_MISSING")
"""Asks for the rows where a column has a value, whichever."""

_ALWAYS = (None, pd.NA, pd.NaT, MISSING)


def is_missing(value: Any) -> bool:
    """Whether a single value stands for a missing one."""
    if any(value is each for each in _ALWAYS):
        return True
    if isinstance(value, Real | Decimal):
        return bool(value != value)
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))

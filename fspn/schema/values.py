"""The user's values and the line they lie on: numbers, datetimes, and their types in a table."""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fspn.schema.missing import is_missing
from fspn.schema.refusals import refuse_loose_dates

DATES, DATETIMES = "dates", "datetimes"
"""Columns of Python's own dates and datetimes, which pandas keeps as objects."""

ARROW_STRING = "arrow string"
"""Arrow's own strings; pandas calls them like a type of its own."""

ZONED = "datetimes in "
"""Before the name of the zone: Python's own datetimes with a time zone."""

DECIMALS = "decimals"
"""Columns of Python's own decimal numbers, which pandas keeps as objects."""

CLOCK = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


def dtype_name(column: pd.Series) -> str:
    """The name under which :func:`restore` finds a column's type again."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered category" if dtype.ordered else "category"
    if pd.api.types.is_object_dtype(dtype):
        found = pd.api.types.infer_dtype(column, skipna=True)
        if found in ("datetime", "datetime64"):
            zone = getattr(column[column.notna()].iloc[0], "tzinfo", None)
            return DATETIMES if zone is None else f"{ZONED}{zone}"
        return {"date": DATES, "decimal": DECIMALS}.get(found, "object")
    if isinstance(dtype, pd.ArrowDtype) and str(dtype) == "string[pyarrow]":
        return ARROW_STRING
    return str(dtype)


def pandas_type(name: str) -> Any:
    """A type of columns by the name that :func:`dtype_name` gave it."""
    if name == ARROW_STRING:
        import pyarrow

        return pd.ArrowDtype(pyarrow.string())
    if name.endswith("category"):
        return pd.CategoricalDtype(ordered=name.startswith("ordered"))
    if name in ("", DATES, DATETIMES, DECIMALS) or name.startswith(ZONED):
        return np.dtype(object)
    return _arrow_type(name) or pd.api.types.pandas_dtype(name)


def _arrow_type(name: str) -> Any:
    """One of Arrow's types with parameters, which pandas does not read from their names."""
    decimal = re.fullmatch(r"decimal(128|256)\((\d+), (-?\d+)\)\[pyarrow\]", name)
    labels = re.fullmatch(r"dictionary<values=(\w+), indices=(\w+), ordered=(\d)>.*", name)
    if decimal is None and labels is None:
        return None
    import pyarrow

    if decimal is not None:
        make = pyarrow.decimal128 if decimal[1] == "128" else pyarrow.decimal256
        return pd.ArrowDtype(make(int(decimal[2]), int(decimal[3])))
    assert labels is not None
    parts = [pyarrow.type_for_alias(part) for part in (labels[2], labels[1])]
    return pd.ArrowDtype(pyarrow.dictionary(*parts, ordered=labels[3] == "1"))


def as_floats(column: pd.Series) -> np.ndarray:
    """A numeric column as float64, a missing value as NaN."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} must be numeric: {error}") from error


def is_clock(column: pd.Series) -> bool:
    """Whether a column holds datetimes, dates or time spans."""
    dtype = column.dtype
    if pd.api.types.is_object_dtype(dtype):
        found = pd.api.types.infer_dtype(column, skipna=True)
        return found in ("datetime", "datetime64", "date", "timedelta", "timedelta64")
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "m":
        return True
    return pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype)


def zone_of(dtype: str) -> datetime.tzinfo | None:
    """The time zone of a column's type, where it has one."""
    if dtype.startswith(ZONED):
        return pd.Timestamp(0, tz=dtype.removeprefix(ZONED)).tzinfo
    if dtype in (DATES, DATETIMES) or not dtype.startswith(("datetime64", "timestamp")):
        return None
    found = pandas_type(dtype)
    if isinstance(found, pd.ArrowDtype):
        zone = getattr(found.pyarrow_dtype, "tz", None)
        return None if zone is None else pd.Timestamp(0, tz=zone).tzinfo
    return getattr(found, "tz", None)


def is_span(dtype: str) -> bool:
    """Whether a column's type is one of time spans."""
    return dtype.startswith(("timedelta64", "duration"))


def microseconds(column: pd.Series, dtype: str) -> np.ndarray:
    """Datetimes in microseconds since 1970 (time zones: in UTC), missing ones as NaN.

    Arguments:
        column: The column; text is read as ISO 8601.
        dtype: The type's name on training; its time zone, or the lack of one, must be the same.
    """
    try:
        if is_span(dtype):
            return _as_whole(_as_spans(column).to_numpy(dtype="timedelta64[us]"))
        times = _as_datetimes(column)
    except (TypeError, ValueError) as error:
        span = is_span(dtype)
        wanted, reader = ("time spans", "timedelta") if span else ("datetimes", "datetime")
        reason = str(error).splitlines()[0].split(". ")[0]
        raise ValueError(
            f"column {column.name!r} must hold {wanted}: {reason}; convert it with "
            f"pandas.to_{reader}"
        ) from error
    zone = times.dt.tz
    if (zone is None) != (zone_of(dtype) is None) and times.notna().any():
        raise _wrong_zone(column.name, zone is not None)
    if zone is not None:
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    return _as_whole(times.to_numpy(dtype="datetime64[us]"))


def _as_spans(column: pd.Series) -> pd.Series:
    _refuse_numbers(column, "time spans")
    return pd.to_timedelta(column.astype(object) if column.dtype == object else column)


def _refuse_numbers(column: pd.Series, wanted: str) -> None:
    if pd.api.types.is_numeric_dtype(column.dtype) and column.notna().any():
        raise ValueError(f"numbers are no {wanted}")


def _as_datetimes(column: pd.Series) -> pd.Series:
    dtype = column.dtype
    _refuse_numbers(column, "datetimes")
    is_plain = pd.api.types.is_datetime64_any_dtype(dtype) and not str(dtype).startswith("date")
    if is_plain or str(dtype).startswith("datetime64"):
        return column
    return pd.to_datetime(column.astype(object), format="ISO8601")


def _as_whole(times: np.ndarray) -> np.ndarray:
    whole = times.astype(np.int64).astype(np.float64)
    whole[np.isnat(times)] = np.nan
    return whole


def _wrong_zone(name: Hashable, asked_with_zone: bool) -> ValueError:
    if asked_with_zone:
        return ValueError(
            f"column {name!r} has no time zone, but a time with one was given; use the local time "
            "without a zone (tz_localize(None))"
        )
    return ValueError(
        f"column {name!r} has a time zone, but a time without one was given; add it, for example "
        "with tz_localize"
    )


def instant(name: Hashable, dtype: str, value: Any) -> float:
    """One datetime that a user wrote, on the line; text without a zone is in the column's own."""
    text = isinstance(value, str)
    if not text and not isinstance(value, CLOCK):
        forms = "datetimes: ask with a timestamp or an ISO string"
        if is_span(dtype):
            forms = "time spans: ask with a Timedelta or a text such as '2 days'"
        raise ValueError(f"column {name!r} holds {forms}, not with {value!r}")
    try:
        if is_span(dtype):
            return float(pd.Timedelta(value).as_unit("us").asm8.astype(np.int64))
        refuse_loose_dates(name, value)
        time = pd.Timestamp(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: {value!r} is no datetime ({error})") from error
    zone = zone_of(dtype)
    if zone is not None and time.tzinfo is None and text:
        time = time.tz_localize(zone)
    if (zone is None) != (time.tzinfo is None):
        raise _wrong_zone(name, time.tzinfo is not None)
    return float(time.as_unit("us").asm8.astype(np.int64))


def number(name: Hashable, value: Any) -> float:
    """One number that a user wrote."""
    if isinstance(value, Real | np.bool_ | Decimal):
        return float(value)
    raise ValueError(
        f"column {name!r} holds numbers: {value!r} of type {type(value).__name__} is not a number"
    )


def restore_numbers(line: np.ndarray, dtype: str) -> pd.Series:
    """Numbers of the line, NaN where missing, in the type of a column."""
    series = pd.Series(line)
    if dtype == DECIMALS:
        exact = [None if number != number else Decimal(repr(number)) for number in line.tolist()]
        return pd.Series(exact, dtype=object)
    target = pandas_type(dtype or "float64")
    if pd.api.types.is_integer_dtype(target):
        whole = series.round()
        if whole.isna().any():
            return whole.astype("Int64").astype(target)
        return _clipped(whole, target).astype(target)
    if pd.api.types.is_object_dtype(target):
        return series.astype(object).where(series.notna(), None)
    return series.astype(target)


def _clipped(whole: pd.Series, target: Any) -> pd.Series:
    """Draws from the outer pieces of a density may lie beyond what a small integer type holds."""
    if not isinstance(target, np.dtype):
        return whole.astype(np.int64)
    limits = np.iinfo(target)
    return whole.clip(max(limits.min, -(2.0**53)), min(limits.max, 2.0**53)).astype(np.int64)


def restore_clock(line: np.ndarray, dtype: str) -> pd.Series:
    """Microseconds of the line, NaN where missing, in the type of a column."""
    absent = np.isnan(line)
    whole = np.where(absent, 0, np.rint(np.where(absent, 0, line))).astype(np.int64)
    if is_span(dtype):
        spans = pd.Series(whole.astype("timedelta64[us]"))
        return spans.mask(absent).astype(pandas_type(dtype))
    times = pd.Series(whole.astype("datetime64[us]")).mask(absent)
    if dtype == DATES or dtype.startswith("date32") or dtype.startswith("date64"):
        dates = times.dt.date.astype(object)
        dates[absent] = None
        return dates.astype(pandas_type(dtype))
    zone = zone_of(dtype)
    if zone is not None:
        times = times.dt.tz_localize("UTC").dt.tz_convert(zone)
    if not dtype.startswith(("datetime64", "timestamp")):
        objects = times.astype(object)
        objects[absent] = None
        return objects
    return times.astype(pandas_type(dtype))


def restore_labels(labels: np.ndarray, positions: np.ndarray, dtype: str) -> pd.Series:
    """Labels by position, -1 where missing, in the type of a column."""
    if dtype.endswith("category"):
        categories = pd.CategoricalDtype(labels.tolist(), ordered=dtype.startswith("ordered"))
        return pd.Series(pd.Categorical.from_codes(positions, dtype=categories))
    values = np.empty(len(positions), dtype=object)
    values[:] = None
    known = positions >= 0
    values[known] = labels[positions[known]]
    series = pd.Series(values, dtype=object)
    return series.astype(pandas_type(dtype))


def as_python(value: Any) -> Any:
    """A value as Python has it, out of numpy's own types."""
    return value.item() if isinstance(value, np.generic) and not is_missing(value) else value

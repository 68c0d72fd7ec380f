"""Kinds and domains from a training table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from numbers import Real
from types import UnionType
from typing import Any

import numpy as np
import pandas as pd

from fspn.schema.domain import Domain
from fspn.schema.missing import is_missing
from fspn.schema.values import as_floats, as_python, dtype_name, instant, is_clock, microseconds
from fspn.schema.variable import KINDS, Kind, Variable

MAX_INTEGER = 2**53

REALS: tuple[Kind, ...] = ("continuous", "mixed")

MAX_VALUES = 128
"""Columns of up to so many values have one cell per value."""

ATOM_SHARE = 0.005
"""A value of a float column that so many of its rows have is an atom."""

ROWS_PER_VALUE = 10
"""A float column with so many rows per distinct value is not a density."""


def infer_domain(
    table: pd.DataFrame,
    domains: Mapping[Hashable, Iterable[Any]] | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
) -> Domain:
    """The domain of a training table; see :func:`infer_kind` for the kinds.

    Arguments:
        table: The training rows.
        domains: Further values of a discrete column, beyond those seen.
        kinds: The kind of a column, where the rule is not what is meant.
    """
    domains, kinds = dict(domains or {}), dict(kinds or {})
    _check_table(table)
    for option, named in (("domains", domains), ("kinds", kinds)):
        unknown = [name for name in named if name not in table.columns]
        if unknown:
            raise ValueError(f"{option} names unknown column(s) {unknown}")
    return Domain(
        tuple(
            infer_variable(table[name], domains.get(name), kinds.get(name))
            for name in table.columns
        )
    )


def _check_table(table: pd.DataFrame) -> None:
    if table.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.shape[0] == 0:
        raise ValueError("the table has no rows (0 sample(s)); at least 1 is required")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].unique().tolist()
        raise ValueError(f"the column name(s) {twice} occur more than once; rename them")


def infer_variable(
    column: pd.Series, extra: Iterable[Any] | None = None, kind: Kind | None = None
) -> Variable:
    """The kind, the values and the missing values of a column, without cells as yet."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"column {column.name!r}: kind {kind!r} is not one of {KINDS}")
    if kind is not None:
        _check_kind(column, kind)
    absent = float(column.isna().mean())
    missing = absent if absent > 0 else None
    dtype = dtype_name(column)
    kind = kind or infer_kind(column)
    if kind in REALS:
        if extra is not None:
            raise ValueError(f"column {column.name!r} is {kind}: it takes no domain of values")
        _finite(column)
        return Variable(column.name, kind, missing=missing, dtype=dtype)
    named = [] if extra is None else list(extra)
    _check_named(column, kind, named)
    values = _values(column, kind, dtype, named)
    return Variable(column.name, kind, values, missing=missing, dtype=dtype)


def _check_named(column: pd.Series, kind: Kind, named: list[Any]) -> None:
    """Refuse values of a domain that are missing, or of another type than the column's."""
    numbers = kind == "ordered" and not isinstance(column.dtype, pd.CategoricalDtype)
    wanted: tuple[type | UnionType, str] = (object, "a value")
    if kind == "boolean":
        wanted = bool | np.bool_, "a truth value"
    elif numbers:
        wanted = Real | Decimal | np.bool_, "a number"
    elif kind == "unordered" and _is_text(column):
        wanted = str, "a text"
    for value in named:
        if not isinstance(value, wanted[0]) or (is_missing(value) and not numbers):
            raise ValueError(
                f"the domain of column {column.name!r} has {value!r}, which is not {wanted[1]}; "
                "leave it out, or convert it"
            )


def _is_text(column: pd.Series) -> bool:
    known = column[column.notna()].astype(object)
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    return not is_category and pd.api.types.infer_dtype(known) == "string"


def infer_kind(column: pd.Series) -> Kind:
    """The kind of a column by its type and values.

    Integers, whole-number floats, floats of few values and ordered categories are ordered; other
    floats are continuous, or mixed where some of their values are atoms; booleans are boolean;
    datetimes, dates and time spans datetime; strings and categories unordered.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered" if dtype.ordered else "unordered"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported: column {column.name!r}")
    if pd.api.types.is_integer_dtype(dtype):
        return "ordered"
    if pd.api.types.is_numeric_dtype(dtype):
        return _float_kind(_finite(column))
    if is_clock(column):
        return "datetime"
    return _object_kind(column)


def _float_kind(floats: np.ndarray) -> Kind:
    exact = np.abs(floats).max(initial=0.0) <= MAX_INTEGER
    if exact and np.array_equal(np.floor(floats), floats):
        return "ordered"
    distinct, counts = np.unique(floats, return_counts=True)
    if len(distinct) <= MAX_VALUES and len(floats) >= ROWS_PER_VALUE * len(distinct):
        return "ordered"
    return "mixed" if has_atoms(counts) else "continuous"


def has_atoms(counts: np.ndarray) -> bool:
    """Whether any value is repeated often enough to be an atom."""
    return bool((counts >= atom_rows(int(counts.sum()))).any())


def atom_rows(n_rows: int) -> float:
    """How many rows a value needs to be an atom: a share of them, and at least three."""
    return max(3.0, ATOM_SHARE * n_rows)


def _object_kind(column: pd.Series) -> Kind:
    known = column[~column.isna()].astype(object)
    found = pd.api.types.infer_dtype(known)
    if found in ("string", "empty"):
        return "unordered"
    if found == "boolean":
        return "boolean"
    if found == "integer":
        return "ordered"
    if found in ("floating", "mixed-integer-float", "decimal"):
        return _float_kind(_finite(column))
    raise ValueError(
        f"column {column.name!r} of type {column.dtype} holds {_odd_values(known)}; "
        "convert it to int, float, bool, datetime, str or category"
    )


def _odd_values(known: pd.Series) -> str:
    """What makes a column of objects neither text nor numbers."""
    first = known.iloc[0]
    for other in known:
        if type(other) is not type(first):
            return f"values of different types (such as {first!r} and {other!r})"
    return (
        f"values that are not strings or numbers (such as {first!r}, argument must be a string or "
        "a real number)"
    )


def _check_kind(column: pd.Series, kind: Kind) -> None:
    """Refuse a kind that the column's values contradict."""
    clock = is_clock(column)
    if clock and kind != "datetime":
        raise ValueError(
            f"column {column.name!r} holds datetimes: its kind cannot be {kind!r}; convert it to "
            "numbers or strings first"
        )
    own = None if kind in ("unordered", "datetime") else infer_kind(column)
    if kind == "boolean" and own != "boolean":
        raise ValueError(
            f"column {column.name!r} of type {column.dtype} is not boolean; convert it with "
            "astype(bool), or leave its kind open"
        )
    if own == "boolean" and kind in REALS:
        raise ValueError(
            f"column {column.name!r} is boolean: its kind cannot be {kind!r}; convert it to numbers"
        )
    is_text = own == "unordered" and not isinstance(column.dtype, pd.CategoricalDtype)
    if is_text and kind in ("ordered", *REALS) and column.notna().any():
        raise ValueError(
            f"column {column.name!r} must be numeric to be {kind}, but holds texts; convert it to "
            "numbers, or to an ordered category"
        )
    if isinstance(column.dtype, pd.CategoricalDtype) and kind not in ("ordered", "unordered"):
        raise ValueError(f"column {column.name!r} is a category: its kind cannot be {kind!r}")
    unordered = isinstance(column.dtype, pd.CategoricalDtype) and not column.dtype.ordered
    if unordered and kind == "ordered":
        raise ValueError(
            f"column {column.name!r} is an unordered category; give its categories an order "
            "with cat.as_ordered()"
        )


def _finite(column: pd.Series) -> np.ndarray:
    """The values of a numeric column that are not missing; infinities are an error."""
    floats = as_floats(column)
    floats = floats[~np.isnan(floats)]
    if not np.isfinite(floats).all():
        raise ValueError(
            f"Input X contains infinity: column {column.name!r} has infinite values; "
            "clip or drop them before fit"
        )
    return floats


def _values(column: pd.Series, kind: Kind, dtype: str, extra: list[Any]) -> np.ndarray:
    if kind == "datetime":
        seen = microseconds(column, dtype)
        more = [instant(column.name, dtype, value) for value in extra]
        return np.unique(np.concatenate([seen[~np.isnan(seen)], np.array(more, dtype=np.float64)]))
    if kind == "ordered" and not isinstance(column.dtype, pd.CategoricalDtype):
        return _ordered_values(column, extra)
    return _labels(column, kind, extra)


def _ordered_values(column: pd.Series, extra: list[Any]) -> np.ndarray:
    seen = np.unique(_finite(column))
    values = np.unique(np.concatenate([seen, np.asarray(extra, dtype=np.float64)]))
    if not np.isfinite(values).all():
        raise ValueError(f"the domain of column {column.name!r} has values that are not finite")
    if np.abs(values).max(initial=0) > MAX_INTEGER:
        raise ValueError(
            f"column {column.name!r} has integers beyond 2^53, which are not told apart exactly; "
            "shift them, or turn them into strings"
        )
    whole = values.astype(np.int64)
    return whole if np.array_equal(whole, values) else values


def _labels(column: pd.Series, kind: Kind, extra: list[Any]) -> np.ndarray:
    """Labels sorted; those of an ordered category in its order."""
    seen: list[Any] = list(pd.unique(column.dropna()))
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = [as_python(label) for label in column.dtype.categories]
        if kind == "ordered":
            return _objects([*categories, *(v for v in extra if v not in categories)])
        seen += categories
    try:
        labels = {as_python(label) for label in [*seen, *extra]}
        ordered = sorted(labels, key=lambda label: (str(type(label)), label))
    except TypeError as error:
        raise ValueError(f"column {column.name!r} holds no labels: {error}") from error
    return _objects(ordered)


def _objects(labels: list[Any]) -> np.ndarray:
    values = np.empty(len(labels), dtype=object)
    values[:] = labels
    return values

"""Variables and their domains: names, kinds, and the way from values to codes.

A discrete variable with domain ``v_0 < v_1 < ... < v_{d-1}`` is handled by its *codes*
``0 .. d-1``; a continuous one by its real values, or, once it has :class:`Bins`, by the code of
the bin that the value falls into.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from fspn.schema.events import Constraint, RealPoint, RealRange

Kind = Literal["ordered", "unordered", "continuous"]
KINDS: tuple[Kind, ...] = ("ordered", "unordered", "continuous")

MAX_INTEGER = 2**53

MISSING = -1
OUTSIDE = -2


class Density(Protocol):
    """The density inside the cells of a continuous variable: any univariate leaf family."""

    def log_probability(self, constraint: Constraint) -> np.ndarray: ...

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray: ...

    def state(self) -> Mapping[str, np.ndarray]: ...


@dataclass(frozen=True)
class Bins:
    r"""Cells of a continuous variable, and the density inside each.

    Cell ``k`` is :math:`(c_k, c_{k+1}]` with :math:`c_0 = -\infty`, :math:`c_d = \infty`; inside
    it the density is that of ``shape``, restricted: :math:`p(x \mid k) = g(x) / G(c_k, c_{k+1})`.

    Arguments:
        cuts: The inner borders :math:`c_1 < ... < c_{d-1}`.
        shape: The univariate density :math:`g`.
    """

    cuts: np.ndarray
    shape: Density

    @property
    def size(self) -> int:
        return len(self.cuts) + 1

    @cached_property
    def borders(self) -> np.ndarray:
        return np.concatenate([[-np.inf], self.cuts, [np.inf]])

    @cached_property
    def log_mass(self) -> np.ndarray:
        return self.shape.log_probability(RealRange(self.borders[:-1], self.borders[1:]))

    def codes(self, values: np.ndarray) -> np.ndarray:
        """The cell of every value; a missing value has the code ``MISSING``."""
        codes = np.searchsorted(self.cuts, values, side="left").astype(np.int32)
        codes[np.isnan(values)] = MISSING
        return codes

    def range_weights(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The share of every cell that lies in ``[lower, upper]``, one row per range."""
        low = np.maximum(lower[:, None], self.borders[None, :-1])
        high = np.minimum(upper[:, None], self.borders[None, 1:])
        logs = self.shape.log_probability(RealRange(low.ravel(), high.ravel()))
        share = np.exp(logs.reshape(low.shape) - self.log_mass)
        inside = (low == self.borders[:-1]) & (high == self.borders[1:])
        return np.where(inside, 1.0, np.where(high > low, np.minimum(share, 1.0), 0.0))

    def sample(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A value from each given cell, by rejection and at last by the cell's border."""
        values = np.full(len(codes), np.nan)
        for _ in range(200):
            open_rows = np.flatnonzero(np.isnan(values))
            if len(open_rows) == 0:
                return values
            drawn = self.shape.sample(max(8 * len(open_rows), 1024), rng)
            values[open_rows] = _match(codes[open_rows], self.codes(drawn), drawn)
        nearest = np.clip(codes, 1, max(len(self.cuts), 1))
        return np.where(np.isnan(values), self.borders[nearest], values)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """The log-density of every value inside its own cell."""
        return self.shape.log_probability(RealPoint(values)) - self.log_mass[self.codes(values)]


def _match(wanted: np.ndarray, cells: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """To each wanted cell a drawn value of that cell, each used once; NaN where they run out."""
    order = np.argsort(cells, kind="stable")
    first = np.searchsorted(cells[order], wanted)
    rank = pd.Series(wanted).groupby(wanted).cumcount().to_numpy()
    place = np.minimum(first + rank, len(order) - 1)
    fits = cells[order[place]] == wanted
    return np.where(fits, drawn[order[place]], np.nan)


@dataclass(frozen=True)
class Variable:
    """One column of a table.

    Arguments:
        name: The column's name.
        kind: ``"ordered"`` (integers), ``"unordered"`` (labels) or ``"continuous"``.
        values: The sorted domain of a discrete variable.
        bins: The cells of a continuous variable, where a model uses cells.
    """

    name: Hashable
    kind: Kind
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    bins: Bins | None = None

    @property
    def is_coded(self) -> bool:
        """Whether a model handles this variable by codes (discrete, or continuous in cells)."""
        return self.kind != "continuous" or self.bins is not None

    @property
    def size(self) -> int:
        """The number of codes; 0 for a continuous variable without cells."""
        if self.bins is not None:
            return self.bins.size
        return len(self.values)

    @cached_property
    def positions(self) -> dict[Any, int]:
        """The code of every value of a discrete variable."""
        return {value: code for code, value in enumerate(self.values.tolist())}

    def code_of(self, value: Any) -> int:
        """The code of one value, ``OUTSIDE`` where the domain does not hold it."""
        if isinstance(value, np.generic):
            value = value.item()
        return self.positions.get(value, OUTSIDE)

    def encode(self, column: pd.Series) -> np.ndarray:
        """The codes (or, for a continuous variable, the floats) of a column."""
        if self.kind == "continuous":
            floats = as_floats(column)
            return self.bins.codes(floats) if self.bins is not None else floats
        if self.kind == "ordered":
            return self._encode_numbers(as_floats(column))
        codes = column.astype(object).map(self.positions)
        codes = codes.where(column.isna() | codes.notna(), OUTSIDE).fillna(MISSING)
        return codes.to_numpy(dtype=np.int32)

    def _encode_numbers(self, floats: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.values, floats).astype(np.int32)
        codes = np.minimum(codes, len(self.values) - 1)
        codes[self.values[codes] != floats] = OUTSIDE
        codes[np.isnan(floats)] = MISSING
        return codes

    def realise(self, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Values from what a model drew: codes, or reals."""
        if self.bins is not None:
            return self.bins.sample(drawn.astype(np.int64), rng)
        return drawn if self.kind == "continuous" else self.values[drawn.astype(np.int64)]


@dataclass(frozen=True)
class Domain:
    """The variables of a model, in column order."""

    variables: tuple[Variable, ...]

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, index: int) -> Variable:
        return self.variables[index]

    @cached_property
    def names(self) -> list[Hashable]:
        return [variable.name for variable in self.variables]

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def plain(self) -> dict[Hashable, tuple[int, dict[Any, int]]]:
        """The discrete columns: position, and code of every value."""
        return {
            variable.name: (index, variable.positions)
            for index, variable in enumerate(self.variables)
            if variable.kind != "continuous"
        }

    @cached_property
    def tops(self) -> list[int]:
        """The highest code of every variable."""
        return [variable.size - 1 for variable in self.variables]

    def index(self, name: Hashable) -> int:
        """The position of a column, or an error that names it."""
        if name not in self._index:
            known = ", ".join(repr(known) for known in self.names[:12])
            more = ", ..." if len(self.names) > 12 else ""
            raise KeyError(f"unknown column {name!r}; the model was fitted on {known}{more}")
        return self._index[name]

    def encode(self, table: pd.DataFrame) -> list[np.ndarray]:
        """All columns of a table as codes or floats, in the model's column order."""
        return [variable.encode(table[variable.name]) for variable in self.variables]

    def with_bins(self, bins: Mapping[int, Bins]) -> Domain:
        """The same variables, with cells for some of the continuous ones."""
        return Domain(
            tuple(
                replace(variable, bins=bins.get(index, variable.bins))
                for index, variable in enumerate(self.variables)
            )
        )


def as_table(data: Any, names: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """A table from a DataFrame or a two-dimensional array (columns 0, 1, 2, ...)."""
    if isinstance(data, pd.DataFrame):
        table = data
    else:
        if issparse(data):
            raise TypeError("sparse input is not supported; pass X.toarray() or a DataFrame")
        array = np.asarray(data)
        if array.ndim != 2:
            raise ValueError(
                f"expected a table of rows and columns, got an array of {array.ndim} dimension(s); "
                "Reshape your data: array.reshape(-1, 1) makes one column, "
                "array.reshape(1, -1) makes one row"
            )
        table = pd.DataFrame(array).infer_objects()
    if names is None:
        return table
    return _in_order(table, names, is_frame=isinstance(data, pd.DataFrame))


def _in_order(table: pd.DataFrame, names: Sequence[Hashable], is_frame: bool) -> pd.DataFrame:
    if table.shape[1] != len(names):
        raise ValueError(
            f"X has {table.shape[1]} features, but FSPN is expecting {len(names)} features as input"
        )
    if not is_frame:
        return table.set_axis(list(names), axis=1)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise ValueError(f"the table lacks the column(s) {absent}; the model was fitted on them")
    return table[list(names)]


def infer_domain(
    table: pd.DataFrame,
    domains: Mapping[Hashable, Iterable[Any]] | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
) -> Domain:
    """The domain of a training table.

    Integers are ordered; strings, categories and booleans unordered; floats continuous, except
    that a float column of whole numbers only counts as integers. ``kinds`` overrules this.

    Arguments:
        table: The training rows.
        domains: Further values of a discrete column, beyond those seen.
        kinds: The kind of a column, where the rule above is not what is meant.
    """
    domains, kinds = dict(domains or {}), dict(kinds or {})
    _check_table(table)
    for option, named in (("domains", domains), ("kinds", kinds)):
        unknown = [name for name in named if name not in table.columns]
        if unknown:
            raise ValueError(f"{option} names unknown column(s) {unknown}")
    return Domain(
        tuple(
            _infer_variable(table[name], domains.get(name), kinds.get(name))
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
    missing = [name for name in table.columns if table[name].isna().any()]
    if missing:
        raise ValueError(
            f"Input X contains NaN: missing values in column(s) {missing}; fill them in or drop "
            "these rows before fit (score_samples takes NaN and sums the cell out)"
        )


def _infer_variable(column: pd.Series, extra: Iterable[Any] | None, kind: Kind | None) -> Variable:
    if kind is not None and kind not in KINDS:
        raise ValueError(f"column {column.name!r}: kind {kind!r} is not one of {KINDS}")
    kind = kind or _infer_kind(column)
    if kind == "continuous":
        if extra is not None:
            raise ValueError(f"column {column.name!r} is continuous: it takes no domain of values")
        _check_finite(column)
        return Variable(column.name, kind)
    extra = () if extra is None else extra
    if kind == "ordered":
        _check_finite(column)
        return Variable(column.name, kind, _ordered_values(column, extra))
    return Variable(column.name, kind, _unordered_values(column, extra))


def _infer_kind(column: pd.Series) -> Kind:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "unordered"
    if pd.api.types.is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported: column {column.name!r}")
    if pd.api.types.is_integer_dtype(dtype):
        return "ordered"
    if pd.api.types.is_float_dtype(dtype):
        floats = as_floats(column)
        return "ordered" if np.array_equal(np.floor(floats), floats) else "continuous"
    if all(isinstance(value, str) for value in column):
        return "unordered"
    raise ValueError(
        f"column {column.name!r} of type {dtype} holds values that are not strings or numbers "
        f"(such as {column.iloc[0]!r}, argument must be a string or a real number); "
        "convert it to int, float, bool, str or category"
    )


def _check_finite(column: pd.Series) -> None:
    if not np.isfinite(as_floats(column)).all():
        raise ValueError(
            f"Input X contains infinity: column {column.name!r} has infinite values; "
            "clip or drop them before fit"
        )


def _ordered_values(column: pd.Series, extra: Iterable[Any]) -> np.ndarray:
    seen = pd.unique(column)
    values = np.unique(np.concatenate([np.asarray(seen, float), np.asarray(list(extra), float)]))
    if not np.isfinite(values).all():
        raise ValueError(f"the domain of column {column.name!r} has values that are not finite")
    if np.abs(values).max() > MAX_INTEGER:
        raise ValueError(
            f"column {column.name!r} has integers beyond 2^53, which are not told apart exactly; "
            "shift them, or turn them into strings"
        )
    whole = values.astype(np.int64)
    return whole if np.array_equal(whole, values) else values


def _unordered_values(column: pd.Series, extra: Iterable[Any]) -> np.ndarray:
    seen: list[Any] = list(pd.unique(column))
    if isinstance(column.dtype, pd.CategoricalDtype):
        seen += list(column.dtype.categories)
    labels = {v.item() if isinstance(v, np.generic) else v for v in [*seen, *extra]}
    ordered = sorted(labels, key=lambda label: (str(type(label)), label))
    values = np.empty(len(ordered), dtype=object)
    values[:] = ordered
    return values


def as_floats(column: pd.Series) -> np.ndarray:
    """A numeric column as float64, a missing value as NaN."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} must be numeric: {error}") from error

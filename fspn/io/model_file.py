"""Saving and loading a model: one compact file of plain data that cannot run code.

The nodes are written as a flat list, parents before children, and read from its end, so that deep
models need no recursion. A loaded model is validated before it is handed out.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
import pandas as pd

from fspn.io.container import ModelFileError, pack, unpack, write_atomically
from fspn.io.old_cells import cells_of_shape
from fspn.model.cpt.backoff import BackoffLevel, BackoffTable, CountLevel
from fspn.model.cpt.compact import (
    base_of_counts,
    cells_state,
    follows_from,
    level_of_cells,
    pseudo_count_of,
    with_fewer_parents,
)
from fspn.model.cpt.full import FullTable
from fspn.model.dispatch import ByKind
from fspn.model.leaves.base import State
from fspn.model.leaves.built_in import BUILT_IN
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.nested import Nested
from fspn.model.leaves.registry import family_named, is_registered
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    below,
)
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain
from fspn.schema.events import Codes, Interval, Region, Side, Span
from fspn.schema.scattered import cells_from_state
from fspn.schema.values import pandas_type
from fspn.schema.variable import Variable
from fspn.validate import ModelError, validate

__all__ = ["ModelFileError", "load_model", "model_bytes", "save_model"]

TABLES: dict[str, Any] = {kind.family: kind for kind in (*get_args(BackoffLevel), FullTable)}
"""The kinds of conditional tables, by name; leaf families are in their registry."""

assert all(is_registered(family) for family in BUILT_IN)

CELLS, FEWER = "cells", "fewer parents"
"""Back-off levels as numbered cells, and as what follows from the level above them."""

DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)

Record = list[Any]


def save_model(
    path: str | os.PathLike[str], domain: Domain, root: Node, params: Mapping[str, Any]
) -> None:
    """Write a model to one file, replacing what is there only once the new file is complete.

    Arguments:
        path: The file.
        domain: The variables.
        root: The root node.
        params: Settings to keep with the model: numbers, strings, booleans, None, and lists,
            tuples and dictionaries of them.
    """
    write_atomically(path, model_bytes(domain, root, params))


def model_bytes(domain: Domain, root: Node, params: Mapping[str, Any]) -> bytes:
    """The contents of the file that :func:`save_model` writes."""
    validate(root, domain)
    writer = _Writer()
    header = {
        "domain": [writer.variable(variable) for variable in domain.variables],
        "nodes": [writer.node(node) for node in _with_nested(root)],
        "params": [[key, _as_json(value, f"parameter {key!r}")] for key, value in params.items()],
    }
    return pack(header, writer.arrays)


def load_model(path: str | os.PathLike[str]) -> tuple[Domain, Node, dict[str, Any]]:
    """Read a model that :func:`save_model` wrote: its domain, its root and its settings."""
    source = str(path)
    header, arrays = unpack(Path(path).read_bytes(), source)
    try:
        reader = _Reader(arrays)
        domain = Domain(tuple(reader.variable(record) for record in header["domain"]))
        root = reader.nodes(header["nodes"], [variable.size for variable in domain.variables])
        params = {key: _value(value) for key, value in header["params"]}
        validate(root, domain)
    except ModelError as error:
        raise ModelFileError(f"{source} holds no proper model: {error}") from error
    except DAMAGE as error:
        raise ModelFileError(f"{source}: the contents are damaged ({error!r})") from error
    return domain, root, params


def _with_nested(root: Node) -> Iterator[Node]:
    """All nodes, parents before children, including the FSPNs inside multi-leaves."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children if _has_state(node) else below(node)))


def _has_state(node: Node) -> bool:
    """Whether a multi-leaf is stored by its family's own arrays, and not by its parts."""
    return isinstance(node, MultiLeaf) and is_registered(type(node.dist))


class _Writer:
    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def array(self, values: np.ndarray) -> int:
        self.arrays.append(values)
        return len(self.arrays) - 1

    def family(self, dist: Any) -> Record:
        if dist.family not in TABLES and not is_registered(type(dist)):
            raise ModelFileError(
                f"the family {dist.family!r} cannot be stored; "
                "register it (fspn.model.leaves.registry.register)"
            )
        return [dist.family, self.arrays_of(dist.state())]

    def arrays_of(self, state: State) -> Record:
        return [[name, self.array(values)] for name, values in state.items()]

    def variable(self, variable: Variable) -> Record:
        what = f"column {variable.name!r}"
        cells = None if variable.cells is None else self.arrays_of(variable.cells.state())
        values: Any = None
        if variable.values.dtype.kind in "OU":
            values = [_as_json(value, what) for value in variable.values.tolist()]
        else:
            values = self.array(variable.values)
        name = _as_json(variable.name, what)
        return [name, variable.kind, values, cells, variable.missing, variable.dtype]

    def node(self, node: Node) -> Record:
        return self._RECORDS.of(node)(self, node)

    def _leaf(self, node: UniLeaf) -> Record:
        return ["leaf", node.variable, self.family(node.dist)]

    def _multi(self, node: MultiLeaf) -> Record:
        parts = node.dist.as_independent()
        record: Record = ["nested"]
        if _has_state(node) or (node.inner is None and parts is None):
            record = ["family", self.family(node.dist)]
        elif node.inner is None and parts is not None:
            record = ["independent", [self.family(part) for part in parts]]
        return ["multi", list(node.variables), record]

    def _product(self, node: Product) -> Record:
        return ["product", len(node.children)]

    def _sum(self, node: Sum) -> Record:
        return ["sum", len(node.children), self.array(node.weights)]

    def _split(self, node: Split) -> Record:
        return ["split", [[[v, *_side(c)] for v, c in each.items()] for each in node.regions]]

    def _table(self, node: TableSplit) -> Record:
        return ["table", node.variable, list(node.given), self._cpt(node.cpt)]

    def _factorize(self, node: Factorize) -> Record:
        return ["factorize"]

    def _cpt(self, cpt: BackoffTable | FullTable) -> Record:
        if isinstance(cpt, FullTable):
            return ["full", self.family(cpt)]
        size = len(cpt.base)
        pairs = zip(cpt.levels, (*cpt.levels[1:], None), strict=True)
        levels = [self._level(level, above, size) for level, above in pairs]
        pseudo_count = pseudo_count_of(cpt)
        if pseudo_count is not None:
            return ["counted", [size, pseudo_count], levels]
        return ["ladder", self.array(cpt.base), levels]

    def _level(self, level: BackoffLevel, above: BackoffLevel | None, size: int) -> Record:
        """A back-off level; one that follows from the level above it by its smoothing alone."""
        if not isinstance(level, CountLevel):
            return self.family(level)
        if isinstance(above, CountLevel) and follows_from(level, above, size):
            return [FEWER, level.alpha]
        state = cells_state(level, size)
        return self.family(level) if state is None else [CELLS, self.arrays_of(state)]

    _RECORDS: ClassVar[ByKind[Record]] = ByKind(
        "saving",
        {
            UniLeaf: _leaf,
            MultiLeaf: _multi,
            Product: _product,
            Sum: _sum,
            Split: _split,
            TableSplit: _table,
            Factorize: _factorize,
        },
    )


def _side(side: Side) -> Record:
    if isinstance(side, Codes):
        return ["codes", sorted(side.codes)]
    if isinstance(side, Span):
        return ["span", int(side.lower), int(side.upper)]
    return ["interval", float(side.lower), float(side.upper)]


def _as_json(value: Any, what: str) -> Any:
    """A value as JSON; tuples, dictionaries, times and intervals are tagged."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_as_json(item, what) for item in value]}
    if isinstance(value, list):
        return [_as_json(item, what) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_as_json(k, what), _as_json(v, what)] for k, v in value.items()]}
    if isinstance(value, pd.Interval):
        ends = [_as_json(end, what) for end in (value.left, value.right)]
        return {"interval": [*ends, value.closed]}
    if isinstance(value, datetime.datetime):
        zone = None if value.tzinfo is None else str(value.tzinfo)
        return {"time": [pd.Timestamp(value).isoformat(), zone]}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    raise ModelFileError(
        f"{what}: {value!r} of type {type(value).__name__} cannot be stored; "
        "use numbers, strings, booleans, times, intervals or tuples of them"
    )


def _value(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_value(item) for item in stored]
    if isinstance(stored, dict) and "tuple" in stored:
        return tuple(_value(item) for item in stored["tuple"])
    if isinstance(stored, dict) and "interval" in stored:
        left, right, closed = stored["interval"]
        return pd.Interval(_value(left), _value(right), closed)
    if isinstance(stored, dict) and "time" in stored:
        text, zone = stored["time"]
        return pd.Timestamp(text) if zone is None else pd.Timestamp(text).tz_convert(zone)
    if isinstance(stored, dict) and "date" in stored:
        return datetime.date.fromisoformat(stored["date"])
    if isinstance(stored, dict):
        return {_value(key): _value(value) for key, value in stored["dict"]}
    return stored


class _Reader:
    def __init__(self, arrays: Sequence[np.ndarray]):
        self._arrays = arrays
        self._sizes: Sequence[int] = ()

    def array(self, index: Any) -> np.ndarray:
        return self._arrays[_index(index)]

    def family(self, record: Record) -> Any:
        name, arrays = record
        state: State = {key: self.array(index) for key, index in arrays}
        return (TABLES.get(name) or family_named(name)).from_state(state)

    def variable(self, record: Record) -> Variable:
        name, kind, stored, described, *more = record
        missing, dtype = more or (None, "")
        cells = None
        if described is not None:
            cells = self._cells(described) if more else self._old_cells(*described)
        values = self.array(stored) if not isinstance(stored, list) else _labels(stored)
        if not isinstance(dtype, str) or isinstance(missing, str | bool):
            raise ValueError("a column of no type, or no share of missing values")
        pandas_type(dtype)
        return Variable(_value(name), kind, values, cells, missing, dtype)

    def _cells(self, arrays: Record) -> Cells:
        return cells_from_state({key: self.array(index) for key, index in arrays})

    def _old_cells(self, cuts: Any, shape: Record) -> Cells:
        return cells_of_shape(self.array(cuts), self.family(shape))

    def nodes(self, records: list[Record], sizes: Sequence[int]) -> Node:
        """The root, built from the last record to the first.

        Arguments:
            records: The nodes, parents before children.
            sizes: The number of codes of every variable, which no table may exceed.
        """
        self._sizes = sizes
        stack: list[Node] = []
        for kind, *fields in reversed(records):
            stack.append(self._builders[kind](self, stack, *fields))
        if len(stack) != 1:
            raise ValueError(f"{len(stack)} roots")
        return stack[0]

    def _leaf(self, stack: list[Node], variable: Any, dist: Record) -> Node:
        return UniLeaf(_index(variable), self.family(dist))

    def _multi(self, stack: list[Node], variables: list[Any], record: Record) -> Node:
        scope = tuple(_index(v) for v in variables)
        kind, *rest = record
        if kind == "nested":
            return MultiLeaf(scope, Nested(stack.pop()))
        if kind == "independent":
            return MultiLeaf(scope, Independent(tuple(self.family(part) for part in rest[0])))
        return MultiLeaf(scope, self.family(rest[0]))

    def _product(self, stack: list[Node], count: Any) -> Node:
        return Product(_pop(stack, count))

    def _sum(self, stack: list[Node], count: Any, weights: Any) -> Node:
        return Sum(self.array(weights), _pop(stack, count))

    def _split(self, stack: list[Node], regions: list[Record]) -> Node:
        return Split(tuple(_region(region) for region in regions), _pop(stack, len(regions)))

    def _table(self, stack: list[Node], variable: Any, given: list[Any], record: Record) -> Node:
        kind, *rest = record
        child = _index(variable)
        size = self._sizes[child]
        cpt = self.family(rest[0]) if kind == "full" else self._ladder(size, kind, *rest)
        return TableSplit(child, tuple(_index(v) for v in given), cpt)

    def _ladder(self, size: int, kind: str, base: Any, records: list[Record]) -> BackoffTable:
        if kind != "counted":
            row = self.array(base)
            return BackoffTable(row, self._levels(records, len(row)))
        stated, pseudo_count = base
        if _index(stated) != size:
            raise ValueError(f"a table of {stated} codes for a variable of {size}")
        levels = self._levels(records, size)
        top = levels[-1]
        if not isinstance(top, CountLevel):
            raise ValueError("a base that follows from a level without counts")
        # The base has as many numbers as the largest code: a forged one would take all memory.
        if int(top.codes.max(initial=0)) >= size:
            raise ValueError(f"counts of codes beyond the {size} of the variable")
        return BackoffTable(base_of_counts(top, size, float(pseudo_count)), levels)

    def _levels(self, records: list[Record], size: int) -> tuple[BackoffLevel, ...]:
        """The levels of a table of so many codes, read from the last, on which others rest."""
        levels: list[BackoffLevel] = []
        for kind, content in reversed(records):
            if kind == FEWER:
                above = levels[-1]
                if not isinstance(above, CountLevel):
                    raise ValueError("counts that follow from a level without counts")
                levels.append(with_fewer_parents(above, size, float(content)))
            elif kind == CELLS:
                state = {key: self.array(index) for key, index in content}
                levels.append(level_of_cells(state, size))
            else:
                levels.append(self.family([kind, content]))
        return tuple(reversed(levels))

    def _factorize(self, stack: list[Node]) -> Node:
        return Factorize(*_pop(stack, 2))

    _builders: ClassVar[dict[str, Callable[..., Node]]] = {
        "leaf": _leaf,
        "multi": _multi,
        "product": _product,
        "sum": _sum,
        "split": _split,
        "table": _table,
        "factorize": _factorize,
    }


def _labels(stored: list[Any]) -> np.ndarray:
    values = np.empty(len(stored), dtype=object)
    values[:] = [_value(value) for value in stored]
    return values


def _index(stored: Any) -> int:
    if type(stored) is not int or stored < 0:
        raise ValueError(f"{stored!r} is not an index")
    return stored


def _pop(stack: list[Node], count: Any) -> tuple[Node, ...]:
    if _index(count) > len(stack):
        raise ValueError("a node without its children")
    return tuple(stack.pop() for _ in range(count))


def _region(record: Record) -> Region:
    region: dict[int, Side] = {}
    for variable, kind, *sides in record:
        if kind == "codes":
            region[_index(variable)] = Codes(frozenset(_index(code) for code in sides[0]))
        elif kind == "span":
            region[_index(variable)] = Span(int(sides[0]), int(sides[1]))
        else:
            region[_index(variable)] = Interval(float(sides[0]), float(sides[1]))
    return region

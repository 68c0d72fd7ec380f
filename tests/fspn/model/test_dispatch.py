"""Every operation knows every node kind; an unknown one is named, with the operation."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

from fspn.model.dispatch import OPERATIONS, ByKind, UnknownKind
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import NODE_KINDS, Split, UniLeaf, below, table_of

LEAF = UniLeaf(0, Categorical(np.array([0.5, 0.5])))
ROOMS = ("model", "learn", "engine", "io", "draw", "validate")


@pytest.fixture(scope="module")
def operations() -> dict[str, ByKind[object]]:
    for room in ROOMS:
        package = importlib.import_module(f"fspn.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"fspn.{room}."):
            importlib.import_module(found.name)
    return {operation.name: operation for operation in OPERATIONS}


def test_operations_of_all_rooms_are_listed(operations: dict[str, ByKind[object]]) -> None:
    assert {"FSPN-Infer", "sampling", "compilation", "saving", "validation", "drawing"} <= set(
        operations
    )
    assert len(operations) == len(OPERATIONS)


def test_an_unknown_kind_is_one_clear_error(operations: dict[str, ByKind[object]]) -> None:
    class Circle:
        pass

    for name, operation in operations.items():
        with pytest.raises(UnknownKind, match=f"{name}: no function for a Circle, only for"):
            operation(Circle())


def test_an_operation_that_leaves_a_kind_out_is_refused() -> None:
    rest = {kind: str for kind in NODE_KINDS if kind is not Split}
    with pytest.raises(UnknownKind, match="painting: no function for a Split"):
        ByKind("painting", rest)
    assert "painting" not in [operation.name for operation in OPERATIONS]


def test_facts_that_every_kind_has() -> None:
    for kind in NODE_KINDS:
        fields = {*dir(kind), *kind.__dataclass_fields__}
        assert {"scope", "children", "given", "n_parameters"} <= fields, kind
    assert (below(LEAF), table_of(LEAF), LEAF.given, LEAF.n_parameters) == ((), None, (), 1)

"""Models to store: one by hand with all there is, one learned; and when two are the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fspn import FSPN
from fspn.model.cpt.backoff import BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.full import FullTable
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture, Histogram
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
)
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import Codes, Interval, Span

CELLS = Cells(
    np.array([-np.inf, -1.0, 0.0, 0.0, 1.0]),
    np.array([-1.0, 0.0, 0.0, 1.0, np.inf]),
    np.array([0.1, 5.0, 40.0, 7.0, 0.1]),
    np.array([0, 2, 3]),
)
GAUSS = GaussianMixture(np.array([0.25, 0.75]), np.array([-1.0, 2.0]), np.array([0.5, 3.0]))


def labels(*values: Any) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def everything() -> tuple[Domain, Node]:
    """A model with every node type, every leaf family and every kind of value."""
    domain = Domain(
        (
            Variable("whole", "ordered", np.array([-3, 0, 2**40])),
            Variable(("a", 1), "ordered", np.array([0.5, 1.5, 2.5])),
            Variable(7, "unordered", labels("é", "z", "\ud800")),
            Variable("mixed", "unordered", labels(False, True, 3, 0.25, "x")),
            Variable("binned", "continuous", cells=CELLS),
            Variable("real", "continuous"),
            Variable("bars", "continuous"),
        )
    )
    bars = Histogram(np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.5]), _one(2.0), 0.01)
    level = CountLevel(
        (3,),
        np.array([0, 2], dtype=np.uint8),
        np.array([0, 2, 3], dtype=np.int32),
        np.array([0, 2, 1], dtype=np.uint8),
        np.array([9, 1, 300], dtype=np.uint16),
        0.7,
    )
    law = LinearLaw(
        (np.array([-3, 0, 2**40]),),
        np.array([0, 1, 2]),
        np.array([1]),
        np.array([0, 1]),
        np.array([0.5, 0.5]),
        0.125,
    )
    node: Node = Product((UniLeaf(0, Categorical(np.array([0.2, 0.3, 0.5]))), _reals(bars)))
    node = Factorize(node, TableSplit(1, (0,), BackoffTable(np.full(3, 1 / 3), (law, level))))
    table = FullTable.from_probabilities(np.array([[0.0, 0.5, 0.5], [1, 0, 0], [0.2, 0.2, 0.6]]))
    node = Factorize(node, TableSplit(2, (1,), table))
    return domain, Factorize(node, _groups())


def _one(scale: float) -> GaussianMixture:
    return GaussianMixture(np.ones(1), np.zeros(1), np.array([scale]))


def _reals(bars: Histogram) -> Node:
    other = Product((UniLeaf(5, _one(2.0)), UniLeaf(6, bars)))
    return Sum(np.array([0.4, 0.6]), (other, Product((UniLeaf(5, GAUSS), UniLeaf(6, bars)))))


def _groups() -> Node:
    five, three = Categorical(np.full(5, 0.2)), Categorical(np.array([0.1, 0.2, 0.7]))
    rows = np.array([[0, 2], [4, 1]], dtype=np.uint8)
    joint = SparseJoint(rows, np.array([0.5, 0.5]), (five, three), 0.25)
    nested = Nested(Sum(np.array([0.5, 0.5]), (_pair(five, three), _pair(five, three))))
    deeper = Split(
        ({5: Interval(-np.inf, 0.5)}, {5: Interval(0.5, np.inf)}),
        (MultiLeaf((3, 4), joint), MultiLeaf((3, 4), Independent((five, three)))),
    )
    regions = ({2: Codes(frozenset([0, 2])), 1: Span(0, 2)}, {2: Codes(frozenset([1]))})
    return Split(regions, (MultiLeaf((3, 4), nested), deeper))


def _pair(five: Categorical, three: Categorical) -> Node:
    return Product((UniLeaf(3, five), UniLeaf(4, three)))


def same(first: Any, second: Any) -> bool:
    """Equal in type and content, through dataclasses, containers and arrays."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if hasattr(first, "__dataclass_fields__"):
        names = [name for name in first.__dataclass_fields__ if name != "left_out"]
        return all(same(getattr(first, n), getattr(second, n)) for n in names)
    return bool(first == second)


@cache
def learned() -> tuple[FSPN, pd.DataFrame]:
    """A model with several levels of counts, tilts, cells and missing labels."""
    rng = np.random.default_rng(4)
    n = 4000
    a, e = rng.integers(0, 4, n), rng.integers(0, 3, n)
    b = (a + rng.integers(0, 2, n)) % 5
    c = np.where(rng.random(n) < 0.9, (a * b + e) % 6, rng.integers(0, 6, n))
    label = np.array(list("pqrs"), dtype=object)[(c * a + rng.integers(0, 2, n)) % 4]
    label[rng.random(n) < 0.1] = None
    x = np.where(rng.random(n) < 0.3, 0.0, rng.normal(c, 1.0))
    table = pd.DataFrame({"a": a, "b": b, "c": c, "e": e, "label": label, "x": x})
    return FSPN(offsets=False, random_state=0).fit(table), table

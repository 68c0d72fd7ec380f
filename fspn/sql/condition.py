r"""Conditions: from a tree of AND and OR over columns to a signed sum of conjunctions.

A row counts where a condition is true; SQL has a third state, unknown, where a compared value is
missing. A leaf therefore keeps two sets of its column: where it is true and where it is false. NOT
swaps them, AND and OR combine them (Kleene), and whatever is in neither is unknown.

A union of conjunctions is counted by inclusion-exclusion,

.. math:: \Pr\Big(\bigcup_{i=1}^{k} A_i\Big)
          = \sum_{\emptyset \ne S \subseteq 1..k} (-1)^{|S|+1} \Pr\Big(\bigcap_{i \in S} A_i\Big),

up to ``MAX_DISJUNCTS`` conjunctions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from fspn.sql.errors import UnsupportedSQL
from fspn.sql.sets import ColumnSet, sets_of

MAX_DISJUNCTS = 8

Sets = dict[Hashable, ColumnSet]


@dataclass(frozen=True)
class Leaf:
    """A condition on one column: where it is true, and where it is false."""

    column: Hashable
    true: ColumnSet
    false: ColumnSet

    def negated(self) -> Leaf:
        return Leaf(self.column, self.false, self.true)


@dataclass(frozen=True)
class Branch:
    """Several conditions that all hold (``conjunction``), or of which one does."""

    conjunction: bool
    parts: tuple[Tree, ...]

    def negated(self) -> Branch:
        return Branch(not self.conjunction, tuple(part.negated() for part in self.parts))


Tree = Leaf | Branch


@dataclass(frozen=True)
class Term:
    """One conjunction of a signed sum."""

    sign: int
    sets: Mapping[Hashable, ColumnSet]


@dataclass(frozen=True)
class Condition:
    """A condition as a signed sum of conjunctions; no term = never true."""

    terms: tuple[Term, ...]

    @classmethod
    def of_tree(cls, tree: Tree, text: str) -> Condition:
        """The condition that a parsed text means."""
        return cls(tuple(_inclusion_exclusion(_disjuncts(tree, text))))

    @classmethod
    def of_question(cls, where: Mapping[Hashable, Any]) -> Condition:
        """The condition of a dictionary ``{column: value, (low, high), {values} or None}``."""
        return cls((Term(1, sets_of(where)),))

    @property
    def columns(self) -> set[Hashable]:
        """The columns that are asked about."""
        return {column for term in self.terms for column in term.sets}

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """The rows for which the condition is true: the signed sum of its terms is 1 there."""
        signed = np.zeros(len(table), dtype=np.int64)
        for term in self.terms:
            signed += term.sign * _mask(table, term.sets)
        return signed > 0

    def count(self, table: pd.DataFrame) -> int:
        """The number of rows for which the condition is true."""
        return int(self.holds(table).sum())


def _mask(table: pd.DataFrame, sets: Mapping[Hashable, ColumnSet]) -> np.ndarray:
    masks = (each.mask(table[column]) for column, each in sets.items())
    return reduce(np.logical_and, masks, np.ones(len(table), dtype=bool))


def _disjuncts(tree: Tree, text: str) -> list[Sets]:
    """Conjunctions of which at least one holds; empty ones are left out."""
    if isinstance(tree, Leaf):
        return [] if tree.true.empty else [{tree.column: tree.true}]
    parts = [_disjuncts(part, text) for part in tree.parts]
    if tree.conjunction:
        found = [_meet(choice) for choice in product(*_bounded(parts, text))]
    else:
        found = [sets for part in parts for sets in part]
    merged = _merge([sets for sets in found if not _empty(sets)])
    if len(merged) > MAX_DISJUNCTS:
        raise UnsupportedSQL(text, f"it comes to more than {MAX_DISJUNCTS} conjunctions under OR")
    return merged


def _bounded(parts: list[list[Sets]], text: str) -> list[list[Sets]]:
    size = reduce(lambda n, part: n * len(part), parts, 1)
    if size > MAX_DISJUNCTS**2:
        raise UnsupportedSQL(text, f"written out it is {size} conjunctions under OR")
    return parts


def _merge(found: list[Sets]) -> list[Sets]:
    """Conjunctions that differ on one column only become one: OR within a column is a set."""
    merged: list[Sets] = []
    for sets in found:
        for k, known in enumerate(merged):
            union = _union(known, sets)
            if union is not None:
                merged[k] = union
                break
        else:
            merged.append(sets)
    return merged if len(merged) == len(found) else _merge(merged)


def _union(first: Sets, second: Sets) -> Sets | None:
    if first.keys() != second.keys():
        return None
    differ = [column for column in first if first[column] != second[column]]
    if len(differ) > 1:
        return None
    return first | {column: first[column].union(second[column]) for column in differ}


def _meet(choice: Iterable[Sets]) -> Sets:
    found: Sets = {}
    for sets in choice:
        for column, each in sets.items():
            found[column] = found[column].meet(each) if column in found else each
    return found


def _empty(sets: Sets) -> bool:
    return any(each.empty for each in sets.values())


def _inclusion_exclusion(disjuncts: list[Sets]) -> list[Term]:
    terms: list[Term] = []
    for size in range(1, len(disjuncts) + 1):
        for chosen in combinations(disjuncts, size):
            sets = _meet(chosen)
            if not _empty(sets):
                terms.append(Term(1 if size % 2 else -1, sets))
    return terms

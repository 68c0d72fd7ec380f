"""The records of a compiled model, every field described once.

A compiled model keeps its structure in one array of integers, ``ints``: records one behind the
other, pointing to each other and into the pools of codes (``tables``) and probabilities
(``numbers``). Each kind of record is a named tuple. The compiler writes one; its offsets, a tuple
of the same kind (``LEAF.pmf`` is the offset of ``pmf`` in a leaf's record), are what kernels, table
enumeration and the benchmark read with: ``ints[node + LEAF.pmf]``. A field ``first_...`` is the
first of many, which run to the end of the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

UNI_LEAF, PRODUCT, SUM, FACTORIZE, BLOCK, JOINT, MEMO = range(7)

PRESUMS = 2
"""To how many presummed tables a dense table leads on."""

Record = TypeVar("Record", bound=tuple[Any, ...])


def offsets(kind: type[Record]) -> Record:
    """The offsets of a record's fields from its beginning."""
    return kind(*range(len(kind._fields)))  # type: ignore[attr-defined]


def open_ended(kind: type[Record], *fields: int, rest: Iterable[int]) -> tuple[int, ...]:
    """A record that ends in a run of entries; its last field stands for the first of them."""
    whole: tuple[int, ...] = kind(*fields, 0)  # type: ignore[call-arg, arg-type]
    return (*whole[:-1], *rest)


def read(kind: type[Record], ints: np.ndarray, place: int) -> Record:
    """A record by name, for readers that are not compiled."""
    return kind(*ints[place : place + len(kind._fields)].tolist())  # type: ignore[attr-defined]


class Needs(NamedTuple):
    """What an evaluation of a program needs, and where its instructions are.

    Arguments:
        n_frames: Frames of the evaluation stack.
        n_sides: Saved sides of regions, and cells of messages.
        n_block_variables: Variables of the largest block.
        n_heads: Chains of the table of remembered answers.
        root: The node that the instructions are for.
        regions: Where the plan for regions begins; -1: there is none.
        n_region_answers: Answers that it keeps on its stack.
        messages: Where the instructions for messages begin; -1: there are none.
        n_message_answers: Answers that they keep on their stack.
    """

    n_frames: int
    n_sides: int
    n_block_variables: int
    n_heads: int
    root: int
    regions: int
    n_region_answers: int
    messages: int
    n_message_answers: int


class NodeRecord(NamedTuple):
    """What every node begins with: its kind, and the length and offset of its scope."""

    kind: int
    scope_length: int
    scope: int


class LeafRecord(NamedTuple):
    """A uni-leaf: its variable, number of codes, pmf and cumulative sums (one more) in numbers."""

    kind: int
    scope_length: int
    scope: int
    variable: int
    n_codes: int
    pmf: int
    cumulative: int


class ProductRecord(NamedTuple):
    """A product node: its children."""

    kind: int
    scope_length: int
    scope: int
    n_children: int
    first_child: int


class SumRecord(NamedTuple):
    """A sum node: the logarithms of its weights in numbers, and its children."""

    kind: int
    scope_length: int
    scope: int
    n_children: int
    weights: int
    first_child: int


class JointRecord(NamedTuple):
    """A sparse joint table with its product term.

    Its variables in ints; the rows of codes, sorted, in tables and their shares in numbers; the
    weight epsilon of the product term in numbers; per variable the pmf and cumulative sums of its
    marginal, a pair in ints; ``row_index`` points to a pair per variable into tables, where the
    rows of each code begin in its order and that order, or is -1.
    """

    kind: int
    scope_length: int
    scope: int
    n_variables: int
    variables: int
    n_rows: int
    rows: int
    shares: int
    epsilon: int
    marginals: int
    row_index: int


class FactorizeRecord(NamedTuple):
    """A factorize node: its left child, the scope of its right one, and the boxes of that."""

    kind: int
    scope_length: int
    scope: int
    left: int
    right_length: int
    right_scope: int
    n_boxes: int
    first_box: int


class BoxRecord(NamedTuple):
    """A box of a region: the node that answers in it, and its sides."""

    leaf: int
    n_sides: int
    first_side: int


class SideRecord(NamedTuple):
    """One side of a box: the codes lower to upper of a variable."""

    variable: int
    lower: int
    upper: int


class BlockRecord(NamedTuple):
    """A block: its tables' record, the node below it or -1, its dense record or -1."""

    kind: int
    scope_length: int
    scope: int
    tables: int
    base: int
    dense: int


class MemoRecord(NamedTuple):
    """A memo: the node whose answers it keeps, and the variables that tell them apart."""

    kind: int
    scope_length: int
    scope: int
    child: int
    n_cut: int
    first_cut: int


class TablesRecord(NamedTuple):
    """A block's tables: per variable (external ones first) the place of its record.

    ``order`` points to the ranks of the variables, followed by the elimination order.
    """

    n_variables: int
    n_external: int
    order: int
    first_variable: int


class VariableRecord(NamedTuple):
    """A variable of a block: number in the model, codes, base row in numbers, parents, levels.

    Its parents follow, a :class:`ParentRecord` each, then its levels.
    """

    variable: int
    n_codes: int
    base: int
    n_parents: int
    n_levels: int
    first_parent: int


class ParentRecord(NamedTuple):
    """A parent of a variable: its place in the block, and its number of codes."""

    place: int
    n_codes: int


class LevelRecord(NamedTuple):
    """A back-off level: how many parents it uses, and its sparse rows.

    ``row_of_key`` points to the row of every key in tables (-1: none); or it is -1, and ``keys``
    points to the sorted keys. Row r has the entries ``starts[r] .. starts[r + 1]`` of codes and
    shares, and hands down the share ``tails[r]``. The last three fields are these entries sorted by
    code.
    """

    width: int
    row_of_key: int
    keys: int
    n_rows: int
    starts: int
    codes: int
    shares: int
    tails: int
    by_code: int
    code_keys: int
    code_shares: int


class DenseRecord(NamedTuple):
    """A block whose tables are written out: its variables' records follow, children first."""

    n_variables: int
    first_variable: int


class DenseVariableRecord(NamedTuple):
    """A variable of a dense block.

    Its number in the model, its last code, its rank (the order in which variables are summed out),
    its ancestors (bits by visit) and its own table's record.
    """

    variable: int
    last: int
    rank: int
    ancestors: int
    table: int


class PresumRecord(NamedTuple):
    """A step to a presummed table: the parent (a bit by rank), its children's tables, its place."""

    parent: int
    children: int
    presummed: int


class DenseTableRecord(NamedTuple):
    """A table that is written out, or (offset -1) only leads on to others.

    Its offset in the buffer, its dimensions (how many, and as bits by rank), the parents that are
    summed out of it (bits by visit), the presummed tables that follow, and then its dimensions.
    Where its last level has few entries: that level's record, the table of the levels below it,
    and the rank of the variable whose table it is; else three times -1.
    """

    start: int
    n_dims: int
    dims: int
    merged: int
    level: int
    below: int
    child: int
    first_presum: int


class DimensionRecord(NamedTuple):
    """A dimension of a dense table: rank, stride, number in the model, stride in keys of rows."""

    rank: int
    stride: int
    variable: int
    key_stride: int


NEEDS = offsets(Needs)
NODE = offsets(NodeRecord)
LEAF = offsets(LeafRecord)
PRODUCT_NODE = offsets(ProductRecord)
SUM_NODE = offsets(SumRecord)
JOINT_NODE = offsets(JointRecord)
FACTORIZE_NODE = offsets(FactorizeRecord)
BOX = offsets(BoxRecord)
SIDE = offsets(SideRecord)
BLOCK_NODE = offsets(BlockRecord)
MEMO_NODE = offsets(MemoRecord)
TABLES = offsets(TablesRecord)
VARIABLE = offsets(VariableRecord)
PARENT = offsets(ParentRecord)
LEVEL = offsets(LevelRecord)
DENSE = offsets(DenseRecord)
DENSE_VARIABLE = offsets(DenseVariableRecord)
PRESUM = offsets(PresumRecord)
DENSE_TABLE = offsets(DenseTableRecord)
DIMENSION = offsets(DimensionRecord)

SIDE_SIZE = len(SIDE)
PARENT_SIZE = len(PARENT)
LEVEL_SIZE = len(LEVEL)
DENSE_VARIABLE_SIZE = len(DENSE_VARIABLE)
PRESUM_SIZE = len(PRESUM)
DIMENSION_SIZE = len(DIMENSION)
FIRST_DIMENSION = DENSE_TABLE.first_presum + PRESUMS * PRESUM_SIZE

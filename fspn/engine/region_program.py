"""The instructions for regions and their operands, every field described once.

Behind the records of a model whose factorize nodes have regions (:mod:`fspn.engine.program`) stand
a plan, what its instructions point to, and the instructions themselves. Ranges of the variables
that regions cut are *packed*: each variable has a span of bits in one of a few words, its lower
code in the low half and its upper code in the high half. A mask says by bits which variables are
meant.
"""

from __future__ import annotations

from typing import NamedTuple

from fspn.engine.program import offsets

BEGIN, LEAF_MASS, JOINT_MASS, MUL, SKIP, SUM_BEGIN, ADD, PROJECT, UNPROJECT = range(9)
REGIONS, RIGHT, GROUP, COLLECT, END, STOP, MUL_PROJECTED = range(9, 16)

WORD_BITS = 62
"""Bits of a word in use; the others would make it negative."""

MANY = 64
"""Fewer sub-events than this are written out at once."""


class PlanRecord(NamedTuple):
    """Words per packed event, the spans of all packed variables, where the instructions begin."""

    n_words: int
    n_spans: int
    spans: int
    code: int


class SpanRecord(NamedTuple):
    """Where the range of a variable stands in packed events, ``bits`` for each of its ends."""

    variable: int
    word: int
    shift: int
    bits: int


class PackedBoxRecord(NamedTuple):
    """A box of a region: its packed sides. The next box follows."""

    n_sides: int
    first_side: int


class PackedSideRecord(NamedTuple):
    """A side of a box: a variable's place in packed events, and the codes lower to upper."""

    word: int
    shift: int
    bits: int
    lower: int
    upper: int


class Instruction(NamedTuple):
    """An instruction that stands alone: push a one or an empty sum, multiply, end ..."""

    op: int


class LeafInstruction(NamedTuple):
    """Multiply the top answer by a uni-leaf's; the mask and span of its variable, or -1."""

    op: int
    leaf: int
    mask: int
    span: int


class JointInstruction(NamedTuple):
    """Multiply the top answer by a sparse table's; its mask, and the spans of its variables."""

    op: int
    leaf: int
    mask: int
    n_spans: int
    spans: int


class SkipInstruction(NamedTuple):
    """Jump to ``target`` where a node is not constrained."""

    op: int
    node: int
    mask: int
    target: int


class AddInstruction(NamedTuple):
    """Add the top answer, times the weight at a place of the numbers, to the sum below it."""

    op: int
    weight: int


class ProjectInstruction(NamedTuple):
    """Continue with the projection of the context to a mask."""

    op: int
    mask: int


class RegionsInstruction(NamedTuple):
    """Begin a factorize node.

    Its record, the masks of both children and of the variables that its regions cut, its packed
    boxes; whether the left child looks for equal sub-events itself, part by part; and how many
    sub-events are always written out.
    """

    op: int
    node: int
    left_mask: int
    right_mask: int
    cut_mask: int
    boxes: int
    left_projects: int
    many: int


class RightInstruction(NamedTuple):
    """The left child is done; jump to ``target`` where its answer is the factorize node's."""

    op: int
    target: int


class GroupInstruction(NamedTuple):
    """The right child in boxes ``first`` to ``last`` follows; jump behind it if none intersects."""

    op: int
    first: int
    last: int
    target: int


class CollectInstruction(NamedTuple):
    """Add up the products of both children in the boxes ``first`` to ``last``."""

    op: int
    first: int
    last: int


class ContextRecord(NamedTuple):
    """A context: how many sub-events, its projections, and for a projection its place among them.

    ``projections`` is the first one or -1, ``next`` the next one of the same context or -1, and
    ``links`` where the numbers of its sub-events stand, one per sub-event of that context.
    ``disjoint`` says that no two sub-events have anything in common. A context that regions made
    has the context that they cut as ``parent`` (else -1), their instruction as ``code``, and the
    pairs of both at ``pairs`` of the links. Then come three runs of words: the bits in which its
    sub-events may differ from each other, those in which any may differ from the unconstrained
    event, and the packed sub-events; of these only the first where ``is_implicit``.
    """

    size: int
    projections: int
    next: int
    links: int
    disjoint: int
    parent: int
    code: int
    pairs: int
    is_implicit: int
    varies: int


class FrameRecord(NamedTuple):
    """The saved context while another one is current, and the state of a factorize node.

    Which context, how far the arena was filled, where the links between both contexts begin and
    end, and whether the two are the same.
    """

    context: int
    arena: int
    links: int
    links_end: int
    is_unasked: int


PLAN = offsets(PlanRecord)
SPAN = offsets(SpanRecord)
PACKED_BOX = offsets(PackedBoxRecord)
PACKED_SIDE = offsets(PackedSideRecord)
ALONE = offsets(Instruction)
LEAF_STEP = offsets(LeafInstruction)
JOINT_STEP = offsets(JointInstruction)
SKIP_STEP = offsets(SkipInstruction)
ADD_STEP = offsets(AddInstruction)
PROJECT_STEP = offsets(ProjectInstruction)
REGIONS_STEP = offsets(RegionsInstruction)
RIGHT_STEP = offsets(RightInstruction)
GROUP_STEP = offsets(GroupInstruction)
COLLECT_STEP = offsets(CollectInstruction)
CONTEXT = offsets(ContextRecord)
FRAME = offsets(FrameRecord)

SPAN_SIZE = len(SPAN)
PACKED_SIDE_SIZE = len(PACKED_SIDE)
FRAME_SIZE = len(FRAME)

"""The instructions of :mod:`fspn.engine.region_kernels`, from the records of a compiled model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fspn.engine import region_program as to
from fspn.engine.program import (
    BOX,
    FACTORIZE,
    FACTORIZE_NODE,
    JOINT,
    JOINT_NODE,
    LEAF,
    MEMO,
    MEMO_NODE,
    NODE,
    PRODUCT,
    PRODUCT_NODE,
    SIDE_SIZE,
    SUM,
    SUM_NODE,
    UNI_LEAF,
    SideRecord,
)

MAX_DEPTH = 200


class NoInstructions(Exception):
    """A part of the model has records that only the tree kernels read."""


def instructions(
    ints: Sequence[int], root: int, depth: int, sizes: Sequence[int]
) -> list[int] | None:
    """The plan of a model, appended to its records; None where it has no regions.

    Arguments:
        ints: The records.
        root: The root's place in them.
        depth: How deep the model is; instructions are written by recursion.
        sizes: The number of codes of every variable.
    """
    if depth > MAX_DEPTH:
        return None
    try:
        cut = sorted(set(_cut_variables(ints, root)))
        writer = _Instructions(ints, _packed(cut, sizes))
        writer.value(root)
    except NoInstructions:
        return None
    return writer.plan() if writer.n_regions else None


def _packed(cut: Sequence[int], sizes: Sequence[int]) -> dict[int, to.SpanRecord]:
    """The bit spans of the variables that regions cut, packed into as few words as possible."""
    spans: dict[int, to.SpanRecord] = {}
    word, used = 0, 0
    for v in cut:
        bits = max(int(sizes[v]) - 1, 1).bit_length()
        if used + 2 * bits > to.WORD_BITS:
            word, used = word + 1, 0
        spans[v] = to.SpanRecord(v, word, used, bits)
        used += 2 * bits
    return spans


def _cut_variables(ints: Sequence[int], root: int) -> Iterator[int]:
    """The variables that regions of any factorize node cut."""
    pending = [root]
    while pending:
        node = pending.pop()
        kind = ints[node]
        if kind == PRODUCT:
            pending += _run(ints, node, PRODUCT_NODE.n_children, PRODUCT_NODE.first_child)
        elif kind == SUM:
            pending += _run(ints, node, SUM_NODE.n_children, SUM_NODE.first_child)
        elif kind == MEMO:
            pending.append(ints[node + MEMO_NODE.child])
        elif kind == FACTORIZE:
            boxes = _run(ints, node, FACTORIZE_NODE.n_boxes, FACTORIZE_NODE.first_box)
            pending.append(ints[node + FACTORIZE_NODE.left])
            pending += {ints[box + BOX.leaf] for box in boxes}
            yield from (side.variable for box in boxes for side in _sides(ints, box))
        elif kind not in (UNI_LEAF, JOINT):
            raise NoInstructions


def _run(ints: Sequence[int], record: int, length: int, first: int) -> Sequence[int]:
    """The entries that a record ends in."""
    return ints[record + first : record + first + ints[record + length]]


def _sides(ints: Sequence[int], box: int) -> Iterator[SideRecord]:
    for c in range(ints[box + BOX.n_sides]):
        place = box + BOX.first_side + SIDE_SIZE * c
        yield SideRecord(*ints[place : place + SIDE_SIZE])


class _Instructions:
    def __init__(self, ints: Sequence[int], spans: dict[int, to.SpanRecord]):
        self.ints = ints
        self.spans = spans
        self.n_words = 1 + max((span.word for span in spans.values()), default=0)
        self.n_regions = 0
        self.code: list[int] = []
        # What instructions point to stands between the plan's head and them.
        self._base = len(ints) + len(to.PLAN)
        self._data: list[int] = []
        self._masks: dict[tuple[int, ...], int] = {}
        self._span_at = {v: self._put(span) for v, span in spans.items()}

    def plan(self) -> list[int]:
        """The plan with all that belongs to it."""
        head = to.PlanRecord(
            self.n_words, len(self.spans), self._base, self._base + len(self._data)
        )
        return [*head, *self._data, *self.code, to.STOP]

    def value(self, node: int) -> None:
        """Put the answer of a node on the stack."""
        kind = self.ints[node]
        if kind in (UNI_LEAF, JOINT):
            self.code.append(to.BEGIN)
            self._factor(node)
        elif kind == PRODUCT:
            self.code.append(to.BEGIN)
            for child in _run(self.ints, node, PRODUCT_NODE.n_children, PRODUCT_NODE.first_child):
                self._factor(child)
        elif kind == SUM:
            self.code.append(to.SUM_BEGIN)
            children = _run(self.ints, node, SUM_NODE.n_children, SUM_NODE.first_child)
            for i, child in enumerate(children):
                self.value(child)
                weight = self.ints[node + SUM_NODE.weights] + i
                self.code += to.AddInstruction(to.ADD, weight)
        elif kind == MEMO:
            self._projected(node)
            self.code.append(to.UNPROJECT)
        else:
            self._factorize(node)

    def _projected(self, memo: int) -> None:
        """Put the answers of the node behind a memo on the stack, one per distinct question."""
        self.code += to.ProjectInstruction(to.PROJECT, self._mask(self._scope(memo)))
        self.value(self.ints[memo + MEMO_NODE.child])

    def _factor(self, node: int) -> None:
        """Multiply the answer on top of the stack by a node's."""
        kind = self.ints[node]
        if kind == UNI_LEAF:
            v = self.ints[node + LEAF.variable]
            mask = self._mask([v]) if v in self.spans else -1
            self.code += to.LeafInstruction(to.LEAF_MASS, node, mask, self._span_at.get(v, -1))
        elif kind == JOINT:
            start = self.ints[node + JOINT_NODE.variables]
            variables = self.ints[start : start + self.ints[node + JOINT_NODE.n_variables]]
            spans = [self._span_at[v] for v in variables if v in self._span_at]
            mask = self._mask(variables)
            self.code += to.JointInstruction(
                to.JOINT_MASS, node, mask, len(spans), self._put(spans)
            )
        else:
            skip = to.SkipInstruction(to.SKIP, node, self._mask(self._scope(node)), -1)
            target = self._jump(skip)
            if kind == MEMO:
                self._projected(node)
            else:
                self.value(node)
            self.code.append(to.MUL_PROJECTED if kind == MEMO else to.MUL)
            self._land(target)

    def _factorize(self, node: int) -> None:
        self.n_regions += 1
        record = self.ints[node : node + FACTORIZE_NODE.first_box]
        boxes = _run(self.ints, node, FACTORIZE_NODE.n_boxes, FACTORIZE_NODE.first_box)
        start = record[FACTORIZE_NODE.right_scope]
        right = self.ints[start : start + record[FACTORIZE_NODE.right_length]]
        left = record[FACTORIZE_NODE.left]
        left_mask = self._mask(self._scope(left))
        packed = self._put([entry for box in boxes for entry in self._packed_box(box)])
        cut = sorted({side.variable for box in boxes for side in _sides(self.ints, box)})
        masks = (left_mask, self._mask(right), self._mask(cut))
        # The regions make every sub-event of the left child once: no memo is needed for that.
        inside = self.ints[left + MEMO_NODE.child] if self.ints[left] == MEMO else left
        projects = int(self._projects(inside))
        step = to.RegionsInstruction(to.REGIONS, node, *masks, packed, projects, to.MANY)
        self.code += step
        self.value(inside)
        end = self._jump(to.RightInstruction(to.RIGHT, -1))
        first = 0
        for leaf, group in groupby(self.ints[box + BOX.leaf] for box in boxes):
            last = first + len(list(group))
            target = self._jump(to.GroupInstruction(to.GROUP, first, last, -1))
            self.value(leaf)
            self.code += to.CollectInstruction(to.COLLECT, first, last)
            self._land(target)
            first = last
        self.code.append(to.END)
        self._land(end)

    def _projects(self, node: int) -> bool:
        """Whether a node is a product each of whose parts sees its own variables alone."""
        if self.ints[node] != PRODUCT:
            return False
        children = _run(self.ints, node, PRODUCT_NODE.n_children, PRODUCT_NODE.first_child)
        return all(self.ints[child] in (UNI_LEAF, JOINT, MEMO) for child in children)

    def _packed_box(self, box: int) -> Iterator[int]:
        sides = list(_sides(self.ints, box))
        yield len(sides)
        for side in sides:
            _, word, shift, bits = self.spans[side.variable]
            yield from to.PackedSideRecord(word, shift, bits, side.lower, side.upper)

    def _scope(self, node: int) -> Sequence[int]:
        scope = self.ints[node + NODE.scope]
        return self.ints[scope : scope + self.ints[node + NODE.scope_length]]

    def _mask(self, variables: Sequence[int]) -> int:
        """The offset of the mask that selects some variables."""
        words = [0] * self.n_words
        for v in variables:
            if v in self.spans:
                _, word, shift, bits = self.spans[v]
                words[word] |= ((1 << 2 * bits) - 1) << shift
        key = tuple(words)
        if key not in self._masks:
            self._masks[key] = self._put(words)
        return self._masks[key]

    def _put(self, entries: Sequence[int]) -> int:
        """Write data that instructions refer to; returns its offset."""
        self._data += entries
        return self._base + len(self._data) - len(entries)

    def _jump(self, instruction: tuple[int, ...]) -> int:
        """Write an instruction whose jump target is not known yet."""
        self.code += instruction
        return len(self.code) - 1

    def _land(self, target: int) -> None:
        """Set the target of a jump to here, counted from the first instruction."""
        self.code[target] = len(self.code)

"""The instructions of :mod:`fspn.engine.region_kernels`, from the records of a compiled model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fspn.engine.program import FACTORIZE, JOINT, MEMO, MEMO_NODE, PRODUCT, SUM, UNI_LEAF
from fspn.engine.region_kernels import (
    ADD,
    BEGIN,
    COLLECT,
    END,
    GROUP,
    JOINT_LEAF,
    LEAF,
    MUL,
    PROJECT,
    REGIONS,
    RIGHT,
    SKIP,
    STOP,
    SUM_BEGIN,
    UNPROJECT,
)

MAX_DEPTH = 200


class NoInstructions(Exception):
    """A part of the model has records that only the tree kernels read."""


def instructions(ints: Sequence[int], root: int, depth: int) -> list[int] | None:
    """The instructions of a model, to be placed behind its records; None where it has no regions.

    Arguments:
        ints: The records.
        root: The root's place in them.
        depth: How deep the model is; instructions are written by recursion.
    """
    if depth > MAX_DEPTH:
        return None
    writer = _Instructions(ints, len(ints))
    try:
        writer.value(root)
    except NoInstructions:
        return None
    return [*writer.code, STOP] if writer.n_regions else None


class _Instructions:
    def __init__(self, ints: Sequence[int], base: int):
        self.ints = ints
        self.base = base
        self.code: list[int] = []
        self.n_regions = 0

    def value(self, node: int) -> None:
        """Put the answer of a node on the stack."""
        kind = self.ints[node]
        if kind in (UNI_LEAF, JOINT, PRODUCT):
            self.code.append(BEGIN)
            children = self._children(node, 4) if kind == PRODUCT else [node]
            for child in children:
                self._factor(child)
        elif kind == SUM:
            self.code.append(SUM_BEGIN)
            for i, child in enumerate(self._children(node, 5)):
                self.value(child)
                self.code += [ADD, self.ints[node + 4] + i]
        elif kind == MEMO:
            self.code += [PROJECT, node]
            self.value(self.ints[node + MEMO_NODE.child])
            self.code.append(UNPROJECT)
        elif kind == FACTORIZE:
            self._factorize(node)
        else:
            raise NoInstructions

    def _children(self, node: int, first: int) -> Sequence[int]:
        return self.ints[node + first : node + first + self.ints[node + 3]]

    def _factor(self, node: int) -> None:
        """Multiply the answer on top of the stack by a node's."""
        kind = self.ints[node]
        if kind == UNI_LEAF:
            self.code += [LEAF, node]
        elif kind == JOINT:
            self.code += [JOINT_LEAF, node]
        else:
            target = self._jump(SKIP, node)
            self.value(node)
            self.code.append(MUL)
            self._land(target)

    def _factorize(self, node: int) -> None:
        ints = self.ints
        self.n_regions += 1
        boxes = ints[node + 7 : node + 7 + ints[node + 6]]
        cut = sorted({v for box in boxes for v in self._cut_by(box)})
        self.code += [REGIONS, node, len(cut), *cut]
        left = ints[node + 3]
        # The regions make every sub-event of the left child once: no memo is needed for that.
        self.value(ints[left + MEMO_NODE.child] if ints[left] == MEMO else left)
        end = self._jump(RIGHT)
        first = 0
        for leaf, group in groupby(ints[box] for box in boxes):
            last = first + len(list(group))
            target = self._jump(GROUP, first, last)
            self.value(leaf)
            self.code += [COLLECT, first, last]
            self._land(target)
            first = last
        self.code.append(END)
        self._land(end)

    def _cut_by(self, box: int) -> Iterator[int]:
        return (self.ints[box + 2 + 3 * c] for c in range(self.ints[box + 1]))

    def _jump(self, *entries: int) -> int:
        """An instruction whose last entry is a place that is not known yet."""
        self.code += [*entries, -1]
        return len(self.code) - 1

    def _land(self, target: int) -> None:
        self.code[target] = self.base + len(self.code)

"""The instructions of :mod:`fspn.engine.message_kernels`, from the records of a compiled model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fspn.engine.program import (
    BLOCK,
    BLOCK_NODE,
    MEMO,
    MEMO_NODE,
    PRODUCT,
    PRODUCT_NODE,
    SUM,
    SUM_NODE,
    UNI_LEAF,
    offsets,
)

MAX_DEPTH = 200
ONES, LEAF_FACTOR, IF_ASKED, NOTHING, ADD_CHILD, TIMES, MESSAGE, JOIN, DONE = range(9)


class MessageInstruction(NamedTuple):
    """What to do, with which node (or weight), and where to go on where nothing is to be done."""

    op: int
    node: int
    target: int


MESSAGE_STEP = offsets(MessageInstruction)


class NoMessages(Exception):
    """A part of the model has records that only the tree kernels read."""


def message_instructions(ints: Sequence[int], root: int, depth: int) -> list[int] | None:
    """The instructions for a model of tables over a base; None where it has other nodes.

    Arguments:
        ints: The records.
        root: The root's place in them.
        depth: How deep the model is; instructions are written by recursion.
    """
    if depth > MAX_DEPTH:
        return None
    writer = _Instructions(ints)
    try:
        writer.value(root)
    except NoMessages:
        return None
    return [*writer.code, DONE, 0, 0] if writer.n_joins else None


class _Instructions:
    def __init__(self, ints: Sequence[int]):
        self.ints = ints
        self.n_joins = 0
        self.code: list[int] = []

    def value(self, node: int) -> None:
        """Put the answer of a node on the stack."""
        self._write(ONES)
        self.factor(node)

    def factor(self, node: int) -> None:
        """Multiply the answer on top of the stack by a node's."""
        kind = self.ints[node]
        if kind == MEMO:
            # Every node is visited once: there is nothing to remember.
            self.factor(self.ints[node + MEMO_NODE.child])
        elif kind == UNI_LEAF:
            self._write(LEAF_FACTOR, node)
        else:
            self._write(IF_ASKED, node)
            jump = len(self.code) - 1
            self._inner(kind, node)
            self.code[jump] = len(self.code)

    def _inner(self, kind: int, node: int) -> None:
        if kind == PRODUCT:
            for child in self._run(node, PRODUCT_NODE.n_children, PRODUCT_NODE.first_child):
                self.factor(child)
            return
        if kind == SUM:
            self._write(NOTHING)
            children = self._run(node, SUM_NODE.n_children, SUM_NODE.first_child)
            for i, child in enumerate(children):
                self.value(child)
                self._write(ADD_CHILD, self.ints[node + SUM_NODE.weights] + i)
        elif kind == BLOCK:
            self._write(MESSAGE, node)
            base = self.ints[node + BLOCK_NODE.base]
            if base >= 0:
                self.n_joins += 1
                self.value(base)
                self._write(JOIN, node)
        else:
            raise NoMessages
        self._write(TIMES)

    def _run(self, record: int, length: int, first: int) -> Sequence[int]:
        """The entries that a record ends in."""
        return self.ints[record + first : record + first + self.ints[record + length]]

    def _write(self, op: int, node: int = 0) -> None:
        """Targets are counted from the first instruction and set later on."""
        self.code += MessageInstruction(op, node, 0)

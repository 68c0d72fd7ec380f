"""Operations on nodes: one function per node kind, none left out.

A new node kind is a class among :data:`fspn.model.nodes.NODE_KINDS` and an entry in every
:class:`ByKind`; importing an operation that lacks it says so, and ``OPERATIONS`` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NoReturn, TypeVar

from fspn.model.nodes import NODE_KINDS, ONLY_RIGHT

R = TypeVar("R")
OPERATIONS: list[ByKind[Any]] = []


class UnknownKind(TypeError):
    """A node of a kind that an operation has no function for."""


class ByKind(dict[type, Callable[..., R]], Generic[R]):
    """An operation on nodes; calling it calls the function of the node's kind.

    Arguments:
        name: What the operation does, for the error where a kind has no function.
        functions: The function of every kind, the node first (after ``self`` for methods, which
            are looked up with :meth:`of`).
    """

    def __init__(self, name: str, functions: Mapping[type, Callable[..., R]]):
        super().__init__(functions)
        self.name = name
        for kind in NODE_KINDS:
            self[kind]
        OPERATIONS.append(self)

    def __call__(self, node: object, *args: Any) -> R:
        return self[type(node)](node, *args)

    def of(self, node: object) -> Callable[..., R]:
        """The function of a node's kind."""
        return self[type(node)]

    def __missing__(self, kind: type) -> Callable[..., R]:
        known = ", ".join(each.__name__ for each in self)
        raise UnknownKind(f"{self.name}: no function for a {kind.__name__}, only for {known}")


def _refuse(*args: object) -> NoReturn:
    node = next(each for each in args if isinstance(each, ONLY_RIGHT))
    raise TypeError(f"a {type(node).__name__} node has a probability only under a factorize node")


CONDITIONAL: Mapping[type, Callable[..., NoReturn]] = dict.fromkeys(ONLY_RIGHT, _refuse)
"""Entries of operations that need a probability of the node's own."""

"""Where the cards of a picture go: a tidy tree without overlaps, downwards or to the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fspn.draw.outline import Card

SIBLING_GAP = 0.16
LEVEL_GAP = 0.42


@dataclass(frozen=True)
class Size:
    """The extent of a card in inches, and that of the text on its link."""

    width: float
    height: float
    edge_width: float
    edge_height: float


@dataclass(frozen=True)
class Spot:
    """A card's centre in inches, from the left and from the top, and its parent's spot."""

    card: Card
    size: Size
    x: float
    y: float
    parent: Spot | None


@dataclass(frozen=True)
class Plan:
    """The layout of all cards.

    Arguments:
        spots: Parents before children.
        width: The extent from left to right, in inches.
        height: The extent from top to bottom, in inches.
        downwards: Whether children are below their parents (else to the right).
    """

    spots: tuple[Spot, ...]
    width: float
    height: float
    downwards: bool


def arrange(top: Card, measure: Callable[[Card, bool], Size], max_width: float) -> Plan:
    """Children below their parents where that fits the width, else to the right of them.

    Arguments:
        top: The root's card.
        measure: The size of a card in a picture that grows downwards (True) or to the right.
        max_width: The widest picture that grows downwards.
    """
    below = _plan(top, measure, downwards=True)
    return below if below.width <= max_width else _plan(top, measure, downwards=False)


def _plan(top: Card, measure: Callable[[Card, bool], Size], downwards: bool) -> Plan:
    sizes = {id(card): measure(card, downwards) for card in _cards(top)}
    return _Tree(top, sizes, downwards).plan()


def _cards(top: Card) -> Iterator[Card]:
    pending = [top]
    while pending:
        card = pending.pop()
        yield card
        pending.extend(card.children)


class _Tree:
    """Lays a tree out along two axes: ``across`` between siblings, ``along`` between levels."""

    def __init__(self, top: Card, sizes: dict[int, Size], downwards: bool):
        self._top, self._sizes, self._downwards = top, sizes, downwards
        self._levels: list[float] = []
        self._links: list[float] = []
        self._room: dict[int, float] = {}

    def plan(self) -> Plan:
        self._survey(self._top, 0)
        starts, at = [], 0.0
        for depth, extent in enumerate(self._levels):
            at += self._links[depth] + (LEVEL_GAP if depth else 0.0)
            starts.append(at)
            at += extent
        spots: list[Spot] = []
        self._place(self._top, 0, 0.0, None, starts, spots)
        across = self._room[id(self._top)]
        width, height = (across, at) if self._downwards else (at, across)
        return Plan(tuple(spots), width, height, self._downwards)

    def _own(self, card: Card) -> tuple[float, float, float, float]:
        """Extents across and along, of the card and of the text on its link."""
        s = self._sizes[id(card)]
        if self._downwards:
            return s.width, s.height, s.edge_width, s.edge_height
        return s.height, s.width, s.edge_height, s.edge_width

    def _survey(self, card: Card, depth: int) -> float:
        """The extent of a subtree across; records the extent of every level."""
        across, along, link_across, link_along = self._own(card)
        if depth == len(self._levels):
            self._levels.append(0.0)
            self._links.append(0.0)
        self._levels[depth] = max(self._levels[depth], along)
        self._links[depth] = max(self._links[depth], link_along)
        below = [self._survey(child, depth + 1) for child in card.children]
        needed = sum(below) + SIBLING_GAP * max(len(below) - 1, 0)
        self._room[id(card)] = max(across, link_across, needed)
        return self._room[id(card)]

    def _place(
        self,
        card: Card,
        depth: int,
        start: float,
        parent: Spot | None,
        starts: list[float],
        spots: list[Spot],
    ) -> None:
        middle = start + self._room[id(card)] / 2
        _, along, _, _ = self._own(card)
        level = starts[depth] + (self._levels[depth] if self._downwards else along) / 2
        x, y = (middle, level) if self._downwards else (level, middle)
        spot = Spot(card, self._sizes[id(card)], x, y, parent)
        spots.append(spot)
        below = [self._room[id(child)] for child in card.children]
        at = middle - (sum(below) + SIBLING_GAP * max(len(below) - 1, 0)) / 2
        for child, room in zip(card.children, below, strict=True):
            self._place(child, depth + 1, at, spot, starts, spots)
            at += room + SIBLING_GAP

r"""The mode of a density over its free reals, where sum nodes give upper bounds only.

Branch and bound on boxes: a box of reals is halved along its relatively longest side, and dropped
once its upper bound is no higher than the density at the middle of the best box, up to a tolerance;
from there a local search climbs to the best point.
"""

from __future__ import annotations

from time import monotonic

import numpy as np

from fspn.model.eliminate.elimination import Elimination, Part
from fspn.model.eliminate.tables import Tables, walk_all
from fspn.model.leaves.reals import support
from fspn.model.nodes import UniLeaf
from fspn.schema.events import Events, RealPoint, RealRange

BATCH = 128
STEPS = 17
NEAR = 1e-3
"""Boxes whose bound is above the best density by no more than this (in logarithms) are dropped."""


class BoxSearch:
    """Fills in the reals of one event whose codes are all fixed.

    Arguments:
        elimination: Its reals are maximised.
        piece: The nodes.
        event: One event.
        variables: The open reals.
        deadline: When to stop.
    """

    def __init__(
        self,
        elimination: Elimination,
        piece: Part,
        event: Events,
        variables: list[int],
        deadline: float,
    ):
        self.elimination = elimination
        self.piece = piece
        self.event = event
        self.variables = variables
        self.deadline = deadline
        self.best = -np.inf
        self.point = np.zeros(len(variables))

    def run(self) -> tuple[float, float, np.ndarray]:
        """The best log-density, an upper bound, and the reals."""
        whole = self._whole()
        boxes, width = whole[None], whole[:, 1] - whole[:, 0]
        bounds = self._bounds(boxes)
        while len(boxes):
            if monotonic() > self.deadline and not np.isneginf(self.best):
                break
            order = np.argsort(-bounds)
            boxes, bounds = boxes[order], bounds[order]
            halves = self._halve(boxes[:BATCH], width)
            self._try(halves.mean(axis=2))
            boxes = np.concatenate([halves, boxes[BATCH:]])
            bounds = np.concatenate([self._bounds(halves), bounds[BATCH:]])
            kept = bounds > self.best + NEAR
            boxes, bounds = boxes[kept], bounds[kept]
        bound = float(bounds.max(initial=self.best + NEAR))
        self._polish(width / 64, whole)
        return self.best, bound, self.point

    def _polish(self, reach: np.ndarray, whole: np.ndarray) -> None:
        """Climb from the best point along one variable after the other, in ever smaller steps."""
        for scale in np.repeat(0.25 ** np.arange(8), 2):
            for place in range(len(self.variables)):
                points = np.tile(self.point, (STEPS, 1))
                points[:, place] += np.linspace(-1, 1, STEPS) * reach[place] * scale
                self._try(np.clip(points, whole[:, 0], whole[:, 1]))

    def _whole(self) -> np.ndarray:
        """The box that holds all that the leaves and the event allow."""
        ends = np.empty((len(self.variables), 2))
        for place, v in enumerate(self.variables):
            own = leaves_of_variable(self.piece, self.elimination.tables, v)
            reach = np.array([support(leaf.dist) for leaf in own])
            low, high = reach[:, 0].min(), reach[:, 1].max()
            known = self.event.constraints.get(v)
            if isinstance(known, RealRange):
                low, high = max(low, known.lower[0]), min(high, known.upper[0])
                low, high = (low, high) if low < high else (known.lower[0], known.upper[0])
            ends[place] = low, high
        return ends

    def _halve(self, boxes: np.ndarray, width: np.ndarray) -> np.ndarray:
        rows = np.arange(len(boxes))
        side = ((boxes[:, :, 1] - boxes[:, :, 0]) / width).argmax(axis=1)
        middle = boxes[rows, side].mean(axis=1)
        lower, upper = boxes.copy(), boxes.copy()
        lower[rows, side, 1], upper[rows, side, 0] = middle, middle
        return np.concatenate([lower, upper])

    def _bounds(self, boxes: np.ndarray) -> np.ndarray:
        events = self.event.take(np.zeros(len(boxes), dtype=np.int64))
        for place, v in enumerate(self.variables):
            sides = RealRange(boxes[:, place, 0], boxes[:, place, 1])
            events = events.with_constraint(v, sides)
        return self.elimination.logs(self.piece, events)

    def _try(self, points: np.ndarray) -> None:
        events = self.event.take(np.zeros(len(points), dtype=np.int64))
        for place, v in enumerate(self.variables):
            events = events.with_constraint(v, RealPoint(points[:, place]))
        values = self.elimination.logs(self.piece, events)
        top = int(values.argmax())
        if values[top] > self.best:
            self.best, self.point = float(values[top]), points[top]


def leaves_of_variable(piece: Part, tables: Tables, variable: int) -> list[UniLeaf]:
    """The uni-leaves of a variable, those inside of multi-leaves too."""
    nodes = walk_all(piece, tables)
    return [node for node in nodes if isinstance(node, UniLeaf) and node.variable == variable]

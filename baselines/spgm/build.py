"""From mutual information to a graph: a spanning tree, then inserted edges as alternative paths.

Every edge (s, t) outside the tree closes a loop with it; at the loop's top variable r a sum node
mixes what was there with the same loop opened at its weakest edge instead. Off the loop
everything is shared. All sum nodes stand below nodes of the spanning tree itself, so that an
insertion adds no more nodes than its loop has variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from baselines.spgm.graph import PRODUCT, SUM, VARIABLE, Graph
from fspn.learn.spanning_tree import spanning_tree

LONGEST_LOOP = 60
Key = tuple[str, int, int]
"""A part of the graph: ("v", vertex, 0), ("g", group, 0) or ("p", group, alternative)."""


@dataclass
class Vertex:
    """A variable node; the first ones are those of the spanning tree, the others lie on loops.

    Arguments:
        variable: Its column.
        above: The column above it, -1 for the root.
        inside: Vertices that follow it on its loop.
        excluded: Children of the column in the spanning tree that are on the loop themselves.
    """

    variable: int
    above: int
    inside: list[int] = field(default_factory=list)
    excluded: frozenset[int] = frozenset()


@dataclass
class Group:
    """Children of one column in the spanning tree, mixed by one sum node if there are choices.

    Arguments:
        members: The children.
        alternatives: Weight and parts of each choice.
    """

    members: frozenset[int]
    alternatives: list[tuple[float, list[Key]]]


class Builder:
    """Collects insertions, then writes the graph.

    Arguments:
        information: Mutual information of all pairs.
        cards: Domain sizes.
    """

    def __init__(self, information: np.ndarray, cards: np.ndarray) -> None:
        self.information, self.cards = information, cards
        parents, order = spanning_tree(information)
        self.parents = [int(p) for p in parents]
        self.depth = [0] * len(cards)
        for v in order[1:]:
            self.depth[v] = self.depth[parents[v]] + 1
        self.root = int(order[0])
        self.vertices = [Vertex(v, p) for v, p in enumerate(self.parents)]
        self.groups: list[Group] = []
        self.groups_of: list[list[int]] = [[] for _ in cards]
        for v in range(len(cards)):
            if v != self.root:
                self._new_group(self.parents[v], Group(frozenset([v]), [(1.0, [("v", v, 0)])]))

    def insert_best(self, n_insert: int) -> None:
        """Inserts the edges of the highest mutual information outside the tree."""
        upper = np.triu(self.information, k=1)
        for v, p in enumerate(self.parents):
            if p >= 0:
                upper[min(v, p), max(v, p)] = -1.0
        most = min(n_insert, upper.size)
        if most <= 0:
            return
        flat = upper.ravel()
        best = np.argpartition(-flat, most - 1)[:most]
        best = best[np.lexsort((best, -flat[best]))]
        for edge in best[flat[best] > 0]:
            self.insert(*divmod(int(edge), len(self.cards)))

    def insert(self, s: int, t: int) -> None:
        """Adds the edge s - t as an alternative to the weakest edge of its loop."""
        loop = self._loop(s, t)
        if len(loop) > LONGEST_LOOP:
            return
        edges = list(zip(loop, [*loop[1:], loop[0]], strict=True))
        strength = [np.inf if {a, b} == {s, t} else float(self.information[a, b]) for a, b in edges]
        opened = int(np.argmin(strength))
        on_loop = frozenset(loop)
        tops = [
            self._chain(chain, loop[0], on_loop)
            for chain in (loop[1 : opened + 1], loop[:opened:-1])
            if chain
        ]
        new, replaced = float(self.information[s, t]), strength[opened]
        self._mix(loop[0], on_loop, tops, max(new, 1e-12), max(replaced, 1e-12))

    def _loop(self, s: int, t: int) -> list[int]:
        """The columns of the loop, its top first: down to t, over the new edge, up from s."""
        left, right = [s], [t]
        while left[-1] != right[-1]:
            side = left if self.depth[left[-1]] >= self.depth[right[-1]] else right
            side.append(self.parents[side[-1]])
        return [right[-1], *right[-2::-1], *left[:-1]]

    def _chain(self, chain: list[int], above: int, on_loop: frozenset[int]) -> Key:
        first = len(self.vertices)
        for number, variable in enumerate(chain):
            excluded = frozenset(child for child in on_loop if self.parents[child] == variable)
            inside = [first + number + 1] if number + 1 < len(chain) else []
            self.vertices.append(Vertex(variable, above, inside, excluded))
            above = variable
        return ("v", first, 0)

    def _mix(
        self, top: int, on_loop: frozenset[int], tops: list[Key], new: float, replaced: float
    ) -> None:
        mine = self.groups_of[top]
        touched = [g for g in mine if self.groups[g].members & on_loop]
        members = frozenset().union(*(self.groups[g].members for g in touched))
        parts = tops + [("v", v, 0) for v in sorted(members - on_loop)]
        if len(touched) == 1:
            group = self.groups[touched[0]]
            group.alternatives.append((group.alternatives[0][0] * new / replaced, parts))
            return
        before: list[Key] = [("g", g, 0) for g in touched]
        self.groups_of[top] = [g for g in mine if g not in touched]
        self._new_group(top, Group(members, [(1.0, before), (new / replaced, parts)]))

    def _new_group(self, top: int, group: Group) -> None:
        self.groups_of[top].append(len(self.groups))
        self.groups.append(group)

    def graph(self) -> Graph:
        """The graph of all insertions so far."""
        writer = _GraphWriter(self)
        writer.write(("v", self.root, 0))
        return writer.finish()

    def parts(self, key: Key) -> list[Key]:
        """What a part of the graph consists of."""
        kind, number, choice = key
        if kind == "p":
            return self.groups[number].alternatives[choice][1]
        if kind == "g":
            alternatives = self.groups[number].alternatives
            return [
                items[0] if len(items) == 1 else ("p", number, i)
                for i, (_, items) in enumerate(alternatives)
            ]
        vertex = self.vertices[number]
        below: list[Key] = [("v", inner, 0) for inner in vertex.inside]
        for g in self.groups_of[vertex.variable]:
            members = self.groups[g].members
            if members & vertex.excluded:
                below += [("v", v, 0) for v in sorted(members - vertex.excluded)]
            else:
                below.append(("g", g, 0))
        return below


class _GraphWriter:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.number: dict[Key, int] = {}
        self.found: dict[tuple[str, int, int, tuple[int, ...]], int] = {}
        self.kinds: list[int] = []
        self.variable: list[int] = []
        self.above: list[int] = []
        self.table: list[int] = []
        self.children: list[list[int]] = []
        self.choice: list[int] = []
        self.weights: list[float] = []
        self.tables: dict[tuple[int, int], int] = {}

    def write(self, root: Key) -> None:
        """All parts below the root, children first."""
        pending: list[tuple[Key, bool]] = [(root, False)]
        while pending:
            key, opened = pending.pop()
            if key in self.number:
                continue
            parts = self.builder.parts(key)
            if opened:
                self._emit(key, parts)
            else:
                pending.append((key, True))
                pending.extend((part, False) for part in parts if part not in self.number)

    def _emit(self, key: Key, parts: list[Key]) -> None:
        kind, number, _ = key
        below = [self.number[part] for part in parts]
        if kind == "g" and len(below) == 1:
            self.number[key] = below[0]
            return
        weights = [1.0] * len(below)
        if kind == "v":
            vertex = self.builder.vertices[number]
            pair = (vertex.above, vertex.variable)
            own = self.tables.setdefault(pair, len(self.tables))
            entry = (VARIABLE, vertex.variable, vertex.above, own)
        else:
            if kind == "g":
                weights = [weight for weight, _ in self.builder.groups[number].alternatives]
            entry = (SUM if kind == "g" else PRODUCT, -1, self.above[below[0]], -1)
        # Loops that end alike share their ends: the same node of the same children is one node.
        same = (kind, entry[3], number if kind == "g" else 0, tuple(sorted(below)))
        self.number[key] = self.found.setdefault(same, len(self.kinds))
        if self.number[key] < len(self.kinds):
            return
        for column, value in zip(
            (self.kinds, self.variable, self.above, self.table), entry, strict=True
        ):
            column.append(value)
        self.children.append(below)
        states = int(self.builder.cards[self.above[-1]]) if kind == "g" else 0
        for weight in weights:
            self.choice.append(len(self.weights) if states else -1)
            self.weights.extend([weight] * states)

    def finish(self) -> Graph:
        cards = self.builder.cards.astype(np.int64)
        pairs = np.array(list(self.tables), dtype=np.int64)
        cells = np.where(pairs[:, 0] >= 0, cards[pairs[:, 0]], 1) * cards[pairs[:, 1]]
        lengths = [len(below) for below in self.children]
        return Graph(
            np.array(self.kinds, dtype=np.int64),
            np.array(self.variable, dtype=np.int64),
            np.array(self.above, dtype=np.int64),
            np.array(self.table, dtype=np.int64),
            np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            np.array([c for below in self.children for c in below], dtype=np.int64),
            np.array(self.choice, dtype=np.int64),
            np.array(self.weights, dtype=np.float64),
            pairs,
            np.concatenate(([0], np.cumsum(cells))).astype(np.int64),
            cards,
        )

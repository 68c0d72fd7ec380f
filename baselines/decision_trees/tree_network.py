"""A Bayesian network with decision trees for tables: what WinMine learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from baselines.base import INDEX_BYTES, Footprint
from baselines.bayes_net.cpt import check_cells
from baselines.compiled import Converted
from baselines.decision_trees.kernels import tree_scores
from baselines.decision_trees.learn import Search, TreeNode
from baselines.distinct import Distinct
from baselines.validation import Validated
from fspn.convert.tables import network_nodes, network_of_tables
from fspn.model.nodes import Node


@dataclass(frozen=True)
class Forest:
    """The trees of all columns as arrays, in the layout of `tree_scores`."""

    roots: np.ndarray
    nodes: np.ndarray
    place: np.ndarray
    cards: np.ndarray
    logs: np.ndarray

    @classmethod
    def of(cls, nodes: list[TreeNode], kept: int, cards: np.ndarray, alpha: float) -> Forest:
        """The trees after the first `kept` splits, with smoothed leaves."""
        table = np.full((len(nodes), 4), -1, dtype=np.int64)
        place = np.zeros(len(nodes), dtype=np.int64)
        logs: list[np.ndarray] = []
        used = 0
        alive = np.zeros(len(nodes), dtype=bool)
        alive[: len(cards)] = True
        for number, node in enumerate(nodes):
            if not alive[number]:
                continue
            if 0 < node.step <= kept:
                table[number] = node.column, node.cut, node.low, node.high
                alive[[node.low, node.high]] = True
                continue
            smoothed = node.counts + alpha
            logs.append(np.log(smoothed / smoothed.sum()))
            place[number] = used
            used += len(smoothed)
        return cls(np.arange(len(cards)), table, place, cards, np.concatenate(logs))

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities of rows."""
        return tree_scores(codes, self.roots, self.nodes, self.place, self.cards, self.logs)

    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The columns that each tree asks about."""
        return tuple(
            tuple(sorted({int(self.nodes[n, 0]) for n in self._walk(i) if self.nodes[n, 0] >= 0}))
            for i in range(len(self.roots))
        )

    def table(self, target: int, parents: tuple[int, ...]) -> np.ndarray:
        """The tree as a dense table: axes of the parents, then the target's codes."""
        shape = tuple(int(self.cards[p]) for p in parents)
        dense = np.empty((*shape, int(self.cards[target])))
        pending: list[tuple[int, tuple[slice, ...]]] = [(target, tuple(slice(0, d) for d in shape))]
        while pending:
            at, box = pending.pop()
            column, cut, low, high = self.nodes[at]
            if column < 0:
                logs = self.logs[self.place[at] :][: self.cards[target]]
                dense[box] = np.exp(logs)
                continue
            axis = parents.index(int(column))
            start, stop = box[axis].start, box[axis].stop
            middle = min(max(int(cut) + 1, start), stop)
            pending.append((low, (*box[:axis], slice(start, middle), *box[axis + 1 :])))
            pending.append((high, (*box[:axis], slice(middle, stop), *box[axis + 1 :])))
        return dense

    def footprint(self) -> Footprint:
        """One node per split and per leaf; a split names its column and has two children."""
        splits = sum(
            int(self.nodes[n, 0] >= 0) for i in range(len(self.roots)) for n in self._walk(i)
        )
        leaves = splits + len(self.roots)
        parameters = len(self.logs) - leaves
        size = 8 * len(self.logs) + INDEX_BYTES * (2 * splits + leaves + 2 * splits)
        return Footprint(splits + leaves, parameters, size)

    def _walk(self, target: int) -> list[int]:
        found, pending = [], [target]
        while pending:
            at = pending.pop()
            found.append(at)
            if self.nodes[at, 0] >= 0:
                pending.extend((int(self.nodes[at, 2]), int(self.nodes[at, 3])))
        return found


class TreeNetwork(Validated, Converted):
    """See `baselines.decision_trees.learn` for the search.

    Queries other than scores need the trees written out as dense tables; a tree that asks about
    many columns is refused by name.

    Arguments:
        kappa: Prior odds of one more parameter; the validation rows may end the search earlier.
        alpha: Pseudo-count per value of a leaf.
        time_limit: Seconds after which no further split is made; None = no limit.
    """

    name: ClassVar[str] = "tree_network"

    def __init__(
        self, kappa: float = 0.5, alpha: float = 1.0, time_limit: float | None = None
    ) -> None:
        if not 0 < kappa <= 1 or alpha <= 0:
            raise ValueError(
                f"kappa must be in (0, 1] and alpha positive, got {kappa!r}, {alpha!r}"
            )
        self.kappa, self.alpha, self.time_limit = kappa, alpha, time_limit

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        self._forget()
        codes, valid = self._train_and_valid(codes, seed)
        rows, held_out, cards = Distinct.of(codes), Distinct.of(valid), self.encoder.cards
        search = Search(
            rows.codes, rows.weights, held_out.codes, held_out.weights, cards,
            self.kappa, self.alpha, self.time_limit,
        )  # fmt: skip
        nodes, kept = search.run()
        self.forest = Forest.of(nodes, kept, cards, self.alpha)

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        rows = Distinct.of(codes)
        return self.forest.log_scores(rows.codes)[rows.place]

    def _nodes(self) -> Node:
        cards, parents = self.encoder.cards, self.forest.parents()
        check_cells(cards, parents, self.encoder.columns)
        cpts = [self.forest.table(i, above) for i, above in enumerate(parents)]
        return network_nodes(network_of_tables(list(cards), parents, cpts))[1]

    def _footprint(self) -> Footprint:
        return self.forest.footprint()

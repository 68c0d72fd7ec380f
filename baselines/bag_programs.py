r"""Bags of many nodes, answered by several compiled programs.

.. math:: P(x) = \sum_p w_p P_p(x), \qquad
          P(q \mid e) = \frac{\sum_p w_p P_p(e) P_p(q \mid e)}{\sum_p w_p P_p(e)}

The engine writes out tables up to a limit per program and walks the rest: 20 bags of 6,000 nodes
took 40 ms a question as one program (39 in a batch) and take 26 (11) as one program each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from baselines.base import DensityModel, ImpossibleEvidence, Point
from baselines.compiled import Converted, domain_of
from baselines.encoding import FREE
from fspn import FSPN
from fspn.model.ensemble import average
from fspn.model.nodes import Node

PROGRAM_NODES = 7_000


@dataclass(frozen=True)
class Program:
    """Some of the members as one compiled model.

    Arguments:
        model: Their average.
        share: Their number over that of all members.
    """

    model: FSPN
    share: float


class Bags(Converted):
    """A model whose members are averaged; small ones are one program."""

    @abstractmethod
    def _member_nodes(self) -> list[Node]:
        """The root of each member's FSPN."""

    def _nodes(self) -> Node:
        return average(self._member_nodes())

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_programs", None)

    @cached_property
    def _programs(self) -> list[Program]:
        """As few as have at most `PROGRAM_NODES` nodes each; one member is never cut."""
        roots = self._member_nodes()
        count = min(len(roots), max(1, -(-self.n_nodes // PROGRAM_NODES)))
        if count == 1:
            return [Program(self.model, 1.0)]
        domain = domain_of(self.encoder, self._values)
        groups = np.array_split(np.arange(len(roots)), count)
        return [
            Program(
                FSPN.from_root(domain, average([roots[i] for i in group])), len(group) / len(roots)
            )
            for group in groups
        ]

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        parts = [
            program.share * np.exp(program.model.log_probability_of_codes(first, last))
            for program in self._programs
        ]
        return np.asarray(sum(parts[1:], parts[0]))

    def conditional(self, query: Sequence[Point], evidence: Sequence[Point]) -> np.ndarray:
        """By the library's own call where one program holds all members, else by boxes."""
        if len(self._programs) == 1:
            return super().conditional(query, evidence)
        return DensityModel.conditional(self, query, evidence)

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        columns, values = self.encoder.columns, self._values
        names = [columns[i] for i in target]
        evidence: dict[Hashable, int] = {
            columns[i]: int(values[i][given[i]]) for i in np.flatnonzero(given != FREE)
        }
        first = np.where(given == FREE, 0, given)[None, :]
        last = np.where(given == FREE, self.encoder.cards - 1, given)[None, :]
        total, whole = np.zeros(tuple(self.encoder.cards[list(target)])), 0.0
        for program in self._programs:
            chance = np.exp(program.model.log_probability_of_codes(first, last)[0])
            if chance > 0:
                share = program.share * float(chance)
                total += share * program.model.conditional_table(names, evidence)
                whole += share
        if whole == 0:
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        return np.asarray(total / whole)

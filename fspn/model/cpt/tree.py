r"""A conditional table as a decision tree over the parents.

Configurations that pass the same tests share a leaf (context-specific independence), so a table of
many parents has as many rows of parameters as it has leaves. A node is smoothed towards the node
above it, the root towards the level below,

.. math:: P_v(x) = \frac{n_{vx} + \alpha P_{above(v)}(x)}{n_v + \alpha},

and a configuration has the distribution of its leaf. A test is "the parent's code is at most c" or
"the parent's code is c".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from fspn.model.cpt.rows import Rows
from fspn.model.leaves.base import State


@dataclass(frozen=True)
class TreeLevel:
    """A level of a back-off table that is a decision tree.

    Arguments:
        sizes: The numbers of codes of the parents.
        tests: One row per node, parents before children: the parent tested (-1 in a leaf), the code
            of the test, 1 where it asks for equality, the node of "yes" and that of "no".
        start: Where each leaf begins in ``codes``, in the order of the nodes; one entry more.
        codes: The child's codes.
        counts: Their counts.
        alpha: The strength of the smoothing.
    """

    sizes: tuple[int, ...]
    tests: np.ndarray
    start: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    alpha: float
    family: ClassVar[str] = "tree"

    @property
    def width(self) -> int:
        return len(self.sizes)

    @property
    def n_leaves(self) -> int:
        return len(self.start) - 1

    def route(self, parents: np.ndarray) -> np.ndarray:
        """The leaf of every configuration of shape (n, number of parents)."""
        at = np.zeros(len(parents), dtype=np.int64)
        for node, (parent, code, equal, yes, no) in enumerate(self.tests.tolist()):
            if parent >= 0:
                here = np.flatnonzero(at == node)
                own = parents[here, parent]
                at[here] = np.where(own == code if equal else own <= code, yes, no)
        return self._leaf_of_node[at]

    @cached_property
    def _leaf_of_node(self) -> np.ndarray:
        return np.cumsum(self.tests[:, 0] < 0) - 1

    def shares(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Per leaf its own probabilities, and the weight of the level below."""
        counts = np.zeros((len(self.tests), size))
        leaves = np.flatnonzero(self.tests[:, 0] < 0)
        counts[np.repeat(leaves, np.diff(self.start)), self.codes] = self.counts
        inner = np.flatnonzero(self.tests[:, 0] >= 0)
        for node in inner[::-1]:
            counts[node] = counts[self.tests[node, 3:]].sum(axis=0)
        weight = counts.sum(axis=1) + self.alpha
        share, tail = counts / weight[:, None], self.alpha / weight
        for node in inner:
            below = self.tests[node, 3:]
            share[below] += tail[below, None] * share[node]
            tail[below] *= tail[node]
        return share[leaves], tail[leaves]

    @cached_property
    def rows(self) -> Rows:
        """The leaf of every configuration, written out."""
        leaf = self.route(np.indices(self.sizes).reshape(self.width, -1).T)
        share, tail = self.shares(int(self.codes.max(initial=0)) + 1)
        place, codes = np.nonzero(share[leaf])
        start = np.searchsorted(place, np.arange(len(leaf) + 1)).astype(np.int32)
        return Rows(np.arange(len(leaf)), start, codes, share[leaf[place], codes], tail[leaf])

    def refine(self, below: np.ndarray, parents: np.ndarray) -> np.ndarray:
        r""":math:`P_\ell` from :math:`P_{\ell-1}`, dense, one row per configuration."""
        leaf = self.route(parents)
        share, tail = self.shares(below.shape[1])
        refined: np.ndarray = share[leaf] + tail[leaf, None] * below
        return refined

    def tilted(self, factors: np.ndarray) -> TreeLevel:
        """With the counts of every code multiplied by a factor."""
        return replace(self, counts=self.counts * factors[self.codes])

    @property
    def n_parameters(self) -> int:
        """The counts, and a parent and a code per test."""
        return len(self.counts) + 2 * int((self.tests[:, 0] >= 0).sum())

    def state(self) -> State:
        return {
            "sizes": np.array(self.sizes, dtype=np.int32),
            "tests": self.tests,
            "start": self.start,
            "codes": self.codes,
            "counts": self.counts,
            "alpha": np.array([self.alpha]),
        }

    @classmethod
    def from_state(cls, state: State) -> TreeLevel:
        sizes = tuple(int(size) for size in state["sizes"])
        cells = state["start"], state["codes"], state["counts"]
        return cls(sizes, state["tests"], *cells, float(state["alpha"][0]))

    def faults(self, size: int) -> Iterator[str]:
        """What is wrong with the tests, the tree that they form, and the counts of its leaves."""
        tests, n = self.tests, len(self.tests)
        inner = np.flatnonzero(tests[:, 0] >= 0)
        below = tests[inner, 3:]
        if (tests[inner, 0] >= self.width).any() or (below <= inner[:, None]).any():
            yield "a decision tree whose tests do not fit its parents, or do not lead down"
        elif sorted(below.ravel().tolist()) != list(range(1, n)):
            yield "a decision tree with a node that no test, or more than one, leads to"
        elif self.n_leaves != n - len(inner) or self.start[-1] != len(self.codes):
            yield "a decision tree whose leaves and counts do not fit"
        elif not (self.codes < size).all() or not (self.counts > 0).all() or not self.alpha >= 0:
            yield "a decision tree with codes outside the domain, or negative counts"

r"""Family `context`: the structures of `dense`, but tables that are random decision trees.

.. math:: \Pr(x) = \prod_j \theta_{j, \ell_j(x_{\pi(j)})}(x_j), \quad
          \theta_{j, l} \sim \mathrm{Dirichlet}(c, \dots, c)

A tree says which leaf l the values of the parents lead to, and all that lead to one leaf share its
distribution: what a column depends on differs from context to context. A tree has few parameters
where the whole table has thousands of rows, which split nodes inside a table can use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.datasets.config import check_random_tables
from experiments.datasets.dense import DenseConfig

FAMILY = "context"


@dataclass(frozen=True)
class ContextConfig(DenseConfig):
    """What a dataset of the family is made from: as `dense`, and the size of the trees.

    Arguments:
        leaves: most leaves of a table's tree, that is most different rows of the table.
        family: always `context`.
    """

    family: str = FAMILY
    leaves: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_random_tables(self, "leaves", self.treewidth + 1)

    def draw_table(self, shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
        """A table Pr(last axis | others) with a draw of a Dirichlet distribution per leaf."""
        leaf = draw_leaves(shape[:-1], self.leaves, rng)
        return np.asarray(self.draw_rows((int(leaf.max()) + 1,), shape[-1], rng)[leaf])


def draw_leaves(sizes: Sequence[int], leaves: int, rng: np.random.Generator) -> np.ndarray:
    """The leaf of a random tree that each combination of the parents' values leads to.

    `leaves` - 1 times a random leaf is to be cut by a random test "parent p has value v"; one that
    leaves a side empty is dropped.

    Arguments:
        sizes: numbers of values of the parents, one axis of the result each.
        leaves: most leaves.
        rng: the only source of randomness.
    """
    found, values = np.zeros(tuple(sizes), dtype=np.int64), np.indices(tuple(sizes))
    for _ in range(leaves - 1 if sizes else 0):
        last = int(found.max())
        here = found == rng.integers(last + 1)
        parent = int(rng.integers(len(sizes)))
        passes = here & (values[parent] == rng.integers(sizes[parent]))
        if 0 < passes.sum() < here.sum():
            found[passes] = last + 1
    return found

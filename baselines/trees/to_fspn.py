"""Trees of tables as FSPN nodes (Appendix A): nested factorize nodes over a uni-leaf."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.full import FullTable
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, TableSplit, UniLeaf


def tree_nodes(tables: Iterable[tuple[int, int, np.ndarray | BackoffTable]]) -> Node:
    """The FSPN of one tree.

    Arguments:
        tables: Column, its parent (-1 for the root, which comes first) and the table
            Pr(x | u), shape (codes of the parent, codes), or a back-off table; the root's is an
            array of one row.
    """
    node: Node | None = None
    for variable, parent, table in tables:
        if node is None:
            assert isinstance(table, np.ndarray)
            node = UniLeaf(int(variable), Categorical(table[0] / table[0].sum()))
        else:
            cpt = FullTable.from_probabilities(table) if isinstance(table, np.ndarray) else table
            node = Factorize(node, TableSplit(int(variable), (int(parent),), cpt))
    assert node is not None
    return node

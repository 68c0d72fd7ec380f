r"""How many nodes a model has, as Section 3 and Appendix A count them.

Every region of a split node is a multi-leaf: a table :math:`\Pr(X_v \mid C)` stands for one split
node and one multi-leaf per configuration of C. A multi-leaf that is an FSPN of its own counts as
itself and all nodes inside. Nothing is written out to be counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from fspn.model.nodes import Factorize, MultiLeaf, Node, TableSplit, below


@dataclass(frozen=True)
class Census:
    """The nodes of a model.

    Arguments:
        n_nodes: All nodes.
        n_factorize: Factorize nodes, the paper's f.
        n_multi_leaves: Multi-leaves, the paper's l.
        depth: Nodes on the longest path from the root to a leaf.
    """

    n_nodes: int
    n_factorize: int
    n_multi_leaves: int
    depth: int


def census(root: Node) -> Census:
    """Count in one walk, without recursion: chains of factorize nodes are deep."""
    nodes = factorize = leaves = depth = 0
    pending: list[tuple[Node, int]] = [(root, 1)]
    while pending:
        node, level = pending.pop()
        pending.extend((child, level + 1) for child in below(node))
        regions = prod(node.cpt.sizes) if isinstance(node, TableSplit) else 0
        nodes += 1 + regions
        factorize += isinstance(node, Factorize)
        leaves += regions + isinstance(node, MultiLeaf)
        depth = max(depth, level + (regions > 0))
    return Census(nodes, factorize, leaves, depth)

"""LearnSPN's networks as FSPNs: the same sums and products, trees as nested factorize nodes."""

from __future__ import annotations

from baselines.spn.nodes import SPN, Product, TreeLeaf, children_first
from baselines.trees.to_fspn import tree_nodes
from fspn.model import nodes as fspn


def spn_root(root: SPN, alpha: float) -> fspn.Node:
    """The FSPN of a network whose leaves are smoothed by `alpha`."""
    made: dict[int, fspn.Node] = {}
    for node in children_first(root):
        if isinstance(node, TreeLeaf):
            made[id(node)] = tree_nodes(node.conditionals(alpha))
            continue
        children = tuple(made[id(child)] for child in node.children)
        if isinstance(node, Product):
            made[id(node)] = fspn.Product(children)
        else:
            made[id(node)] = fspn.Sum(node.weights, children)
    return made[id(root)]

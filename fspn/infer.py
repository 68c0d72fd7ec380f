r"""FSPN-Infer as the paper writes it (Section 4): the readable reference.

.. math:: \Pr(E) = \sum_i \Pr\nolimits_i(E_H) \cdot \Pr(E_W \cap R_i)

at a factorize node, with :math:`R_i` the regions of the multi-leaves of its right child. All
probabilities are kept as logarithms, so that a product over thousands of variables does not
underflow; n events are answered at a time. Every faster path in this package must agree with
this module.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from fspn.event import Events
from fspn.nodes import Factorize, MultiLeaf, Node, Product, Sum, UniLeaf, leaves_of


def log_probability(node: Node, events: Events) -> np.ndarray:
    r""":math:`\ln \Pr(E)` on the FSPN rooted at ``node``, one per event."""
    if not any(variable in node.scope for variable in events.constraints):
        return np.zeros(events.n)
    if isinstance(node, UniLeaf):
        return node.dist.log_probability(events.constraints[node.variable])
    if isinstance(node, MultiLeaf):
        return node.dist.log_probability(events, node.variables)
    if isinstance(node, Product):
        return np.sum([log_probability(child, events) for child in node.children], axis=0)
    if isinstance(node, Sum):
        return _mixture(node, events)
    if isinstance(node, Factorize):
        return _factorize(node, events)
    raise TypeError(f"a {type(node).__name__} node has a probability only under a factorize node")


def _mixture(node: Sum, events: Events) -> np.ndarray:
    logs = np.array([log_probability(child, events) for child in node.children])
    with np.errstate(divide="ignore"):
        return logsumexp(logs + np.log(node.weights)[:, None], axis=0)


def _factorize(node: Factorize, events: Events) -> np.ndarray:
    """Sum over the multi-leaves of the right child; those that the events miss are left out."""
    if not any(variable in node.right.scope for variable in events.constraints):
        return log_probability(node.left, events)
    total = np.full(events.n, -np.inf)
    for region, leaf in leaves_of(node.right):
        inside = events.intersect(region)
        alive = np.flatnonzero(inside.possible(region))
        if len(alive):
            total[alive] = np.logaddexp(total[alive], _part(node, leaf, inside.take(alive)))
    return total


def _part(node: Factorize, leaf: MultiLeaf, events: Events) -> np.ndarray:
    r""":math:`\ln p_i + \ln q_i` of the events inside one region."""
    p = leaf.dist.log_probability(events, leaf.variables)
    q = log_probability(node.left, events.restrict(node.left.scope))
    return p + q



r"""FSPN-Infer as the paper writes it (Section 4): the readable reference.

.. math:: \Pr(E) = \sum_i \Pr\nolimits_i(E_H) \cdot \Pr(E_W \cap R_i)

at a factorize node, with :math:`R_i` the regions of the multi-leaves of its right child. All
probabilities are kept as logarithms, so that a product over thousands of variables does not
underflow; n events are answered at a time. Every faster path in this package must agree with
this module.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from scipy.special import logsumexp

from fspn.model.dispatch import CONDITIONAL, ByKind
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Sum, UniLeaf, leaves_of
from fspn.schema.events import Events

Steps = Generator[tuple[Node, Events], np.ndarray, np.ndarray]
"""A computation that asks for the answers on child nodes by yielding them."""


def log_probability(node: Node, events: Events) -> np.ndarray:
    r""":math:`\ln \Pr(E)` on the FSPN rooted at ``node``, one per event.

    The recursion of FSPN-Infer on a stack of its own: factorize nodes may be nested by thousands.
    """
    stack: list[Steps] = [_infer(node, events)]
    answer: np.ndarray | None = None
    while stack:
        try:
            child = stack[-1].send(answer) if answer is not None else next(stack[-1])
        except StopIteration as finished:
            answer = finished.value
            stack.pop()
        else:
            answer = None
            stack.append(_infer(*child))
    assert answer is not None
    return answer


def _infer(node: Node, events: Events) -> Steps:
    asked = any(variable in node.scope for variable in events.constraints)
    return STEPS(node, events) if asked else _certain(events)


def _certain(events: Events) -> Steps:
    yield from ()
    return np.zeros(events.n)


def _uni_leaf(node: UniLeaf, events: Events) -> Steps:
    yield from ()
    return node.dist.log_probability(events.constraints[node.variable])


def _multi_leaf(node: MultiLeaf, events: Events) -> Steps:
    yield from ()
    return node.dist.log_probability(events, node.variables)


def _product(node: Product, events: Events) -> Steps:
    total = np.zeros(events.n)
    for child in node.children:
        total = total + (yield child, events)
    return total


def _mixture(node: Sum, events: Events) -> Steps:
    logs = np.empty((len(node.children), events.n))
    for place, child in enumerate(node.children):
        logs[place] = yield child, events
    with np.errstate(divide="ignore"):
        return logsumexp(logs + np.log(node.weights)[:, None], axis=0)


def _factorize(node: Factorize, events: Events) -> Steps:
    r"""Sum of :math:`p_i q_i` over the multi-leaves of the right child that the events meet."""
    if not any(variable in node.right.scope for variable in events.constraints):
        return (yield node.left, events)
    total = np.full(events.n, -np.inf)
    for region, leaf in leaves_of(node.right):
        inside = events.intersect(region)
        alive = np.flatnonzero(inside.possible(region))
        if len(alive):
            part = inside if len(alive) == events.n else inside.take(alive)
            p = leaf.dist.log_probability(part, leaf.variables)
            q = yield node.left, part.restrict(node.left.scope)
            total[alive] = np.logaddexp(total[alive], p + q)
    return total


STEPS: ByKind[Steps] = ByKind(
    "FSPN-Infer",
    {
        UniLeaf: _uni_leaf,
        MultiLeaf: _multi_leaf,
        Product: _product,
        Sum: _mixture,
        Factorize: _factorize,
        **CONDITIONAL,
    },
)

"""The FSPN of the paper's Figure 1, with the probabilities of Appendix B, built by hand.

The domain of each variable is 0 .. 20. Given are Pr(X3 in [3, 5]) = 0.1 and 0.2 in the two
branches, Pr(X3 in (5, 6]) = 0.3 in their mixture, and Pr(X1 in [1, 7]) = 0.3 and 0.4 in the two
multi-leaves.
"""

from __future__ import annotations

import numpy as np

from fspn import FSPN
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.joint import SparseJoint
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, UniLeaf
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import Span

X1, X2, X3, X4 = range(4)
PRINTED = 0.171
SIZE = 21


def domain() -> Domain:
    """Four ordered variables."""
    return Domain(tuple(Variable(f"X{i}", "ordered", np.arange(SIZE)) for i in (1, 2, 3, 4)))


def _spread(shares: dict[tuple[int, int], float]) -> Categorical:
    """The given probability for each range, spread evenly; the rest evenly over the rest."""
    p = np.full(SIZE, np.nan)
    for (low, high), share in shares.items():
        p[low : high + 1] = share / (high - low + 1)
    rest = np.isnan(p)
    p[rest] = (1.0 - np.nansum(p)) / rest.sum()
    return Categorical(p)


def _joint(inside: float) -> SparseJoint:
    """X2 is about 2 X1, and X1 lies in 1 .. 7 with the given probability."""
    low, high = [(1, 2), (4, 9), (7, 14)], [(0, 0), (9, 18), (10, 20)]
    rows = np.array(sorted(low + high))
    weights = np.where((rows[:, 0] >= 1) & (rows[:, 0] <= 7), inside / 3, (1 - inside) / 3)
    uniform = Categorical(np.full(SIZE, 1 / SIZE))
    # The product term has share 0, so that the table alone decides.
    return SparseJoint(rows, weights, (uniform, uniform), 0.0)


def root() -> Node:
    """The nodes N1 to N5 and leaves L1 to L6 of the figure."""
    l1 = UniLeaf(X3, _spread({(3, 5): 0.1, (6, 6): 0.3}))
    l2 = UniLeaf(X4, _spread({(0, 9): 0.5}))
    l3 = UniLeaf(X3, _spread({(3, 5): 0.2, (6, 6): 0.3}))
    l4 = UniLeaf(X4, _spread({(0, 4): 0.1}))
    n2 = Sum(np.array([0.3, 0.7]), (Product((l1, l2)), Product((l3, l4))))
    l5, l6 = MultiLeaf((X1, X2), _joint(0.3)), MultiLeaf((X1, X2), _joint(0.4))
    n3 = Split(({X3: Span(0, 5)}, {X3: Span(6, SIZE - 1)}), (l5, l6))
    return Factorize(n2, n3)


def probability() -> float:
    """Pr(X1 in [1, 7], X3 in [3, 6]) as the library answers it."""
    return float(FSPN.from_root(domain(), root()).probability({"X1": (1, 7), "X3": (3, 6)}))

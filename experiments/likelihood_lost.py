r"""What the proof of Proposition 3 takes for granted: product and factorize nodes lose nothing.

A factorize node :math:`\Pr(W) \Pr(H \mid W)` and a product node are exact if the marginal of the
node on the scope of a child is that child's own distribution. That they lose no *likelihood* also
needs children of product nodes that are independent in the rows that reach the node: the mutual
information of two columns of different children,

.. math:: I(a; b) - \frac{f + 4 \sqrt{2 f}}{2 n}, \quad f = (|a| - 1)(|b| - 1),

is what the node loses at least, in nats per row: 2 n I is chi-squared with f degrees of freedom if
nothing is lost, and four standard deviations above its mean are left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from fspn import FSPN
from fspn.model.infer import log_probability
from fspn.model.nodes import Factorize, Node, Product, Sum
from fspn.schema.events import CodeRange, Events

CHECKED_ROWS = 10  # the reference inference of nested factorize nodes takes its time
DEVIATIONS = 4.0


@dataclass(frozen=True)
class Lost:
    """What was found in one model.

    Arguments:
        parts: children of product and factorize nodes (of the latter, the left ones).
        difference: largest difference between the whole model's marginal and a part's own, for
            parts that all rows reach, so that the two must agree.
        nats: largest loss at a product node, per row of the whole table.
    """

    parts: int
    difference: float
    nats: float


def likelihood_lost(model: FSPN, table: pd.DataFrame) -> Lost:
    """The losses of a model of discrete columns on its training rows.

    The whole is asked by the compiled engine with everything outside the part left free, the part
    by the reference inference.
    """
    codes = np.stack(model.domain_.encode(table), axis=1).astype(np.int32)
    values = table.to_numpy(dtype=np.float64)[:CHECKED_ROWS]
    parts, difference, nats = 0, 0.0, 0.0
    for node, weights in reached(model.root_, codes):
        children = node.children if isinstance(node, Product) else (node.left,)
        parts += len(children)
        for child in children if (weights == 1).all() else ():
            scope = sorted(child.scope)
            row = np.where(np.isin(np.arange(values.shape[1]), scope), values, np.nan)
            whole = np.atleast_1d(model.probability(row, row))
            part = np.exp(log_probability(child, points(codes[:CHECKED_ROWS], scope)))
            difference = max(difference, float(np.abs(whole - part).max()))
        if isinstance(node, Product):
            scopes = [sorted(child.scope) for child in children]
            nats = max(nats, float(weights.mean()) * largest_dependence(codes, weights, scopes))
    return Lost(parts, difference, nats)


def reached(root: Node, codes: np.ndarray) -> Iterator[tuple[Product | Factorize, np.ndarray]]:
    """Product and factorize nodes, and how much of each row reaches them.

    A sum node passes a row on by responsibilities; the right child of a factorize node, which has
    rows of its regions only, is not looked into.
    """
    waiting: list[tuple[Node, np.ndarray]] = [(root, np.ones(len(codes)))]
    while waiting:
        node, weights = waiting.pop()
        if isinstance(node, Sum):
            events = points(codes, sorted(node.scope))
            logs = np.stack([log_probability(child, events) for child in node.children], axis=1)
            logs = logs + np.log(node.weights)
            shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            waiting += [(c, weights * shares[:, k]) for k, c in enumerate(node.children)]
        elif isinstance(node, Product):
            yield node, weights
            waiting += [(child, weights) for child in node.children]
        elif isinstance(node, Factorize):
            yield node, weights
            waiting.append((node.left, weights))


def largest_dependence(
    codes: np.ndarray, weights: np.ndarray, scopes: Sequence[Sequence[int]]
) -> float:
    """The largest mutual information of two columns of different scopes, less what is chance."""
    pairs = [pair for a, b in combinations(scopes, 2) for pair in product(a, b)]
    return max((mutual_information(codes[:, a], codes[:, b], weights) for a, b in pairs), default=0)


def mutual_information(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    """I(a; b) of two coded columns of weighted rows, less what is chance; in nats."""
    n = weights.sum()
    if n <= 0:
        return 0.0
    width = int(b.max()) + 1
    table = np.bincount(a * width + b, weights, minlength=(int(a.max()) + 1) * width)
    p = table.reshape(-1, width) / n
    rows, columns = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    seen = p > 0
    information = np.sum(p[seen] * np.log(p[seen] / (rows * columns)[seen]))
    freedom = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    chance = (freedom + DEVIATIONS * np.sqrt(2 * freedom)) / (2 * n)
    return max(float(information - chance), 0.0)


def points(codes: np.ndarray, scope: Sequence[int]) -> Events:
    """Coded rows as events that leave everything outside the scope free."""
    return Events(len(codes), {v: CodeRange(codes[:, v], codes[:, v]) for v in scope})

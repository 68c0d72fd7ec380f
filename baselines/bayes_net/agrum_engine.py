"""Exact inference in a discrete Bayesian network by pyAgrum, single-threaded.

Pr(Q = q | E = e) is the ratio of two `evidenceProbability` calls of a `LazyPropagation` *without
targets*. Mean times of pyAgrum's exact ways, on six 20-variable networks x 30 queries, one pass
on a busy machine: this one 0.2-0.8 ms, with the default targets 0.4-1.9 ms, Shafer-Shenoy
0.4-1.8 ms, the joint posterior at least 0.9-8.8 ms (tables above 300,000 cells left out), the chain
rule by variable elimination 0.2-0.8 ms. The last is a tie: ahead on two of the six networks, behind
on four. The ratio is taken because P(e) can be shared by a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from baselines.bayes_net.chow_liu import Parents
from baselines.encoding import FREE

TABLE_CELLS_FOR_BATCH = 200_000
"""A batch that asks many cells under one evidence reads them from one table up to this size."""
CELLS_PER_CALL = 2_000
"""A table is worth its building when it replaces one call per this many cells."""


def engine_name() -> str:
    """Name and version of the engine, for the result rows."""
    import pyagrum

    return f"pyAgrum {pyagrum.__version__} LazyPropagation"


class AgrumEngine:
    """Answers questions in codes about one network.

    Arguments:
        cards: Domain sizes.
        parents: Parents of every variable.
        cpts: One table per variable: an axis per parent, then the child.
    """

    def __init__(self, cards: np.ndarray, parents: Parents, cpts: list[np.ndarray]) -> None:
        import pyagrum

        self._cards = cards
        self._net = build_network(cards, parents, cpts)
        self._events = pyagrum.LazyPropagation(self._net)
        self._events.setNumberOfThreads(1)
        self._events.eraseAllTargets()
        self._tables = pyagrum.LazyPropagation(self._net)
        self._tables.setNumberOfThreads(1)

    def boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """P(first <= X <= last) by 0/1 likelihood vectors as soft evidence."""
        bounds = zip(first, last, strict=True)
        return np.array([self._event(self._interval(a, b)) for a, b in bounds])

    def expectation(self, weights: Mapping[int, np.ndarray]) -> float:
        """The expected product of weights of codes, as soft evidence."""
        if not all(w.any() for w in weights.values()):
            return 0.0
        return self._event({i: w.tolist() for i, w in weights.items()})

    def table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        """P(targets | given), one axis per target, in the order asked."""
        engine = self._tables
        engine.eraseAllTargets()
        engine.eraseAllJointTargets()
        engine.setEvidence(_point(given))
        if len(target) == 1:
            engine.addTarget(target[0])
            return np.array(engine.posterior(target[0]).toarray())
        engine.addJointTarget(set(target))
        tensor = engine.jointPosterior(set(target))
        held = [int(name[1:]) for name in reversed(tensor.names)]
        return np.transpose(tensor.toarray(), [held.index(i) for i in target])

    def conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Batch of Pr(q | e); rows that share evidence and query columns share the work."""
        if len(asked) == 1:
            return np.array([self._ratio(asked[0], given[0], self._event(_point(given[0])))])
        result = np.empty(len(asked))
        for rows in _shared_rows(asked, given):
            result[rows] = self._group(asked[rows], given[rows[0]])
        return result

    def _group(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        whole = self._event(_point(given))
        target = tuple(int(i) for i in np.flatnonzero(asked[0] != FREE))
        cells = float(np.prod(self._cards[list(target)], dtype=np.float64))
        if whole > 0 and cells <= min(TABLE_CELLS_FOR_BATCH, CELLS_PER_CALL * (len(asked) - 1)):
            return self.table(target, given)[tuple(asked[:, i] for i in target)]
        return np.array([self._ratio(q, given, whole) for q in asked])

    def _ratio(self, asked: np.ndarray, given: np.ndarray, whole: float) -> float:
        if whole <= 0:
            return np.nan
        return self._event({**_point(given), **_point(asked)}) / whole

    def _event(self, evidence: dict[int, Any]) -> float:
        if not evidence:
            return 1.0
        self._events.setEvidence(evidence)
        return float(self._events.evidenceProbability())

    def _interval(self, first: np.ndarray, last: np.ndarray) -> dict[int, Any]:
        evidence: dict[int, Any] = {}
        for i in np.flatnonzero((first > 0) | (last < self._cards - 1)):
            inside = np.zeros(self._cards[i])
            inside[first[i] : last[i] + 1] = 1.0
            evidence[int(i)] = inside.tolist()
        return evidence


def build_network(cards: np.ndarray, parents: Parents, cpts: list[np.ndarray]) -> Any:
    """A pyAgrum network with node ids = column positions."""
    import pyagrum

    net = pyagrum.BayesNet()
    for i, card in enumerate(cards):
        net.add(pyagrum.RangeVariable(f"v{i}", "", 0, int(card) - 1))
    for child, above in enumerate(parents):
        for parent in reversed(above):  # pyAgrum's arrays have their axes in reverse order
            net.addArc(parent, child)
    for child, cpt in enumerate(cpts):
        net.cpt(child)[:] = cpt
    return net


def _point(codes: np.ndarray) -> dict[int, Any]:
    return {i: c for i, c in enumerate(codes.tolist()) if c != FREE}


def _shared_rows(asked: np.ndarray, given: np.ndarray) -> list[np.ndarray]:
    keys = np.concatenate([given, asked != FREE], axis=1)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group.ravel()[order])) + 1)

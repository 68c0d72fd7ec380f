"""Questions to a SPFlow network of histogram leaves, by SPFlow's own bottom-up evaluation.

`eval_spn_bottom_up` takes the functions that evaluate each node type. SPFlow's own walk the rows in
Python at every leaf and re-check the weights at every sum; the ones plugged in here look values up
in arrays. One question is one pass over a batch of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

from baselines.base import Footprint
from baselines.encoding import FREE

MAX_BATCH_VALUES = 32_000_000
"""SPFlow keeps one value per node and row: 256 MB at most."""
ENGINE = "SPFlow 0.0.48 bottom-up evaluation, array leaves"


class SpflowEvaluator:
    """Evaluates a fitted root; all questions are in codes.

    Arguments:
        root: A SPFlow network whose leaves are histograms over codes 0 ... d - 1.
    """

    def __init__(self, root: Any) -> None:
        from spn.structure.Base import Leaf, Sum, get_nodes_by_type

        self.root = root
        self._nodes = get_nodes_by_type(root)
        leaves = [n for n in self._nodes if isinstance(n, Leaf)]
        self._density = {n.id: np.asarray(n.densities, dtype=np.float64) for n in leaves}
        self._column = {n.id: int(n.scope[0]) for n in leaves}
        # One more entry, 1.0, which the index -1 of an unconstrained column finds.
        self._point = {k: np.append(d, 1.0) for k, d in self._density.items()}
        self._cumulative = {k: np.append(0.0, np.cumsum(d)) for k, d in self._density.items()}
        sums = [n for n in self._nodes if isinstance(n, Sum)]
        self._weights = {n.id: np.asarray(n.weights, dtype=np.float64) for n in sums}
        self._scope = {n.id: frozenset(n.scope) for n in self._nodes}

    def points(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities of partial assignments; `FREE` columns are summed out."""

        def leaf(node: Any, codes: np.ndarray, **_: Any) -> np.ndarray:
            return self._point[node.id][codes[:, self._column[node.id]]]

        return self._evaluate(leaf, self._sum, _product, codes=np.where(codes == FREE, -1, codes))

    def boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """P(first <= X <= last)."""

        def leaf(node: Any, first: np.ndarray, last: np.ndarray, **_: Any) -> np.ndarray:
            cumulative, column = self._cumulative[node.id], self._column[node.id]
            return cumulative[last[:, column] + 1] - cumulative[first[:, column]]

        return self._evaluate(leaf, self._sum, _product, first=first, last=last)

    def expectation(self, weights: Mapping[int, np.ndarray]) -> float:
        """The expected product of weights of codes: every leaf gives its own."""

        def leaf(node: Any, _rows: np.ndarray, **_: Any) -> np.ndarray:
            asked = weights.get(self._column[node.id])
            return np.array([1.0 if asked is None else self._density[node.id] @ asked])

        return float(self._evaluate(leaf, self._sum, _product, _rows=np.zeros(1))[0])

    def log_points(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities of complete rows."""

        def leaf(node: Any, codes: np.ndarray, **_: Any) -> np.ndarray:
            return np.log(self._density[node.id])[codes[:, self._column[node.id]]]

        return self._evaluate(leaf, self._log_sum, _log_product, codes=codes)

    def table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        """P(targets, given), one axis per target: the same sums and products, on tables."""
        asked = frozenset(target) | frozenset(np.flatnonzero(given != FREE).tolist())
        shape = [len(self._density_of(i)) for i in target]
        return np.broadcast_to(self._tensor(self.root, target, given, asked), shape)

    def footprint(self) -> Footprint:
        """Weights and densities as parameters; child links and leaf scopes as structure."""
        parameters = [*self._weights.values(), *self._density.values()]
        links = sum(len(n.children) for n in self._nodes if n.id not in self._density)
        return Footprint.of(len(self._nodes), parameters, links + len(self._density))

    def _density_of(self, column: int) -> np.ndarray:
        return next(self._density[k] for k, c in self._column.items() if c == column)

    def _tensor(
        self, node: Any, target: tuple[int, ...], given: np.ndarray, asked: frozenset[int]
    ) -> np.ndarray:
        if not self._scope[node.id] & asked:
            return np.ones(())
        if node.id in self._density:
            return self._leaf_tensor(node, target, given)
        parts = (self._tensor(c, target, given, asked) for c in node.children)
        if node.id not in self._weights:
            return _multiply_smallest_first(list(parts))
        total = np.zeros(())
        for weight, part in zip(self._weights[node.id], parts, strict=True):
            total = total + weight * part
        return total

    def _leaf_tensor(self, node: Any, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        column, density = self._column[node.id], self._density[node.id]
        if column not in target:
            return density[given[column]]
        return density.reshape([-1 if i == column else 1 for i in target])

    def _sum(self, node: Any, children: list[np.ndarray], **_: Any) -> np.ndarray:
        result: np.ndarray = self._weights[node.id] @ np.array(children)
        return result

    def _log_sum(self, node: Any, children: list[np.ndarray], **_: Any) -> np.ndarray:
        result: np.ndarray = logsumexp(children, axis=0, b=self._weights[node.id][:, None])
        return result

    def _evaluate(
        self,
        leaf: Callable[..., np.ndarray],
        add: Callable[..., np.ndarray],
        multiply: Callable[..., np.ndarray],
        **arrays: np.ndarray,
    ) -> np.ndarray:
        from spn.structure.Base import Product, Sum, eval_spn_bottom_up
        from spn.structure.leaves.histogram.Histograms import Histogram

        functions = {Sum: add, Product: multiply, Histogram: leaf}
        rows = len(next(iter(arrays.values())))
        step = max(1, MAX_BATCH_VALUES // len(self._nodes))
        pieces = []
        for start in range(0, rows, step):
            part = {k: a[start : start + step] for k, a in arrays.items()}
            pieces.append(eval_spn_bottom_up(self.root, functions, **part))
        return np.concatenate(pieces) if pieces else np.empty(0)


def _product(node: Any, children: list[np.ndarray], **_: Any) -> np.ndarray:
    result: np.ndarray = np.multiply.reduce(children)
    return result


def _log_product(node: Any, children: list[np.ndarray], **_: Any) -> np.ndarray:
    result: np.ndarray = np.add.reduce(children)
    return result


def _multiply_smallest_first(parts: list[np.ndarray]) -> np.ndarray:
    parts.sort(key=lambda p: p.size)
    result = parts[0]
    for part in parts[1:]:
        result = result * part
    return result

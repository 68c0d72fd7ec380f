"""Ways to partition rows: clusters for sum nodes, and splits of the conditioning space.

``greedy`` and ``kmeans_grid`` are the two split methods of the paper's Appendix C. A split cuts
one conditioning variable in two, so that regions stay boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from fspn.learn.dependence.rdc import Oracle
from fspn.learn.slices import Slice
from fspn.schema.events import Codes, Interval, Side, Span
from fspn.schema.variable import Variable

MAX_FIT_ROWS = 10_000
MAX_ONE_HOT = 64


@dataclass(frozen=True)
class Cut:
    """One variable cut in two: the cells of both sides, and which rows lie on the first."""

    variable: int
    cells: tuple[Side, Side]
    first: np.ndarray


Cluster = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]
SplitMethod = Callable[
    [Slice, Sequence[int], Sequence[int], Oracle, np.random.Generator], "Cut | None"
]


def kmeans(features: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by k-means, fitted on a sample of the rows where there are many."""
    from sklearn.cluster import KMeans

    model = KMeans(k, n_init=3, max_iter=50, random_state=int(rng.integers(2**31)))
    sample = features
    if len(features) > MAX_FIT_ROWS:
        sample = features[np.sort(rng.choice(len(features), MAX_FIT_ROWS, replace=False))]
    if _has_at_most(k, sample):
        return np.unique(features, axis=0, return_inverse=True)[1].ravel() % k
    # One thread: sums in a fixed order, so that the labels do not depend on the machine.
    with _thread_pools().limit(limits=1):
        return model.fit(sample).predict(features)


def _has_at_most(k: int, points: np.ndarray) -> bool:
    """Whether no more than k points differ; sorting them all would take longer than clustering."""
    for _ in range(k):
        if not len(points):
            break
        points = points[(points != points[0]).any(axis=1)]
    return not len(points)


@cache
def _thread_pools() -> ThreadpoolController:
    """The thread pools, looked up once: that takes longer than most clusterings."""
    return ThreadpoolController()


def some_rows(data: Slice, most: int, rng: np.random.Generator) -> Slice:
    """At most so many rows of a slice, drawn without replacement, in their order."""
    if data.n_rows <= most:
        return data
    return data.take(np.sort(rng.choice(data.n_rows, most, replace=False)))


def row_features(data: Slice, scope: Sequence[int]) -> np.ndarray:
    """Rows as points: numbers standardised, unordered values one-hot."""
    return np.column_stack([_columns(data, variable) for variable in scope])


def _columns(data: Slice, variable: int) -> np.ndarray:
    described = data.domain[variable]
    if not described.is_ordered and described.size > 2:
        values = data.values(variable)
        kept = min(described.size, MAX_ONE_HOT)
        common = np.argsort(-np.bincount(values, minlength=described.size), kind="stable")[:kept]
        return (values[:, None] == common).astype(np.float32)
    numbers = _on_line(data, variable).astype(np.float32)
    deviation = float(numbers.std())
    return ((numbers - numbers.mean()) / (deviation if deviation > 0 else 1.0))[:, None]


def positions(described: Variable) -> np.ndarray:
    """Where the codes of a variable lie on a line: gaps between whole numbers count.

    Cells of more than one value hold about as many rows each, and are taken to be equally wide:
    the outer ones reach out to outliers. The missing state lies behind them.
    """
    if described.kind == "ordered" and described.cells is None and described.n_values:
        line = described.line_values.astype(np.float64)
        if described.missing is not None:
            line = np.append(line, line[-1] + 1.0)
        return line - line[0]
    return np.arange(described.size, dtype=np.float64)


def _on_line(data: Slice, variable: int) -> np.ndarray:
    """The values of a variable as points on a line."""
    described, values = data.domain[variable], data.values(variable)
    return positions(described)[values] if described.is_coded else values


def greedy(
    data: Slice,
    targets: Sequence[int],
    given: Sequence[int],
    oracle: Oracle,
    rng: np.random.Generator,
    tries: int = 5,
) -> Cut | None:
    """Cut the variable that the targets depend on most, where least dependence remains."""
    columns = [data.column(v) for v in targets]
    strength = oracle.matrix(columns, [data.column(v) for v in given]).max(axis=0)
    for position in np.argsort(-strength, kind="stable"):
        cuts = _candidate_cuts(data, given[position], tries, rng)
        if len(cuts) == 1:
            return cuts[0]
        if cuts:
            return min(cuts, key=lambda cut: _left_over(data, cut, targets, given, oracle))
    return None


def _left_over(
    data: Slice, cut: Cut, targets: Sequence[int], given: Sequence[int], oracle: Oracle
) -> float:
    """The mean dependence in both parts, weighted by their rows."""
    total = 0.0
    for side in (cut.first, ~cut.first):
        part = data.take(side)
        matrix = oracle.matrix([part.column(v) for v in targets], [part.column(v) for v in given])
        total += float(matrix.mean()) * part.n_rows
    return total / data.n_rows


def _candidate_cuts(data: Slice, variable: int, tries: int, rng: np.random.Generator) -> list[Cut]:
    values = data.values(variable)
    distinct = np.unique(values)
    described = data.domain[variable]
    borders = distinct[:-1] if described.is_ordered else distinct
    if len(distinct) < 2:
        return []
    chosen = rng.choice(borders, size=min(tries, len(borders)), replace=False)
    return [cut_at(described, variable, values, border) for border in np.sort(chosen)]


def cut_at(described: Variable, variable: int, values: np.ndarray, border: float) -> Cut:
    """Up to the border and above it; for unordered values, the value and all others."""
    if not described.is_coded:
        cells = (Interval(-np.inf, float(border)), Interval(float(border), np.inf))
        return Cut(variable, cells, values <= border)
    code, top = int(border), described.size - 1
    if not described.is_ordered:
        rest = frozenset(range(described.size)) - {code}
        return Cut(variable, (Codes(frozenset([code])), Codes(rest)), values == code)
    return Cut(variable, (Span(0, code), Span(code + 1, top)), values <= code)


def kmeans_grid(
    data: Slice,
    targets: Sequence[int],
    given: Sequence[int],
    oracle: Oracle,
    rng: np.random.Generator,
) -> Cut | None:
    """Cut at the point between two k-means clusters, in the dimension that moves fewest rows."""
    usable = [v for v in given if data.domain[v].is_ordered]
    if not usable:
        return greedy(data, targets, given, oracle, rng)
    points = np.column_stack([_on_line(data, v) for v in usable])
    labels = kmeans(row_features(data, usable), 2, rng)
    if labels.min() == labels.max():
        return None
    between = _between_clusters(points, labels)
    cuts = [
        cut_at(data.domain[v], v, data.values(v), _border(data.domain[v], between[i]))
        for i, v in enumerate(usable)
    ]
    cuts = [cut for cut in cuts if cut.first.any() and not cut.first.all()]
    return min(cuts, key=lambda cut: _moved(cut, labels), default=None)


def _between_clusters(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The middle of the gap between the two clusters, on the line through their centres."""
    centres = [points[labels == label].mean(axis=0) for label in (0, 1)]
    line = centres[1] - centres[0]
    length = float(np.linalg.norm(line))
    if length == 0:
        return centres[0]
    along = (points - centres[0]) @ (line / length)
    middle = 0.5 * (along[labels == 0].max() + along[labels == 1].min())
    return centres[0] + line / length * middle


def _border(described: Variable, value: float) -> float:
    """The last code at or below a point of the line; for reals the point itself."""
    if not described.is_coded:
        return float(value)
    return float(np.searchsorted(positions(described), value, side="right") - 1)


def _moved(cut: Cut, labels: np.ndarray) -> int:
    """How many rows the cut puts with the other cluster."""
    wrong = int(np.count_nonzero(cut.first == (labels == 1)))
    return min(wrong, len(labels) - wrong)


SPLITS: dict[str, SplitMethod] = {"greedy": greedy, "kmeans_grid": kmeans_grid}
CLUSTERS: dict[str, Cluster] = {"kmeans": kmeans}

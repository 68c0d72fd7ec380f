"""Random FSPNs and events for property tests: every node type, every leaf family."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from fspn.model.cpt.backoff import BackoffLevel, BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.graded import GradedLaw
from fspn.model.cpt.tree import TreeLevel
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, TableSplit, UniLeaf
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import CodeRange, Codes, CodeWeights, Events, Span


class ModelMaker:
    """Draws a random FSPN over variables of small domains."""

    def __init__(self, seed: int, n_variables: int):
        self.rng = np.random.default_rng(seed)
        self.sizes = self.rng.integers(1, 5, size=n_variables).tolist()

    def domain(self) -> Domain:
        kinds = ("ordered", "unordered")
        return Domain(
            tuple(
                Variable(f"v{i}", kinds[i % 2], np.arange(size))
                for i, size in enumerate(self.sizes)
            )
        )

    def model(self) -> Node:
        return self.node(list(range(len(self.sizes))), depth=4)

    def node(self, scope: list[int], depth: int) -> Node:
        if len(scope) == 1:
            return UniLeaf(scope[0], self.categorical(scope[0]))
        kinds = ["product", "sum", "factorize", "table"] if depth else ["product"]
        kind = self.rng.choice(kinds)
        if kind == "sum":
            weights = self.rng.dirichlet(np.ones(2))
            return Sum(weights, tuple(self.node(scope, depth - 1) for _ in range(2)))
        first, second = self.halves(scope)
        if kind == "product":
            return Product((self.node(first, depth), self.node(second, depth)))
        left = self.node(first, max(depth - 1, 0))
        if kind == "factorize":
            return Factorize(left, self.right(second, first, 2))
        for variable in second:
            given = self.rng.permutation(sorted(left.scope))[: self.rng.integers(1, 4)]
            left = Factorize(left, self.table(variable, [int(v) for v in given]))
        return left

    def halves(self, scope: list[int]) -> tuple[list[int], list[int]]:
        shuffled = [int(v) for v in self.rng.permutation(scope)]
        cut = int(self.rng.integers(1, len(scope)))
        return shuffled[:cut], shuffled[cut:]

    def categorical(self, variable: int) -> Categorical:
        p = self.rng.dirichlet(np.ones(self.sizes[variable]))
        if self.rng.random() < 0.3 and len(p) > 1:
            p[int(self.rng.integers(len(p)))] = 0.0
            p = p / p.sum()
        return Categorical(p)

    def right(self, scope: list[int], given: list[int], depth: int) -> Node:
        wide = [v for v in given if self.sizes[v] > 1]
        if depth == 0 or not wide or self.rng.random() < 0.2:
            return MultiLeaf(tuple(scope), self.multivariate(scope))
        variable = int(self.rng.choice(wide))
        size = self.sizes[variable]
        if variable % 2:
            chosen = frozenset(int(c) for c in self.rng.permutation(size)[: size // 2])
            cells = (Codes(chosen), Codes(frozenset(range(size)) - chosen))
        else:
            border = int(self.rng.integers(0, size - 1))
            cells = (Span(0, border), Span(border + 1, size - 1))
        children = tuple(self.right(scope, given, depth - 1) for _ in cells)
        return Split(tuple({variable: cell} for cell in cells), children)

    def multivariate(self, scope: list[int]) -> Independent | SparseJoint | Nested:
        kind = self.rng.integers(3)
        if kind == 0:
            return Independent(tuple(self.categorical(v) for v in scope))
        if kind == 1:
            codes = np.column_stack([self.rng.integers(0, self.sizes[v], 6) for v in scope])
            return SparseJoint.fit(codes, [self.sizes[v] for v in scope], 0.5)
        return Nested(self.node(scope, 1))

    def table(self, variable: int, given: list[int]) -> TableSplit:
        sizes = tuple(self.sizes[v] for v in given)
        levels: list[BackoffLevel] = []
        kind = self.rng.random()
        if kind < 0.3:
            levels.append(self.offset(variable, given))
        elif kind < 0.6:
            make: Callable[..., BackoffLevel] = self.graded if kind < 0.45 else self.tree
            levels.append(make(variable, given))
            if self.rng.random() < 0.5:
                levels.append(self.counts(variable, sizes))
        else:
            widths = sorted({int(self.rng.integers(1, len(given) + 1)), len(given)})
            levels += [self.counts(variable, sizes[:width]) for width in widths]
        return TableSplit(
            variable, tuple(given), BackoffTable(self.categorical(variable).p, tuple(levels))
        )

    def counts(self, variable: int, sizes: tuple[int, ...]) -> CountLevel:
        cells = [
            (key, code)
            for key, code in product(range(int(np.prod(sizes))), range(self.sizes[variable]))
            if self.rng.random() < 0.6
        ] or [(0, 0)]
        keys, codes = np.array(cells).T
        counts = self.rng.integers(1, 9, size=len(keys))
        return CountLevel.from_cells(keys, codes, counts, sizes, float(self.rng.choice([0.1, 2.0])))

    def offset(self, variable: int, given: list[int]) -> LinearLaw:
        return LinearLaw(
            tuple(np.arange(self.sizes[v]) for v in given),
            np.arange(self.sizes[variable]),
            self.rng.integers(-1, 3, size=len(given)),
            np.array([-1, 0, 2]),
            self.rng.dirichlet(np.ones(3)),
            0.05,
        )

    def graded(self, variable: int, given: list[int]) -> GradedLaw:
        sizes = [self.sizes[v] for v in given]
        return GradedLaw(
            tuple(self.rng.normal(size=size) for size in sizes),
            self.rng.normal(size=int(np.prod(sizes)) * int(self.rng.integers(2))),
            np.cumsum(self.rng.uniform(0.2, 2.0, size=self.sizes[variable] - 1)),
            float(self.rng.choice([0.0, 0.1])),
        )

    def tree(self, variable: int, given: list[int]) -> TreeLevel:
        parent = int(self.rng.integers(len(given)))
        code, equal = self.rng.integers(self.sizes[given[parent]]), self.rng.integers(2)
        leaf, size = [-1, 0, 0, 0, 0], self.sizes[variable]
        return TreeLevel(
            tuple(self.sizes[v] for v in given),
            np.array([[parent, code, equal, 1, 2], leaf, leaf]),
            np.array([0, size, size + 1]),
            np.array([*range(size), self.rng.integers(size)]),
            self.rng.integers(1, 9, size=size + 1),
            2.0,
        )

    def events(self, n: int) -> Events:
        """Random boxes and weighted sets; about half of the variables are constrained."""
        constraints: dict[int, CodeRange | CodeWeights] = {}
        for v, size in enumerate(self.sizes):
            kind = self.rng.integers(4)
            if kind == 0:
                ends = np.sort(self.rng.integers(0, size, size=(n, 2)), axis=1)
                constraints[v] = CodeRange(ends[:, 0], ends[:, 1])
            elif kind == 1:
                codes = self.rng.integers(0, size, size=n)
                constraints[v] = CodeRange(codes, codes)
            elif kind == 2:
                constraints[v] = CodeWeights(self.rng.integers(0, 3, size=(n, size)) / 2.0)
        return Events(n, constraints)


def all_points(sizes: list[int]) -> np.ndarray:
    """Every row of the domain."""
    return np.array(list(product(*(range(size) for size in sizes))))


def point_events(points: np.ndarray) -> Events:
    """Rows as events."""
    return Events(len(points), {v: CodeRange(c, c) for v, c in enumerate(points.T)})

r"""Factors of leaves: :math:`\bigoplus_{x \notin kept} \Pr(x) \, e(x)` as logarithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fspn.model.cpt.rows import row_keys
from fspn.model.eliminate.buckets import check_cells
from fspn.model.eliminate.semiring import SUM_PRODUCT, Semiring, log_sum
from fspn.model.leaves.base import Multivariate, Univariate, log_of
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.reals import mode
from fspn.schema.events import CodeRange, CodeWeights, Constraint, Events, RealRange


def code_logs(dist: Univariate, size: int) -> np.ndarray:
    """The log-probability of every code, whatever the family."""
    codes = np.arange(size)
    return dist.log_probability(CodeRange(codes, codes))


def weight_logs(constraint: Constraint | None, n: int, size: int) -> np.ndarray:
    """The logarithm of the weight that every event gives to every code, shape (n or 1, size)."""
    if constraint is None:
        return np.zeros((1, size))
    if isinstance(constraint, CodeRange | CodeWeights):
        return log_of(constraint.weights(size))
    raise TypeError("a range of reals was asked of a coded variable")


def univariate_logs(
    dist: Univariate, constraint: Constraint | None, size: int, semiring: Semiring
) -> np.ndarray:
    """A univariate leaf with its variable taken out, shape (n or 1,)."""
    if constraint is None and semiring is SUM_PRODUCT:
        return np.zeros(1)
    if size == 0:
        return _real_logs(dist, constraint, semiring)
    if semiring is SUM_PRODUCT:
        assert constraint is not None
        return dist.log_probability(constraint)
    return semiring.plus(code_logs(dist, size) + weight_logs(constraint, 1, size))


def _real_logs(dist: Univariate, constraint: Constraint | None, semiring: Semiring) -> np.ndarray:
    """The mass of a range or, maximised, its highest density; the density of a point."""
    if constraint is None:
        constraint = RealRange(np.full(1, -np.inf), np.full(1, np.inf))
    if isinstance(constraint, RealRange) and semiring is not SUM_PRODUCT:
        return mode(dist, constraint.lower, constraint.upper)[1]
    return dist.log_probability(constraint)


class JointFactors:
    r"""A sparse joint table under events.

    .. math:: (1 - \epsilon) \sum_r w_r 1[h = r] e(h) + \epsilon \prod_i \Pr(h_i) e(h_i)

    Variables that are neither kept nor maximised are summed out first. What is left at a
    combination h of kept and maximised codes is the rows that agree with h plus the product term;
    its maximum is either at such rows or where the product term alone is highest.

    Arguments:
        dist: The table.
        events: The events.
        variables: The variables of its columns.
    """

    def __init__(self, dist: SparseJoint, events: Events, variables: Sequence[int]):
        self.dist = dist
        self.sizes = [len(marginal.p) for marginal in dist.marginals]
        self.weights = [
            weight_logs(events.constraints.get(v), events.n, size)
            for v, size in zip(variables, self.sizes, strict=True)
        ]
        self.variables = tuple(variables)
        self.rows = dist.rows.astype(np.int64)

    def row_logs(self) -> np.ndarray:
        """The share of every row under every event, shape (n or 1, rows)."""
        logs = np.log1p(-self.dist.epsilon) + log_of(self.dist.weights)[None, :]
        for position, weights in enumerate(self.weights):
            logs = logs + weights[:, self.rows[:, position]]
        return logs

    def spread_logs(self, position: int) -> np.ndarray:
        """A marginal of the product term under every event, shape (n or 1, size)."""
        return log_of(self.dist.marginals[position].p) + self.weights[position]

    def factor(self, kept: Sequence[int], maxed: frozenset[int]) -> np.ndarray:
        """The factor over the kept variables, shape (n or 1, their sizes)."""
        ends = [self.variables.index(v) for v in kept]
        top = [i for i, v in enumerate(self.variables) if v in maxed and v not in kept]
        at_rows, configurations = self._at_rows([*ends, *top])
        base = log_of(np.array(self.dist.epsilon)) + sum(
            (
                log_sum(self.spread_logs(i))
                for i in range(len(self.sizes))
                if i not in (*ends, *top)
            ),
            np.zeros(1),
        )
        highest = sum((self.spread_logs(i).max(axis=-1) for i in top), base)
        axes = [self.sizes[i] for i in ends]
        check_cells(tuple(range(len(axes))), dict(enumerate(axes)))
        n = max(len(at_rows), len(highest), *(len(self.spread_logs(i)) for i in ends), 1)
        total = np.broadcast_to(highest.reshape(-1, *[1] * len(axes)), (n, *axes)).copy()
        spread = np.broadcast_to(base[:, None], (len(base), at_rows.shape[1]))
        for place, i in enumerate([*ends, *top]):
            logs = self.spread_logs(i)
            if place < len(ends):
                total += logs.reshape(
                    len(logs), *(-1 if a == place else 1 for a in range(len(ends)))
                )
            spread = spread + logs[:, configurations[:, place]]
        at_rows = np.broadcast_to(np.logaddexp(at_rows, spread), (n, at_rows.shape[1]))
        keys = row_keys([configurations[:, place] for place in range(len(ends))], tuple(axes))
        flat = total.reshape(n, -1)
        np.maximum.at(flat, (np.arange(n)[:, None], np.broadcast_to(keys, at_rows.shape)), at_rows)
        return total

    def _at_rows(self, positions: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Rows gathered by their codes at some positions: logs (n or 1, distinct), the codes."""
        distinct, which = np.unique(self.rows[:, positions], axis=0, return_inverse=True)
        logs = self.row_logs()
        top = logs.max(axis=1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0.0, top)
        mass = np.zeros((len(distinct), len(logs)))
        np.add.at(mass, which.ravel(), np.exp(logs - top).T)
        return log_of(mass.T) + top, distinct


def enumerated_factor(
    dist: Multivariate,
    events: Events,
    variables: Sequence[int],
    sizes: Sequence[int],
    kept: Sequence[int],
    semiring_of: Callable[[int], Semiring],
) -> np.ndarray:
    """The factor of a multivariate family that is known by its probabilities only, cell by cell."""
    inner = [v for v in variables if v not in kept]
    axes = [*kept, *sorted(inner, key=lambda v: semiring_of(v) is SUM_PRODUCT)]
    lengths = {v: sizes[v] for v in axes}
    if any(length == 0 for length in lengths.values()):
        raise TypeError(
            f"a multi-leaf of the family {dist.family!r} holds reals; only its probabilities are "
            "known, so it has no maximum and cannot be drawn from given evidence"
        )
    check_cells(tuple(axes), lengths)
    cells = np.indices([lengths[v] for v in axes]).reshape(len(axes), -1)
    n = cells.shape[1]
    points = Events(n, {v: CodeRange(c, c) for v, c in zip(axes, cells, strict=True)})
    logs = dist.log_probability(points, tuple(variables)).reshape(1, *lengths.values())
    for place, v in enumerate(axes, 1):
        weights = weight_logs(events.constraints.get(v), events.n, lengths[v])
        logs = logs + weights.reshape(
            len(weights), *(-1 if a == place else 1 for a in range(1, logs.ndim))
        )
    for v in reversed(axes[len(kept) :]):
        logs = semiring_of(v).plus(logs)
    return logs

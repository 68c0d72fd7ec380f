"""Multi-leaf of coded variables: one sparse table, smoothed by the product of its marginals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fspn.model.leaves.base import Multivariate, State, leaf_faults, log_of
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.checks import share_faults
from fspn.model.leaves.registry import register
from fspn.schema.events import CodeRange, CodeWeights, Events

if TYPE_CHECKING:
    from fspn.schema.domain import Variable

CHUNK_CELLS = 4_000_000


@register
@dataclass(frozen=True)
class SparseJoint(Multivariate):
    r"""The distinct rows with their weights, mixed with the product of the marginals.

    .. math:: \Pr(h) = (1 - \epsilon) \, w(h) + \epsilon \prod_i \Pr(h_i)

    A bare table gives probability zero to every unseen combination; the product term gives them
    weight :math:`\epsilon`, fitted by leave-one-out likelihood.

    Arguments:
        rows: The distinct rows (codes), sorted, shape (r, k).
        weights: Their probabilities, summing to 1.
        marginals: The distribution of each variable.
        epsilon: The weight of the product term.
        left_out: The mean leave-one-out log-likelihood of the training rows.
    """

    rows: np.ndarray
    weights: np.ndarray
    marginals: tuple[Categorical, ...]
    epsilon: float
    left_out: float = np.nan
    family: ClassVar[str] = "sparse_joint"

    @classmethod
    def fit(cls, codes: np.ndarray, sizes: list[int], alpha: float) -> SparseJoint:
        """Learn from rows of codes, shape (n, k)."""
        rows, counts = np.unique(codes, axis=0, return_counts=True)
        marginals = tuple(
            Categorical.fit(column, size, alpha)
            for column, size in zip(codes.T, sizes, strict=True)
        )
        spread = np.prod([m.p[c] for m, c in zip(marginals, rows.T, strict=True)], axis=0)
        epsilon, left_out = _leave_one_out(counts, spread)
        dtype = np.uint8 if max(sizes) <= 256 else np.uint16 if max(sizes) <= 65536 else np.int32
        return cls(rows.astype(dtype), counts / counts.sum(), marginals, epsilon, left_out)

    @classmethod
    def fit_codes(cls, codes: np.ndarray, sizes: Sequence[int], alpha: float) -> SparseJoint:
        return cls.fit(codes, list(sizes), alpha)

    def log_probability(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        step = max(1, CHUNK_CELLS // max(len(self.rows), 1))
        parts = [
            self._chunk(events.take(np.arange(start, min(start + step, events.n))), scope)
            for start in range(0, events.n, step)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _chunk(self, events: Events, scope: tuple[int, ...]) -> np.ndarray:
        table, spread = np.ones((events.n, len(self.rows))), np.zeros(events.n)
        for position, variable in enumerate(scope):
            constraint = events.constraints.get(variable)
            if constraint is None:
                continue
            if not isinstance(constraint, CodeRange | CodeWeights):
                raise TypeError("a range of reals was asked of a coded variable")
            marginal = self.marginals[position]
            table *= constraint.weights(len(marginal.p))[:, self.rows[:, position]]
            spread += marginal.log_probability(constraint)
        mass = (1 - self.epsilon) * (table @ self.weights)
        return np.logaddexp(log_of(mass), log_of(np.array(self.epsilon)) + spread)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        rows = self.rows[rng.choice(len(self.rows), size=n, p=self.weights)].astype(np.int32)
        spread = np.column_stack([marginal.sample(n, rng) for marginal in self.marginals])
        return np.where(rng.random(n)[:, None] < self.epsilon, spread, rows)

    @cached_property
    def n_parameters(self) -> int:
        return len(self.weights) + sum(marginal.n_parameters for marginal in self.marginals)

    def summary(self) -> str:
        return f"sparse table, {len(self.weights)} rows"

    def as_joint(self) -> SparseJoint:
        return self

    def faults(self, scope: tuple[int, ...], variables: Sequence[Variable]) -> Iterator[str]:
        sizes = np.array([variable.size for variable in variables])
        if not all(variable.is_coded for variable in variables):
            yield "a sparse joint table over a continuous variable"
        elif self.rows.shape != (len(self.weights), len(sizes)) or len(self.marginals) != len(
            sizes
        ):
            yield "a sparse joint table whose rows, weights and marginals do not fit"
        elif not ((self.rows >= 0) & (self.rows < sizes)).all():
            yield "a sparse joint table with codes outside the domain"
        elif not (np.diff(self.rows[:, 0].astype(np.int64)) >= 0).all():
            yield "a sparse joint table whose rows are not sorted"
        elif not 0 <= self.epsilon <= 1:
            yield f"the share {self.epsilon:g} of a sparse joint table is not in [0, 1]"
        else:
            yield from share_faults(self.weights, "the weights of a sparse joint table")
            for marginal, variable in zip(self.marginals, variables, strict=True):
                yield from leaf_faults(marginal, variable)

    def state(self) -> State:
        lengths = np.array([len(marginal.p) for marginal in self.marginals], dtype=np.int32)
        return {
            "rows": self.rows,
            "weights": self.weights,
            "marginals": np.concatenate([marginal.p for marginal in self.marginals]),
            "lengths": lengths,
            "epsilon": np.array([self.epsilon]),
        }

    @classmethod
    def from_state(cls, state: State) -> SparseJoint:
        borders = np.cumsum(state["lengths"])[:-1]
        marginals = tuple(Categorical(p) for p in np.split(state["marginals"], borders))
        return cls(state["rows"], state["weights"], marginals, float(state["epsilon"][0]))


def _leave_one_out(counts: np.ndarray, spread: np.ndarray) -> tuple[float, float]:
    r"""The :math:`\epsilon` of the best leave-one-out likelihood, by EM, and that likelihood.

    Without one of its own occurrences a row of count c has probability (c - 1) / (n - 1).
    """
    n = int(counts.sum())
    rest = (counts - 1) / max(n - 1, 1)
    epsilon = 0.5
    for _ in range(50):
        novel = epsilon * spread
        epsilon = float(counts @ (novel / (novel + (1 - epsilon) * rest + 1e-300))) / n
        epsilon = min(max(epsilon, 1.0 / (n + 2.0)), 1.0 - 1e-9)
    left_out = np.log(epsilon * spread + (1 - epsilon) * rest + 1e-300)
    return epsilon, float(counts @ left_out) / n

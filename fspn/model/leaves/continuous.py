"""Uni-leaves of a continuous variable: a Gaussian mixture or a histogram, whichever BIC prefers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from scipy.special import logsumexp, ndtr

from fspn.model.leaves.base import State, Univariate, log_of
from fspn.model.leaves.checks import share_faults
from fspn.model.leaves.registry import learned_from_reals, register
from fspn.schema.events import Constraint, RealPoint, RealRange

if TYPE_CHECKING:
    from fspn.schema.domain import Variable

U = TypeVar("U", bound=Univariate)

MAX_FIT_ROWS = 5_000
MAX_COMPONENTS = 4
EM_STEPS = 40
HISTOGRAM_BINS = (8, 16, 32, 64)


@register
@dataclass(frozen=True)
class GaussianMixture(Univariate):
    r"""A density :math:`p(x) = \sum_j w_j \, N(x; \mu_j, \sigma_j)`."""

    weights: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    family: ClassVar[str] = "gaussian_mixture"

    def log_probability(self, constraint: Constraint) -> np.ndarray:
        if isinstance(constraint, RealPoint):
            return self._log_density(constraint.values)
        if isinstance(constraint, RealRange):
            return log_of(self._mass(constraint.lower, constraint.upper))
        raise TypeError("codes were asked of a continuous variable")

    def _log_density(self, values: np.ndarray) -> np.ndarray:
        z = (values[:, None] - self.means) / self.scales
        logs = np.log(self.weights) - 0.5 * z**2 - np.log(self.scales) - 0.5 * np.log(2 * np.pi)
        return np.where(np.isnan(values), -np.inf, logsumexp(logs, axis=1))

    def _mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # A bound that far away is an infinity.
            low = (lower[:, None] - self.means) / self.scales
            high = (upper[:, None] - self.means) / self.scales
        # In the upper tail the difference of two numbers near 1 loses digits: use the mirror image.
        mirrored = low > 0
        a, b = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        return np.maximum(ndtr(b) - ndtr(a), 0.0) @ self.weights

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        which = rng.choice(len(self.weights), size=n, p=self.weights)
        return rng.normal(self.means[which], self.scales[which])

    @property
    def n_parameters(self) -> int:
        return 3 * len(self.weights) - 1

    @property
    def peaks(self) -> np.ndarray:
        return self.means

    @property
    def is_unimodal(self) -> bool:
        return len(self.weights) == 1

    def state(self) -> State:
        return {"weights": self.weights, "means": self.means, "scales": self.scales}

    @classmethod
    def from_state(cls, state: State) -> GaussianMixture:
        return cls(state["weights"], state["means"], state["scales"])

    @classmethod
    def fit_reals(cls, values: np.ndarray, alpha: float) -> GaussianMixture:
        distinct = len(np.unique(values))
        sizes = [k for k in range(2, MAX_COMPONENTS + 1) if distinct > 3 * k]
        return _lowest_bic(
            [_single_gaussian(values), *(_mixture(values, k) for k in sizes)], values
        )

    def faults(self, variable: Variable) -> Iterator[str]:
        if not len(self.weights) == len(self.means) == len(self.scales):
            yield "a Gaussian mixture with unequal numbers of weights, means and scales"
        elif not (self.scales > 0).all():
            yield "a Gaussian whose scale is not positive"
        else:
            yield from share_faults(self.weights, "the weights of the Gaussians")


@register
@dataclass(frozen=True)
class Histogram(Univariate):
    r"""A piecewise constant density plus a Gaussian of small weight: no value is impossible.

    :math:`p(x) = (1 - \epsilon) \sum_k m_k 1[x \in bin_k] / |bin_k| + \epsilon N(x)`.
    """

    edges: np.ndarray
    mass: np.ndarray
    tail: GaussianMixture
    tail_weight: float
    family: ClassVar[str] = "histogram"

    def log_probability(self, constraint: Constraint) -> np.ndarray:
        tails = log_of(np.array(self.tail_weight)) + self.tail.log_probability(constraint)
        if isinstance(constraint, RealPoint):
            inside = self._density(constraint.values)
        elif isinstance(constraint, RealRange):
            inside = self._cumulative(constraint.upper) - self._cumulative(constraint.lower)
        else:
            raise TypeError("codes were asked of a continuous variable")
        return np.logaddexp(tails, np.log1p(-self.tail_weight) + log_of(inside))

    def _density(self, values: np.ndarray) -> np.ndarray:
        bins = np.searchsorted(self.edges, values, side="left") - 1
        found = (bins >= 0) & (bins < len(self.mass))
        heights = self.mass / np.diff(self.edges)
        return np.where(found, heights[np.clip(bins, 0, len(self.mass) - 1)], 0.0)

    def _cumulative(self, values: np.ndarray) -> np.ndarray:
        return np.interp(values, self.edges, np.concatenate([[0.0], np.cumsum(self.mass)]))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        bins = rng.choice(len(self.mass), size=n, p=self.mass)
        uniform = rng.uniform(self.edges[bins], self.edges[bins + 1])
        return np.where(rng.random(n) < self.tail_weight, self.tail.sample(n, rng), uniform)

    @property
    def peaks(self) -> np.ndarray:
        """The middles of the bins."""
        return np.asarray(0.5 * (self.edges[1:] + self.edges[:-1]))

    @property
    def n_parameters(self) -> int:
        return 2 * len(self.mass) + 3

    def state(self) -> State:
        tail = np.array([self.tail_weight, self.tail.means[0], self.tail.scales[0]])
        return {"edges": self.edges, "mass": self.mass, "tail": tail}

    @classmethod
    def from_state(cls, state: State) -> Histogram:
        weight, mean, scale = state["tail"]
        tail = GaussianMixture(np.ones(1), np.array([mean]), np.array([scale]))
        return cls(state["edges"], state["mass"], tail, float(weight))

    @classmethod
    def fit_reals(cls, values: np.ndarray, alpha: float) -> Histogram | None:
        distinct = len(np.unique(values))
        fits = [_histogram(values, bins, alpha) for bins in HISTOGRAM_BINS if distinct > bins]
        return _lowest_bic(fits, values) if fits else None

    def faults(self, variable: Variable) -> Iterator[str]:
        if len(self.edges) != len(self.mass) + 1 or not (np.diff(self.edges) > 0).all():
            yield "the edges of a histogram do not fit its bins or do not increase"
        elif not 0 <= self.tail_weight < 1:
            yield f"the tail weight {self.tail_weight:g} of a histogram is not in [0, 1)"
        else:
            yield from share_faults(self.mass, "the bins of a histogram")
            yield from self.tail.faults(variable)


def fit_continuous(values: np.ndarray, alpha: float, seed: int) -> Univariate:
    """The distribution of the lowest BIC, among the registered families of reals."""
    values = _some(values, seed)
    candidates = [family.fit_reals(values, alpha) for family in learned_from_reals()]
    return _lowest_bic([fitted for fitted in candidates if fitted is not None], values)


def _lowest_bic(candidates: Sequence[U], values: np.ndarray) -> U:
    return min(candidates, key=lambda candidate: _bic(candidate, values))


def fit_family(family: type[Univariate], values: np.ndarray, alpha: float, seed: int) -> Univariate:
    """One family; a single Gaussian where it cannot be fitted."""
    values = _some(values, seed)
    return family.fit_reals(values, alpha) or _single_gaussian(values)


def fit_gaussians(values: np.ndarray, alpha: float, seed: int) -> Univariate:
    """The Gaussian mixture with the lowest BIC, as Section 5 has it; nothing is smoothed."""
    return fit_family(GaussianMixture, values, alpha, seed)


def _some(values: np.ndarray, seed: int) -> np.ndarray:
    """All values, or a sample where there are many."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) <= MAX_FIT_ROWS:
        return values
    chosen = np.random.default_rng(seed).choice(len(values), MAX_FIT_ROWS, replace=False)
    return values[np.sort(chosen)]


def _bic(candidate: Univariate, values: np.ndarray) -> float:
    likelihood = candidate.log_probability(RealPoint(values)).sum()
    return float(-2 * likelihood + candidate.n_parameters * np.log(len(values)))


def _floor(values: np.ndarray) -> float:
    return max(1e-3 * float(np.std(values)), 1e-6 * max(1.0, float(np.abs(values).max())))


def _single_gaussian(values: np.ndarray) -> GaussianMixture:
    scale = max(float(np.std(values)), _floor(values))
    return GaussianMixture(np.ones(1), np.array([values.mean()]), np.array([scale]))


def _mixture(values: np.ndarray, k: int) -> GaussianMixture:
    """Expectation maximisation from quantiles; in numpy, so that no thread changes the sums."""
    means = np.quantile(values, (np.arange(k) + 0.5) / k)
    scales = np.full(k, max(float(np.std(values)) / k, _floor(values)))
    weights = np.full(k, 1.0 / k)
    for _ in range(EM_STEPS):
        z = (values[:, None] - means) / scales
        logs = np.log(weights) - 0.5 * z**2 - np.log(scales)
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        total = shares.sum(axis=0) + 1e-12
        weights, means = total / total.sum(), values @ shares / total
        spread = ((values[:, None] - means) ** 2 * shares).sum(axis=0) / total
        scales = np.maximum(np.sqrt(spread), _floor(values))
    return GaussianMixture(weights, means, scales)


def _histogram(values: np.ndarray, bins: int, alpha: float) -> Histogram:
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)))
    edges[0] = np.nextafter(edges[0], -np.inf)
    counts = np.histogram(values, edges)[0] + alpha
    wide = _single_gaussian(values)
    tail = GaussianMixture(wide.weights, wide.means, 2 * wide.scales)
    return Histogram(edges, counts / counts.sum(), tail, 1.0 / (len(values) + 1.0))

r"""Fitting the graded law of an ordered child (:class:`fspn.model.cpt.graded.GradedLaw`).

With :math:`A_{uk} = n_{uk}` and :math:`M_{uk} = n_{uk} + n_{u,k+1}` the log-likelihood of
cumulative logits falls apart into one logistic regression per cut, and a term of the gaps,

.. math:: \ell = \sum_{uk} A_{uk} \ln \sigma(z_{uk}) + (M_{uk} - A_{uk}) \ln \sigma(-z_{uk})
          + \sum_x n_x \ln (1 - e^{\theta_{x-1} - \theta_x}), \qquad z_{uk} = \theta_k - g(u),

which is concave, so Newton's method finds its maximum over cuts and additive effects. What the
additive location does not explain is a deviation per configuration, :math:`\delta(u) \sim N(0,
\tau^2)`, with :math:`\tau^2` from the moments of the scores: configurations with many rows keep
theirs, rare ones follow the effects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from scipy.special import expit

from fspn.learn.network.cell_counts import CodedTable
from fspn.model.cpt.graded import GradedLaw
from fspn.model.cpt.rows import row_keys

MAX_CELLS = 400_000
MAX_CODES = 256
RIDGE = 1e-3
STEPS = 30
TOLERANCE = 1e-2
DEVIATION_STEPS = 4
NO_DEVIATION = np.zeros(0)


@dataclass(frozen=True)
class GradedFit:
    """A fitted law, its likelihood and its evidence.

    Arguments:
        law: The law with epsilon = 0.
        likelihood: The log-likelihood of the rows.
        freedom: The effective number of parameters.
        evidence: The logarithm of the evidence: BIC of the effects, Laplace's approximation for
            the deviations. Cuts are free of charge, as the marginal below a table of counts is.
    """

    law: GradedLaw
    likelihood: float
    freedom: float
    evidence: float

    @property
    def left_out(self) -> float:
        """The leave-one-out likelihood, which a parameter lowers by about 1 (Stone, 1977)."""
        return self.likelihood - self.freedom


def may_be_graded(table: CodedTable, child: int, parents: tuple[int, ...]) -> bool:
    """Whether the child is ordered and a law of these variables is small enough to write out."""
    if not parents or not table.is_ordered(child) or table.sizes[child] < 3:
        return False
    sizes = [table.sizes[v] for v in (*parents, child)]
    return max(sizes) <= MAX_CODES and prod(sizes) <= MAX_CELLS


def dense_counts(table: CodedTable, child: int, parents: tuple[int, ...]) -> np.ndarray:
    """The counts of a child's codes, one row per configuration of its parents."""
    variables = (*parents, child)
    sizes = tuple(table.sizes[v] for v in variables)
    keys = row_keys([table.codes[v] for v in variables], sizes)
    return np.bincount(keys, minlength=prod(sizes)).reshape(-1, sizes[-1])


def fit_graded(counts: np.ndarray, sizes: tuple[int, ...]) -> GradedFit | None:
    """The graded law of most likelihood; None where the child has fewer than two codes in use.

    Arguments:
        counts: The dense table of counts, one row per configuration, one column per code.
        sizes: The numbers of codes of the parents.
    """
    if (counts.sum(axis=0) > 0).sum() < 2:
        return None
    task = _Task(counts, sizes)
    effects, cuts, likelihood = task.climb(*task.start())
    law = GradedLaw(task.split(effects), NO_DEVIATION, cuts, 0.0)
    n = max(float(counts.sum()), 2.0)
    paid = sum(sizes) - len(sizes)
    evidence = likelihood - 0.5 * paid * np.log(n)
    fit = GradedFit(law, likelihood, float(len(cuts) + paid), evidence)
    return task.with_deviations(fit, effects) if len(sizes) > 1 else fit


class _Task:
    """One table whose law is wanted.

    Arguments:
        counts: The dense table of counts.
        sizes: The numbers of codes of the parents.
    """

    def __init__(self, counts: np.ndarray, sizes: tuple[int, ...]) -> None:
        counts = counts.astype(np.float64)
        self.sizes, self.width = sizes, len(sizes)
        self.rows, self.codes = counts.sum(axis=1), counts.sum(axis=0)
        # A code that never occurs keeps a gap of its own.
        self.codes = np.where(self.codes > 0, self.codes, 0.5)
        self.lower = counts[:, :-1]
        self.both = counts[:, :-1] + counts[:, 1:]
        self.counts = counts

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Least squares on the codes, on the scale of a logistic law of the residuals' variance."""
        codes = np.arange(len(self.codes), dtype=np.float64)
        total = self.rows.sum()
        centre = float(self.counts.sum(axis=0) @ codes) / total
        sums = self.counts @ codes - self.rows * centre
        effects = np.linalg.solve(self._gram(self.rows, 1.0), self._sums(sums))
        location = self.location(effects)
        squares = self.counts @ (codes - centre) ** 2
        left = squares.sum() - 2 * sums @ location + self.rows @ location**2
        scale = max(np.sqrt(max(left / total, 0.0) * 3) / np.pi, 0.15)
        return effects / scale, (codes[:-1] + 0.5 - centre) / scale

    def climb(self, effects: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Newton steps over effects and cuts, halved where they go too far."""
        value = self._value(effects, cuts)
        for _ in range(STEPS):
            step = self._newton(effects, cuts)
            for _ in range(STEPS):
                tried = effects + step[: len(effects)], cuts + step[len(effects) :]
                reached = self._value(*tried)
                if reached >= value:
                    break
                step = step / 2
            gain = reached - value
            if gain < 0:
                break
            (effects, cuts), value = tried, reached
            if gain < TOLERANCE:
                break
        return effects, cuts, value + 0.5 * RIDGE * float(effects @ effects)

    def with_deviations(self, fit: GradedFit, effects: np.ndarray) -> GradedFit:
        """The law with a deviation per configuration, where that has more evidence."""
        cuts = fit.law.cuts
        score, information = self._row_derivatives(self.location(effects), cuts)
        variance = float((score**2 - information).sum() / (information**2).sum())
        if variance <= 0:
            return fit
        deviation = np.zeros(len(self.rows))
        for _ in range(DEVIATION_STEPS):
            step = (score - deviation / variance) / (information + 1 / variance)
            deviation = deviation + np.clip(step, -2.0, 2.0)
            location = self.location(effects) + deviation
            score, information = self._row_derivatives(location, cuts)
        likelihood = self._likelihood(location, cuts)
        freedom = float((information / (information + 1 / variance)).sum())
        prior = -0.5 * float(deviation @ deviation) / variance
        volume = -0.5 * float(np.log1p(variance * information).sum())
        gain = likelihood - fit.likelihood + prior + volume - 0.5 * np.log(self.rows.sum())
        if gain <= 0:
            return fit
        law = replace(fit.law, deviation=deviation)
        return GradedFit(law, likelihood, fit.freedom + freedom + 1, fit.evidence + gain)

    def location(self, effects: np.ndarray) -> np.ndarray:
        """The sum of effects of every configuration."""
        location = np.zeros(self.sizes)
        for axis, own in enumerate(self.split(effects)):
            location += own.reshape([-1 if i == axis else 1 for i in range(self.width)])
        return location.ravel()

    def split(self, effects: np.ndarray) -> tuple[np.ndarray, ...]:
        """The effects of each parent."""
        return tuple(np.split(effects, np.cumsum(self.sizes)[:-1]))

    def _value(self, effects: np.ndarray, cuts: np.ndarray) -> float:
        """The likelihood less the ridge that keeps effects of unseen codes finite."""
        if not (np.diff(cuts) > 0).all():
            return -np.inf
        likelihood = self._likelihood(self.location(effects), cuts)
        return likelihood - 0.5 * RIDGE * float(effects @ effects)

    def _likelihood(self, location: np.ndarray, cuts: np.ndarray) -> float:
        z = cuts - location[:, None]
        # ln s(-z) = ln s(z) - z, and ln s(z) = min(z, 0) - ln(1 + e^-|z|).
        logs = self.both * (np.minimum(z, 0) - np.log1p(np.exp(-np.abs(z))))
        upper = (self.both - self.lower) * z
        return float(logs.sum() - upper.sum() + self._gaps(cuts)[0])

    def _gaps(self, cuts: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The term of the gaps between cuts, and its two derivatives by each gap."""
        inner, gaps = self.codes[1:-1], np.diff(cuts)
        rest = -np.expm1(-gaps)
        slope = inner * np.exp(-gaps) / rest
        return float(inner @ np.log(rest)), slope, -slope / rest

    def _row_derivatives(
        self, location: np.ndarray, cuts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The score and the information of every configuration's location."""
        below = expit(cuts - location[:, None])
        expected = self.both * below
        score = (expected - self.lower).sum(axis=1)
        return score, (expected * (1 - below)).sum(axis=1)

    def _newton(self, effects: np.ndarray, cuts: np.ndarray) -> np.ndarray:
        """The step that solves the quadratic approximation, effects before cuts."""
        below = expit(cuts - self.location(effects)[:, None])
        expected = self.both * below
        slope = expected - self.lower
        weight = expected * (1 - below)
        _, gap_slope, gap_curve = self._gaps(cuts)
        by_cut = -slope.sum(axis=0)
        by_cut[1:] += gap_slope
        by_cut[:-1] -= gap_slope
        m, k = len(effects), len(cuts)
        curve = np.zeros((m + k, m + k))
        curve[:m, :m] = self._gram(weight.sum(axis=1), RIDGE)
        cross = self._sums(weight)
        curve[:m, m:], curve[m:, :m] = -cross, -cross.T
        diagonal = weight.sum(axis=0)
        diagonal[1:] -= gap_curve
        diagonal[:-1] -= gap_curve
        at = np.arange(m, m + k)
        curve[at, at] = diagonal + 1e-9
        curve[at[1:], at[:-1]] = curve[at[:-1], at[1:]] = gap_curve
        gradient = np.concatenate([self._sums(slope.sum(axis=1)) - RIDGE * effects, by_cut])
        return np.linalg.solve(curve, gradient)

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of what the rows hold, per code of every parent."""
        shaped = values.reshape(*self.sizes, *values.shape[1:])
        axes = range(self.width)
        return np.concatenate([shaped.sum(axis=tuple(a for a in axes if a != i)) for i in axes])

    def _gram(self, weights: np.ndarray, ridge: float) -> np.ndarray:
        """The weighted cross products of the indicators of the parents' codes."""
        shaped, axes = weights.reshape(self.sizes), range(self.width)
        first = np.cumsum([0, *self.sizes])
        gram = np.zeros((first[-1], first[-1]))
        for i in axes:
            for j in range(i, self.width):
                part = shaped.sum(axis=tuple(a for a in axes if a not in (i, j)))
                block = np.diag(part) if i == j else part
                gram[first[i] : first[i + 1], first[j] : first[j + 1]] = block
                gram[first[j] : first[j + 1], first[i] : first[i + 1]] = block.T
        gram[np.diag_indices_from(gram)] += ridge
        return gram

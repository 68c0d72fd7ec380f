"""How many classes, and which: many trees from a random start, merged down by evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from fspn.learn.leaves import NetworkSettings
from fspn.learn.mixture.coarse import coarse_rows
from fspn.learn.mixture.networks import NetworkMixture, NetworkSearch
from fspn.learn.mixture.trees import draw_classes, normalised, run_trees, sharp_start
from fspn.learn.slices import Slice
from fspn.model.nodes import Node

SAMPLE_ROWS = 40_000
"""Classes that differ little need some 10,000 rows each before evidence keeps them apart."""
HELD_OUT = 0.1
START_COMPONENTS = 16
STARTS = 3
TREE_STEPS = 15
ROUNDS = 2
MAX_POLISH_STEPS, PATIENCE, SMALL_GAIN = 8, 2, 0.002
ROWS_PER_COMPONENT = 100
LEAST_GAIN = 0.01
"""Nats per held-out row that a sum node must bring: a row's share of what its queries cost."""
DEVIATIONS = 2.0
PAIR_BUDGET = 20_000 * 200
"""Rows times pairs of columns in one step of the search with trees, at most."""


@dataclass(frozen=True)
class Found:
    """A mixture on a sample, and its gain.

    Arguments:
        mixture: The components.
        gain: The held-out log-likelihood per row less that of one network.
        error: The standard error of the gain.
    """

    mixture: NetworkMixture
    gain: float
    error: float

    @property
    def pays(self) -> bool:
        """Whether the gain is significant and worth slower queries."""
        return self.gain > max(LEAST_GAIN, DEVIATIONS * self.error)


def find_components(
    data: Slice,
    scope: Sequence[int],
    limits: NetworkSettings,
    wanted: int | None,
    whole: Node,
    rng: np.random.Generator,
    report: Callable[[float], None] = lambda _: None,
) -> Found:
    """The components of a sum node, found on a sample of the rows.

    Two components and many are tried first, two from several starts, as one may end between the
    classes: where none gain enough on held-out rows, one network is enough. Two are also the answer
    where more of them gain less.

    Arguments:
        data: All rows.
        scope: The variables.
        limits: The bounds on a network.
        wanted: The number of components; None = chosen by evidence.
        whole: The network of all rows, whose structure is to be beaten.
        rng: The only source of randomness.
        report: Called with the fraction of the work that is done.
    """
    train, held_out = split_rows(data, SAMPLE_ROWS, rng)
    search = NetworkSearch(train, scope, limits, rng)
    judge = Judge(search.refitted(whole), held_out, scope)
    found = _found(search, judge, wanted, report)
    report(1.0)
    return found


class Judge:
    """What held-out rows say of mixtures, compared with one network."""

    def __init__(self, one: NetworkMixture, held_out: Slice, scope: Sequence[int]) -> None:
        self.one, self._rows, self._scope = one, held_out, scope
        self._reference = _log_density(one, held_out, scope)

    def __call__(self, mixture: NetworkMixture) -> Found:
        gains = _log_density(mixture, self._rows, self._scope) - self._reference
        return Found(mixture, float(gains.mean()), float(gains.std() / np.sqrt(len(gains))))

    @property
    def nothing(self) -> Found:
        """One network."""
        return Found(self.one, 0.0, 0.0)


def _found(
    search: NetworkSearch, judge: Judge, wanted: int | None, report: Callable[[float], None]
) -> Found:
    most = search.limits.max_cost // sum(search.sizes)  # With independent columns.
    if most < 2:
        return judge.nothing
    two: Found | None = None
    if wanted is None:
        search.n_sharing = 2
        two = max((judge(_two(search)) for _ in range(STARTS)), key=lambda found: found.gain)
    search.n_sharing = 1
    mixture = search.from_classes(_many_classes(search, wanted))
    if two is not None and not two.pays and not judge(mixture).pays:
        return judge.nothing
    report(0.2)
    mixture = _merged(mixture, search, wanted, report)
    if len(mixture.components) > most:
        mixture = search.merged(mixture, int(most))
    if search.limits.max_cost < np.inf:
        search.n_sharing = len(mixture.components)
        mixture = search.step(mixture)
    found = _polished(judge(mixture), search, judge)
    if wanted is None:
        found = _slimmer(found, search, judge)
    return found if two is None or found.gain > two.gain else two


def _slimmer(found: Found, search: NetworkSearch, judge: Judge) -> Found:
    """Without components that others can stand in for, as long as held-out rows lose nothing."""
    while len(found.mixture.components) > 1:
        fewer = judge(search.step(search.without_least(found.mixture)))
        if fewer.gain < found.gain - SMALL_GAIN:
            break
        found = fewer
    return found


def _polished(found: Found, search: NetworkSearch, judge: Judge) -> Found:
    """Steps of EM until several in a row gain nothing on held-out rows; the last mixture counts.

    Classes are drawn at random, so the likelihood also varies by chance from step to step.
    """
    best, idle = found.gain, 0
    for _ in range(MAX_POLISH_STEPS if len(found.mixture.components) > 1 else 0):
        found = judge(search.step(found.mixture))
        idle = 0 if found.gain > best + SMALL_GAIN else idle + 1
        best = max(best, found.gain)
        if idle == PATIENCE:
            break
    return found


def _two(search: NetworkSearch) -> NetworkMixture:
    """Two components after a step of EM."""
    return search.step(search.from_classes(_tree_classes(search, 2)))


def _many_classes(search: NetworkSearch, wanted: int | None) -> np.ndarray:
    """Classes by more trees than components are expected."""
    n_start = max(START_COMPONENTS, 2 * (wanted or 1))
    n_start = max(2, min(n_start, search.data.n_rows // ROWS_PER_COMPONENT))
    return _tree_classes(search, n_start)


def _merged(
    mixture: NetworkMixture,
    search: NetworkSearch,
    wanted: int | None,
    report: Callable[[float], None],
) -> NetworkMixture:
    """Components merged between steps of EM."""
    for done in range(ROUNDS):
        mixture = search.merged(search.step(search.step(mixture)), wanted)
        report(0.2 + 0.6 * (done + 1) / ROUNDS)
        if len(mixture.components) == 1:
            break
    return mixture


def _log_density(mixture: NetworkMixture, data: Slice, scope: Sequence[int]) -> np.ndarray:
    return np.asarray(logsumexp(mixture.logs(data, scope), axis=1))


def split_rows(data: Slice, most: int, rng: np.random.Generator) -> tuple[Slice, Slice]:
    """At most so many rows to search on, and rows to judge by."""
    chosen = rng.permutation(data.n_rows)[: round(most / (1 - HELD_OUT))]
    n_held_out = max(1, round(HELD_OUT * len(chosen)))
    return data.take(np.sort(chosen[n_held_out:])), data.take(np.sort(chosen[:n_held_out]))


def _tree_classes(search: NetworkSearch, n_components: int) -> np.ndarray:
    """Classes of the rows by a mixture of trees on coarse codes."""
    rng = search.rng
    rows = coarse_rows(search.data, search.scope)
    n_pairs = max(1, len(search.scope) * (len(search.scope) - 1) // 2)
    n_rows = min(rows.n_rows, max(1000, PAIR_BUDGET // n_pairs))
    part = rows if n_rows == rows.n_rows else rows.take(np.arange(n_rows))
    start = sharp_start(n_rows, min(n_components, n_rows // 20), rng)
    mixture, logs = run_trees(part, start, TREE_STEPS, rng)
    if n_rows < rows.n_rows:
        logs = mixture.scores(rows)
    return draw_classes(normalised(logs), rng)

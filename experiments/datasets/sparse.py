"""Family `sparse`: integer arithmetic on earlier columns plus small categorical noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from experiments.datasets.config import GeneratorConfig
from experiments.datasets.graph import Graph
from experiments.datasets.network import Network
from experiments.datasets.truth import ExactTruth

MAX_TRIES = 500


class NoRoomError(Exception):
    """No column could be added within the domain bounds."""


@dataclass(frozen=True)
class SparseColumn:
    """x = sum_i c_i parent_i + e with e in 0..width, Pr(e) proportional to w_e noise^e."""

    parents: tuple[int, ...]
    coefficients: tuple[int, ...]
    domain: np.ndarray
    weights: np.ndarray

    def cpt(self, domains: list[np.ndarray], noise: float) -> np.ndarray:
        """Pr(x | parents); states of the parents that never occur are clipped into the domain."""
        if not self.parents:
            return np.full(len(self.domain), 1 / len(self.domain))
        chances = self.weights * noise ** np.arange(len(self.weights))
        chances /= chances.sum()
        centre = _combine(self.coefficients, [domains[p] for p in self.parents])
        table = np.zeros((centre.size, len(self.domain)))
        for e, chance in enumerate(chances):
            code = np.searchsorted(self.domain, centre.ravel() + e).clip(max=len(self.domain) - 1)
            np.add.at(table, (np.arange(centre.size), code), chance)
        return table.reshape(*centre.shape, len(self.domain))


@dataclass(frozen=True)
class SparseBlueprint:
    """Everything but the noise level; the supports do not depend on it."""

    columns: tuple[SparseColumn, ...]

    def network(self, noise: float) -> Network:
        """The network at one noise level."""
        domains = [c.domain for c in self.columns]
        return Network(
            columns=tuple(f"x{j}" for j in range(len(domains))),
            domains=tuple(domains),
            parents=tuple(c.parents for c in self.columns),
            cpts=tuple(c.cpt(domains, noise) for c in self.columns),
        )


def draw_sparse(config: GeneratorConfig, rng: np.random.Generator) -> SparseBlueprint:
    """Draws roots, parents, coefficients and noise shapes; domain sizes stay in the bounds."""
    graph, columns = Graph(), list[SparseColumn]()
    for j in range(config.columns):
        columns.append(
            _root(config, rng) if j < config.roots else _child(config, rng, graph, columns)
        )
        graph.add(columns[-1].parents)
    return SparseBlueprint(tuple(columns))


def log_uniform_size(low: int, high: int, rng: np.random.Generator) -> int:
    """A domain size between `low` and `high`, uniform in its logarithm."""
    return round(low * (high / low) ** rng.random())


def _root(config: GeneratorConfig, rng: np.random.Generator) -> SparseColumn:
    size = log_uniform_size(config.min_size, config.root_size, rng)
    return SparseColumn((), (), np.arange(size), np.zeros(0))


def _child(
    config: GeneratorConfig, rng: np.random.Generator, graph: Graph, columns: list[SparseColumn]
) -> SparseColumn:
    truth = ExactTruth(SparseBlueprint(tuple(columns)).network(0.5))
    for _ in range(MAX_TRIES):
        parents = graph.propose(rng, config.pair_probability)
        coefficients = tuple(_up_to(config.max_coefficient, rng) for _ in parents)
        width = _up_to(config.noise_width, rng)
        states = np.prod([len(columns[p].domain) for p in parents])
        if states > config.max_parent_states:
            continue
        domain = _reachable(truth, parents, coefficients, width)
        if config.min_size <= len(domain) <= config.max_size:
            return SparseColumn(parents, coefficients, domain, rng.uniform(0.5, 1.5, width + 1))
    raise NoRoomError(f"no room for column x{len(columns)} in domains of {config.max_size} values")


def _reachable(
    truth: ExactTruth, parents: tuple[int, ...], coefficients: tuple[int, ...], width: int
) -> np.ndarray:
    """Values of the combination on the joint support of the parents, plus 0..width."""
    network = truth.network
    names = [network.columns[p] for p in parents]
    support = truth.conditional_table(names, {}) > 0
    centre = _combine(coefficients, [network.domains[p] for p in parents])
    return np.unique(centre[support][:, None] + np.arange(width + 1))


def _up_to(most: int, rng: np.random.Generator) -> int:
    return int(rng.integers(1, most + 1))


def _combine(coefficients: tuple[int, ...], domains: list[np.ndarray]) -> np.ndarray:
    """All values of sum_i c_i d_i, one axis per domain."""
    return reduce(np.add.outer, [c * d for c, d in zip(coefficients, domains, strict=True)])

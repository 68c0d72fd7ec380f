"""Family `smooth`: quantised location-scale noise around a curve through earlier columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.special import expit

from experiments.datasets.config import GeneratorConfig
from experiments.datasets.graph import Graph
from experiments.datasets.network import Network
from experiments.datasets.sparse import log_uniform_size


@dataclass(frozen=True)
class SmoothColumn:
    r"""x = clip(round((d - 1) t^bend + noise * share * d * L), 0, d - 1), L logistic.

    t in [0, 1] is the weighted mean of the parents' positions in their domains. The logistic
    noise reaches every value, so the table has no zero. A root is a bump around `bend`.
    """

    parents: tuple[int, ...]
    weights: tuple[float, ...]
    size: int
    share: float
    bend: float

    def cpt(self, sizes: list[int], noise: float) -> np.ndarray:
        """Pr(x | parents) by differences of the logistic distribution function."""
        if not self.parents:
            return _bump(self.size, self.bend)
        pairs = zip(self.weights, self.parents, strict=True)
        places = [w * np.linspace(0, 1, sizes[p]) for w, p in pairs]
        centre = (self.size - 1) * reduce(np.add.outer, places).clip(0, 1) ** self.bend
        edges = np.concatenate([[-np.inf], np.arange(self.size - 1) + 0.5, [np.inf]])
        z = (edges - centre[..., None]) / (noise * self.share * self.size)
        # In the upper tail both values round to 1: there the mirrored difference is exact.
        lower = expit(z[..., 1:]) - expit(z[..., :-1])
        upper = expit(-z[..., :-1]) - expit(-z[..., 1:])
        mass = np.where(z[..., :-1] > 0, upper, lower).clip(min=np.finfo(float).tiny)
        return mass / mass.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class SmoothBlueprint:
    """Everything but the noise level."""

    columns: tuple[SmoothColumn, ...]

    def network(self, noise: float) -> Network:
        """The network at one noise level."""
        sizes = [c.size for c in self.columns]
        return Network(
            columns=tuple(f"x{j}" for j in range(len(sizes))),
            domains=tuple(np.arange(size) for size in sizes),
            parents=tuple(c.parents for c in self.columns),
            cpts=tuple(c.cpt(sizes, noise) for c in self.columns),
        )


def draw_smooth(config: GeneratorConfig, rng: np.random.Generator) -> SmoothBlueprint:
    """Draws roots, parents, curves and domain sizes."""
    graph, columns = Graph(), list[SmoothColumn]()
    for j in range(config.columns):
        columns.append(
            _root(config, rng) if j < config.roots else _child(config, rng, graph, columns)
        )
        graph.add(columns[-1].parents)
    return SmoothBlueprint(tuple(columns))


def _root(config: GeneratorConfig, rng: np.random.Generator) -> SmoothColumn:
    size = log_uniform_size(config.min_size, config.root_size, rng)
    return SmoothColumn((), (), size, 0.0, rng.uniform(0.3, 0.7))


def _child(
    config: GeneratorConfig, rng: np.random.Generator, graph: Graph, columns: list[SmoothColumn]
) -> SmoothColumn:
    parents = graph.propose(rng, config.pair_probability)
    while np.prod([columns[p].size for p in parents]) > config.max_parent_states:
        parents = graph.propose(rng, config.pair_probability)
    first = rng.uniform(0.3, 0.7)
    weights = (1.0,) if len(parents) == 1 else (first, 1 - first)
    size = log_uniform_size(config.min_size, config.max_size, rng)
    return SmoothColumn(parents, weights, size, rng.uniform(0.5, 1.5), rng.uniform(0.7, 1.4))


def _bump(size: int, centre: float) -> np.ndarray:
    """A uniform background with a Gaussian bump at `centre`."""
    mass = 0.3 + np.exp(-0.5 * ((np.linspace(0, 1, size) - centre) / 0.25) ** 2)
    return mass / mass.sum()

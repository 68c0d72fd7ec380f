"""From parameters and a seed to a network at the wanted level of average RDC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from experiments.datasets.config import GeneratorConfig
from experiments.datasets.network import Network
from experiments.datasets.rdc import RDC_ROWS, average_rdc
from experiments.datasets.seeds import generator
from experiments.datasets.smooth import draw_smooth
from experiments.datasets.sparse import NoRoomError, draw_sparse

TOLERANCE = 0.01
ADJUSTED_TO = 0.002
NOISE_RANGE = 1.6
MAX_NOISE = 0.95
MAX_ATTEMPTS = 2_000
BISECTIONS = 12
CHECK_SAMPLES = 4


class Blueprint(Protocol):
    """A network but for its noise level."""

    def network(self, noise: float) -> Network:
        """The network at one noise level."""
        ...


@dataclass(frozen=True)
class Level:
    """A network at the target, the noise it took, and its RDC on a sample of its own."""

    network: Network
    noise: float
    measured_rdc: float
    attempt: int


def draw_blueprint(config: GeneratorConfig, rng: np.random.Generator) -> Blueprint:
    """A random network of the family, its noise level left open."""
    if config.family == "sparse":
        return draw_sparse(config, rng)
    return draw_smooth(config, rng)


def measure_rdc(network: Network, rng: np.random.Generator) -> float:
    """The average pairwise RDC of `RDC_ROWS` fresh rows."""
    codes = network.sample_codes(RDC_ROWS, rng).astype(np.int64)
    return average_rdc(list(codes.T), network.sizes)


def reach_level(config: GeneratorConfig, seed: int) -> Level:
    """Finds the first random structure that meets the target within the range of the noise.

    Structures are drawn in turn. For each one the noise is bisected between `noise / 1.6` and
    `1.6 noise` on one fixed stream of uniforms, on which the RDC falls as the noise grows. A
    structure that cannot meet the target is passed over. The level that is reported comes from
    other rows (the mean of four samples of `RDC_ROWS` rows). All of it follows from
    (parameters, seed).
    """
    for attempt in range(MAX_ATTEMPTS):
        axes = (config.network_digest, seed, attempt)
        try:
            blueprint = draw_blueprint(config, generator("blueprint", *axes))
        except NoRoomError:
            continue
        noise = _adjusted_noise(blueprint, config, axes)
        if noise is None:
            continue
        network = blueprint.network(noise)
        measured = _checked_rdc(network, axes)
        if abs(measured - config.target_rdc) < TOLERANCE / 2:
            return Level(network, noise, measured, attempt)
    raise ValueError(
        f"dataset.noise={config.noise} and dataset.roots={config.roots} do not reach an average "
        f"RDC of {config.target_rdc} (seed {seed}): run `python -m experiments.calibrate "
        f"--target {config.target_rdc} --family {config.family}` for values that do"
    )


def _adjusted_noise(
    blueprint: Blueprint, config: GeneratorConfig, axes: tuple[str | int, ...]
) -> float | None:
    """Bisection of the noise to the target; None where its range does not reach it."""

    def excess(noise: float) -> float:
        return measure_rdc(blueprint.network(noise), generator("adjust", *axes)) - config.target_rdc

    if config.independent:
        return config.noise if abs(excess(config.noise)) < TOLERANCE else None
    low, high = config.noise / NOISE_RANGE, min(config.noise * NOISE_RANGE, MAX_NOISE)
    if excess(low) < 0 or excess(high) > 0:
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        gap = excess(middle)
        if abs(gap) < ADJUSTED_TO:
            return middle
        low, high = (middle, high) if gap > 0 else (low, middle)
    return (low + high) / 2


def _checked_rdc(network: Network, axes: tuple[str | int, ...]) -> float:
    samples = [measure_rdc(network, generator("check", *axes, i)) for i in range(CHECK_SAMPLES)]
    return float(np.mean(samples))

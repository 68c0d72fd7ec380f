"""Finds root count and noise for a level of average RDC, and writes the dataset's settings.

python -m experiments.calibrate --target 0.65 --family sparse --seed 0
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets.config import FAMILIES, GeneratorConfig
from experiments.datasets.level import draw_blueprint, measure_rdc, reach_level
from experiments.datasets.seeds import generator
from experiments.datasets.sparse import NoRoomError

STRUCTURES = 24
BISECTIONS = 8
FLOOR = 0.08


@dataclass(frozen=True)
class FamilyStyle:
    """What the datasets of a family share whatever their level.

    Arguments:
        settings: settings of every dataset of the family.
        variants: settings to choose from, together with the root count.
        noise: the usual noise, and the bounds of what may be used.
    """

    settings: dict[str, Any]
    variants: tuple[dict[str, Any], ...]
    noise: tuple[float, float, float]


STYLES = {
    # Noise as in the authors' toy data: 0 four times out of five, else 1 or a little more.
    "sparse": FamilyStyle(
        settings={},
        variants=tuple(
            {"root_size": size, "max_coefficient": most, "noise_width": width}
            for size, most, width in product((6, 10), (1, 2), (1, 2))
        ),
        noise=(0.25, 0.125, 0.5),
    ),
    "smooth": FamilyStyle(
        settings={"root_size": 20, "max_size": 60, "max_parent_states": 400},
        variants=({},),
        noise=(0.08, 0.01, 0.16),
    ),
}


def calibrate(target: float, family: str, seed: int, columns: int = 20) -> GeneratorConfig:
    """Settings whose random structures lie around the target level.

    At the usual noise of the family, the root count (and the variant) is taken whose random
    structures have the mean RDC nearest to the target. Where these do not straddle the target
    (within half their standard deviation), the noise is bisected too. A target at the
    estimator's finite-sample floor means independent columns of all domain sizes.
    """
    style = STYLES[family]
    usual, least, most = style.noise
    base = GeneratorConfig(
        name=f"{'rdc' if family == 'sparse' else family}_{round(100 * target):02d}",
        family=family,
        target_rdc=target,
        roots=columns,
        noise=usual,
        columns=columns,
    )
    base = replace(base, **style.settings)
    if target <= FLOOR:
        return replace(base, root_size=100, max_size=100)
    candidates = [
        replace(base, roots=roots, **variant)
        for roots in range(1, columns // 2 + 1)
        for variant in style.variants
    ]
    levels = [_random_levels(c, usual, seed) for c in candidates]
    gaps = [abs(float(v.mean()) - target) for v in levels]
    nearest = int(np.argmin(gaps))
    if gaps[nearest] < levels[nearest].std() / 2:
        return candidates[nearest]
    noise = _bisected_noise(candidates[nearest], least, most, seed)
    return replace(candidates[nearest], noise=noise)


def to_yaml(config: GeneratorConfig) -> str:
    """The settings as a file of `conf/dataset`; defaults are written out too."""
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    head = f"# Found by: python -m experiments.calibrate --target {config.target_rdc}"
    return (
        "\n".join([f"{head} --family {config.family}", *(f"{k}: {v}" for k, v in values.items())])
        + "\n"
    )


def _bisected_noise(config: GeneratorConfig, low: float, high: float, seed: int) -> float:
    """The noise, to two digits, at which the mean RDC meets the target."""
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(low * high))
        above = _random_levels(config, middle, seed).mean() > config.target_rdc
        low, high = (middle, high) if above else (low, middle)
    return float(f"{np.sqrt(low * high):.2g}")


def _random_levels(config: GeneratorConfig, noise: float, seed: int) -> np.ndarray:
    """RDC of random structures, the same ones at every noise."""
    levels = []
    for i in range(STRUCTURES):
        try:
            blueprint = draw_blueprint(config, generator("calibrate", config.roots, seed, i))
        except NoRoomError:
            continue
        levels.append(measure_rdc(blueprint.network(noise), generator("calibrate", seed, i)))
    return np.array(levels)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the settings and the levels of three dataset seeds; writes them with `--out`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=float, required=True, help="level of average RDC")
    parser.add_argument("--family", choices=FAMILIES, default="sparse")
    parser.add_argument("--seed", type=int, default=0, help="seed of the structures tried")
    parser.add_argument("--out", type=Path, help="folder for the YAML, e.g. conf/dataset")
    options = parser.parse_args(arguments)
    config = calibrate(options.target, options.family, options.seed)
    print(to_yaml(config), end="")
    for seed in range(3):
        level = reach_level(config, seed)
        sizes = level.network.sizes
        print(
            f"# seed {seed}: RDC {level.measured_rdc:.4f}, noise {level.noise:.3f}, "
            f"structure {level.attempt}, domain sizes {min(sizes)}..{max(sizes)}"
        )
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{config.name}.yaml").write_text(to_yaml(config))


if __name__ == "__main__":
    main()

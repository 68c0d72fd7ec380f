"""The parameters of a generated dataset, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from experiments.datasets.seeds import digest_of

FAMILIES = ("sparse", "smooth")
KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,)}


@dataclass(frozen=True)
class GeneratorConfig:
    """What a generated dataset is made from; `conf/dataset/*.yaml` holds calibrated values.

    Arguments:
        name: name of the dataset, e.g. `rdc_65`.
        family: `sparse` (integer arithmetic, small categorical noise) or `smooth` (quantised
            location-scale noise, tables without zeros).
        target_rdc: level of average pairwise RDC.
        roots: number of columns without parents.
        noise: centre of the range in which the noise level is adjusted, per seed, to the target.
        columns: number of columns.
        min_size, max_size: bounds of the domain sizes.
        root_size: largest domain of a root.
        max_coefficient: largest coefficient of a parent (`sparse` only).
        noise_width: largest value of the categorical noise (`sparse` only).
        pair_probability: share of the columns that try to have two parents.
        max_parent_states: largest number of parent states of one table.
        train_rows, valid_rows, test_rows: rows of the three splits.
        population_rows: 0 for the exact truth; else the truth is counted in that many rows.
    """

    name: str
    family: str
    target_rdc: float
    roots: int
    noise: float
    columns: int = 20
    min_size: int = 5
    max_size: int = 100
    root_size: int = 10
    max_coefficient: int = 2
    noise_width: int = 2
    pair_probability: float = 0.5
    max_parent_states: int = 1_000
    train_rows: int = 100_000
    valid_rows: int = 10_000
    test_rows: int = 10_000
    population_rows: int = 0

    def __post_init__(self) -> None:
        _require(self.family in FAMILIES, "family", self.family, f"one of {FAMILIES}")
        _require(0 < self.target_rdc < 1, "target_rdc", self.target_rdc, "between 0 and 1")
        _require(self.columns >= 2, "columns", self.columns, "at least 2")
        _require(1 <= self.roots <= self.columns, "roots", self.roots, "between 1 and `columns`")
        _require(0 < self.noise < 1, "noise", self.noise, "between 0 and 1")
        _require(2 <= self.min_size <= self.max_size, "min_size", self.min_size, "2..max_size")
        _require(self.max_size <= 255, "max_size", self.max_size, "at most 255")
        _require(
            self.min_size <= self.root_size <= self.max_size,
            "root_size",
            self.root_size,
            "between min_size and max_size",
        )
        _require(0 <= self.pair_probability <= 1, "pair_probability", self.pair_probability, "0..1")
        for key in (
            "max_coefficient",
            "noise_width",
            "max_parent_states",
            "train_rows",
            "valid_rows",
            "test_rows",
        ):
            _require(getattr(self, key) >= 1, key, getattr(self, key), "at least 1")
        _require(self.population_rows >= 0, "population_rows", self.population_rows, "0 or more")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> GeneratorConfig:
        """Reads a plain mapping or a Hydra node; an unknown or missing key is an error."""
        return cls(**checked_keys(cls, values))

    @property
    def independent(self) -> bool:
        """Whether all columns are roots."""
        return self.roots == self.columns

    @property
    def network_digest(self) -> str:
        """Digest of what the distribution depends on: not the name, not the row counts."""
        ignored = {"name", "train_rows", "valid_rows", "test_rows", "population_rows"}
        return digest_of({k: v for k, v in asdict(self).items() if k not in ignored})


def known_keys(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as a dict with the keys of the dataclass `cls`: none unknown, none missing."""
    known = {f.name: f for f in fields(cls)}
    unknown = sorted(set(map(str, values)) - set(known))
    if unknown:
        raise ValueError(f"dataset.{unknown[0]} is no known key: use one of {sorted(known)}")
    needed = [k for k, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    missing = [key for key in needed if values.get(key) is None]
    if missing:
        raise ValueError(f"dataset.{missing[0]} is missing: it has no default")
    return {str(k): v for k, v in values.items()}


def checked_keys(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as a dict that fits the dataclass `cls`, of the types that it declares."""
    found, types = known_keys(cls, values), {f.name: str(f.type) for f in fields(cls)}
    for key, value in found.items():
        _require(type(value) in KINDS[types[key]], key, value, f"of type {types[key]}")
    return found


def _require(holds: bool, key: str, value: object, expected: str) -> None:
    if not holds:
        raise ValueError(f"dataset.{key} is {value!r} but must be {expected}")


def check_random_tables(config: Any, counted: str, fewest_columns: int) -> None:
    """Refuse settings by which no rows, tables or domains can be drawn.

    Arguments:
        config: The settings of a family of random tables.
        counted: The family's own number that is at least 1.
        fewest_columns: How many columns it needs.
    """
    for key in (counted, "train_rows", "valid_rows", "test_rows"):
        if getattr(config, key) < 1:
            raise ValueError(f"dataset.{key} is {getattr(config, key)} but must be at least 1")
    if not config.concentration > 0:
        raise ValueError(f"dataset.concentration is {config.concentration} but must be positive")
    if config.columns < fewest_columns:
        raise ValueError(
            f"dataset.columns is {config.columns} but must be at least {fewest_columns}"
        )
    if not 2 <= config.min_size <= config.max_size <= 255:
        raise ValueError(
            f"dataset.min_size is {config.min_size} and dataset.max_size is {config.max_size}, "
            "but they must grow and be 2 to 255"
        )

"""The datasets: generated ones with a known truth, real benchmarks, and the user's own tables.

Imports `experiments.measures` for the workloads. Start with `load` below, then
`experiments.datasets.generated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.datasets.config import FAMILIES, GeneratorConfig
from experiments.datasets.debd import FAMILY as DEBD
from experiments.datasets.debd import BenchmarkConfig, load_benchmark
from experiments.datasets.dense import FAMILY as DENSE
from experiments.datasets.dense import DenseConfig, load_dense
from experiments.datasets.generated import load_generated
from experiments.datasets.hidden import FAMILY as HIDDEN
from experiments.datasets.hidden import HiddenConfig, load_hidden
from experiments.datasets.table import FAMILY as TABLE
from experiments.datasets.table import RealTableConfig, load_real_table
from experiments.datasets.table_file import TableConfig, load_table
from experiments.measures.workload import WorkloadConfig
from experiments.types import Dataset

__all__ = ["DEBD", "TABLE", "check", "load"]


def load(
    config: Mapping[str, Any],
    seed: int,
    cache_dir: Path,
    workload: Mapping[str, Any] | None = None,
) -> Dataset:
    """The dataset that a configuration describes.

    Arguments:
        config: a node of `conf/dataset`; `family` says how the rest is read.
        seed: which dataset of this level, or which split of a file.
        cache_dir: folder of generated and of fetched datasets.
        workload: a node of `conf/workload`; the paper's workload if left out.
    """
    queries = WorkloadConfig.from_mapping(workload or {})
    settings = _settings(config)
    if isinstance(settings, TableConfig):
        return load_table(settings, queries, seed)
    if isinstance(settings, BenchmarkConfig):
        return load_benchmark(settings, seed, cache_dir)
    if isinstance(settings, RealTableConfig):
        return load_real_table(settings, seed, cache_dir)
    if isinstance(settings, HiddenConfig):
        return load_hidden(settings, queries, seed, cache_dir)
    if isinstance(settings, DenseConfig):
        return load_dense(settings, queries, seed, cache_dir)
    return load_generated(settings, queries, seed, cache_dir)


def check(config: Mapping[str, Any]) -> None:
    """Raises a ValueError that names the key if a dataset cannot be made from `config`."""
    _settings(config)


Settings = (
    GeneratorConfig | HiddenConfig | DenseConfig | TableConfig | BenchmarkConfig | RealTableConfig
)


def _settings(config: Mapping[str, Any]) -> Settings:
    family = config.get("family")
    if family in FAMILIES:
        return GeneratorConfig.from_mapping(config)
    if family == HIDDEN:
        return HiddenConfig.from_mapping(config)
    if family == DENSE:
        return DenseConfig.from_mapping(config)
    if family == "csv":
        return TableConfig.from_mapping(config)
    if family == DEBD:
        return BenchmarkConfig.from_mapping(config)
    if family == TABLE:
        return RealTableConfig.from_mapping(config)
    known = (*FAMILIES, HIDDEN, DENSE, "csv", DEBD, TABLE)
    raise ValueError(f"dataset.family is {family!r} but must be one of {known}")

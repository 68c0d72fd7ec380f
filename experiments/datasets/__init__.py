"""The datasets: generated ones with a known truth, real benchmarks, and the user's own tables.

Imports `experiments.measures` for the workloads. Start with `DATASETS` below, the families by name,
then `experiments.datasets.generated`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from experiments.datasets.config import FAMILIES, GeneratorConfig
from experiments.datasets.context import FAMILY as CONTEXT
from experiments.datasets.context import ContextConfig
from experiments.datasets.debd import FAMILY as DEBD
from experiments.datasets.debd import BenchmarkConfig, load_benchmark
from experiments.datasets.dense import FAMILY as DENSE
from experiments.datasets.dense import DenseConfig, load_dense
from experiments.datasets.generated import load_generated
from experiments.datasets.hidden import FAMILY as HIDDEN
from experiments.datasets.hidden import HiddenConfig, load_hidden
from experiments.datasets.table import FAMILY as TABLE
from experiments.datasets.table import RealTableConfig, load_real_table
from experiments.datasets.table_file import FAMILY as CSV
from experiments.datasets.table_file import TableConfig, load_table
from experiments.measures.workload import WorkloadConfig
from experiments.types import Dataset

__all__ = ["DEBD", "TABLE", "check", "load"]


class Family(NamedTuple):
    """How a family of datasets is configured and loaded.

    Arguments:
        settings: Reads and checks a node of `conf/dataset`.
        load: The dataset of settings, workload, seed and cache folder.
    """

    settings: Callable[[Mapping[str, Any]], Any]
    load: Callable[[Any, WorkloadConfig, int, Path], Dataset]


GENERATED = Family(GeneratorConfig.from_mapping, load_generated)
DATASETS = dict.fromkeys(FAMILIES, GENERATED) | {
    HIDDEN: Family(HiddenConfig.from_mapping, load_hidden),
    DENSE: Family(DenseConfig.from_mapping, load_dense),
    CONTEXT: Family(ContextConfig.from_mapping, load_dense),
    CSV: Family(
        TableConfig.from_mapping, lambda own, queries, seed, _: load_table(own, queries, seed)
    ),
    DEBD: Family(
        BenchmarkConfig.from_mapping, lambda own, _, seed, cache: load_benchmark(own, seed, cache)
    ),
    TABLE: Family(
        RealTableConfig.from_mapping, lambda own, _, seed, cache: load_real_table(own, seed, cache)
    ),
}
"""The families by the name that `dataset.family` has in a configuration."""


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
    family = _family(config)
    queries = WorkloadConfig.from_mapping(workload or {})
    return family.load(family.settings(config), queries, seed, cache_dir)


def check(config: Mapping[str, Any]) -> None:
    """Raises a ValueError that names the key if a dataset cannot be made from `config`."""
    _family(config).settings(config)


def _family(config: Mapping[str, Any]) -> Family:
    name = config.get("family")
    if name not in DATASETS:
        raise ValueError(f"dataset.family is {name!r} but must be one of {tuple(DATASETS)}")
    return DATASETS[name]

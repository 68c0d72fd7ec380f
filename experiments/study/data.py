"""The dataset of a job, or what is wrong with the file that it names."""

from __future__ import annotations

from experiments.datasets import load
from experiments.study.config import ConfigError, JobConfig
from experiments.types import Dataset

NEEDED = (
    "it must be a table: a first line that names the columns, and enough rows to hold some out "
    "(10 or more at the usual shares)"
)


def load_dataset(config: JobConfig) -> Dataset:
    """The dataset of a job; a user's file that is no table is a ConfigError, as a wrong path is."""
    path = config.dataset.get("path")
    try:
        return load(config.dataset, config.seed, config.cache_dir, config.workload)
    except ValueError as error:
        if not path:  # Nobody gave a file: the fault is ours.
            raise
        said = str(error)
        if not said.startswith("dataset."):
            said = f"dataset.path={path} cannot be used ({said}): {NEEDED}"
        raise ConfigError(said) from error

"""Settings that an earlier job's search chose: of another model, or on the first draw."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from experiments.records.reference import committed
from experiments.records.rows import collect, without_variants
from experiments.study.config import ConfigError, JobConfig
from experiments.study.search import open_grid
from experiments.types import Dataset

log = logging.getLogger(__name__)
FIRST_DRAW = 0


def with_settings(config: JobConfig, dataset: Dataset) -> JobConfig:
    """The job with what `search.frozen` or `search.like` says in place of a search."""
    if config.search.frozen:
        return _frozen(config)
    if config.search.like is not None:
        return _like_another(config, dataset)
    return config


def _frozen(config: JobConfig) -> JobConfig:
    """The setting that was chosen on the validation rows of the first draw, and no search.

    Rows that were run here count first, then the committed ones (`reference/rows/`).
    """
    name, model = config.dataset["name"], config.model.name
    sources = {
        "rows that were run here": collect(config.results_dir),
        "committed rows": committed(config.results_dir),
    }
    for source, found in sources.items():
        if found is None:
            continue
        rows = without_variants(found)
        same = (
            (rows["model"] == model)
            & (rows["dataset"] == name)
            & (rows["seed"] == FIRST_DRAW)
            & (rows["status"] == "ok")
            & ~rows["label"].str.contains("fit_seed=")
        )
        for study in config.search.frozen:
            own = rows[same & (rows["experiment"] == study)]
            if len(own):
                chosen = _chosen(config, own)
                log.info("%s: settings of %s, seed %d, by %s", model, name, FIRST_DRAW, source)
                return _at(config, {k: [v] for k, v in chosen.items()}, {})
    raise ConfigError(
        f"search.frozen is {list(config.search.frozen)} but {model} has no result of these studies "
        f"on {name}, seed {FIRST_DRAW}: run experiment={config.search.frozen[0]} first"
    )


def _like_another(config: JobConfig, dataset: Dataset) -> JobConfig:
    """Add to the grid what the model `search.like` chose here, as far as both have it."""
    rows = collect(config.results_dir)
    same = (
        (rows["model"] == config.search.like)
        & (rows["dataset_digest"] == dataset.digest)
        & (rows["seed"] == config.seed)
        & (rows["status"] == "ok")
    )
    if not same.any():
        raise ConfigError(
            f"search.like is {config.search.like!r} but that model has no result for "
            f"{dataset.name}, seed {config.seed}: run model={config.search.like} first"
        )
    shared = {k: [v] for k, v in _chosen(config, rows[same]).items()}
    return _at(config, shared | config.search.grid, config.search.then)


def _chosen(config: JobConfig, rows: pd.DataFrame) -> dict[str, Any]:
    """The setting of the latest of the rows, as far as the model has its hyper-parameters."""
    last = rows.sort_values("started_at").iloc[-1]
    chosen: dict[str, Any] = json.loads(last["params"])
    for key in ("size_bytes", "stored_bytes"):
        if key not in config.model.params:
            continue
        if np.isnan(last[key]):
            raise ConfigError(
                f"{config.model.name} is to have the {key} of {last['model']}, whose row for "
                f"{last['dataset']} has none: run that model again with force=true"
            )
        chosen[key] = int(last[key])
    return {k: v for k, v in chosen.items() if k in config.model.params}


def _at(
    config: JobConfig, grid: Mapping[str, list[Any]], then: Mapping[str, list[Any]]
) -> JobConfig:
    opened = open_grid(grid, config.model.params, config.fixed)
    return replace(config, search=replace(config.search, grid=opened, then=dict(then)))

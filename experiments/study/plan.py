"""A study as a list of jobs: expanded, checked before anything starts, run stage by stage."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from experiments.study.config import ConfigError, JobConfig, PlanConfig, read_job
from experiments.study.overrides import key_of
from experiments.study.search import settings
from experiments.study.search_choice import check_search

Composed = dict[tuple[str, ...], DictConfig]


def conf_dir() -> Path:
    """The folder of settings: `conf/` of the repository, or inside the installed package."""
    here = Path(__file__).resolve().parents[1]
    installed = here / "conf"
    return installed if installed.is_dir() else here.parent / "conf"


def expand(plan: PlanConfig, given: Sequence[str]) -> list[list[list[str]]]:
    """The overrides of every job of every stage.

    Arguments:
        plan: what is swept.
        given: overrides of the command line; a key given there is not swept.
    """
    fixed = {key_of(override) for override in given}
    return [_expand_stage(stage, fixed) for stage in plan.stages]


def compose_jobs(plan: PlanConfig, given: Sequence[str]) -> list[list[JobConfig]]:
    """The checked settings of every job of every stage."""
    known: Composed = {}
    with _hydra():
        return [[_compose(given, job, known) for job in stage] for stage in expand(plan, given)]


def workers_of(plan: PlanConfig) -> int:
    """Number of jobs at the same time."""
    return len(os.sched_getaffinity(0)) if plan.workers < 1 else plan.workers


def _compose(given: Sequence[str], swept: Sequence[str], known: Composed) -> JobConfig:
    """One job. Composing is slow, so jobs that differ in plain values only share it."""
    swept = [*swept, "plan=null"]
    choices = tuple(o for o in swept if (conf_dir() / key_of(o)).is_dir() or o == "plan=null")
    if choices not in known:
        known[choices] = _composed([*given, *choices])
    config = deepcopy(known[choices])
    for override in OverridesParser.create().parse_overrides(
        [o for o in swept if o not in choices]
    ):
        _update(config, override.key_or_group, override.value())
    return read_job(config, given, swept)


def _composed(overrides: Sequence[str]) -> DictConfig:
    """The configuration that the overrides stand for; a search that they name exists."""
    config = compose("config", overrides=list(overrides), return_hydra_config=True)
    check_search(config.hydra.runtime.choices)
    with open_dict(config):
        del config["hydra"]
    return config


def _update(config: DictConfig, key: str, value: Any) -> None:
    try:
        OmegaConf.update(config, key, value)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{key} is no known key of the plan's jobs") from error


def _expand_stage(stage: Mapping[str, Sequence[Any]], fixed: set[str]) -> list[list[str]]:
    swept = {key: values for key, values in stage.items() if key not in fixed}
    return [[f"{key}={_text(value)}" for key, value in job.items()] for job in settings(swept)]


def _text(value: Any) -> str:
    """A value as Hydra's command line writes it (None is null, True is true)."""
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def _hydra() -> Iterator[None]:
    """A Hydra of our own; the one that started this process is put back afterwards."""
    current = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = current

"""A study as a list of jobs: expanded, checked before anything starts, run stage by stage."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from experiments.config import JobConfig, PlanConfig, read_job
from experiments.overrides import key_of
from experiments.search import settings


def conf_dir() -> Path:
    """The folder of settings: `conf/` of the repository, or inside the installed package."""
    here = Path(__file__).resolve().parent
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
    with _hydra():
        return [[_compose(given, job) for job in stage] for stage in expand(plan, given)]


def workers_of(plan: PlanConfig) -> int:
    """Number of jobs at the same time."""
    return len(os.sched_getaffinity(0)) if plan.workers < 1 else plan.workers


def _compose(given: Sequence[str], swept: Sequence[str]) -> JobConfig:
    swept = [*swept, "plan=null"]
    return read_job(compose("config", overrides=[*given, *swept]), given, swept)


def _expand_stage(stage: Mapping[str, Sequence[Any]], fixed: set[str]) -> list[list[str]]:
    swept = {key: values for key, values in stage.items() if key not in fixed}
    return [[f"{key}={value}" for key, value in job.items()] for job in settings(swept)]


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

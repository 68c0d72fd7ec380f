"""Settings: read from Hydra once, checked at once, frozen from there on."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

from hydra.errors import CompactHydraException
from hydra.utils import get_class
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue

from baselines.base import DensityModel
from experiments.datasets import check as check_dataset
from experiments.measures.divergence import KLConfig
from experiments.measures.timing import TimingConfig
from experiments.measures.workload import WorkloadConfig
from experiments.study.overrides import command_of, given_params, key_of, variant_of
from experiments.study.search import open_grid, settings

INF = math.inf
SHORTEST = 0.001  # seconds; a timer of 0 seconds is none
# Closed ranges of numbers that mean the same wherever they occur.
RANGES: Mapping[str, tuple[float, float]] = {
    "seed": (0, 2**32 - 1),
    "fit_seed": (0, 2**32 - 1),
    "kl.few_cells": (0, INF),
    "kl.max_cells": (1, INF),
    "kl.max_support": (1, INF),
    "kl.draws": (2, INF),
    "kl.seed": (0, 2**32 - 1),
    "timing.repeats": (2, INF),
    "timing.budget_seconds": (0, INF),
    "search.max_settings": (1, INF),
    "search.limit_seconds": (SHORTEST, INF),
    "search.rows": (1, INF),
    "search.finalists": (1, INF),
    "search.job_seconds": (SHORTEST, INF),
    "plan.workers": (-1, INF),
    "model.alpha": (0, INF),
    "model.min_rows": (1, INF),
    "model.min_instances_slice": (1, INF),
    "model.max_parents": (0, INF),
    "model.n_components": (1, INF),
    "model.n_insert": (0, INF),
    "model.strength": (0, INF),
    "model.tau_low": (0, 1),
    "model.tau_high": (0, INF),
    "model.threshold": (0, 1),
}


# Those among them that count something.
WHOLE = frozenset(
    {
        *("seed", "fit_seed", "plan.workers", "timing.repeats", "search.max_settings"),
        *("search.rows", "search.finalists", "kl.seed", "kl.few_cells", "kl.max_cells"),
        *("kl.max_support", "kl.draws", "model.max_parents", "model.n_components"),
    }
)
DERIVED = frozenset({"tracking_uri", "live", "variant", "swept", "command", "fixed", "phase"})


class Phase(Enum):
    """What a process does of a job: all of it, all but the latency, or the latency."""

    WHOLE = "whole"
    FIT = "fit"
    LATENCY = "latency"


class ConfigError(CompactHydraException, ValueError):
    """A setting that cannot be used; the message names its key."""


@dataclass(frozen=True)
class ModelConfig:
    """A model: its name in the results, its class and its hyper-parameters."""

    name: str
    target: str
    params: dict[str, Any]

    @property
    def multi_leaf(self) -> str:
        """The family of multi-leaves; empty where the model has no such setting."""
        return str(self.params.get("multi_leaf", ""))

    def build(self, params: Mapping[str, Any]) -> DensityModel:
        """An unfitted model, `params` taking precedence."""
        model: DensityModel = get_class(self.target)(**(self.params | dict(params)))
        return model


@dataclass(frozen=True)
class SearchConfig:
    """What is searched.

    Arguments:
        grid: values to try for each hyper-parameter; empty = the model's own setting only.
        max_settings: try at most this many settings, spread evenly over the grid.
        then: further values, tried once the grid has chosen, with what it chose held fixed: two
            short searches where their product would be a long one.
        like: take the setting that this model's search chose on the same dataset and seed.
        frozen: search nothing; take the setting that this model's search chose on draw 0 of the
            same dataset, in the first of these studies that has it.
        limit_seconds: time limit of one fit.
        rows: compare the settings on so many training rows, the best once more on all; None = all.
        finalists: how many settings are compared on all rows, where `rows` is given.
        whole: compare on all rows whatever `rows` says (real tables excepted): where a setting is
            a number of rows, fewer of them would choose another.
        job_seconds: time limit of a whole job of a study on this machine, estimates included.
    """

    grid: dict[str, list[Any]] = field(default_factory=dict)
    then: dict[str, list[Any]] = field(default_factory=dict)
    max_settings: int | None = None
    like: str | None = None
    frozen: tuple[str, ...] = ()
    limit_seconds: float | None = None
    rows: int | None = None
    finalists: int = 3
    whole: bool = False
    job_seconds: float | None = None


@dataclass(frozen=True)
class JobConfig:
    """Everything that one job (dataset x model x seed) needs to know."""

    study: str
    dataset: dict[str, Any]
    workload: dict[str, Any]
    model: ModelConfig
    search: SearchConfig
    kl: KLConfig
    timing: TimingConfig
    seed: int
    fit_seed: int | None
    force: bool
    results_dir: Path
    cache_dir: Path
    tracking_uri: str | None
    live: bool
    variant: str
    swept: str
    command: str
    fixed: frozenset[str] = frozenset()  # hyper-parameters that were given: no search changes them
    phase: Phase = Phase.WHOLE

    @property
    def label(self) -> str:
        """Tells the job apart from all others of its study."""
        return "/".join([self._name, *([self.variant] if self.variant else [])])

    @property
    def title(self) -> str:
        """Names the job in a study, where all jobs share what was given on the command line."""
        last = [self.phase.value] if self.phase is Phase.LATENCY else []
        return "/".join([self._name, *([self.swept] if self.swept else []), *last])

    @property
    def random_state(self) -> int:
        """The seed of the fit: that of the dataset unless another is given."""
        return self.seed if self.fit_seed is None else self.fit_seed

    @property
    def _name(self) -> str:
        return f"{self.dataset['name']}/{self.model.name}/{self.seed}"

    def what_matters(self) -> dict[str, Any]:
        """The settings that the result depends on (the dataset is told by its digest)."""
        matters = {"workload", "model", "search", "kl", "timing", "seed", "fit_seed"}
        found = {k: v for k, v in asdict(self).items() if k in matters}
        if not self.search.whole:  # Jobs from before there was a choice are still the same jobs.
            del found["search"]["whole"]
        return found


KEYS = {f.name for f in fields(JobConfig)} - DERIVED | {"tracking", "plan", "executor"}


@dataclass(frozen=True)
class PlanConfig:
    """A study: stages one after the other, the jobs of a stage side by side.

    Arguments:
        stages: for each stage the values of each swept key, e.g. `{model: [...], dataset: [...]}`.
        workers: jobs at the same time; -1 = one per core.
        report: draw the report when all jobs are done.
        latency_last: train all models first, then measure latencies one by one.
    """

    stages: tuple[dict[str, list[Any]], ...]
    workers: int = -1
    report: bool = True
    latency_last: bool = False


def read_job(
    config: DictConfig | Mapping[str, Any], given: Sequence[str] = (), swept: Sequence[str] = ()
) -> JobConfig:
    """The job that a composed configuration describes, or a ConfigError that names the key.

    Arguments:
        config: a composed configuration.
        given: the overrides of the command line that it was composed with.
        swept: further overrides, that a plan added for this job.
    """
    values = _plain(config)
    _known(values, KEYS, "")
    for node in ("dataset", "workload"):
        _require(isinstance(values.get(node), dict), node, values.get(node), "chosen")
    model, fixed = _read_model(values), given_params([*given, *swept])
    search = _read_node(SearchConfig, values, "search")
    _check_values(model, search)
    _refuse_contradictions(fixed, [*given, *swept])
    job = JobConfig(
        study=_name(values, "study"),
        dataset=values["dataset"],
        workload=values["workload"],
        model=model,
        search=replace(
            search,
            frozen=tuple(search.frozen),
            grid=open_grid(search.grid, model.params, fixed),
            then=open_grid(search.then, model.params, fixed),
        ),
        kl=_read_node(KLConfig, values, "kl"),
        timing=_read_node(TimingConfig, values, "timing"),
        seed=values["seed"],
        fit_seed=values.get("fit_seed"),
        force=values["force"],
        results_dir=_folder(values, "results_dir"),
        cache_dir=_folder(values, "cache_dir"),
        tracking_uri=_read_tracking(values),
        live=(values.get("tracking") or {}).get("live", True),
        variant=variant_of([*given, *swept]),
        swept=variant_of(swept),
        command=command_of([*given, *swept]),
        fixed=fixed,
    )
    _check(job)
    return job


def _refuse_contradictions(fixed: Collection[str], overrides: Sequence[str]) -> None:
    """A hyper-parameter is given one value, or a grid of them, not both."""
    for key in sorted(fixed):
        if f"search.grid.{key}" in {key_of(override) for override in overrides}:
            raise ConfigError(
                f"model.{key} and search.grid.{key} are both given: leave one of them out"
            )


def read_plan(config: DictConfig | Mapping[str, Any]) -> PlanConfig | None:
    """The plan of a composed configuration; None for a single job."""
    values = _plain(config)
    if values.get("plan") is None:
        return None
    node = values["plan"]
    _known(node, {f.name for f in fields(PlanConfig)}, "plan.")
    stages = node.get("stages")
    _require(isinstance(stages, list) and bool(stages), "plan.stages", stages, "a list of sweeps")
    for number, stage in enumerate(stages):
        _require(isinstance(stage, dict), f"plan.stages[{number}]", stage, "a sweep (key: values)")
        for key, choices in stage.items():
            name = f"plan.stages[{number}].{key}"
            _require(isinstance(choices, list) and bool(choices), name, choices, "a list of values")
    _in_range("plan.workers", node.get("workers", -1))
    for key in ("report", "latency_last"):
        value = node.get(key, True)
        _require(type(value) is bool, f"plan.{key}", value, "true or false")
    return PlanConfig(tuple(stages), **{k: v for k, v in node.items() if k != "stages"})


def _check(job: JobConfig) -> None:
    _require(type(job.force) is bool, "force", job.force, "true or false")
    _in_range("seed", job.seed)
    _in_range("fit_seed", job.fit_seed)
    for node in ("kl", "timing", "search"):
        for key, value in asdict(getattr(job, node)).items():
            _in_range(f"{node}.{key}", value)
    try:
        check_dataset(job.dataset)
        WorkloadConfig.from_mapping(job.workload)
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error)) from error
    _check_model(job.model, job.search)


def _check_values(model: ModelConfig, search: SearchConfig) -> None:
    """The hyper-parameters exist, and each value of model and grid is one that they can have."""
    known = set(inspect.signature(get_class(model.target)).parameters)
    _known(model.params, known, "model.")
    for key, value in model.params.items():
        _in_range(f"model.{key}", value)
    for part in ("grid", "then"):
        tried: dict[str, list[Any]] = getattr(search, part)
        _known(tried, known, f"search.{part}.")
        for key, choices in tried.items():
            name = f"search.{part}.{key}"
            _require(isinstance(choices, list) and bool(choices), name, choices, "a list of values")
            for value in choices:
                _in_range(f"model.{key}", value, shown=name)


def _check_model(model: ModelConfig, search: SearchConfig) -> None:
    """Every setting of the grid, as far as it goes with what was given, can be built."""
    for part in ("grid", "then"):
        tried: dict[str, list[Any]] = getattr(search, part)
        for key, choices in tried.items():
            allowed = "a list with a value that goes with the one that was given"
            _require(bool(choices), f"search.{part}.{key}", choices, allowed)
        found = settings(tried)
        _require(bool(found), f"search.{part}", tried, "such that tau_low <= tau_high somewhere")
        for params in found:
            _check_setting(model, params)


def _check_setting(model: ModelConfig, params: Mapping[str, Any]) -> None:
    whole = model.params | dict(params)
    low, high = whole.get("tau_low"), whole.get("tau_high")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"model.tau_low is {low} but must be at most model.tau_high = {high}")
    try:
        model.build(params)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"model ({model.name}) with {whole}: {error}") from error


def _read_model(values: Mapping[str, Any]) -> ModelConfig:
    node = values.get("model")
    _require(isinstance(node, dict), "model", node, "chosen")
    assert isinstance(node, dict)
    target = node.get("_target_")
    _require(isinstance(target, str), "model._target_", target, "the path of a class")
    try:
        get_class(str(target))
    except Exception as error:
        raise ConfigError(f"model._target_ {target!r} is no class: {error}") from error
    params = {k: v for k, v in node.items() if k not in ("name", "_target_")}
    return ModelConfig(_name(node, "name", "model."), str(target), params)


def _read_node(cls: type, values: Mapping[str, Any], key: str) -> Any:
    node = values.get(key) or {}
    _known(node, {f.name for f in fields(cls)}, f"{key}.")
    return cls(**{k: v for k, v in node.items() if v is not None})


def _read_tracking(values: Mapping[str, Any]) -> str | None:
    node = values.get("tracking") or {}
    _known(node, {"uri", "live"}, "tracking.")
    uri, live = node.get("uri"), node.get("live", True)
    _require(type(live) is bool, "tracking.live", live, "true or false")
    if uri == "":
        raise ConfigError(
            "tracking=server needs the address of the server: "
            "export MLFLOW_TRACKING_URI=http://<host>:<port> (docs/cluster.md), or tracking.uri=..."
        )
    _require(uri is None or isinstance(uri, str), "tracking.uri", uri, "a URI or null")
    return uri


def _folder(values: Mapping[str, Any], key: str) -> Path:
    value = values.get(key)
    _require(isinstance(value, str | Path) and bool(str(value)), key, value, "a folder")
    return Path(str(value))


def _name(node: Mapping[str, Any], key: str, where: str = "") -> str:
    value = node.get(key)
    usable = isinstance(value, str) and bool(value) and "/" not in value
    _require(usable, where + key, value, "a name without slashes")
    return str(value)


def _in_range(key: str, value: Any, shown: str = "") -> None:
    if key not in RANGES or value is None:
        return
    low, high = RANGES[key]
    kinds, kind = (int, "a whole number") if key in WHOLE else (int | float, "a number")
    numeric = isinstance(value, kinds) and not isinstance(value, bool)
    allowed = f"{kind} from {low:g} to {high:g}" if high < INF else f"{kind} of at least {low:g}"
    _require(numeric and low <= value <= high, shown or key, value, allowed)


def _known(node: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in node:
        if key not in known:
            raise ConfigError(f"{where}{key} is no known key: use one of {sorted(known)}")


def _require(holds: bool, key: str, value: object, expected: str) -> None:
    if not holds:
        raise ConfigError(f"{key} is {value!r} but must be {expected}")


def _plain(config: DictConfig | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(config, DictConfig):
        try:
            plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        except MissingMandatoryValue as error:
            key = error.full_key
            raise ConfigError(f"{key} is missing: it has no default, give {key}=...") from None
        assert isinstance(plain, dict)
        return {str(k): v for k, v in plain.items() if k != "hydra"}
    return dict(config)

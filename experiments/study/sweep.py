"""The command line: sweeps (`-m`), and Hydra's launchers as executors.

A sweep is a plan of one stage, so that everything that is said of studies holds for it: all jobs
are checked before the first one starts, progress is shown, all failures are named, and any
executor can run it. Hydra's own launchers check inside the jobs and name the first failure only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import OverrideParseException

from experiments.study.config import ConfigError, PlanConfig
from experiments.study.overrides import key_of
from experiments.study.plan import conf_dir

FLAGS = frozenset({"-m", "--multirun"})
LAUNCHERS = {
    **dict.fromkeys(("basic", "joblib", "cores"), "local"),
    **dict.fromkeys(("slurm", "submitit_slurm"), "slurm"),
    "submitit_local": "submitit_local",
}
Values = list[Any]


@dataclass(frozen=True)
class Sweep:
    """What a command line sweeps.

    Arguments:
        given: the arguments that are left for Hydra.
        values: the values of each swept key.
        many: whether `-m` was given.
    """

    given: list[str]
    values: dict[str, Values] = field(default_factory=dict)
    many: bool = False

    def plan(self, study: PlanConfig | None) -> PlanConfig | None:
        """The plan of the command: the study's, with the swept values in place of its own."""
        if study is None and not self.many:
            return None
        stages = study.stages if study is not None else ({},)
        swept = tuple(dict(stage) | self.values for stage in stages)
        if study is None:
            return PlanConfig(swept, report=False)
        return replace(study, stages=swept)


def read_sweep(arguments: Sequence[str]) -> Sweep:
    """Take the sweeps out of a command line; without `-m` only a study has any."""
    many = any(argument in FLAGS for argument in arguments)
    rest = [_translated(a) for a in arguments if a not in FLAGS]
    if not many and not any(key_of(a) == "experiment" for a in rest):
        return Sweep(rest)
    if not any("=" in a and _may_sweep(a) for a in rest):
        return Sweep(rest, many=many)
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        parser = OverridesParser.create(config_loader=loader)
        values: dict[str, Values] = {}
        given = []
        for argument in rest:
            found = _parsed(parser, argument)
            if found is not None and found.is_sweep_override():
                values[found.get_key_element()] = list(found.sweep_string_iterator())
            else:
                given.append(argument)
    if "experiment" in values:
        raise ConfigError("experiment is swept: give one study at a time")
    return Sweep(given, values, many)


def _may_sweep(argument: str) -> bool:
    return any(sign in argument.partition("=")[2] for sign in ",()")


def _parsed(parser: OverridesParser, argument: str) -> Override | None:
    """An override; None for options of Hydra and for what Hydra is to complain about."""
    if argument.startswith("-") or "=" not in argument:
        return None
    try:
        return parser.parse_overrides([argument])[0]
    except OverrideParseException:
        return None


def _translated(argument: str) -> str:
    """`hydra/launcher=slurm` as `executor=slurm`, its settings likewise.

    >>> _translated("hydra/launcher=submitit_slurm"), _translated("hydra.launcher.timeout_min=5")
    ('executor=slurm', 'executor.timeout_min=5')
    """
    key, _, value = argument.partition("=")
    name = key.lstrip("+")
    if name == "hydra/launcher":
        if value not in LAUNCHERS:
            known = ", ".join(LAUNCHERS.values())
            raise ConfigError(f"hydra/launcher={value} is not used here: executor= one of {known}")
        return f"executor={LAUNCHERS[value]}"
    if name == "hydra.launcher.n_jobs":
        return f"+plan.workers={value}"
    if name.startswith("hydra.launcher."):
        return f"{key.replace('hydra.launcher.', 'executor.')}={value}"
    return argument

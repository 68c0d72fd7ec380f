"""Where the jobs of a study run: `executor=local`, `submitit_local` or `slurm`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig, OmegaConf

from experiments.study.config import ConfigError

KINDS = ("local", "submitit_local", "slurm")
LOCAL_OPTIONS = frozenset({"timeout_min", "signal_delay_s", "setup"})


@dataclass(frozen=True)
class ExecutorConfig:
    """A node of `conf/executor`.

    Arguments:
        kind: `local`, `submitit_local` or `slurm`.
        options: what submitit is told: time limit, memory, options of sbatch.
    """

    kind: str = "local"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether the jobs are worker processes of the command itself."""
        return self.kind == "local"

    @property
    def parallel(self) -> int | None:
        """Jobs at the same time, where this executor decides on it."""
        found = self.options.get("array_parallelism")
        return None if found is None else int(found)

    def submitit_options(self, *, timed: bool) -> dict[str, Any]:
        """The options as submitit's executor of this kind takes them; None is left out.

        Arguments:
            timed: whether the jobs measure latency and need their nodes for themselves.
        """
        given = {k: v for k, v in self.options.items() if v is not None}
        if self.kind != "slurm":
            return given
        if not timed or given.get("exclusive") is False:
            given.pop("exclusive", None)
        if "mem_gb" in given:
            given["mem"] = f"{round(1024 * given.pop('mem_gb'))}MB"
        if "timeout_min" in given:
            given["time"] = given.pop("timeout_min")
        return given | {"job_name": given.pop("name", "fspn")}


def read_executor(config: DictConfig | Mapping[str, Any]) -> ExecutorConfig:
    """The executor of a composed configuration, or a ConfigError that names the key."""
    node = config.get("executor") or {"kind": "local"}
    plain = OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node
    assert isinstance(plain, dict)
    options = {str(k): v for k, v in plain.items() if k != "kind"}
    kind = plain.get("kind", "local")
    if kind not in KINDS:
        raise ConfigError(f"executor.kind is {kind!r} but must be one of {KINDS}")
    _check_numbers(options)
    unknown = sorted(set(options) - LOCAL_OPTIONS) if kind == "submitit_local" else []
    if unknown or (kind == "local" and options):
        name = (unknown or sorted(options))[0]
        raise ConfigError(f"executor.{name} is no option of executor={kind}")
    return ExecutorConfig(kind, options)


def _check_numbers(options: Mapping[str, Any]) -> None:
    least = {"timeout_min": 0, "array_parallelism": 1, "cpus_per_task": 1, "signal_delay_s": 0}
    for key, low in least.items():
        value = options.get(key, low)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value < low:
            raise ConfigError(f"executor.{key} is {value!r} but must be a number from {low} up")

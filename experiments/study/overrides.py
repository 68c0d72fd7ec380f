"""What the overrides of a command line say about the job that they describe."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# Keys that name the job in any case, and groups and keys that say how and where it runs.
WHO = frozenset({"dataset", "dataset.name", "model", "seed", "study", "experiment"})
HOW = frozenset({"force", "results_dir", "cache_dir", "plan", "executor", "tracking", "hydra"})
WHERE = frozenset({"dataset.folder", "dataset.url"})


def key_of(override: str) -> str:
    """The key of a Hydra override.

    >>> key_of("+model.alpha=0.1"), key_of("~search.grid")
    ('model.alpha', 'search.grid')
    """
    return override.partition("=")[0].lstrip("+~")


def variant_of(overrides: Sequence[str]) -> str:
    """What sets a job apart beyond dataset, model and seed.

    >>> variant_of(["model=fspn", "model.tau_low=0.1", "hydra/launcher=cores"])
    'model.tau_low=0.1'
    """
    keys = {key_of(override): override for override in overrides}
    same = WHO | WHERE
    apart = [o for k, o in keys.items() if k not in same and re.split("[./]", k)[0] not in HOW]
    return ",".join(sorted(apart))


def given_params(overrides: Sequence[str]) -> frozenset[str]:
    """The hyper-parameters of the model that the overrides set.

    >>> sorted(given_params(["model=fspn", "model.tau_low=0.1", "+model.alpha=1", "seed=0"]))
    ['alpha', 'tau_low']
    """
    keys = [key_of(override) for override in overrides]
    return frozenset(k.removeprefix("model.") for k in keys if k.startswith("model."))


def command_of(overrides: Sequence[str]) -> str:
    """The command that runs this one job."""
    return shlex.join(["python", "-m", "experiments.run", *overrides])

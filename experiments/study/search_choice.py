"""Which search a job gets: that of its model's name; none where there is no such file."""

from __future__ import annotations

from collections.abc import Mapping

from hydra.core.global_hydra import GlobalHydra

from experiments.study.config import ConfigError

GROUP = "search"


def check_search(choices: Mapping[str, object]) -> None:
    """Refuse a search that was named and does not exist.

    `conf/config.yaml` calls the search optional, as a model need not have one; Hydra would then
    take any wrong name for none.

    Arguments:
        choices: what each group of the composed configuration was chosen to be.
    """
    chosen = choices.get(GROUP)
    if chosen is None or chosen == choices.get("model") or exists(str(chosen)):
        return
    known = ", ".join(GlobalHydra.instance().config_loader().get_group_options(GROUP))
    raise ConfigError(
        f"search={chosen} is no search: use one of {known}, or add conf/search/{chosen}.yaml"
    )


def exists(name: str) -> bool:
    """Whether there is a search of this name, e.g. `fspn` or `tables/fspn`."""
    group, _, last = f"{GROUP}/{name}".rpartition("/")
    return last in GlobalHydra.instance().config_loader().get_group_options(group)

"""What happens once, in the process that starts a sweep, before any job does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from experiments.records import tracking


class PrepareStore(Callback):
    """Create the tracking store and close the runs of jobs that were killed."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra before the jobs of a sweep are launched."""
        tracking.tracker(config.tracking.uri, Path(config.results_dir)).recover()

"""Trials one after the other: the best so far, and what an earlier start has tried already."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from baselines.base import DensityModel
from experiments.measures.timing import one_thread
from experiments.study.trial import Params, Trial, better, try_setting
from experiments.types import Dataset

log = logging.getLogger(__name__)


class Memory:
    """What an earlier start of the same search left behind; this one remembers nothing."""

    def recall(self, number: int, params: Params, rows: int) -> Trial | None:
        """The trial of this number and setting on so many training rows, if it was made before."""
        return None

    def model(self, trial: Trial) -> DensityModel | None:
        """The fitted model of a trial, if it was kept."""
        return None

    def keep(self, trial: Trial, rows: int, model: DensityModel | None) -> None:
        """Remember a trial, and its model where that is the best so far."""


@dataclass
class Contest:
    """Trials one after the other, and the best of them; an earlier start's count as they are.

    Arguments:
        build, seed, turn, report, memory: as for `search`.
        trials: those before it, which count for the numbers only.
    """

    build: Callable[[Params], DensityModel]
    seed: int
    turn: Callable[[], Any]
    report: Callable[[Trial], None]
    memory: Memory
    trials: list[Trial] = field(default_factory=list)
    best: Trial | None = None
    _models: dict[int, DensityModel] = field(default_factory=dict)

    def enter(
        self,
        setting: dict[str, Any],
        dataset: Dataset,
        limit_seconds: float | None,
        base: Trial | None,
    ) -> Trial:
        """Try a setting, unless an earlier start did; `base` is the trial that it builds on."""
        number, rows = len(self.trials), len(dataset.train)
        trial, model = self.memory.recall(number, setting, rows), None
        known = trial is not None
        if trial is None:
            earlier = self._kept(base) if base is not None else None
            with self.turn(), one_thread():
                trial, model = try_setting(
                    self.build, number, setting, dataset, self.seed, limit_seconds, earlier
                )
        self.trials.append(trial)
        self.report(trial)
        leads = trial.status == "ok" and (self.best is None or better(trial, self.best))
        if leads:
            self.best = trial
            # The model that the leader was built on is still asked for; older ones are not.
            needed = {base.number} if base is not None else set()
            self._models = {n: m for n, m in self._models.items() if n in needed}
        if leads and model is not None:
            self._models[number] = model
        if not known:
            self.memory.keep(trial, rows, model if leads else None)
        return trial

    def model(self, dataset: Dataset) -> DensityModel:
        """The model of the best trial; fitted again where an earlier start could not keep it."""
        assert self.best is not None
        model = self._kept(self.best)
        if model is not None:
            return model
        log.info("the best model %s was not kept: it is fitted again", self.best.params)
        with self.turn(), one_thread():
            model = self.build(self.best.params)
            model.bind(dataset)
            return model.fit(dataset.train, dataset.domains, self.seed)

    def _kept(self, trial: Trial) -> DensityModel | None:
        if trial.number not in self._models:
            model = self.memory.model(trial)
            if model is None:
                return None
            self._models[trial.number] = model
        return self._models[trial.number]

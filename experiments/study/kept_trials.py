"""Trials that survive their job: what a search has finished is not computed again.

A job that its launcher ends (a time limit, preemption, a lost node) leaves no row, but the trials
that it finished stay under `runs/<study>/trials/<fingerprint>`, one file each, beside the model of
the trial that led at the time. The fingerprint names settings, data and code, so the next start of
the very same job, and no other, takes them over. They go when the job has its row.
"""

from __future__ import annotations

import json
import logging
import pickle
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from baselines.base import DensityModel
from experiments.records.rows import write_bytes, write_text
from experiments.study.contest import Memory
from experiments.study.stop import stops_the_job
from experiments.study.trial import Params, Trial

log = logging.getLogger(__name__)


class KeptTrials(Memory):
    """The trials of one job in a folder of their own.

    Arguments:
        folder: belongs to this job alone, whose lock is held.
        node_type: where the trials of this start are timed.
    """

    def __init__(self, folder: Path, node_type: str) -> None:
        self.folder, self.node_type = folder, node_type
        self.seconds = 0.0  # of the trials that were taken over
        self.node_types = {node_type}

    def recall(self, number: int, params: Params, rows: int) -> Trial | None:
        """The trial of this number and setting on so many training rows, if it was made before."""
        found = _read(self._path(number, ".json"))
        if found is None or found["rows"] != rows or found["params"] != _plain(params):
            return None
        try:
            trial = replace(Trial(**found["trial"]), params=dict(params))
        except TypeError:
            return None
        self.seconds += trial.seconds
        self.node_types.add(found["node_type"])
        log.info("trial %d %s was finished by an earlier start", number, dict(params))
        return trial

    def model(self, trial: Trial) -> DensityModel | None:
        """The fitted model of a trial, if it was kept."""
        path = self._path(trial.number, ".pickle")
        try:
            found: DensityModel = pickle.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever a damaged file makes of itself
            if stops_the_job(error):
                raise
            log.warning("the model of trial %d cannot be read: %s", trial.number, error)
            return None
        return found

    def keep(self, trial: Trial, rows: int, model: DensityModel | None) -> None:
        """Write a trial; its model first, so that a trial that is there has all that it left."""
        if model is not None:
            self._keep_model(trial, model)
        found = {
            "params": _plain(trial.params),
            "rows": rows,
            "node_type": self.node_type,
            "trial": asdict(replace(trial, params={})),
        }
        write_text(json.dumps(found), self._path(trial.number, ".json"))

    def forget(self) -> None:
        """The job has its row, or begins anew."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def where(self) -> str:
        """The node type that the times belong to; all of them if there are several."""
        return " and ".join([self.node_type, *sorted(self.node_types - {self.node_type})])

    def _keep_model(self, trial: Trial, model: DensityModel) -> None:
        path = self._path(trial.number, ".pickle")
        try:
            content = pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # of a foreign library that cannot be written to a file
            if stops_the_job(error):
                raise
            path.unlink(missing_ok=True)
            log.info("%s cannot be kept, it would be fitted again: %s", model.name, error)
            return
        write_bytes(content, path)

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"{number}{kind}"


def _plain(params: Params) -> Any:
    """A setting as its file says it."""
    return json.loads(json.dumps(dict(params), default=str))


def _read(path: Path) -> Mapping[str, Any] | None:
    """What was written about a trial; None if nothing was, or it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(found, dict) and {"params", "rows", "node_type", "trial"} <= set(found)
    return found if whole else None

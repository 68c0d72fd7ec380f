"""Which job of a study was submitted as which job of a cluster, so that a study can be taken up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.records.fingerprint import code_version, data_code, fingerprint
from experiments.records.rows import ResultRow, Store, write_text
from experiments.study.config import JobConfig


@dataclass(frozen=True)
class Submitted:
    """A job that was handed to a cluster.

    Arguments:
        executor: kind of the executor.
        job_id: the cluster's name for it.
        folder: where submitit keeps its files.
        fingerprint: of its row, once it has one.
    """

    executor: str
    job_id: str
    folder: str
    fingerprint: str = ""


@dataclass(frozen=True)
class Ledger:
    """One small file per job, under `runs/<study>/submitted`."""

    store: Store

    @classmethod
    def of(cls, config: JobConfig) -> Ledger:
        """The ledger of the study that a job belongs to."""
        return cls(Store.of(config.results_dir, config.study))

    def read(self, config: JobConfig) -> Submitted | None:
        """How this very job was submitted last, with the code and the settings of now."""
        try:
            return Submitted(**json.loads(self._path(config).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, config: JobConfig, submitted: Submitted) -> None:
        """Note that a job was submitted, or that it has a row."""
        write_text(json.dumps(asdict(submitted)), self._path(config))

    def drop(self, config: JobConfig) -> None:
        """Forget a job that ended without a result."""
        self._path(config).unlink(missing_ok=True)

    def finished(self, config: JobConfig) -> ResultRow | None:
        """The row of a job that is known to be finished, without loading its dataset."""
        entry = self.read(config)
        if entry is None or not entry.fingerprint or config.force or config.search.like:
            return None
        return self.store.finished(entry.fingerprint)

    def _path(self, config: JobConfig) -> Path:
        return self.store.folder / "submitted" / f"{job_key(config)}.json"


def job_key(config: JobConfig) -> str:
    """A name for a job that is known before its data are: settings, files, code."""
    files = {k: _stamp(v) for k, v in config.dataset.items() if isinstance(v, str)}
    what: Mapping[str, Any] = config.what_matters() | {"dataset": config.dataset, "files": files}
    family = str(config.dataset.get("family", ""))
    code = code_version(config.model.target, family, config.model.multi_leaf)
    return fingerprint(what, data_code(), code)


def _stamp(name: str) -> list[int]:
    path = Path(name)
    if not path.is_file():
        return []
    return [path.stat().st_size, path.stat().st_mtime_ns]

"""The tidy record: one row per finished job, in a file of its own, written in one step."""

from __future__ import annotations

import errno
import math
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

NAN = math.nan
FINAL = frozenset({"ok", "unsupported", "timeout"})
SCORES = "log_likelihood"
UNLOGGED = "unlogged"


class DiskFullError(OSError):
    """No space left; what was recorded before is intact."""


@dataclass(frozen=True)
class ResultRow:
    """What one job (dataset x model x seed) measured. A missing measure is NaN.

    Times are in the unit that the name says; `latency_batch_ms` is per query of a batch;
    `latency_*` are of the model's own program, `engine_*` of ours on the converted model;
    `n_timed` is the number of queries behind them, fewer than `n_queries` where a model is so slow
    that its budget of time (`timing.budget_seconds`) ended before;
    `kl_*` are nats; `q_*` are quantiles of q-errors of row counts; `*_ll` are mean
    log-likelihoods per row; `label` tells the jobs of one experiment apart (dataset/model/seed
    and the settings that were swept beyond these);
    `search_rows` is on how many training rows a search compared its whole grid, where not on all;
    `at_edge` lists the hyper-parameters that the search left at an edge of its grid;
    `compiled_bytes` is the form that answers queries, `size_bytes` the model itself,
    `stored_bytes` the file that keeps it; `n_factorize` and `n_multi_leaves` are the paper's f and
    l; `node_type` is the processor and its number of cores: times of different types do not
    compare; `measured_code` is the code version that measured a row, where a later one was found to
    learn the same model (`experiments.same_models`).
    """

    fingerprint: str
    experiment: str
    label: str
    dataset: str
    family: str
    seed: int
    model: str
    engine: str = ""
    status: str = "ok"
    error: str = ""
    target_rdc: float = NAN
    measured_rdc: float = NAN
    kl_mean: float = NAN
    kl_median: float = NAN
    kl_p95: float = NAN
    kl_max: float = NAN
    kl_se: float = NAN
    kl_sampling_se: float = NAN
    kl_floored: float = NAN
    q_median: float = NAN
    q_p90: float = NAN
    q_p95: float = NAN
    q_p99: float = NAN
    q_max: float = NAN
    n_queries: float = NAN
    latency_single_ms: float = NAN
    latency_single_iqr_ms: float = NAN
    latency_batch_ms: float = NAN
    latency_batch_iqr_ms: float = NAN
    engine_ms: float = NAN
    engine_batch_ms: float = NAN
    n_timed: float = NAN
    n_nodes: float = NAN
    n_parameters: float = NAN
    size_bytes: float = NAN
    compiled_bytes: float = NAN
    stored_bytes: float = NAN
    n_factorize: float = NAN
    n_multi_leaves: float = NAN
    depth: float = NAN
    train_seconds: float = NAN
    search_seconds: float = NAN
    search_rows: float = NAN
    job_seconds: float = NAN
    n_trials: float = NAN
    n_failed_trials: float = NAN
    valid_ll: float = NAN
    test_ll: float = NAN
    test_ll_se: float = NAN
    tau_low: float = NAN
    tau_high: float = NAN
    params: str = "{}"
    at_edge: str = ""
    code_version: str = ""
    measured_code: str = ""
    commit: str = ""
    dataset_digest: str = ""
    run_id: str = ""
    machine: str = ""
    node_type: str = ""
    python: str = ""
    started_at: str = ""
    command: str = ""

    @property
    def run_status(self) -> str:
        """How MLflow calls the end of this job's run."""
        return "FAILED" if self.status == "failed" else "FINISHED"


COLUMNS = tuple(field.name for field in fields(ResultRow))
KINDS = {"str": "str", "int": "int64", "float": "float64"}
DTYPES = {field.name: KINDS[str(field.type)] for field in fields(ResultRow)}


@dataclass(frozen=True)
class Store:
    """The records of one experiment: `<results>/runs/<experiment>/<fingerprint>.parquet`.

    The row's file appears by a rename, after everything else of the job, so that it exists
    exactly when the job came to its end.
    """

    folder: Path

    @classmethod
    def of(cls, results_dir: Path, experiment: str) -> Store:
        """The store of `experiment` under `results_dir`."""
        return cls(results_dir / "runs" / experiment)

    def lock(self, fingerprint: str) -> Path:
        """The lock file that whoever runs this job holds."""
        return self.folder / "locks" / f"{fingerprint}.lock"

    def unlogged(self, fingerprint: str) -> Path:
        """The file that holds what the tracking store has yet to be told about a job."""
        return self.folder / UNLOGGED / f"{fingerprint}.json"

    def waiting(self, fingerprint: str) -> Path:
        """The file of a fitted model whose latency is still to be measured."""
        return self.folder / "waiting" / f"{fingerprint}.pickle"

    def trials(self, fingerprint: str) -> Path:
        """The folder of the finished trials of a job that has no row yet."""
        return self.folder / "trials" / fingerprint

    def read(self, fingerprint: str) -> ResultRow | None:
        """The row of a job, or None if there is none that can be read."""
        frame = _read(self.folder / f"{fingerprint}.parquet")
        return None if frame is None else _row(frame)

    def finished(self, fingerprint: str) -> ResultRow | None:
        """The row of a job that came to a final result.

        A failed job is not finished, nor is one whose model waits for its latency to be measured.
        """
        row = self.read(fingerprint)
        final = row is not None and row.status in FINAL
        return row if final and not self.waiting(fingerprint).exists() else None

    def write(self, row: ResultRow, queries: pd.DataFrame | None = None) -> None:
        """Record a job: the per-query table first, the row (the commit) last."""
        if queries is not None:
            write_parquet(queries, self.folder / f"{row.fingerprint}.queries.parquet")
        write_parquet(as_frame([row]), self.folder / f"{row.fingerprint}.parquet")

    def write_scores(self, fingerprint: str, scores: np.ndarray) -> None:
        """Record the log-likelihood of every test row of a job."""
        frame = pd.DataFrame({SCORES: np.asarray(scores, dtype=np.float32)})
        write_parquet(frame, self._scores(fingerprint))

    def read_scores(self, fingerprint: str) -> np.ndarray | None:
        """The log-likelihoods of a job's test rows, or None if they were not recorded."""
        frame = _read(self._scores(fingerprint))
        return None if frame is None else frame[SCORES].to_numpy(dtype=np.float64)

    def read_queries(self, fingerprint: str) -> pd.DataFrame | None:
        """The per-query table of a job, or None if there is none."""
        return _read(self.folder / f"{fingerprint}.queries.parquet")

    def _scores(self, fingerprint: str) -> Path:
        return self.folder / "loglik" / f"{fingerprint}.parquet"


def as_frame(rows: list[ResultRow]) -> pd.DataFrame:
    """Rows as a table whose columns and types do not depend on the values."""
    frame = pd.DataFrame([asdict(row) for row in rows], columns=list(COLUMNS))
    return frame.astype(DTYPES)


def collect(results_dir: Path | str, *, latest: bool = False) -> pd.DataFrame:
    """All recorded rows under `results_dir`, ordered by experiment and label.

    Arguments:
        results_dir: the folder that holds `runs/`.
        latest: keep the newest row of each job only (older ones are of older code or settings).
    """
    files = sorted(Path(results_dir).glob("runs/*/*.parquet"))
    frames = [_read(path) for path in files if not path.name.endswith(".queries.parquet")]
    rows = [_row(frame) for frame in frames if frame is not None]
    table = as_frame(rows).sort_values(["experiment", "label", "started_at"], kind="stable")
    if latest:
        table = table.drop_duplicates(["experiment", "label"], keep="last")
    return table.reset_index(drop=True)


def without_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of changed settings, where the job was also run as it is planned.

    A label is dataset/model/seed and what was changed of the study; another fit (`fit_seed=`) of
    the same job is no change.
    """
    job = ["experiment", "dataset", "model", "seed"]
    changes = ["".join(label.split("/", 3)[3:]) for label in rows["label"]]
    planned = pd.Series(
        [re.fullmatch(r"(fit_seed=\d+)?", change) is not None for change in changes],
        index=rows.index,
        dtype=bool,
    )
    known = planned.groupby([rows[name] for name in job]).transform("any")
    return rows[planned | ~known]


def collect_queries(results_dir: Path | str, rows: pd.DataFrame) -> pd.DataFrame:
    """The per-query tables of `rows`, with the columns that say whose they are."""
    who = ["fingerprint", "experiment", "dataset", "model", "seed"]
    tables = []
    for row in rows[who].to_dict("records"):
        store = Store.of(Path(results_dir), row["experiment"])
        table = store.read_queries(row["fingerprint"])
        if table is not None:
            tables.append(table.assign(**{str(k): v for k, v in row.items()}))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table so that `path` is either the old file or the whole new one."""
    with _replacing(path) as file:
        frame.to_parquet(file, index=False)


def write_text(text: str, path: Path) -> None:
    """Write a text so that `path` is either the old file or the whole new one."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: Path) -> None:
    """Write bytes so that `path` is either the old file or the whole new one."""
    with _replacing(path) as file:
        file.write(content)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place once it is written; readable as usual files are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with disk_full_is_clear(path), part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def disk_full_is_clear(path: Path | str) -> Iterator[None]:
    """Say what a full disk means for the results."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise DiskFullError(
            errno.ENOSPC,
            f"the disk is full, writing {path} failed; all earlier results are kept: "
            "free some space and give the same command again, it goes on from there",
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Whether an exception, also one of SQLite's, means that no space is left."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "database or disk is full" in str(error)


def _read(path: Path) -> pd.DataFrame | None:
    """A recorded table; a missing or damaged file counts as not recorded."""
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError):
        return None


def _row(frame: pd.DataFrame) -> ResultRow:
    values: dict[str, Any] = {key: frame[key].iloc[0] for key in COLUMNS if key in frame}
    casts = {"str": str, "int": int, "float": float}
    return ResultRow(
        **{
            f.name: casts[str(f.type)](values[f.name])
            for f in fields(ResultRow)
            if f.name in values
        }
    )

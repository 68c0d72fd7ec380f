"""A dataset, a model and a command line so small that jobs take a moment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from baselines.base import DensityModel
from baselines.independent import Independent
from experiments.types import Dataset, EvidenceQuery, Workload

ROOT = Path(__file__).resolve().parents[2]
OVERRIDES = (
    "dataset=rdc_07",
    "model=independent",
    "dataset.columns=5",
    "dataset.roots=5",
    "dataset.train_rows=300",
    "dataset.valid_rows=100",
    "dataset.test_rows=100",
    "workload.queries=5",
    "workload.query_size=[1,2]",
    "workload.evidence_size=[1,2]",
    "timing.repeats=2",
    "search.grid.alpha=[0.1,1.0]",
)


def folders(base: Path) -> list[str]:
    """Overrides that keep everything a run writes under `base`."""
    return [
        f"results_dir={base / 'results'}",
        f"cache_dir={base / 'cache'}",
        f"hydra.run.dir={base / 'hydra'}",
        f"hydra.sweep.dir={base / 'hydra'}",
    ]


def start(
    base: Path, *overrides: str, flags: Sequence[str] = (), tiny: Sequence[str] = OVERRIDES
) -> subprocess.Popen[str]:
    """Start `python -m experiments.run` on the tiny job, in a session of its own."""
    command = [sys.executable, "-m", "experiments.run", *flags]
    return subprocess.Popen(
        [*command, *tiny, *folders(base), *overrides],
        cwd=ROOT,
        env=os.environ | {"FSPN_LOCK_DIR": str(base / "locks")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a run that must succeed; returns what it printed."""
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    return output


def dataset(rows: int = 60) -> Dataset:
    """Two columns without truth."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 3, (rows, 2)), columns=["a", "b"])
    query = EvidenceQuery(("a",), {"b": 1}, {"a": 2})
    return Dataset(
        name="tiny",
        family="csv",
        target_rdc=None,
        measured_rdc=None,
        seed=0,
        train=table,
        valid=table.head(20),
        test=table.tail(20),
        domains={"a": np.arange(3), "b": np.arange(3)},
        truth=None,
        workload=Workload((query, query)),
        digest="tiny",
    )


class Fragile(Independent):
    """A model that fails, takes its time, or notes its fits, where it is told to."""

    name: ClassVar[str] = "fragile"

    def __init__(
        self,
        alpha: float = 1.0,
        fails: bool = False,
        sleeps: float = 0.0,
        waits: str = "",
        notes: str = "",
    ) -> None:
        super().__init__(alpha)
        self.notes = notes
        self.fails = fails
        self.sleeps = sleeps
        self.waits = waits

    def fit(self, table: pd.DataFrame, domains: Mapping[str, np.ndarray], seed: int = 0) -> Fragile:
        if self.fails:
            raise ArithmeticError("told to fail")
        time.sleep(self.sleeps)
        while self.waits and not Path(self.waits).exists():
            time.sleep(0.1)
        super().fit(table, domains, seed)
        if self.notes:
            with Path(self.notes).open("a") as file:
                file.write(f"{len(table)} {self.alpha} {'waited' if self.waits else 'at once'}\n")
        return self

    def save(self, path: Path) -> None:
        path.write_text(f"alpha {self.alpha}")


class FailsAtTwo(Independent):
    """A model that fails where alpha is 2: some jobs of a sweep, or settings of a grid."""

    name: ClassVar[str] = "fragile"

    def fit(
        self, table: pd.DataFrame, domains: Mapping[str, np.ndarray], seed: int = 0
    ) -> Independent:
        if self.alpha == 2.0:
            raise ArithmeticError("told to fail")
        return super().fit(table, domains, seed)


def fragile(params: Mapping[str, object]) -> DensityModel:
    """Builds a `Fragile` model from a setting."""
    return Fragile(**params)  # type: ignore[arg-type]


class Thresholded(Independent):
    """A model with the paper's two thresholds."""

    name: ClassVar[str] = "thresholded"

    def __init__(self, tau_low: float = 0.3, tau_high: float = 0.7, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.tau_low, self.tau_high = tau_low, tau_high

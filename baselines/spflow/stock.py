"""SPFlow's untouched `learn_mspn`, for the training time that its users see.

It runs in a process of its own, started afresh, so that SPFlow's import (which opens a process
pool) stays out of ours and a fit that takes too long can be ended together with its pool.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from baselines.base import FitTimeout
from baselines.spflow.learn import context, structure_learning
from baselines.spflow.mspn import SpflowModel

RECURSION_LIMIT = 20_000
"""Deep networks are pickled recursively."""


class MSPNStock(SpflowModel):
    """`spn.algorithms.LearningWrappers.learn_mspn` with its own RDC, on all cores.

    Arguments:
        threshold: Columns with a smaller RDC are independent.
        min_rows: Slices of at most so many rows are fully factorised (`min_instances_slice`).
        alpha: Laplace pseudo-count; SPFlow uses 1 in naive factorisations whatever is said here.
        time_limit: Seconds after which the fit is ended with `FitTimeout`.
    """

    name: ClassVar[str] = "mspn_stock"

    def __init__(
        self,
        threshold: float = 0.3,
        min_rows: int = 1000,
        alpha: float = 1.0,
        time_limit: float = 600.0,
    ) -> None:
        super().__init__(threshold, min_rows, alpha)
        if time_limit <= 0:
            raise ValueError(f"time_limit must be positive, got {time_limit}")
        self.time_limit = time_limit

    def _learn(self, codes: np.ndarray, cards: np.ndarray, seed: int) -> Any:
        structure_learning()
        sys.setrecursionlimit(max(RECURSION_LIMIT, sys.getrecursionlimit()))
        with tempfile.TemporaryDirectory(prefix="mspn_stock_") as folder:
            task, answer = Path(folder, "task.npz"), Path(folder, "root.pickle")
            settings = [self.threshold, self.min_rows, self.alpha, seed]
            np.savez(task, codes=codes, cards=cards, settings=settings)
            self._run([sys.executable, "-m", "baselines.spflow.stock", str(task), str(answer)])
            return pickle.loads(answer.read_bytes())

    def _run(self, command: list[str]) -> None:
        here = str(Path(__file__).parents[2])
        environment = os.environ | {"PYTHONPATH": here}
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, env=environment, start_new_session=True
        )
        try:
            _, errors = process.communicate(timeout=self.time_limit)
        except subprocess.TimeoutExpired:
            raise FitTimeout(
                f"{self.name}: learn_mspn did not finish within {self.time_limit:g} s"
            ) from None
        finally:
            _end_session(process)
        if process.returncode:
            raise RuntimeError(f"{self.name}: SPFlow failed:\n{errors.decode()[-2000:]}")


def _end_session(process: subprocess.Popen) -> None:
    """Ends the worker and what it started; its pool outlives it otherwise."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _work(task: Path, answer: Path) -> None:
    from spn.algorithms.LearningWrappers import learn_mspn

    sys.setrecursionlimit(RECURSION_LIMIT)
    with np.load(task) as arrays:
        codes, cards = arrays["codes"], arrays["cards"]
        threshold, min_rows, alpha, seed = arrays["settings"].tolist()
    root = learn_mspn(
        codes.astype(np.float64),
        context(cards),
        threshold=threshold,
        min_instances_slice=int(min_rows),
        alpha=alpha,
        rand_gen=np.random.RandomState(int(seed)),
    )
    answer.write_bytes(pickle.dumps(root))


if __name__ == "__main__":
    _work(Path(sys.argv[1]), Path(sys.argv[2]))

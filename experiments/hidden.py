"""How much of the gap that hidden classes leave is closed, as a table for `docs/learning.md`.

    python -m experiments.hidden --seeds 0 1 2

Per dataset of the family `hidden`: test log-likelihood per row of the truth, of the oracle that
knows the class of every training row, of one network, and of the default model.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from experiments.datasets.hidden import HiddenConfig, HiddenTruth, sample_rows, truth_of
from experiments.datasets.seeds import generator
from fspn import FSPN
from fspn.model.nodes import Sum

CASES = ((1, 0.5), (2, 0.5), (4, 0.5), (8, 0.5), (2, 0.15), (4, 0.15), (8, 0.15), (4, 1.5))
HEAD = (
    "| classes | concentration | seed | truth | classes known | one network | default "
    "| components | gap closed | training (s), one / default |"
)


@dataclass(frozen=True)
class Line:
    """The measures of one dataset; `seconds` are CPU seconds of one network and of the default."""

    truth: float
    oracle: float
    one: float
    default: float
    components: int
    seconds: tuple[float, float]

    @property
    def closed(self) -> float:
        """The share of the gap between one network and the oracle that the default closes."""
        gap = self.oracle - self.one
        return (self.default - self.one) / gap if gap > 1e-3 else float("nan")


def measure(config: HiddenConfig, seed: int) -> Line:
    """Draws rows, fits and scores."""
    truth = truth_of(config, seed)
    train, classes = sample_rows(truth, config.train_rows, generator("train", config.name, seed))
    test, _ = sample_rows(truth, config.test_rows, generator("test", config.name, seed))
    one, one_seconds = _fit(train, truth, 1)
    default, seconds = _fit(train, truth, None)
    root = default.root_
    return Line(
        truth=float(truth.log_probability(test).mean()),
        oracle=_oracle(train, classes, test, truth),
        one=float(one.score_samples(test).mean()),
        default=float(default.score_samples(test).mean()),
        components=len(root.children) if isinstance(root, Sum) else 1,
        seconds=(one_seconds, seconds),
    )


def _fit(table: pd.DataFrame, truth: HiddenTruth, n_components: int | None) -> tuple[FSPN, float]:
    domains: dict[Hashable, Any] = dict(zip(truth.domains, truth.domains.values(), strict=True))
    start = time.process_time()
    model = FSPN(max_parents=2, n_components=n_components).fit(table, domains=domains)
    return model, time.process_time() - start


def _oracle(
    train: pd.DataFrame, classes: np.ndarray, test: pd.DataFrame, truth: HiddenTruth
) -> float:
    """One network per true class, weighted by its share of the training rows."""
    logs = []
    for k in np.unique(classes):
        model, _ = _fit(train[classes == k], truth, 1)
        logs.append(model.score_samples(test) + np.log(np.mean(classes == k)))
    return float(logsumexp(np.stack(logs), axis=0).mean())


def main() -> None:
    """The table, one line per dataset."""
    parser = argparse.ArgumentParser(prog="python -m experiments.hidden")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    print(HEAD)
    print("|" + "---|" * HEAD.count("|", 1))
    for classes, concentration in CASES:
        for seed in options.seeds:
            config = HiddenConfig("hidden", classes, concentration, train_rows=options.rows)
            line = measure(config, seed)
            closed = "-" if np.isnan(line.closed) else f"{100 * line.closed:.1f}%"
            print(
                f"| {classes} | {concentration} | {seed} | {line.truth:.2f} | {line.oracle:.2f} "
                f"| {line.one:.2f} | {line.default:.2f} | {line.components} | {closed} "
                f"| {line.seconds[0]:.1f} / {line.seconds[1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

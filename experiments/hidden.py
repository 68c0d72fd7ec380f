"""How much of the gap that hidden classes leave is closed, as a table for `docs/learning.md`.

    python -m experiments.hidden --seeds 0 1 2
    python -m experiments.hidden --blocks 2

Per dataset of the family `hidden`: test log-likelihood per row of the truth, of the oracle that
knows the class of every training row, of one network, and of the default model. With `--blocks`
the columns are that many independent blocks, each with classes of its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from experiments.datasets.hidden import HiddenConfig, HiddenTruth, sample_rows, truth_of
from experiments.datasets.seeds import generator
from fspn import FSPN
from fspn.model.nodes import Sum, walk

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
    components: str
    seconds: tuple[float, float]

    @property
    def closed(self) -> float:
        """The share of the gap between one network and the oracle that the default closes."""
        gap = self.oracle - self.one
        return (self.default - self.one) / gap if gap > 1e-3 else float("nan")


@dataclass(frozen=True)
class Block:
    """Columns with classes of their own: the truth, rows, and the class of each training row."""

    truth: HiddenTruth
    train: pd.DataFrame
    classes: np.ndarray
    test: pd.DataFrame


def draw_block(config: HiddenConfig, seed: int) -> Block:
    """Rows of a dataset of the family."""
    truth = truth_of(config, seed)
    train, classes = sample_rows(truth, config.train_rows, generator("train", config.name, seed))
    test, _ = sample_rows(truth, config.test_rows, generator("test", config.name, seed))
    return Block(truth, train, classes, test)


def measure(config: HiddenConfig, seed: int, n_blocks: int = 1) -> Line:
    """Draws rows, fits and scores; several blocks stand side by side, independent of each other."""
    blocks = [draw_block(config, seed + 1_000 * b) for b in range(n_blocks)]
    train, test = (
        pd.concat([rows.add_prefix(f"b{b}_") for b, rows in enumerate(tables)], axis=1)
        for tables in ([block.train for block in blocks], [block.test for block in blocks])
    )
    domains = {
        f"b{b}_{name}": values
        for b, block in enumerate(blocks)
        for name, values in block.truth.domains.items()
    }
    one, one_seconds = _fit(train, domains, 1)
    default, seconds = _fit(train, domains, None)
    sums = [node for node in walk(default.root_) if isinstance(node, Sum)]
    return Line(
        truth=sum(float(b.truth.log_probability(b.test).mean()) for b in blocks),
        oracle=sum(_oracle(block) for block in blocks),
        one=float(one.score_samples(test).mean()),
        default=float(default.score_samples(test).mean()),
        components=" x ".join(str(len(node.children)) for node in sums) or "1",
        seconds=(one_seconds, seconds),
    )


def _fit(
    table: pd.DataFrame, domains: Mapping[str, np.ndarray], n_components: int | None
) -> tuple[FSPN, float]:
    named: dict[Hashable, np.ndarray] = dict(domains.items())
    start = time.process_time()
    model = FSPN(max_parents=2, n_components=n_components).fit(table, domains=named)
    return model, time.process_time() - start


def _oracle(block: Block) -> float:
    """One network per true class, weighted by its share of the training rows."""
    logs = []
    for k in np.unique(block.classes):
        own = block.classes == k
        model, _ = _fit(block.train[own], block.truth.domains, 1)
        logs.append(model.score_samples(block.test) + np.log(np.mean(own)))
    return float(logsumexp(np.stack(logs), axis=0).mean())


def main() -> None:
    """The table, one line per dataset."""
    parser = argparse.ArgumentParser(prog="python -m experiments.hidden")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--blocks", type=int, default=1)
    options = parser.parse_args()
    print(HEAD)
    print("|" + "---|" * HEAD.count("|", 1))
    for classes, concentration in CASES:
        for seed in options.seeds:
            config = HiddenConfig(
                "hidden",
                classes,
                concentration,
                columns=20 // options.blocks,
                train_rows=options.rows,
            )
            line = measure(config, seed, options.blocks)
            closed = "-" if np.isnan(line.closed) else f"{100 * line.closed:.1f}%"
            print(
                f"| {classes} | {concentration} | {seed} | {line.truth:.2f} | {line.oracle:.2f} "
                f"| {line.one:.2f} | {line.default:.2f} | {line.components} | {closed} "
                f"| {line.seconds[0]:.1f} / {line.seconds[1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Interleaved repeats: every contestant runs once per round, so that all see the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.measures.timing import no_garbage_collection

Pass = Callable[[], np.ndarray]
"""Runs once; returns seconds per item (one item per query, or a single one)."""


@dataclass(frozen=True)
class Rounds:
    """How often is measured.

    Arguments:
        repeats: Rounds.
        least: Rounds that a contestant takes part in whatever it costs.
        budget_seconds: After so much time of its own a contestant sits out.
    """

    repeats: int = 7
    least: int = 3
    budget_seconds: float = 3.0


@dataclass(frozen=True)
class Spread:
    """Median and quartiles over the rounds."""

    median: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, values: np.ndarray) -> Spread:
        """The spread of one value per round."""
        low, median, high = np.percentile(values, [25, 50, 75])
        return cls(float(median), float(low), float(high), len(values))

    def scaled(self, factor: float) -> Spread:
        """The spread in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.rounds)


def interleave(contestants: Mapping[str, Pass], rounds: Rounds) -> dict[str, np.ndarray]:
    """Seconds per round and item of every contestant; round r of all of them is of one time."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in contestants}
    spent = dict.fromkeys(contestants, 0.0)
    with no_garbage_collection():
        for r in range(rounds.repeats):
            for name, one_pass in contestants.items():
                if r >= rounds.least and spent[name] > rounds.budget_seconds:
                    continue
                started = time.perf_counter()
                found[name].append(one_pass())
                spent[name] += time.perf_counter() - started
    return {name: np.stack(rows) for name, rows in found.items()}


def ratio(other: np.ndarray, ours: np.ndarray) -> Spread:
    """How many times longer the other takes, round by round, on the items that both have."""
    n, items = min(len(other), len(ours)), min(other.shape[1], ours.shape[1])
    return Spread.of(other[:n, :items].mean(axis=1) / ours[:n, :items].mean(axis=1))


def seconds_of(call: Callable[[], object]) -> float:
    """The time of one call."""
    started = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - started) / 1e9


def whole(call: Callable[[], object]) -> Pass:
    """A pass of one item."""
    return lambda: np.array([seconds_of(call)])

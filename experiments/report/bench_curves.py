"""Query time over node count by the recorded benchmark: `bench/bench.json` of a results folder.

Its queries are asked in one batch, so that no fixed cost of a call hides the growth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from experiments.report.figures.scaling import PowerFit, fit_power, with_large

FILE = Path("bench/bench.json")
CURVES = {"nodes_paper": "fspn_paper", "nodes_spn": "fspn_paper"}
"""Curves over the number of nodes, and whose learner made the models."""

MIN_POINTS = 3
"""As many as the benchmark takes its own exponents from."""

Fits = Mapping[str, tuple[PowerFit, ...]]
"""The exponents of each learner."""


def read_bench(results_dir: Path) -> Fits:
    """The exponents of the benchmark that is recorded; none where there is none."""
    path = results_dir / FILE
    if not path.is_file():
        return {}
    records = json.loads(path.read_text(encoding="utf-8"))["records"]
    found: dict[str, tuple[PowerFit, ...]] = {}
    for record in records:
        if record["name"] in CURVES:
            learner = CURVES[record["name"]]
            found[learner] = (*found.get(learner, ()), *_fits(record["name"], record["found"]))
    return found


def _fits(
    name: str, curve: Mapping[str, list[dict[str, dict[str, float]]]]
) -> tuple[PowerFit, ...]:
    nodes = np.array([point["nodes"] for point in curve["points"]], dtype=np.float64)
    microseconds = np.array([point["query_us"]["median"] for point in curve["points"]])
    source = f"results/bench, {name}, one batch"
    return with_large(fit_power(nodes, microseconds / 1e3, source, MIN_POINTS))

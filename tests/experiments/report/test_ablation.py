"""The ablation table finds each step's row by its settings, and names what was not run."""

from __future__ import annotations

import json

import pandas as pd

from experiments.report.tables.ablation import ablation_table


def row(model: str, kl: float, **params: object) -> dict[str, object]:
    return {
        "dataset": "rdc_65",
        "model": model,
        "status": "ok",
        "kl_mean": kl,
        "size_bytes": 2048,
        "latency_single_ms": 0.05,
        "train_seconds": 1.25,
        "params": json.dumps(params),
    }


def test_each_step_has_its_own_row() -> None:
    rows = pd.DataFrame(
        [
            row("fspn_paper", 0.2, tau_low=None),
            row("fspn", 0.003, max_parents=2, offsets=False, group=None),
            row("fspn", 0.0001, max_parents=2, offsets=True, group=None),
        ]
    )
    lines = ablation_table(rows).splitlines()
    assert lines[2] == "| rdc_65 | the paper's recipe | 0.2 | 2.0 | 0.05 | 1.2 |"
    assert lines[3] == "| rdc_65 | tau_L = 0.1 | not run | | | |"
    assert "| 0.003 |" in lines[6]
    assert "| 0.0001 |" in lines[7]

"""The table that compares FSPN with the floor."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.report.tables.floor import floor_lines, floor_table


def row(model: str, kl: float, seed: int = 0, **changes: object) -> dict[str, object]:
    return {
        "experiment": "reproduce",
        "dataset": "rdc_65",
        "seed": seed,
        "model": model,
        "label": f"rdc_65/{model}/{seed}",
        "status": "ok",
        "kl_mean": kl,
        "kl_p95": 3 * kl,
        "kl_floored": 0,
        "other_code": False,
        **changes,
    }


def table(*rows: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(rows)


def test_ratios_to_the_floor_and_the_best_rival() -> None:
    (line,) = floor_lines(
        table(
            *(row("fspn", 0.03), row("true_dag", 0.02), row("mspn", 0.5), row("bn_dag", 0.1)),
            *(row("bn_tree", 0.5), row("fspn_paper", 0.9)),
        )
    )
    assert line.mean_ratio == pytest.approx(1.5)
    assert line.rival["model"] == "bn_dag"
    assert line.is_best
    assert line.at_floor


def test_a_better_rival_or_a_long_tail_is_seen() -> None:
    (line,) = floor_lines(
        table(row("fspn", 0.03, kl_p95=0.9), row("true_dag", 0.02), row("bn_dag", 0.01))
    )
    assert not line.is_best
    assert not line.at_floor


def test_failed_rows_and_other_studies_do_not_count() -> None:
    rows = table(
        row("fspn", 0.03, seed=1, experiment="draws"),
        row("true_dag", 0.02, seed=1, experiment="draws"),
        row("bn_dag", 0.1, seed=1, experiment="draws", status="failed"),
        row("bn_dag", 0.1, seed=1, experiment="thresholds"),
    )
    assert floor_lines(rows) == []
    assert floor_table(rows).rows == ()


def test_the_summary_counts() -> None:
    rows = [row("fspn", 0.03, s) for s in (0, 1)] + [row("true_dag", 0.02, 0)]
    rows += [row("true_dag", 0.001, 1), *(row("mspn", 0.5, s) for s in (0, 1))]
    (note,) = floor_table(table(*rows)).notes
    assert "on 1 of 2" in note
    assert note.endswith("on 0 of the 0 that all of them were run on")
    rows += [row(m, 0.5, 0) for m in ("bn_dag", "bn_tree", "fspn_paper")]
    (note,) = floor_table(table(*rows)).notes
    assert note.endswith("on 1 of the 1 that all of them were run on")

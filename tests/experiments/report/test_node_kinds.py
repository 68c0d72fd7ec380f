"""The table of switched-off node kinds, from rows made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.report.figures.node_kinds import figure_node_kinds
from experiments.report.tables.node_kinds import (
    node_kind_comparisons,
    node_kinds_table,
    variant_of,
)

OFF = {"n_components": 1, "offsets": True, "graded": True}


def test_variants_are_told_by_what_is_off() -> None:
    assert variant_of(json.dumps(OFF)) == "no sum nodes"
    assert variant_of(json.dumps({**OFF, "n_components": None})) == "everything"
    assert variant_of(json.dumps({"tau_high": 1.1})) == "no factorize nodes"


@pytest.fixture
def found() -> pd.DataFrame:
    """Without sums three times the KL; without trees the same, now better and now worse."""
    rng = np.random.default_rng(0)
    cases = (("a", {}, -1.0), ("b", OFF, -1.5), ("c", {"trees": False}, -1.0))
    rows = pd.DataFrame(
        [
            {"seed": seed, "params": json.dumps(params), "fingerprint": f"{name}{seed}"}
            | {"dataset": "d", "status": "ok", "kl_mean": 1.0, "test_ll": ll}
            for name, params, ll in cases
            for seed in (0, 1)
        ]
    )
    kls = {}
    for seed in (0, 1):
        kls[f"a{seed}"] = rng.gamma(2.0, size=50)
        kls[f"b{seed}"] = 3 * kls[f"a{seed}"]
        kls[f"c{seed}"] = kls[f"a{seed}"] * rng.lognormal(sigma=0.3, size=50)
    return node_kind_comparisons(rows, kls)


def test_a_variant_stands_beside_the_default_on_the_same_draws(found: pd.DataFrame) -> None:
    lines = found.set_index("variant")
    assert lines.loc["no sum nodes", "ratio"] == pytest.approx(3.0)
    assert lines.loc["no sum nodes", "nats"] == pytest.approx(0.5)
    assert lines["verdict"].to_dict() == {
        "no sum nodes": "costs",
        "no decision trees": "no difference",
    }
    assert set(lines["draws"]) == {2}


def test_table_and_figure_say_where_it_pays(found: pd.DataFrame, tmp_path: Path) -> None:
    table = node_kinds_table(found)
    assert "no sum nodes (d)" in table.notes[0]
    assert [row[-1].text for row in table.rows] == ["costs", "no difference"]
    assert "2 draws" in figure_node_kinds(found, tmp_path).caption
    assert (tmp_path / "node_kinds.png").stat().st_size > 5_000

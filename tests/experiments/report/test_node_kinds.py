"""The table of switched-off node kinds, from rows made by hand."""

from __future__ import annotations

import json

import pandas as pd

from experiments.report.tables.node_kinds import node_kinds_table, variant_of

OFF = {"n_components": 1, "offsets": True, "graded": True}


def test_variants_are_told_by_what_is_off() -> None:
    assert variant_of(json.dumps(OFF)) == "no sum nodes"
    assert variant_of(json.dumps({**OFF, "n_components": None})) == "everything"
    assert variant_of(json.dumps({"tau_high": 1.1})) == "no factorize nodes"


def test_a_variant_stands_beside_the_default_on_the_same_draws() -> None:
    rows = pd.DataFrame(
        [
            {"seed": seed, "params": json.dumps(params), "fingerprint": f"{name}{seed}"}
            | {"dataset": "d", "status": "ok", "kl_mean": mean, "test_ll": ll}
            for name, params, mean, ll in (("a", {}, 2.0, -1.0), ("b", OFF, 6.0, -1.5))
            for seed in (0, 1)
        ]
    )
    queries = pd.DataFrame(
        {"fingerprint": f"{name}{seed}", "kl": scale * (1.0 + q)}
        for name, scale in (("a", 1.0), ("b", 3.0))
        for seed in (0, 1)
        for q in range(3)
    )
    lines = node_kinds_table(rows, queries).splitlines()
    assert lines[2] == "| d | everything | 2 | 1.00 [1.00, 1.00] | 2 | 0.000 |"
    assert lines[3] == "| d | no sum nodes | 6 | 3.00 [3.00, 3.00] | 2 | 0.500 |"
    assert lines[4] == "| d | no factorize nodes | not run | | | |"

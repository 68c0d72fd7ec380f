"""The costs that the ledger judges, on tables small enough for a test."""

import numpy as np
import pytest

from experiments import costs
from experiments.report.rows import load_rows


def test_rows_have_times_for_each_size_and_model():
    rows = [costs.leaf_row(5), *costs.domain_rows(5, 300)]
    assert [row.model for row in rows] == ["leaf", "bn_tree", "spgm"]
    assert all(row.dataset == "values_5" and row.latency_single_ms > 0 for row in rows)


def test_a_converted_spn_answers_alike_and_both_sizes_are_recorded():
    source, ours = costs.subsumption_rows(0, 600)
    assert (source.model, ours.model) == ("spn", "spn_as_fspn")
    assert ours.kl_max == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite([source.size_bytes, ours.size_bytes, ours.n_parameters]).all()


def test_the_code_of_a_row_is_its_models(tmp_path, monkeypatch):
    """Rows of models that are not FSPN were taken for rows of other code."""
    rows = [costs._row("values_5", model) for model in ("leaf", "bn_tree", "spgm")]
    monkeypatch.setattr(costs, "measured", lambda n_rows: iter(rows))
    monkeypatch.setattr("sys.argv", ["costs", "--results", str(tmp_path)])
    costs.main()
    table = load_rows(tmp_path).table
    assert table.set_index("model")["other_code"].to_dict() == dict.fromkeys(
        ("bn_tree", "leaf", "spgm"), False
    )

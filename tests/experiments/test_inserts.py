"""New rows in time order: an updated model knows them, a stale one does not."""

import pandas as pd
import pytest

from experiments import inserts
from experiments.datasets.table_sources import SOURCES, Source


@pytest.fixture
def drifting(monkeypatch):
    """A table whose last rows have years of their own; a kind follows the year throughout."""
    n = 2_000
    year = pd.Series(range(n)) // 200
    kind = ["even" if k % 2 == 0 else "odd" for k in year]
    table = pd.DataFrame({"year": year, "kind": kind, "coin": [k % 2 for k in range(n)]})
    source = Source("pandas", lambda: table, time=("year",))
    monkeypatch.setitem(SOURCES, "drifting", source)


def test_an_updated_model_is_as_good_as_one_learned_anew(drifting, tmp_path):
    out = tmp_path / "inserts.csv"
    code = inserts.main(["drifting", "--cache", str(tmp_path), "--out", str(out)])
    assert code == 0
    found = pd.read_csv(out).set_index("model")
    assert found.loc["first 80% only", "q_p95"] > 5
    assert found.loc["updated", "q_p95"] < 2
    assert found.loc["learned anew", "q_p95"] < 2

"""Rivals at their published settings: what is tried, and what counts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments import published


def test_a_benchmark_may_have_tries_of_its_own() -> None:
    common = published.settings_of("spgm", "nltcs", {})
    own = published.settings_of("spgm", "msnbc", {})
    assert [s["n_components"] for s in common] == [5, 20]
    assert [s["n_components"] for s in own] == [5, 20, 100]
    given = published.settings_of("spgm", "msnbc", {"n_insert": 7})
    assert {s["n_insert"] for s in given} == {7}


def test_validation_chooses_and_showing_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "published.csv"
    monkeypatch.setattr(published, "RECORD", path)
    found = [
        published.Found("spgm", "nltcs", -6.0, -6.3, 1.0, "likelier on validation"),
        published.Found("spgm", "nltcs", -6.1, -5.9, 1.0, "likelier on test"),
    ]
    pd.DataFrame(found).to_csv(path, index=False)
    before = path.read_bytes()
    published.main(["--show"])
    assert path.read_bytes() == before
    shown = capsys.readouterr().out
    assert "-6.30" in shown
    assert "within 0.5% or better: 0 of 1" in shown

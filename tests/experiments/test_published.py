"""Rivals at their published settings: what is tried, and what counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments import published

PUBLISHED = """
settings: {one: {width: 3}}
tries: [{depth: 1}, {depth: 2}]
further: {one: [{depth: 9, width: 4}]}
"""


def test_a_benchmark_may_have_tries_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, content in (("published", PUBLISHED), ("model", "{name: toy, width: 5}")):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "toy.yaml").write_text(content)
    monkeypatch.setattr(published, "CONF", tmp_path)

    def tried(dataset: str, **more: int) -> list[tuple[int, int]]:
        found = published.settings_of("toy", dataset, more)
        assert {settings["name"] for settings in found} == {"toy"}
        return [(settings["depth"], settings["width"]) for settings in found]

    assert tried("other") == [(1, 5), (2, 5)]
    assert tried("one") == [(1, 3), (2, 3), (9, 4)]
    assert tried("one", width=7) == [(1, 7), (2, 7), (9, 7)]


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


def test_another_seed_is_another_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published, "RECORD", tmp_path / "published.csv")
    seeds: list[int] = []

    def run(model: str, dataset: str, seed: int, settings: dict[str, Any]) -> published.Found:
        seeds.append(seed)
        return published.Found(model, dataset, -6.0, -6.0, 1.0, published.described(settings, seed))

    monkeypatch.setattr(published, "run", run)
    for seed in ("0", "1", "1", "0"):
        published.main(["--models", "tree_network", "--datasets", "nltcs", "--seed", seed])
    assert set(seeds) == {0, 1}
    assert len(seeds) == 2 * len(published.settings_of("tree_network", "nltcs", {}))

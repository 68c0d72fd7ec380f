"""Models on several draws, from rows and queries made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.records.rows import Store
from experiments.report.figures.draws import figure_draws
from experiments.report.job_queries import kl_by_job
from experiments.report.tables.draws import draw_comparisons, draws_table
from tests.experiments.report import fake

FACTORS = {"fspn": 1.0, "bn_dag": 3.0, "bn_tree": 1.0}


@pytest.fixture
def rows(tmp_path: Path) -> pd.DataFrame:
    """FSPN on four draws, BN-DAG three times as far off on three, BN-Tree by chance either way."""
    store, made = Store.of(tmp_path, "draws"), []
    for model, factor in FACTORS.items():
        for seed in range(4 if model == "fspn" else 3):
            row = fake.row(model, "21", seed, experiment="draws", status="ok")
            rng = np.random.default_rng(seed)
            kl = factor * rng.gamma(2.0, size=60)
            if model == "bn_tree":
                kl *= np.random.default_rng(9).lognormal(sigma=0.5, size=60)
            store.write(row, pd.DataFrame({"kl": kl}))
            made.append(row)
    return fake.frame(made)


def test_models_are_compared_on_the_draws_that_both_have(
    rows: pd.DataFrame, tmp_path: Path
) -> None:
    found = draw_comparisons(rows, kl_by_job(rows, tmp_path)).set_index("model")
    assert found["draws"].tolist() == [3, 3]
    far = found.loc["bn_dag"]
    assert far["ratio"] == pytest.approx(3.0, rel=1e-4)
    assert far["low"] == pytest.approx(3.0, rel=1e-4)
    assert far["verdict"] == "win"
    assert far["kl_model"] == pytest.approx(3 * far["kl_subject"], rel=1e-4)
    assert found.loc["bn_tree", "verdict"] == "tie"


def test_sixty_comparisons_leave_room_for_a_verdict(tmp_path: Path) -> None:
    store, made = Store.of(tmp_path, "draws"), []
    for i in range(60):
        for model, factor in (("fspn", 1.0), ("bn_dag", 100.0)):
            row = fake.row(model, "21", i % 3, experiment="draws", status="ok")
            key = f"{model}{i}"
            row = replace(row, dataset=f"rdc_{i // 3:02d}", label=key, fingerprint=key)
            store.write(
                row, pd.DataFrame({"kl": factor * np.random.default_rng(i).gamma(2.0, size=40)})
            )
            made.append(row)
        for other in ("bn_tree", "mspn"):
            row = replace(made[-1], model=other, label=f"{other}{i}", fingerprint=f"{other}{i}")
            store.write(
                row, pd.DataFrame({"kl": 50 * np.random.default_rng(i).gamma(2.0, size=40)})
            )
            made.append(row)
    found = draw_comparisons(fake.frame(made), kl_by_job(fake.frame(made), tmp_path))
    assert len(found) == 60
    assert set(found["verdict"]) == {"win"}


def test_table_and_figure_show_every_model(rows: pd.DataFrame, tmp_path: Path) -> None:
    found = draw_comparisons(rows, kl_by_job(rows, tmp_path))
    table = draws_table(found)
    assert [cells[1].text for cells in table.rows] == ["BN-DAG", "BN-Tree"]
    assert table.rows[0][-1].text == "win"
    picture = figure_draws(found, tmp_path / "figures")
    assert "same 3 draws" in picture.caption
    assert (tmp_path / "figures" / "draws.png").stat().st_size > 5_000

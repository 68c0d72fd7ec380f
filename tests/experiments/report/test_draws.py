"""Models on several draws, from numbers made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.report.figures.draws import _tick, figure_draws
from experiments.report.numbers import Numbers, Spread
from experiments.report.tables.draws import draw_comparisons, draws_table, of_jobs, of_levels
from tests.experiments.report.fake import frame, row

FACTORS = {"fspn": 1.0, "bn_dag": 3.0, "bn_tree": 1.0, "mspn": 7.0}


@pytest.fixture
def numbers() -> Numbers:
    """FSPN on four draws, BN-DAG at three times its KL on three, BN-Tree by chance, MSPN on one."""
    queries: dict[tuple[float, str, str], dict[int, np.ndarray]] = {}
    for model, factor in FACTORS.items():
        for seed in range({"fspn": 4, "mspn": 1}.get(model, 3)):
            kl = factor * np.random.default_rng(seed).gamma(2.0, size=60)
            if model == "bn_tree":
                kl *= np.random.default_rng(9).lognormal(sigma=0.5, size=60)
            queries.setdefault((0.21, model, "kl"), {})[seed] = kl
    cells = {key: Spread({0: 1.0}) for key in queries}
    return Numbers(cells, {0.21: 0.21}, queries)


def test_models_are_compared_on_the_draws_that_both_have(numbers: Numbers) -> None:
    found = draw_comparisons(of_levels(numbers)).set_index("model")
    assert found["draws"].to_dict() == {"bn_dag": 3, "bn_tree": 3}, "one draw is no comparison"
    far = found.loc["bn_dag"]
    assert far["ratio"] == pytest.approx(3.0)
    assert far["low"] == pytest.approx(3.0)
    assert far["verdict"] == "win"
    assert far["kl_model"] == pytest.approx(3 * far["kl_subject"])
    assert found.loc["bn_tree", "verdict"] == "tie"


def test_sixty_comparisons_leave_room_for_a_verdict() -> None:
    queries = {}
    for level in (0.07, 0.21, 0.37, 0.65, 0.83, 0.95):
        draws = [np.random.default_rng(seed).gamma(2.0, size=40) for seed in range(3)]
        queries[level, "fspn", "kl"] = dict(enumerate(draws))
        for k in range(10):
            queries[level, f"rival{k}", "kl"] = {i: 50 * kl for i, kl in enumerate(draws)}
    numbers = Numbers({key: Spread({0: 1.0}) for key in queries}, {}, queries)
    found = draw_comparisons(of_levels(numbers))
    assert len(found) == 60
    assert set(found["verdict"]) == {"win"}


def test_jobs_of_any_dataset_are_compared_by_their_queries() -> None:
    """The queries of jobs are known by the fingerprints of their rows; a job may have none."""
    rows = frame(
        row(model, "37", seed, experiment="draws", prefix="smooth")
        for model in ("fspn", "bn_dag", "mspn")
        for seed in (1, 2, 3)
    )
    kls = {
        name: FACTORS[model] * np.random.default_rng(seed).gamma(2.0, size=60)
        for name, model, seed in rows[["fingerprint", "model", "seed"]].to_numpy()
        if model != "mspn"
    }
    (line,) = draw_comparisons(of_jobs(rows, kls)).to_dict("records")
    assert (line["dataset"], line["model"], line["draws"]) == ("smooth_37", "bn_dag", 3)
    assert line["ratio"] == pytest.approx(3.0)
    assert draws_table(pd.DataFrame([line]), "draws_families").name == "draws_families"


def test_table_and_figure_show_every_model(numbers: Numbers, tmp_path: Path) -> None:
    found = draw_comparisons(of_levels(numbers))
    table = draws_table(found)
    assert [cells[1].text for cells in table.rows] == ["BN-DAG", "BN-Tree"]
    assert table.rows[0][-1].text == "win"
    picture = figure_draws(found, tmp_path / "figures")
    assert "same 3 draws" in picture.caption
    assert "MSPN: no level has several draws of it" in picture.gaps
    assert (tmp_path / "figures" / "draws.png").stat().st_size > 5_000


def test_a_level_names_the_models_that_it_lacks() -> None:
    found = pd.DataFrame({"dataset": ["rdc_07", "rdc_21", "rdc_21"], "model": ["a", "a", "spgm"]})
    ticks = [_tick(found, name, ["a", "spgm"]) for name in ("rdc_07", "rdc_21")]
    assert ticks == ["0.07\nno SPGM", "0.21"]

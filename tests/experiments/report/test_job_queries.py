"""The KL of single queries, from runs and as kept; and a study that is on more draws than one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.records.rows import Store
from experiments.report.job_queries import NAME, as_queries, keep, kl_by_job
from experiments.report.numbers import ours
from experiments.report.rows import Rows, load_rows, on_shared_draws, with_draws
from tests.experiments.report import fake


def recorded(tmp_path: Path, model: str, seed: int, experiment: str, factor: float) -> None:
    """A job with its queries: KL is `factor` times what the seed draws."""
    kl = factor * np.random.default_rng(seed).gamma(2.0, size=40)
    row = fake.row(model, "21", seed, experiment=experiment, status="ok", kl_mean=float(kl.mean()))
    queries = pd.DataFrame({"kl": kl, "latency_ms": 0.1, "engine_ms": 0.1})
    Store.of(tmp_path, experiment).write(row, queries)


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """FSPN on three draws (of the first: twice), BN-DAG on two and MSPN on the first only."""
    for model, factor in (("fspn", 1.0), ("bn_dag", 3.0), ("mspn", 5.0)):
        recorded(tmp_path, model, 0, "reproduce", factor)
    for model, factor, seeds in (("fspn", 9.0, (0,)), ("fspn", 1.0, (1, 2)), ("bn_dag", 3.0, (1,))):
        for seed in seeds:
            recorded(tmp_path, model, seed, "draws", factor)
    return load_rows(tmp_path)


def test_what_was_kept_stands_in_for_queries_that_are_not_here(rows: Rows, tmp_path: Path) -> None:
    drawn = rows.of("draws")
    here = kl_by_job(drawn, tmp_path)
    folder = tmp_path / "clone" / "reference"
    folder.mkdir(parents=True)
    assert kl_by_job(drawn, tmp_path / "clone") == {}
    keep(here, folder)
    there = kl_by_job(drawn, tmp_path / "clone")
    assert there.keys() == here.keys()
    assert all((there[key] == here[key]).all() for key in here)
    assert len((folder / NAME).read_text().splitlines()) == 1 + 4
    newer = drawn.assign(fingerprint="other")
    assert kl_by_job(newer, tmp_path / "clone") == {}
    assert len(as_queries(drawn, there)) == 4 * 40


def test_the_main_study_takes_its_accuracy_from_all_draws(rows: Rows) -> None:
    assert rows.study == "reproduce"
    main = rows.main("sparse")
    numbers = ours(main, rows.queries_of(main))
    assert set(numbers.get(0.21, "fspn", "kl").values) == {0, 1, 2}
    assert set(numbers.get(0.21, "mspn", "kl").values) == {0}
    assert set(numbers.get(0.21, "fspn", "latency").values) == {0}
    assert numbers.ratio(0.21, "mspn", "fspn", "kl") == pytest.approx(5.0), "the main study's draw"
    both = numbers.compare(0.21, "bn_dag", "fspn", "kl")
    assert (both.draws, both.ratio) == (2, pytest.approx(3.0, rel=1e-3))
    assert numbers.compare(0.21, "mspn", "fspn", "kl").draws == 1
    timed = numbers.queries[0.21, "fspn", "latency"]
    assert {seed for seed, values in timed.items() if not np.isnan(values).all()} == {0}


def test_figures_show_the_draws_that_all_models_have(rows: Rows) -> None:
    shown = on_shared_draws(rows.main("sparse"))
    seeds = {model: set(own["seed"]) for model, own in shown.groupby("model")}
    assert seeds == {"fspn": {0}, "bn_dag": {0}, "mspn": {0}}
    without = on_shared_draws(rows.main("sparse").query("model != 'mspn'"))
    assert set(without.loc[without["kl_mean"].notna(), "seed"]) == {0, 1}


def test_without_further_draws_nothing_changes(rows: Rows) -> None:
    main = rows.of("reproduce")
    pd.testing.assert_frame_equal(with_draws(main, rows.of("nothing")), main)

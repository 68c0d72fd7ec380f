"""A job on a binary benchmark: what it records, and that a second start skips it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hydra import compose, initialize_config_dir

from baselines.trees.chow_liu import ChowLiuTree
from experiments.datasets import debd_files
from experiments.datasets.debd_files import format_text
from experiments.records.locks import Machine
from experiments.records.rows import Store, collect
from experiments.report.paper import TABLE1_NAMES
from experiments.study.config import JobConfig, read_job, read_plan
from experiments.study.job import run_job
from experiments.study.overrides import variant_of
from experiments.study.plan import conf_dir
from tests.benchmarks import made_up

SPLITS = {"train": 600, "valid": 150, "test": 200}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up table in the place of nltcs."""
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path / "locks"))
    tables = {s: made_up(n, 6, seed=n).to_numpy() for s, n in SPLITS.items()}
    sums = {
        f"nltcs/nltcs.{s}.data": hashlib.sha256(format_text(t)).hexdigest()
        for s, t in tables.items()
    }
    monkeypatch.setattr(debd_files, "checksums", lambda: sums)
    np.savez(tmp_path / "nltcs.npz", **tables)
    return tmp_path


def job(folder: Path, model: str, *more: str) -> JobConfig:
    given = [
        *("experiment=table1", "plan=null", "dataset.name=nltcs", f"model={model}"),
        *(f"dataset.folder={folder}", f"results_dir={folder / 'results'}", "tracking=none"),
        *more,
    ]
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return read_job(compose("config", overrides=given), given)


def test_a_job_keeps_the_score_of_every_test_row(folder: Path) -> None:
    config = job(folder, "mixture_trees", "search.grid.n_components=[2]")
    row = run_job(config).row
    assert (row.status, row.family, row.dataset) == ("ok", "debd", "nltcs")
    assert row.n_trials == 2
    assert np.isnan([row.kl_mean, row.latency_single_ms]).all()
    scores = Store.of(config.results_dir, "table1").read_scores(row.fingerprint)
    assert scores is not None
    assert len(scores) == SPLITS["test"]
    assert scores.mean() == pytest.approx(row.test_ll, abs=1e-5)
    assert scores.std(ddof=1) / np.sqrt(len(scores)) == pytest.approx(row.test_ll_se, rel=1e-4)
    assert run_job(config).skipped
    assert len(collect(config.results_dir)) == 1


MODELS = [
    *("independent", "bn_tree", "chow_liu", "mixture_trees", "spn_tree"),
    *("fspn_paper", "fspn", "fspn_ensemble"),
    *("tree_network", "ecnet", "spn_bt", "spgm"),
]


def test_the_study_names_every_model_on_every_benchmark() -> None:
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        plan = read_plan(compose("config", overrides=["experiment=table1"]))
    first, bags = plan.stages
    assert list(first["model"]) == MODELS
    assert list(bags["model"]) == ["spn_btb"]
    for stage in plan.stages:
        assert sorted(stage["dataset.name"]) == sorted(TABLE1_NAMES)


def test_bags_take_the_setting_of_the_single_network(folder: Path) -> None:
    run_job(job(folder, "spn_bt", "search.grid.g=[7]", "search.grid.min_rows=[50]"))
    row = run_job(job(folder, "spn_btb", "search.grid.n_bags=[2]")).row
    assert row.status == "ok", row.error
    assert {"g": 7, "min_rows": 50, "n_bags": 2}.items() <= json.loads(row.params).items()


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_study_runs(folder: Path, model: str) -> None:
    outcome = run_job(job(folder, model, "search.max_settings=1"))
    assert outcome.row.status == "ok", outcome.row.error
    assert -6 * np.log(2) - 0.5 < outcome.row.test_ll < 0


def test_the_test_rows_are_scored_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = []
    score = ChowLiuTree.score_samples

    def counting(self: ChowLiuTree, table: pd.DataFrame) -> np.ndarray:
        scored.append(len(table))
        return score(self, table)

    monkeypatch.setattr(ChowLiuTree, "score_samples", counting)
    run_job(job(folder, "chow_liu"))
    assert scored == [SPLITS["valid"]] * 3 + [SPLITS["test"]]


def test_no_job_waits_to_measure_a_latency_that_nobody_asks_for(folder: Path) -> None:
    with Machine.local().working():
        assert run_job(job(folder, "independent")).row.status == "ok"


def test_where_the_data_lie_is_no_part_of_a_job() -> None:
    assert variant_of(["dataset=debd", "dataset.name=ad", "dataset.folder=x"]) == ""
    assert variant_of(["dataset.name=ad", "dataset.rows=3"]) == "dataset.rows=3"

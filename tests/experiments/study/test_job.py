import json
from dataclasses import replace

import numpy as np
import pytest

from baselines.base import ModelTooLarge
from experiments.records.locks import Machine, is_held
from experiments.records.reference import write_rows
from experiments.records.rows import DiskFullError, Store, as_frame, collect
from experiments.study import job as job_module
from experiments.study.config import ConfigError, ModelConfig, SearchConfig
from experiments.study.job import run_job


def broken(config):
    target = "tests.experiments.tiny.Fragile"
    model = ModelConfig("fragile", target, {"alpha": 1.0, "fails": True})
    return replace(config, model=model, search=SearchConfig())


def test_a_job_measures_everything(config):
    row = run_job(config).row
    assert (row.status, row.error) == ("ok", "")
    measured = [row.kl_mean, row.kl_p95, row.latency_single_ms, row.latency_batch_ms]
    measured += [row.train_seconds, row.search_seconds, row.valid_ll, row.test_ll, row.test_ll_se]
    assert np.isfinite(measured).all()
    assert row.n_queries == 5
    assert row.n_trials == 2
    assert row.n_nodes == 6
    assert row.size_bytes > row.n_parameters
    assert json.loads(row.params)["alpha"] in (0.1, 1.0)
    assert row.measured_rdc < row.target_rdc * 5
    queries = Store.of(config.results_dir, "single").folder / f"{row.fingerprint}.queries.parquet"
    assert queries.is_file()
    assert "seed" not in row.command
    assert "dataset.columns=5" in row.command


def test_a_finished_job_is_skipped_and_force_runs_it_again(config):
    first = run_job(config)
    second = run_job(config)
    assert (first.skipped, second.skipped) == (False, True)
    assert second.row.started_at == first.row.started_at
    again = run_job(replace(config, force=True))
    assert not again.skipped
    assert again.row.started_at > first.row.started_at
    assert len(collect(config.results_dir)) == 1


def test_another_seed_setting_or_grid_is_another_job(config):
    run_job(config)
    run_job(replace(config, seed=1))
    run_job(replace(config, search=SearchConfig(grid={"alpha": [0.5]})))
    assert len(collect(config.results_dir)) == 3


def test_a_failed_job_is_recorded_and_tried_again(config):
    first = run_job(broken(config))
    assert first.row.status == "failed"
    assert "told to fail" in first.row.error
    assert not run_job(broken(config)).skipped
    rows = collect(config.results_dir)
    assert rows["status"].tolist() == ["failed"]
    assert rows["kl_mean"].isna().all()


def test_latency_is_measured_while_nobody_else_works(config, monkeypatch):
    seen = []
    measure = job_module.evaluate.__globals__["measure"]

    def watched(*arguments):
        seen.append(is_held(Machine.local().folder / "gate.lock"))
        return measure(*arguments)

    monkeypatch.setitem(job_module.evaluate.__globals__, "measure", watched)
    run_job(config)
    assert seen == [True]


def test_like_takes_the_setting_that_another_model_chose(config):
    chosen = json.loads(run_job(config).row.params)
    copy = replace(
        config,
        model=ModelConfig("fragile", "tests.experiments.tiny.Fragile", {"alpha": 7.0}),
        search=SearchConfig(like="independent"),
    )
    assert json.loads(run_job(copy).row.params) == chosen
    with pytest.raises(ConfigError, match=r"search\.like is 'independent' .* seed 1"):
        run_job(replace(copy, seed=1))


def test_further_draws_and_fits_take_the_setting_of_the_first_draw(config):
    first = run_job(config).row
    frozen = replace(config, study="draws", search=replace(config.search, frozen=("single",)))
    rows = [run_job(replace(frozen, seed=1)).row, run_job(replace(frozen, fit_seed=7)).row]
    for row in rows:
        assert json.loads(row.params) == json.loads(first.params)
        assert (row.n_trials, row.at_edge) == (1, "")
    assert rows[0].dataset_digest != first.dataset_digest == rows[1].dataset_digest
    elsewhere = replace(frozen, search=replace(frozen.search, frozen=("reproduce",)), seed=2)
    with pytest.raises(ConfigError, match="run experiment=reproduce first"):
        run_job(elsewhere)


def test_committed_rows_stand_in_for_a_study_that_was_not_run_here(config, tmp_path):
    first = run_job(config).row
    elsewhere = tmp_path / "fresh clone"
    write_rows(as_frame([first]), elsewhere)
    frozen = replace(config, study="draws", search=replace(config.search, frozen=("single",)))
    row = run_job(replace(frozen, results_dir=elsewhere, seed=1)).row
    assert json.loads(row.params) == json.loads(first.params)


def test_a_model_that_can_be_saved_is_kept_with_its_study(config):
    model = ModelConfig("fragile", "tests.experiments.tiny.Fragile", {"alpha": 7.0})
    job = replace(config, model=model, search=SearchConfig(), variant="")
    run_job(job)
    run_job(replace(job, seed=2))
    run_job(replace(config, variant=""))
    folder = Store.of(config.results_dir, "single").folder / "models"
    assert {p.name: p.read_text() for p in folder.iterdir()} == {
        "rdc_07-fragile.fspn": "alpha 7.0",
        "rdc_07-fragile-2.fspn": "alpha 7.0",
    }


def test_a_model_too_large_to_be_kept_is_measured_all_the_same(config, monkeypatch):
    def refuse(*_):
        raise ModelTooLarge("the table has 1e9 cells")

    model = ModelConfig("fragile", "tests.experiments.tiny.Fragile", {"alpha": 7.0})
    job = replace(config, model=model, search=SearchConfig(), variant="")
    for seed, save in enumerate([refuse, lambda *_: None]):  # one refuses, one writes nothing
        monkeypatch.setattr("tests.experiments.tiny.Fragile.save", save)
        row = run_job(replace(job, seed=seed)).row
        assert (row.status, row.error) == ("ok", "")
    folder = Store.of(config.results_dir, "single").folder / "models"
    assert list(folder.iterdir()) == []


def test_a_full_disk_stops_the_job_and_leaves_no_row(config, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pandas.DataFrame.to_parquet", full)
    with pytest.raises(DiskFullError, match="disk is full"):
        run_job(config)
    monkeypatch.undo()
    assert collect(config.results_dir).empty

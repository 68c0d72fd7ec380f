"""Real tables through the runner: search on held-out rows, q-errors, gaps, resuming."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra import compose, initialize_config_dir

from baselines.estimators.base import Unavailable
from baselines.estimators.row_sample import RowSample
from experiments.measures.q_error import q_error, quantiles
from experiments.records.rows import Store, collect, collect_queries
from experiments.report.row_counts.__main__ import main as report
from experiments.study.config import ConfigError, read_job, read_plan
from experiments.study.job import record_late, run_job
from experiments.study.plan import conf_dir, expand
from tests.experiments.tiny import OVERRIDES, folders

CONF = conf_dir()
MODELS = sorted(path.stem for path in (CONF / "model" / "tables").glob("*.yaml"))


@pytest.fixture
def table_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 10, 600)
    frame = pd.DataFrame({"a": a, "b": a // 2, "c": rng.choice(["x", "y", None], 600)})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path / "mine.csv"


@pytest.fixture
def job(tmp_path: Path, table_file: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path / "locks"))

    def build(*more: str) -> Any:
        given = [
            "dataset=table",
            "dataset.name=mine",
            f"dataset.path={table_file}",
            "dataset.queries=30",
            "dataset.empty_queries=5",
            "timing.repeats=2",
            "tracking=none",
            "study=tables",
            f"results_dir={tmp_path / 'results'}",
            f"cache_dir={tmp_path / 'cache'}",
            *more,
        ]
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return read_job(compose("config", overrides=given))

    return build


@pytest.mark.parametrize("model", MODELS)
def test_every_estimator_composes_with_its_grid(job: Any, model: str) -> None:
    config = job(f"model=tables/{model}")
    assert config.model.name == model
    assert (CONF / "search" / "tables" / f"{model}.yaml").is_file()


def test_the_study_asks_every_estimator_about_every_table() -> None:
    given = ["experiment=tables"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        plan = read_plan(compose("config", overrides=given))
    assert plan is not None
    jobs = [job for stage in expand(plan, given) for job in stage]
    assert len(jobs) == 10 * len(MODELS)
    assert {job[0] for job in jobs} == {f"model=tables/{model}" for model in MODELS}


def test_q_errors() -> None:
    errors = q_error(np.array([10.0, 0.0, 200.0, np.nan]), np.array([10, 0, 20, 3]))
    assert errors.tolist() == [1.0, 1.0, 10.0, np.inf]
    found = quantiles(np.arange(1.0, 101.0))
    assert found == {"q_median": 50, "q_p90": 90, "q_p95": 95, "q_p99": 99, "q_max": 100}


def test_a_job_records_q_errors_and_is_not_run_twice(job: Any, tmp_path: Path) -> None:
    config = job("model=tables/sample", "model.share=1.0")
    outcome = run_job(config)
    row = outcome.row
    assert row.status == "ok"
    assert row.q_max == pytest.approx(1.0)
    assert row.n_queries == 35
    assert row.latency_single_ms > 0
    assert run_job(config).skipped
    queries = collect_queries(tmp_path / "results", collect(tmp_path / "results"))
    assert (queries["estimate"].round() == queries["count"]).all()
    assert set(queries["n_predicates"]) <= {1, 2, 3}


def test_settings_are_compared_on_held_out_rows_and_the_best_learns_all(job: Any) -> None:
    grid = ["search.grid.score=[BIC]", "search.grid.alpha=[0.01,100.0]"]
    config = job("model=tables/bn_dag", *grid)
    row = run_job(config).row
    assert row.n_trials == 3
    assert '"alpha": 0.01' in row.params
    assert row.q_p95 < 3


def test_a_sample_takes_the_bytes_of_another_model(job: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run model=sample first"):
        run_job(job("model=tables/sample_bytes", "search.like=sample"))
    size = run_job(job("model=tables/sample")).row.size_bytes
    row = run_job(job("model=tables/sample_bytes", "search.like=sample")).row
    assert row.size_bytes <= size


def test_a_sample_takes_the_bytes_of_the_file_of_another_model(job: Any) -> None:
    stored = run_job(job("model=tables/sample", "model.share=0.5")).row.stored_bytes
    row = run_job(job("model=tables/sample_file", "search.like=sample")).row
    assert 0.9 * stored < row.stored_bytes <= stored


def test_a_model_without_bytes_of_a_file_gives_none_to_a_sample(job: Any) -> None:
    run_job(job("model=tables/histograms"))
    with pytest.raises(ConfigError, match=r"stored_bytes of histograms, .* force=true"):
        run_job(job("model=tables/sample_file", "search.like=histograms"))


def test_a_grid_is_compared_on_a_sample_of_the_rows(job: Any) -> None:
    grid = ["search.grid.score=[BIC]", "search.grid.alpha=[0.01,100.0]"]
    row = run_job(job("model=tables/bn_dag", "search.rows=200", *grid)).row
    assert row.search_rows == 200
    assert row.n_trials == 3
    assert '"alpha": 0.01' in row.params
    whole = run_job(job("model=tables/bn_dag", "search.rows=9999", *grid)).row
    assert np.isnan(whole.search_rows)


def test_a_job_that_was_ended_for_its_time_is_a_gap(job: Any, tmp_path: Path) -> None:
    config = job("model=tables/mspn", "search.job_seconds=3")
    row = record_late(config).row
    assert row.status == "timeout"
    assert "did not end within 3 s" in row.error
    assert run_job(config).skipped
    assert len(collect(tmp_path / "results")) == 1


def test_a_job_that_ended_just_before_it_was_ended_keeps_its_row(job: Any) -> None:
    config = job("model=tables/sample")
    row = run_job(config).row
    late = record_late(config).row
    assert (late.status, late.run_id, late.started_at) == ("ok", row.run_id, row.started_at)
    assert run_job(config).row.status == "ok"


class Elsewhere(RowSample):
    """An estimator that this machine does not have."""

    def fit(self, *_: Any, **__: Any) -> Any:
        raise Unavailable("no server on this machine")


def test_an_estimator_that_cannot_run_here_is_a_gap(job: Any) -> None:
    config = job("model=tables/sample", f"model._target_={__name__}.Elsewhere")
    row = run_job(config).row
    assert row.status == "unsupported"
    assert "no server on this machine" in row.error


def test_models_and_tables_must_fit_together(job: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="such as model=tables/fspn"):
        run_job(job("model=independent"))
    given = ["dataset=rdc_07", "model=tables/sample", *OVERRIDES[2:-1], *folders(tmp_path)[:2]]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = read_job(compose("config", overrides=given))
    with pytest.raises(ConfigError, match="choose dataset=table"):
        run_job(config)


def test_the_report_is_drawn_from_what_is_kept(
    job: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    assert report(["--results", str(results)]) == 2
    for model in ("sample", "histograms", "fspn"):
        run_job(job(f"model=tables/{model}", "search.grid={}"))
    assert report(["--results", str(results)]) == 0
    assert (results / "report" / "figures" / "row_counts.png").is_file()
    assert not (results / "reference").exists()
    assert report(["--results", str(results), "--freeze"]) == 0
    summary = pd.read_csv(results / "reference" / "row_counts.csv")
    whole = summary[summary["group"] == "all queries"].set_index("model")
    assert set(whole.index) == {"sample", "histograms", "fspn"}
    assert (whole["q_p95_low"] <= whole["q_p95"]).all()
    assert (whole["q_p95"] <= whole["q_p95_high"]).all()
    assert "predicates: 2" in set(summary["group"])
    worst = pd.read_csv(results / "reference" / "row_counts_worst.csv")
    assert worst["reason"].str.len().min() > 0
    for file in Store.of(results, "tables").folder.glob("*.parquet"):
        file.unlink()
    (results / "figures" / "row_counts.png").unlink()
    assert report(["--results", str(results), "--freeze"]) == 0
    assert (results / "figures" / "row_counts.png").is_file()
    assert "estimator" in (results / "tables" / "row_counts_wins.csv").read_text()
    assert "written" in capsys.readouterr().out


def test_a_rerun_of_one_estimator_leaves_what_is_kept_of_the_others(
    job: Any, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    for model in ("histograms", "fspn"):
        run_job(job(f"model=tables/{model}", "search.grid={}"))
    assert report(["--results", str(results), "--freeze"]) == 0
    reference = results / "reference"
    before = [pd.read_csv(file) for file in sorted(reference.glob("row_counts*.csv"))]
    for file in Store.of(results, "tables").folder.glob("*.parquet"):
        file.unlink()
    run_job(job("model=tables/sample", "search.grid={}"))
    assert report(["--results", str(results), "--freeze"]) == 0
    after = [pd.read_csv(file) for file in sorted(reference.glob("row_counts*.csv"))]
    for old, new in zip(before[:2], after[:2], strict=True):
        assert set(new["model"]) == {"histograms", "fspn", "sample"}
        others = new[new["model"] != "sample"].reset_index(drop=True)
        pd.testing.assert_frame_equal(others, old, check_dtype=False)
    pd.testing.assert_frame_equal(after[2], before[2])

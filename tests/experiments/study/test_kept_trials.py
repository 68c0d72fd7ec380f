"""A job that was stopped goes on with the trials that it had finished, each of them made once."""

import json
import os
import signal
from collections import Counter
from dataclasses import replace

import pytest
from submitit.core.utils import UncompletedJobError

from experiments.records.rows import Store, collect
from experiments.report.rows import with_nodes
from experiments.study import job as job_module
from experiments.study.config import ModelConfig, SearchConfig
from experiments.study.job import run_job
from tests.experiments.tiny import Fragile

ALL, SOME = 300, 250  # training rows of the tiny job, and those of a coarse search
ALPHAS = [1e-3, 1.0, 100.0, 1e5]
SAME = ["label", "status", "kl_mean", "valid_ll", "test_ll", "n_trials", "n_failed_trials"]
SAME += ["params", "search_rows", "size_bytes"]
GRIDS = {
    "grid": SearchConfig(grid={"alpha": ALPHAS}),
    "two parts": SearchConfig(grid={"alpha": ALPHAS[:2]}, then={"alpha": ALPHAS[2:]}),
    "coarse": SearchConfig(grid={"alpha": ALPHAS}, rows=SOME, finalists=2),
    "failing": SearchConfig(grid={"fails": [True, False], "alpha": ALPHAS[:2]}),
}
fits: list[tuple] = []  # what was fitted to its end
stop_at: list[int] = []  # numbers of fits during which the launcher's signal comes


class Counted(Fragile):
    """A model that tells of every fit, but not of the warm-up's, which has few rows."""

    def fit(self, table, domains, seed=0):
        if len(table) == 200:
            return super().fit(table, domains, seed)
        if len(fits) in stop_at:
            stop_at.remove(len(fits))
            os.kill(os.getpid(), signal.SIGUSR2)
        fits.append((len(table), self.alpha, self.fails))
        return super().fit(table, domains, seed)


class Unkept(Counted):
    """A model that cannot be written to a file."""

    def __getstate__(self):
        raise TypeError("not to be pickled")


@pytest.fixture(autouse=True)
def launcher():
    """What submitit does at a time limit: an exception out of the handler of SIGUSR2."""

    def over(_number, _frame):
        raise UncompletedJobError("Job not requeued because: timed-out too many times.")

    before = signal.signal(signal.SIGUSR2, over)
    fits.clear()
    stop_at.clear()
    yield
    signal.signal(signal.SIGUSR2, before)


def with_search(config, search, model=Counted):
    target = f"{__name__}.{model.__name__}"
    return replace(config, model=ModelConfig("m", target, {"alpha": 1.0}), search=search)


def run_until_done(job, *stops):
    """Start a job again and again; the signal comes during the fits of these numbers."""
    stop_at.extend(stops)
    for _ in stops:
        with pytest.raises(UncompletedJobError):
            run_job(job)
        assert collect(job.results_dir).empty
    return run_job(job).row


def measures(row):
    return {key: repr(getattr(row, key)) for key in SAME}


def kept(job):
    return sorted(Store.of(job.results_dir, job.study).folder.glob("trials/*/*"))


@pytest.mark.parametrize("name", GRIDS)
def test_finished_trials_survive_and_the_result_is_the_same(config, tmp_path, name):
    job = with_search(config, GRIDS[name])
    whole = run_job(replace(job, results_dir=tmp_path / "whole")).row
    alone = list(fits)
    for number in (1, len(alone) - 1):
        fits.clear()
        again = replace(job, results_dir=tmp_path / str(number))
        assert measures(run_until_done(again, number)) == measures(whole)
        assert Counter(fits) == Counter(alone), f"stopped during fit {number}"
        assert not kept(again)


def test_a_job_that_is_stopped_at_every_trial_comes_to_its_end(config):
    row = run_until_done(with_search(config, GRIDS["coarse"]), 0, 1, 2, 3, 4, 5)
    assert Counter(rows for rows, *_ in fits) == {SOME: 4, ALL: 2}
    assert row.n_trials == 6
    assert row.search_seconds > 0


@pytest.mark.parametrize("damage", ["model", "damaged", "gone"])
def test_a_model_that_was_not_kept_is_fitted_again(config, tmp_path, damage):
    model = Unkept if damage == "model" else Counted
    job = with_search(config, SearchConfig(grid={"alpha": ALPHAS[::-1]}), model)
    whole = run_job(replace(job, results_dir=tmp_path / "whole")).row
    fits.clear()
    stop_at.append(3)
    with pytest.raises(UncompletedJobError):
        run_job(job)
    pickles = [path for path in kept(job) if path.suffix == ".pickle"]
    assert bool(pickles) == (damage != "model")
    for path in pickles:
        path.write_bytes(b"damaged") if damage == "damaged" else path.unlink()
    assert measures(run_job(job).row) == measures(whole)
    best = (ALL, json.loads(whole.params)["alpha"], False)
    assert Counter(fits) == Counter((ALL, a, False) for a in ALPHAS) + Counter([best])


def test_a_damaged_trial_is_made_again(config):
    job = with_search(config, GRIDS["grid"])
    stop_at.append(2)
    with pytest.raises(UncompletedJobError):
        run_job(job)
    (path,) = [path for path in kept(job) if path.name == "0.json"]
    path.write_text("{")
    run_job(job)
    assert Counter(fits) == Counter((ALL, a, False) for a in [ALPHAS[0], *ALPHAS])


def test_force_begins_anew(config):
    job = with_search(config, GRIDS["grid"])
    stop_at.append(2)
    with pytest.raises(UncompletedJobError):
        run_job(job)
    run_job(replace(job, force=True))
    assert len(fits) == 2 + len(ALPHAS)


def test_other_settings_take_nothing_over(config):
    stop_at.append(2)
    with pytest.raises(UncompletedJobError):
        run_job(with_search(config, GRIDS["grid"]))
    run_job(with_search(config, SearchConfig(grid={"alpha": ALPHAS[:3]})))
    assert len(fits) == 2 + 3


def test_trials_that_were_timed_on_another_node_type_mark_the_row(config, monkeypatch):
    job = with_search(config, GRIDS["grid"])
    stop_at.append(2)
    with monkeypatch.context() as patch:
        patch.setattr(job_module, "node_type", lambda: "an old processor, 4 cores")
        with pytest.raises(UncompletedJobError):
            run_job(job)
    row = run_job(job).row
    assert row.node_type == f"{job_module.node_type()} and an old processor, 4 cores"
    for seed in (1, 2):
        run_job(replace(job, seed=seed))
    marked = with_nodes(collect(job.results_dir))
    assert marked.set_index("seed")["other_node"].to_dict() == {0: True, 1: False, 2: False}

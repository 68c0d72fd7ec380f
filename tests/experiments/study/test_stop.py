"""A job that its launcher stops gives no row; only the model's own errors are failed trials."""

import os
import signal
from dataclasses import replace

import pytest
from submitit.core.utils import UncompletedJobError

from experiments.records.rows import collect
from experiments.study.config import ModelConfig, SearchConfig
from experiments.study.job import run_job
from experiments.study.refit import search_and_refit
from experiments.study.search import search
from experiments.study.stop import stoppable
from tests.experiments.tiny import Fragile, dataset

DATA = dataset()


class Stopped(Fragile):
    """A model during whose fit, with alpha = 2, the launcher's signal comes."""

    def fit(self, table, domains, seed=0):
        if self.alpha == 2.0:
            os.kill(os.getpid(), signal.SIGUSR2)
        return super().fit(table, domains, seed)


class Swallowing(Stopped):
    """The signal comes where some library catches everything."""

    def fit(self, table, domains, seed=0):
        try:
            return super().fit(table, domains, seed)
        except BaseException:
            return Fragile.fit(self, table, domains, seed)


class Wrapping(Fragile):
    """A model whose library puts an error of its own around the launcher's."""

    def fit(self, table, domains, seed=0):
        raise RuntimeError("could not fit") from UncompletedJobError("over")


class OverOnFewRows(Fragile):
    """An estimator whose launcher ends the job while it is warmed up."""

    in_process, learning_seconds = True, None

    def fit(self, table, domains, seed=0):
        if len(table) < len(DATA.train):
            raise UncompletedJobError("over")
        return super().fit(table, domains, seed)


class Late(Fragile):
    """A model with a time-out of its own (a network, say), that is no limit of the study."""

    def fit(self, table, domains, seed=0):
        raise TimeoutError("no answer")


@pytest.fixture
def launcher():
    """What submitit does: an exception out of the handler of SIGUSR2."""

    def over(_number, _frame):
        raise UncompletedJobError("Job not requeued because: timed-out too many times.")

    before = signal.signal(signal.SIGUSR2, over)
    yield over
    assert signal.getsignal(signal.SIGUSR2) is over
    signal.signal(signal.SIGUSR2, before)


def with_model(config, cls, alphas=(1.0, 2.0, 3.0)):
    model = ModelConfig("m", f"{cls.__module__}.{cls.__name__}", {"alpha": 1.0})
    return replace(config, model=model, search=SearchConfig(grid={"alpha": list(alphas)}))


@pytest.mark.parametrize("model", [Stopped, Swallowing])
def test_a_time_limit_during_a_trial_leaves_no_row(config, launcher, model):
    with pytest.raises(UncompletedJobError, match="timed-out"):
        run_job(with_model(config, model))
    assert collect(config.results_dir).empty


def test_a_time_limit_during_the_warm_up_leaves_no_row(config, launcher):
    job = with_model(config, Stopped, alphas=[1.0])
    job = replace(job, model=replace(job.model, params={"alpha": 2.0}))
    with pytest.raises(UncompletedJobError):
        run_job(job)
    assert collect(config.results_dir).empty


def test_a_launchers_exception_that_a_library_wraps_leaves_no_row(config):
    with pytest.raises(RuntimeError, match="could not fit"):
        run_job(with_model(config, Wrapping))
    assert collect(config.results_dir).empty


@pytest.mark.parametrize("alphas", [[1.0], [2.0]])
def test_a_launchers_exception_is_no_failed_trial(alphas):
    def build(params):
        if params in ({}, {"alpha": 2.0}) and alphas == [params.get("alpha", 1.0)]:
            raise UncompletedJobError("over")
        return Fragile(**params)

    with pytest.raises(UncompletedJobError):
        search(build, {"alpha": alphas}, DATA, seed=0)


def test_a_launchers_exception_in_the_warm_up_of_an_estimator_stops_it(monkeypatch):
    monkeypatch.setattr("experiments.study.refit.WARM_ROWS", 10)
    with pytest.raises(UncompletedJobError):
        search_and_refit(lambda params: OverOnFewRows(**params), {}, DATA, seed=0)


def test_an_exit_code_of_the_launcher_is_kept():
    def leave(_number, _frame):
        raise SystemExit(143)

    before = signal.signal(signal.SIGUSR2, leave)
    try:
        with pytest.raises(SystemExit) as left, stoppable():
            os.kill(os.getpid(), signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert left.value.code == 143


def test_a_stop_is_no_exception_that_libraries_catch(launcher):
    def library():
        try:
            os.kill(os.getpid(), signal.SIGUSR2)
        except Exception:
            pytest.fail("taken for an error of the model")

    with pytest.raises(UncompletedJobError), stoppable():
        library()


def test_a_time_out_of_the_models_own_is_a_failure_and_tried_again(config):
    job = with_model(config, Late)
    assert run_job(job).row.status == "failed"
    assert not run_job(job).skipped

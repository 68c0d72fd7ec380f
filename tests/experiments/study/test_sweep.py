"""The command line: sweeps become plans, Hydra's launchers become executors."""

import pytest

from experiments.study.config import ConfigError, PlanConfig
from experiments.study.sweep import read_sweep


def test_a_sweep_is_a_plan_of_one_stage():
    sweep = read_sweep(["-m", "dataset=glob(rdc_*)", "seed=0,1", "model=fspn", "timing.repeats=2"])
    assert sweep.given == ["model=fspn", "timing.repeats=2"]
    plan = sweep.plan(None)
    (stage,) = plan.stages
    assert stage["seed"] == ["0", "1"]
    assert stage["dataset"] == [f"rdc_{n}" for n in ("07", "21", "37", "65", "83", "95")]
    assert not plan.report


def test_lists_that_are_values_are_not_swept():
    sweep = read_sweep(["-m", "search.grid.alpha=[0.1,1]", "workload={queries: 5, seed: 0}"])
    assert sweep.values == {}
    assert len(sweep.given) == 2


def test_a_sweep_of_a_study_replaces_the_studys_own_values():
    study = PlanConfig(({"model": ["a"], "seed": [0]}, {"model": ["b"]}), workers=3)
    sweep = read_sweep(["experiment=thresholds", "seed=1,2", "model.tau_low=0.05,0.1"])
    plan = sweep.plan(study)
    new = {"seed": ["1", "2"], "model.tau_low": ["0.05", "0.1"]}
    assert plan.stages == ({"model": ["a"], **new}, {"model": ["b"], **new})
    assert (plan.workers, plan.report) == (3, True)


def test_without_a_sweep_nothing_changes():
    study = PlanConfig(({"seed": [0]},))
    assert read_sweep(["seed=1"]).plan(None) is None
    assert read_sweep(["experiment=smoke"]).plan(study) == study
    assert read_sweep(["-m", "seed=1"]).plan(None).stages == ({},)
    assert read_sweep(["seed=0,1"]).given == ["seed=0,1"]


def test_launchers_of_hydra_are_executors():
    old = ["-m", "hydra/launcher=slurm", "hydra.launcher.timeout_min=5", "+hydra.launcher.qos=x"]
    new = ["executor=slurm", "executor.timeout_min=5", "+executor.qos=x"]
    assert read_sweep(old).given == new
    assert read_sweep(["hydra/launcher=joblib"]).given == ["executor=local"]
    with pytest.raises(ConfigError, match="executor="):
        read_sweep(["hydra/launcher=ray"])


def test_studies_are_not_swept():
    with pytest.raises(ConfigError, match="one study at a time"):
        read_sweep(["-m", "experiment=smoke,smooth"])

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf

from experiments.study.config import ConfigError, PlanConfig, read_job, read_plan
from experiments.study.execute import check_results_dir, without_repeats
from experiments.study.executors import read_executor
from experiments.study.job import _finder
from experiments.study.overrides import key_of, variant_of
from experiments.study.plan import compose_jobs, conf_dir, expand
from experiments.study.search import search
from tests.experiments.tiny import OVERRIDES

CONF = conf_dir()
THRESHOLDED = {
    "name": "thresholded",
    "_target_": "tests.experiments.tiny.Thresholded",
    "tau_low": 0.3,
    "tau_high": 0.7,
}
# Experiments whose rows complete those of another study.
ADDS_TO = {"draws_all": "draws", "draws_families": "draws", "table1_seeds": "table1"}


def names(group):
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@pytest.fixture
def hydra():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        yield


@pytest.fixture
def values(hydra):
    """The tiny job as plain values, to be spoilt."""
    config = compose("config", overrides=list(OVERRIDES))
    return OmegaConf.to_container(config, resolve=True)


@pytest.mark.parametrize("model", names("model"))
def test_every_model_composes_with_its_grid(hydra, model):
    job = read_job(compose("config", overrides=["dataset=rdc_65", f"model={model}"]))
    assert job.model.name == model
    assert bool(job.search.grid or job.search.like) == has_search(model)


def has_search(model):
    """Whether a file says how a model is tuned, and names more than its own setting."""
    path = CONF / "search" / f"{model}.yaml"
    found = OmegaConf.load(path) if path.is_file() else {}
    return bool(found.get("grid") or found.get("like"))


@pytest.mark.parametrize("path", sorted((CONF / "search").rglob("*.yaml")), ids=lambda p: p.stem)
def test_every_search_is_of_a_model(path):
    """A wrong name would go unseen: a model without a search keeps its own setting."""
    assert path.stem in {*names("model"), *names("model/tables"), "none"}


@pytest.fixture
def with_toy(tmp_path, monkeypatch):
    """The settings with a model that has no search."""
    folder = tmp_path / "conf"
    shutil.copytree(CONF, folder)
    toy = "name: toy\n_target_: baselines.independent.Independent\nalpha: 3\n"
    (folder / "model" / "toy.yaml").write_text(toy)
    monkeypatch.setattr("experiments.study.plan.conf_dir", lambda: folder)


@pytest.mark.usefixtures("with_toy")
def test_a_model_without_a_search_keeps_its_own_setting():
    swept = PlanConfig(({"model": ["toy", "fspn", "independent"]},))
    ((toy, fspn, other),) = compose_jobs(swept, ["dataset=rdc_65"])
    assert toy.model.params == {"alpha": 3}
    assert (toy.search.grid, toy.search.then, toy.search.max_settings) == ({}, {}, None)
    assert set(fspn.search.grid) == {"tau_low", "tau_high"}
    assert set(other.search.grid) == {"alpha"}
    ((tuned,),) = compose_jobs(PlanConfig(({"model": ["toy"]},)), ["+search.grid.alpha=[1,2]"])
    assert tuned.search.grid == {"alpha": [1, 2]}


@pytest.mark.usefixtures("with_toy")
@pytest.mark.parametrize("given", ["search=typo", "search=tables/typo", "search=toy"])
def test_a_search_that_is_named_must_exist(given):
    one = PlanConfig(({"model": ["independent"]},))
    with pytest.raises(ConfigError, match=f"{given} is no search: use one of .*fspn"):
        compose_jobs(one, [given])
    compose_jobs(one, ["search=debd/independent"])


@pytest.mark.parametrize("dataset", names("dataset"))
def test_every_dataset_composes(hydra, dataset, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    needs = {"csv": [f"dataset.path={tmp_path / 'table.csv'}"]}.get(dataset, [])
    job = read_job(compose("config", overrides=[f"dataset={dataset}", "model=independent", *needs]))
    assert job.dataset["name"]


@pytest.mark.parametrize(
    ("group", "name"), [(g, n) for g in ("workload", "tracking") for n in names(g)]
)
def test_every_other_choice_composes(hydra, monkeypatch, group, name):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://localhost:1")
    job = read_job(compose("config", overrides=[*OVERRIDES[:2], f"{group}={name}"]))
    assert (job.tracking_uri is None) == (name == "none")


@pytest.mark.parametrize("executor", names("executor"))
def test_every_executor_composes(hydra, executor):
    config = compose("config", overrides=[*OVERRIDES, f"executor={executor}"])
    assert read_executor(config).kind == executor
    assert read_job(config, [f"executor={executor}"]).label == "rdc_07/independent/0"


@pytest.mark.parametrize("experiment", names("experiment"))
def test_every_experiment_is_a_plan_of_checked_jobs(experiment):
    given = [f"experiment={experiment}"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        plan = read_plan(compose("config", overrides=given))
    every = [tuple(job) for stage in expand(plan, given) for job in stage]
    assert len(every) == len(set(every)) > 1
    short = replace(plan, stages=tuple(thin for stage in plan.stages for thin in thinned(stage)))
    jobs = [job for stage in compose_jobs(short, given) for job in stage]
    assert {job.study for job in jobs} == {ADDS_TO.get(experiment, experiment)}


def thinned(stage):
    """Every value of each axis once, the others at their first: composing them all is slow."""
    return [
        {key: values if key == axis else values[:1] for key, values in stage.items()}
        for axis in stage
    ]


def test_a_wrong_key_on_the_command_line_is_named(hydra):
    with pytest.raises(HydraException, match="datsaet"):
        compose("config", overrides=["datsaet=rdc_65"])
    with pytest.raises(HydraException, match="tain_rows"):
        compose("config", overrides=["dataset.tain_rows=5"])


@pytest.mark.parametrize(
    ("node", "key", "value", "message"),
    [
        ("", "sede", 1, "sede is no known key"),
        ("", "seed", -1, r"seed is -1 but must be a whole number from 0"),
        ("", "seed", 1.5, r"seed is 1\.5 but must be a whole number from 0"),
        ("", "seed", "one", r"seed is 'one' but must be a whole number"),
        ("", "seed", True, r"seed is True but must be a whole number"),
        ("", "results_dir", None, "results_dir is None but must be a folder"),
        ("", "cache_dir", 3, "cache_dir is 3 but must be a folder"),
        ("", "force", "maybe", "force is 'maybe' but must be true or false"),
        ("", "study", "a/b", "study is 'a/b' but must be a name"),
        ("timing", "repeats", 0, r"timing\.repeats is 0 but must be a whole number of at least 2"),
        ("timing", "repeats", 2.5, r"timing\.repeats is 2\.5 but must be a whole number"),
        ("timing", "repeat", 3, r"timing\.repeat is no known key"),
        ("tracking", "url", "x", r"tracking\.url is no known key"),
        ("dataset", "train_rows", -5, r"dataset\.train_rows is -5 but must be at least 1"),
        ("dataset", "rows", 5, r"dataset\.rows is no known key"),
        ("dataset", "family", "x", r"dataset\.family is 'x'"),
        ("workload", "queries", 0, r"workload\.queries is 0"),
        ("model", "alpha", -1, r"model\.alpha is -1 but must be a number of at least 0"),
        ("model", "alfa", 1, r"model\.alfa is no known key: use one of \['alpha'\]"),
        ("model", "_target_", "baselines.nowhere.X", r"model\._target_ 'baselines\.nowhere\.X'"),
        ("search", "limit_seconds", -1, r"search\.limit_seconds is -1"),
        ("search", "limit_seconds", 0, r"search\.limit_seconds is 0 but must be"),
        ("search", "job_seconds", 0, r"search\.job_seconds is 0 but must be"),
        ("search", "gird", {}, r"search\.gird is no known key"),
        ("search", "grid", {"alfa": [1]}, r"search\.grid\.alfa is no known key"),
        ("search", "grid", {"alpha": []}, r"search\.grid\.alpha is \[\] but must be a list"),
        ("search", "grid", {"alpha": [1, -2]}, r"search\.grid\.alpha is -2 but must be"),
    ],
)
def test_a_wrong_setting_stops_with_its_key_and_what_is_allowed(values, node, key, value, message):
    (values[node] if node else values)[key] = value
    with pytest.raises(ConfigError, match=message):
        read_job(values)


def test_thresholds_in_the_wrong_order_are_named(values):
    values["model"], values["search"] = dict(THRESHOLDED, tau_low=0.8), {}
    with pytest.raises(ConfigError, match=r"model\.tau_low is 0\.8 .* model\.tau_high = 0\.7"):
        read_job(values)
    values["model"] = dict(THRESHOLDED, tau_low=1.5)
    with pytest.raises(ConfigError, match=r"model\.tau_low is 1\.5 .* from 0 to 1"):
        read_job(values)
    values["model"], values["search"] = THRESHOLDED, {"grid": {"tau_low": [0.1, 0.8]}}
    with pytest.raises(ConfigError, match=r"model\.tau_low is 0\.8"):
        read_job(values)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (2, r"model\.tau_low is 2 but must be a number from 0 to 1"),
        ("low", r"model\.tau_low is 'low' but must be a number from 0 to 1"),
        (0.9, r"search\.grid\.tau_high is \[\] but must be a list with a value that goes with"),
    ],
)
def test_a_given_threshold_that_makes_no_sense_is_named_itself(values, given, message):
    """Not the grid of the other threshold, which is empty because of it."""
    values["model"] = dict(THRESHOLDED, tau_low=given, tau_high=1.0)
    values["search"] = {"grid": {"tau_high": [0.5, 0.7]}}
    with pytest.raises(ConfigError, match=message):
        read_job(values, [f"model.tau_low={given}"])


def test_plans_are_checked(values):
    for plan, message in [
        ({"stage": []}, r"plan\.stage is no known key"),
        ({"stages": []}, r"plan\.stages"),
        ({"stages": [{"seed": 3}]}, r"plan\.stages\[0\]\.seed is 3"),
        ({"stages": ["seed"]}, r"plan\.stages\[0\] is 'seed'"),
        ({"stages": [{"seed": [3]}], "workers": -2}, r"plan\.workers is -2"),
        ({"stages": [{"seed": [3]}], "workers": 1.5}, r"plan\.workers is 1\.5"),
        ({"stages": [{"seed": [3]}], "report": "maybe"}, r"plan\.report is 'maybe'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            read_plan(values | {"plan": plan})
    assert read_plan(values) is None


def test_a_plan_expands_to_its_product_and_a_given_key_is_not_swept(values):
    stage = {"model": ["a", "b"], "model.tau_low": [0.1, 0.5], "model.tau_high": [0.3]}
    plan = read_plan(values | {"plan": {"stages": [stage, {"seed": [0, 1]}]}})
    plain = read_plan(values | {"plan": {"stages": [{"x": [None, True, "a", 1e-5]}]}})
    assert expand(plain, []) == [[["x=null"], ["x=true"], ["x=a"], ["x=1e-05"]]]
    assert expand(plan, []) == [
        [[f"model={m}", "model.tau_low=0.1", "model.tau_high=0.3"] for m in "ab"],
        [["seed=0"], ["seed=1"]],
    ]
    assert expand(plan, ["model=c", "seed=7"])[0] == [["model.tau_low=0.1", "model.tau_high=0.3"]]
    assert expand(plan, ["model=c", "seed=7"])[1] == [[]]


def test_jobs_that_share_a_composition_keep_their_own_values(values):
    stage = {"dataset": ["rdc_21", "rdc_95"], "model.alpha": [0.25, 4], "seed": [0]}
    plan = read_plan(values | {"plan": {"stages": [stage]}})
    given = ["model=independent", "search=none"]
    (jobs,) = compose_jobs(plan, given)
    seen = [(job.dataset["name"], job.model.params["alpha"]) for job in jobs]
    assert seen == [("rdc_21", 0.25), ("rdc_21", 4), ("rdc_95", 0.25), ("rdc_95", 4)]
    alone = compose("config", overrides=[*given, "dataset=rdc_95", "model.alpha=4", "seed=0"])
    assert read_job(alone).what_matters() == jobs[3].what_matters()
    assert jobs[3].title == "rdc_95/independent/0/model.alpha=4"
    wrong = read_plan(values | {"plan": {"stages": [{"model.alfa": [1]}]}})
    with pytest.raises(ConfigError, match=r"model\.alfa"):
        compose_jobs(wrong, given)


def test_what_does_not_matter_does_not_change_a_job(values):
    job = read_job(values)
    moved = values | {"results_dir": "elsewhere", "force": True, "study": "other", "tracking": {}}
    assert read_job(moved).what_matters() == job.what_matters()
    assert read_job(values | {"seed": 1}).what_matters() != job.what_matters()
    assert read_job(moved).results_dir == Path("elsewhere")


def test_the_variant_tells_jobs_apart():
    swept = ["model.tau_low=0.1", "dataset=rdc_65", "seed=3", "plan=null", "tracking.uri=null"]
    assert variant_of([*swept, "hydra/launcher=cores", "results_dir=x"]) == "model.tau_low=0.1"
    assert key_of("++search.grid={}") == "search.grid"


def test_stages_that_ask_for_the_same_job_run_it_once():
    given = ["experiment=draws", "model=independent", "seed=1"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        plan = read_plan(compose("config", overrides=given))
    stages = compose_jobs(plan, given)
    assert [len(stage) for stage in stages] == [6, 6]
    assert [len(stage) for stage in without_repeats(stages)] == [6, 0]


def test_a_given_hyper_parameter_is_not_searched(values):
    values["model"] = dict(THRESHOLDED, tau_low=0.5)
    grid = {"tau_low": [0.1, 0.3], "tau_high": [0.3, 0.7], "alpha": [1, 2]}
    values["search"] = {"grid": grid}
    job = read_job(values, ["model.tau_low=0.5"])
    assert job.search.grid == {"tau_high": [0.7], "alpha": [1, 2]}
    assert job.fixed == {"tau_low"}
    assert read_job(values).search.grid == grid, "a value of the configuration is no given one"
    swept = read_job(values, [], ["model.tau_low=0.5"])
    assert swept.search.grid == job.search.grid


def test_given_thresholds_in_the_wrong_order_are_refused_whatever_the_grid_says(values):
    values["model"] = dict(THRESHOLDED, tau_low=0.9, tau_high=0.5)
    values["search"] = {"grid": {"tau_low": [0.1], "tau_high": [0.7]}}
    with pytest.raises(ConfigError, match=r"model\.tau_low is 0\.9 .* model\.tau_high = 0\.5"):
        read_job(values, ["model.tau_low=0.9", "model.tau_high=0.5"])
    values["model"] = dict(THRESHOLDED, tau_low=0.9)
    with pytest.raises(ConfigError, match=r"search\.grid\.tau_high is \[\]"):
        read_job(values, ["model.tau_low=0.9"])


def test_a_value_and_a_grid_of_one_key_contradict_each_other(values):
    values["model"], values["search"] = THRESHOLDED, {"grid": {"alpha": [1, 2]}}
    with pytest.raises(ConfigError, match=r"model\.alpha and search\.grid\.alpha are both given"):
        read_job(values, ["model.alpha=1", "search.grid.alpha=[1,2]"])


def test_a_file_that_is_not_there_is_refused_at_once(values, tmp_path):
    values["dataset"] = {"name": "csv", "family": "csv", "path": str(tmp_path / "no.csv")}
    with pytest.raises(ConfigError, match=r"dataset\.path: there is no file"):
        read_job(values)


@pytest.mark.parametrize("name", ["a file", "a file/below"])
def test_a_results_folder_that_cannot_be_one_is_refused_by_its_key(tmp_path, name):
    (tmp_path / "a file").write_text("no folder")
    with pytest.raises(ConfigError, match=r"results_dir=.*a file.* cannot be used"):
        check_results_dir(tmp_path / name)


def test_a_search_may_ask_for_all_rows_whatever_the_study_says(values):
    values["search"] = {"grid": {}, "rows": 100}
    job = read_job(values)
    assert "whole" not in job.what_matters()["search"], "jobs of before are still the same"
    whole = read_job(values | {"search": values["search"] | {"whole": True}})
    assert whole.what_matters()["search"]["whole"]
    table = SimpleNamespace(counting=None)
    assert _finder(whole, table) is search
    assert _finder(job, table) is not search

"""The time that a study is said to take, before anything has ended."""

import heapq
from dataclasses import replace

import pytest
from hydra import compose, initialize_config_dir

from experiments.records.reference import committed
from experiments.records.rows import ResultRow, Store
from experiments.study.config import read_job, read_plan
from experiments.study.expected import clock_of
from experiments.study.plan import conf_dir


def jobs_of(experiment, results):
    """The jobs of a study, as far as a clock looks at them."""
    given = [f"experiment={experiment}", f"results_dir={results}", "model=independent"]
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        plan = read_plan(compose("config", overrides=given))
        job = read_job(compose("config", overrides=[*given, "plan=null"]))
    return [
        replace(job, dataset=job.dataset | {"name": name}, model=replace(job.model, name=model))
        for stage in plan.stages
        for model in stage["model"]
        for name in stage["dataset"]
    ]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    return jobs_of("reproduce", tmp_path_factory.mktemp("fresh"))


@pytest.mark.parametrize("speed", [0.7, 1.0, 1.4])
def test_a_fresh_study_knows_its_time_from_the_first_second(jobs, speed):
    """The committed rows played back on a machine of another speed, two jobs at a time."""
    rows = committed(conf_dir().parent / "results")
    took = rows[rows["experiment"] == "reproduce"].set_index("label")["job_seconds"] * speed
    jobs = [job for job in jobs if job.label in took.index]
    assert len(jobs) > 30
    clock = clock_of(jobs, workers=2)
    left = [clock.left()]
    ends, running = [0.0, 0.0], []
    for job in jobs:
        end = heapq.heappop(ends) + took[job.label]
        heapq.heappush(ends, end)
        running.append((end, job.title, took[job.label]))
    total = max(ends)
    for end, title, seconds in sorted(running)[: len(running) // 2]:
        clock.ended(title, seconds)
        left.append(end + clock.left())
    assert all(total / 1.5 < estimate < total * 1.5 for estimate in left)


def test_rows_of_this_machine_count_before_the_committed_ones(jobs, tmp_path):
    job = next(job for job in jobs if job.label == "rdc_65/fspn/0")
    job = replace(job, results_dir=tmp_path)
    foreseen = clock_of([job], 1).left()
    who = {"dataset": "rdc_65", "family": "sparse", "seed": 0, "model": "fspn"}
    row = ResultRow("f", "reproduce", job.label, **who, job_seconds=4321.0)
    Store.of(tmp_path, "reproduce").write(row)
    assert clock_of([job], 1).left() == pytest.approx(4321)
    assert foreseen != pytest.approx(4321)


def test_another_studys_times_are_proportions_only(tmp_path):
    jobs = [replace(job, study="new") for job in jobs_of("reproduce", tmp_path)]
    fast, slow = (
        next(job for job in jobs if job.label == f"rdc_95/{model}/0")
        for model in ("bn_tree", "mspn")
    )
    clock = clock_of([fast, slow], 1)
    assert clock.left() is None
    clock.ended(fast.title, 2.0)
    assert 2.0 < clock.left() < 60.0


def test_a_model_without_records_takes_no_trust_from_the_others(jobs):
    new = replace(jobs[0], model=replace(jobs[0].model, name="brand_new"))
    assert clock_of([*jobs, new], 2).left() == pytest.approx(clock_of(jobs, 2).left(), rel=0.2)
